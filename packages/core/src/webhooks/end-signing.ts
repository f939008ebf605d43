import { mintSecret } from '../contract/signing/signature.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Sealer } from '../secrets/sealer.ts'
import type { Writes } from '../storage/ports/storage.ts'
import { sealWebhook } from './sealed-webhook.ts'

/** The `disabled_reason` of a webhook that a deactivated API key signed. */
const KEY_DEACTIVATED = 'key_deactivated'

/** Ends the webhooks that an API key signs, in the transaction that deactivates the key. */
export type EndSigning = (
  stores: Pick<Writes, 'webhooks'>,
  workspaceId: string,
  /** Null: every key of the workspace. */
  keyId: string | null,
) => Promise<void>

/**
 * Disables these webhooks, and replaces their secrets, because each has a copy of the key. A webhook that its owner created
 * no longer depends on the key: after it is enabled again, it is signed with a secret of its own.
 */
export function createEndSigning({
  runtime,
  sealer,
}: {
  runtime: Runtime
  sealer: Sealer
}): EndSigning {
  return async ({ webhooks }, workspaceId, keyId) => {
    const updated_at = runtime.now()
    for (const row of await webhooks.lockSignedBy(workspaceId, keyId)) {
      await webhooks.change(workspaceId, row.id, {
        ...sealWebhook(sealer, row, { secret: mintSecret(runtime.bytes), previous_secret: null }),
        previous_secret_ends_at: null,
        accepted_secret: null,
        ...(row.callback_origin === null && { api_key_id: null }),
        ...(row.is_active && {
          is_active: false,
          status: 'disabled',
          disabled_reason: KEY_DEACTIVATED,
        }),
        updated_at,
      })
    }
  }
}
