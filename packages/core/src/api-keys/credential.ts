import type { Actor } from '../audit/entry.ts'
import { type Capability, mayDo, type Role, rolesThat } from '../contract/endpoints/roles.ts'
import { SvcError } from '../contract/errors.ts'
import type { Writes } from '../storage/ports/storage.ts'

/**
 * Checks the credential of a request again, in the transaction that creates a key or a webhook, or changes a member: the new
 * row outlives the credential. The first check came before the body was read and host names were resolved; a client can delay both steps.
 * Locks the workspace, as the revocation of all credentials does, so that the new row is either revoked too or refused.
 * @throws SvcError 401 for an ended session or a deactivated key, 403 for a session whose role lacks the capability.
 */
export async function assertCredentialHolds(
  { workspaces, sessions, apiKeys }: Pick<Writes, 'workspaces' | 'sessions' | 'apiKeys'>,
  workspaceId: string,
  { kind, id, session }: Actor,
  needs: Capability = 'develop',
): Promise<void> {
  await workspaces.lock(workspaceId)
  if (session) {
    const { user_id = workspaceId, session_hash, token_version } = session
    const known = await sessions.byHash({ user_id, session_hash, workspace_id: workspaceId })
    if (known?.token_version !== token_version || known.is_ended || known.role === null) {
      throw new SvcError('token_expired', 'Invalid or expired token')
    }
    return requireCapability(known.role, needs)
  }
  if (kind !== 'api_key' || id === null || (await apiKeys.isActive(workspaceId, id))) return
  throw new SvcError('unauthorized', 'API key has been deactivated')
}

/** Checks the role of a session. @throws SvcError `forbidden` that names the roles that may. */
export function requireCapability(role: Role, needs: Capability | undefined): void {
  if (mayDo(role, needs)) return
  const roles = rolesThat(needs).join(', ')
  throw new SvcError('forbidden', `Your role ${role} does not allow this. Roles that do: ${roles}`)
}
