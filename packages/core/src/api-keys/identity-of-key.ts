import type { Scope } from '../contract/endpoints/endpoint.ts'
import type { ApiKeyRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { KeyIdentity } from './api-keys.ts'
import { hashKey, isWellFormed } from './key.ts'

/**
 * The identity of a key for work of the service itself, which comes from no client address; null for a key that is unknown,
 * deactivated or expired.
 */
export async function identityOfKey(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  text: string,
): Promise<KeyIdentity | null> {
  return identityOf(
    isWellFormed(text) ? await storage.hot.findApiKey(hashKey(text)) : null,
    runtime,
  )
}

/** The same for the id of a key. */
export async function identityOfKeyId(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  workspaceId: string,
  keyId: string,
): Promise<KeyIdentity | null> {
  return identityOf(await storage.read.apiKeys.byId(workspaceId, keyId), runtime)
}

function identityOf(row: ApiKeyRow | null, runtime: Pick<Runtime, 'now'>): KeyIdentity | null {
  if (!row?.is_active || (row.expires_at && row.expires_at <= runtime.now())) return null
  return {
    workspace_id: row.workspace_id,
    api_key_id: row.id,
    scopes: row.scopes as Scope[],
    mode: row.mode,
    daily_credit_limit: row.daily_credit_limit,
  }
}
