import { type Actor, auditRow } from '../audit/entry.ts'
import { networkOf } from '../contract/fields/client-network.ts'
import { LIMITS } from '../contract/limits.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Writes } from '../storage/ports/storage.ts'
import type { Login } from './logins.ts'

/** The length of the random value that distinguishes two logins within one second. */
const SESSION_ID_BYTES = 16

/** Internet providers move a customer within a network of this size, and it is too large to show where the customer was. */
const BITS = { ipv4: 24, ipv6: 48 } as const

/** A session that begins. The caller issues the token, which names all four values. */
export interface NewSession {
  /** The login: the workspace for its owner, otherwise the user. */
  user_id: string
  workspace_id: string
  token_version: number
  session_id: string
  /** Whether the sign-in needed more than the password: a code, or an OIDC provider. */
  has_second_factor: boolean
}

/** Records that a login began a session in a workspace, and the network of the client. */
export async function beginSession(
  runtime: Pick<Runtime, 'id' | 'now' | 'bytes'>,
  { audit, loginNetworks }: Pick<Writes, 'audit' | 'loginNetworks'>,
  {
    login,
    workspace_id,
    has_second_factor,
    actor,
  }: { login: Login; workspace_id: string; has_second_factor: boolean; actor: Actor },
): Promise<NewSession> {
  const created = { workspace_id, action: 'session.created' } as const
  await audit.record(auditRow(runtime, actorOf(login.id, workspace_id, actor), created))
  const network = loginNetworkOf(actor.address)
  if (network !== null) {
    const last_login_at = runtime.now()
    await loginNetworks.note({ workspace_id: login.id, network, last_login_at })
  }
  return {
    user_id: login.id,
    workspace_id,
    token_version: login.token_version,
    session_id: runtime.bytes(SESSION_ID_BYTES).toString('base64url'),
    has_second_factor,
  }
}

/** The actor with the id of a member; the owner has none. */
export function actorOf(userId: string, workspaceId: string, actor: Actor): Actor {
  return userId === workspaceId ? actor : { ...actor, id: userId }
}

/** A network is known until this time after its last login. */
export function knownSince({ now }: Pick<Runtime, 'now'>): Date {
  return new Date(now().getTime() - LIMITS.login_network_lifetime_s * 1000)
}

/** The network of a login; null if its address is unknown or not an IP address. */
export function loginNetworkOf(address: string | null): string | null {
  return address === null ? null : networkOf(address, BITS)
}
