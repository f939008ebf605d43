import type { Actor } from '../audit/entry.ts'
import { SvcError } from '../contract/errors.ts'
import type { Writes } from '../storage/ports/storage.ts'

/**
 * Checks the credential of a request again, in the transaction of a change that outlives it: a new key, a webhook. The
 * admission came before the body was read and before host names were looked up, which takes as long as a client likes. Locks
 * the workspace, as everything that ends all credentials does: a change comes before that, and is ended with them, or is refused.
 * @throws SvcError 401 for a session that has ended and a key that was deactivated since.
 */
export async function assertCredentialHolds(
  { workspaces, sessions, apiKeys }: Pick<Writes, 'workspaces' | 'sessions' | 'apiKeys'>,
  workspaceId: string,
  { kind, id, session }: Actor,
): Promise<void> {
  await workspaces.lock(workspaceId)
  if (session) {
    const known = await sessions.byHash(workspaceId, session.session_hash)
    if (known?.token_version === session.token_version && !known.is_ended) return
    throw new SvcError('token_expired', 'Invalid or expired token')
  }
  if (kind !== 'api_key' || id === null || (await apiKeys.isActive(workspaceId, id))) return
  throw new SvcError('unauthorized', 'API key has been deactivated')
}
