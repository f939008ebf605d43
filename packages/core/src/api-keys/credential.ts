import type { Actor } from '../audit/entry.ts'
import { SvcError } from '../contract/errors.ts'
import type { Writes } from '../storage/ports/storage.ts'

/**
 * Checks the credential of a request again, in the transaction that creates a key or a webhook, which outlives the
 * credential. The first check came before the body was read and host names were resolved, and a client can prolong both.
 * Locks the workspace, as the revocation of all credentials does: the change is either revoked with them or refused.
 * @throws SvcError 401 for an ended session or a deactivated key.
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
