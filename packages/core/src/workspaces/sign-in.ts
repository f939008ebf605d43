import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { AssignedRole } from '../contract/endpoints/roles.ts'
import { SvcError } from '../contract/errors.ts'
import { emailAddress, emailKey } from '../contract/fields/email-address.ts'
import { LIMITS } from '../contract/limits.ts'
import type { OidcIdentityRow, UserRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { join } from './invitations.ts'
import { recordLink } from './links.ts'
import { type Login, loginByEmail, loginById, ofUser, workspaceIdsOf } from './logins.ts'
import { actorOf, beginSession, type NewSession, removeMember } from './sessions.ts'

/** A person with a login at an OIDC provider. The caller verified the ID token. */
export interface OidcPerson {
  issuer: string
  subject: string
  /** The address; null unless the provider says that it is verified. */
  verified_email: string | null
  name: string | null
  /** The workspace whose roles the provider decides, and the role of the person there; null if no claim names one. */
  assigned: { workspace_id: string; role: AssignedRole | null } | null
}

/** Sign-in with OIDC. */
export interface SignIn {
  /**
   * Begins a session of the login that the provider's subject belongs to. A subject without a login gets that with the same
   * verified address, or a new one if a claim gives it a role.
   * @throws SvcError `forbidden` with the reason if the person has no login here and gets none.
   */
  signIn(person: OidcPerson, actor?: Actor): Promise<NewSession>
}

export function createSignIn({ storage, runtime }: { storage: Storage; runtime: Runtime }): SignIn {
  return {
    async signIn(person, actor = SERVICE) {
      const session = await storage.write(async (stores) => {
        if (person.assigned) await lockWorkspace(stores, person.assigned.workspace_id)
        const { login, linked } = await loginOf(runtime, stores, person)
        const { assigned } = person
        if (assigned) await applyRole(runtime, stores, { login, ...assigned, actor })
        const ids = await workspaceIdsOf(stores, login)
        if (linked) await recordLink(runtime, stores, 'sign_in.linked', linked, actor)
        const preferred = ids.find((id) => id === assigned?.workspace_id) ?? ids[0]
        // Not an error here, because an error would undo the end of the membership.
        if (preferred === undefined) return null
        const begun = { login, workspace_id: preferred, has_second_factor: true, actor }
        return beginSession(runtime, stores, begun)
      })
      if (!session) throw noLogin()
      return session
    },
  }
}

/** @throws SvcError `forbidden` if the workspace of the settings does not exist. */
async function lockWorkspace({ workspaces }: Writes, workspaceId: string): Promise<void> {
  await workspaces.lock(workspaceId)
  if (await workspaces.byId(workspaceId)) return
  throw new SvcError('forbidden', 'The workspace of the roles of the sign-in provider is missing')
}

async function loginOf(
  runtime: Runtime,
  stores: Writes,
  { issuer, subject, verified_email, name, assigned }: OidcPerson,
): Promise<{ login: Login; linked: OidcIdentityRow | null }> {
  const known = await stores.users.byIdentity({ issuer, subject })
  if (known !== null) {
    const login = await loginById(stores, known)
    if (login) return { login, linked: null }
    throw noLogin()
  }
  const email = verified_email === null ? null : (emailAddress(verified_email)?.address ?? null)
  if (email === null) {
    throw new SvcError('forbidden', 'The sign-in provider confirms no verified e-mail address')
  }
  await stores.users.lockAddress(email)
  let login = await loginByEmail(stores, email)
  if (login && !login.email_verified) {
    // The signup may have been made by another person, who knows its password.
    throw new SvcError(
      'forbidden',
      'This e-mail address has an account that is not verified. Verify it, or reset its password, first.',
    )
  }
  if (!login) {
    if (!assigned?.role) throw noLogin()
    const user = newUser(runtime, email, name)
    if (!(await stores.users.insert(user))) throw noLogin()
    login = ofUser(user)
  }
  const identity = { issuer, subject, user_id: login.id, created_at: runtime.now() }
  await stores.users.link(identity)
  return { login, linked: identity }
}

/** Gives the login the role of its claims in a workspace; without one, its membership ends. The owner stays the owner. */
async function applyRole(
  runtime: Runtime,
  stores: Writes,
  {
    login,
    workspace_id,
    role,
    actor,
  }: { login: Login; workspace_id: string; role: AssignedRole | null; actor: Actor },
): Promise<void> {
  const { members, audit } = stores
  if (login.id === workspace_id) return
  const member = await members.byId(workspace_id, login.id)
  if (!member) {
    if (role) await join(runtime, stores, { workspace_id, login, role, actor })
    return
  }
  if (member.role === role) return
  const target = { type: 'member', id: login.id }
  const who = actorOf(login.id, workspace_id, actor)
  if (role === null) {
    await removeMember(stores, member)
    const removed = { workspace_id, action: 'member.removed', target } as const
    return audit.record(auditRow(runtime, who, removed))
  }
  await members.change(workspace_id, login.id, { role, updated_at: runtime.now() })
  const details = { from: member.role, role }
  const changed = { workspace_id, action: 'member.changed', target, details } as const
  await audit.record(auditRow(runtime, who, changed))
}

function newUser(runtime: Runtime, email: string, name: string | null): UserRow {
  const at = runtime.now()
  return {
    id: runtime.id(),
    email,
    email_key: emailKey(email),
    name: name?.slice(0, LIMITS.user_name_length) || null,
    password_hash: null,
    token_version: 1,
    created_at: at,
    updated_at: at,
  }
}

function noLogin(): SvcError {
  return new SvcError(
    'forbidden',
    'You have no access here: ask an administrator of the workspace for an invitation',
  )
}
