import { placeOfKey } from '../api-keys/sealed-key.ts'
import { invalid } from '../contract/errors.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The remedy for a key that is stored as a hash only. */
export const NO_SIGNATURE =
  'This API key does not sign callbacks. Create one that does: svc keys create --twilio'

/**
 * The text of an API key that signs webhooks in place of a secret of their own.
 * @throws SvcError `validation_error` at `path` if the workspace has no such key, or the key does not sign.
 */
export async function signingKeyOf(
  { storage, sealer }: { storage: Storage; sealer: Sealer },
  { workspace_id, api_key_id: id }: { workspace_id: string; api_key_id: string },
  path: string,
): Promise<string> {
  const sealed = await storage.read.apiKeys.sealedKey(workspace_id, id)
  if (sealed === null) throw invalid(path, NO_SIGNATURE)
  return sealer.open(placeOfKey({ workspace_id, id }), sealed)
}
