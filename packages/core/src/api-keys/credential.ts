import type { Actor } from '../audit/entry.ts'
import { SvcError } from '../contract/errors.ts'
import type { Writes } from '../storage/ports/storage.ts'

/**
 * Checks the credential of a request again, in the transaction that creates a key or a webhook: the new row outlives the
 * credential. The first check came before the body was read and host names were resolved; a client can delay both steps.
 * Locks the workspace, as the revocation of all credentials does, so that the new row is either revoked too or refused.
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
