import { assertCredentialHolds } from '../api-keys/credential.ts'
import type { NoteRefused } from '../audit/audit.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import type { Role } from '../contract/endpoints/roles.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { members as endpoints, Member } from '../contract/resources/members.ts'
import type { MemberRow, UserRow, WorkspaceRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Passkeys } from '../second-factor/passkeys.ts'
import type { SecondFactors } from '../second-factor/second-factor.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { createInvitations, type Invitations } from './invitations.ts'
import { createLinks, type Links } from './links.ts'
import { createLoginFactors, type LoginFactors } from './login-factors.ts'
import { loginById } from './logins.ts'
import type { OwnerMails } from './owner-mails.ts'
import type { Passwords } from './password.ts'
import { createSessions, memberNotFound, removeMember, type Sessions } from './sessions.ts'
import { createSignIn, type SignIn } from './sign-in.ts'

/** A workspace of a login, with its role there. */
export interface Membership {
  workspace_id: string
  name: string
  role: Role
}

/** Members of workspaces, invitations, the sessions of logins, and sign-in with OIDC. */
export interface Members<F extends Form = 'given'>
  extends Invitations<F>,
    Sessions,
    SignIn,
    Links,
    LoginFactors {
  /** The owner, and then the members, oldest first. */
  list(workspaceId: string): Promise<Member[]>
  /** The workspaces of a login: its own first, then the others in the order in which it joined them. */
  workspacesOf(userId: string): Promise<Membership[]>
  /**
   * Changes the role of a member. It holds at once, also in sessions that exist.
   * @throws SvcError `forbidden` for the owner, or if the actor may not administer members any more.
   */
  update(
    workspaceId: string,
    userId: string,
    request: BodyIn<typeof endpoints.update, F>,
    actor?: Actor,
  ): Promise<Member>
  /**
   * Gives a person another name, in each of the person's workspaces; null for none. The audit log of this workspace records the
   * change without the names.
   * @throws SvcError `not_found` for a login that is no member; `forbidden` if the actor is another member.
   */
  rename(workspaceId: string, userId: string, name: string | null, actor?: Actor): Promise<void>
  /**
   * Removes a member. A login without a workspace is removed too.
   * @throws SvcError `forbidden` for the owner, or if the actor is another member who may not administer members.
   */
  remove(workspaceId: string, userId: string, actor?: Actor): Promise<void>
  /**
   * Ends all sessions of a member, on every server.
   * @throws SvcError `not_found`; `forbidden` for the owner, except by the owner, or if the actor may not administer members any more.
   */
  endSessionsOf(workspaceId: string, userId: string, actor?: Actor): Promise<void>
  /**
   * Makes a member the owner, and the owner an admin. Ends all sessions of both.
   * @throws SvcError `validation_error` for a wrong password of the owner; `forbidden` for a member who owns another
   *   workspace or has no password.
   */
  makeOwner(
    workspaceId: string,
    userId: string,
    request: BodyIn<typeof endpoints.make_owner, F>,
    actor?: Actor,
  ): Promise<void>
}

interface MemberParts {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  mails: OwnerMails
  factors: SecondFactors
  passkeys: Passkeys
  noteRefused: NoteRefused
}

export function createMembers(parts: MemberParts): Members<'decoded'> {
  const { storage, runtime, passwords } = parts

  async function memberOf(stores: Writes, { user_id, role, created_at }: MemberRow) {
    const { email = '', name = null } = (await loginById(stores, user_id)) ?? {}
    return { id: user_id, email, name, role, created_at }
  }

  return {
    ...createInvitations(parts),
    ...createSessions(parts),
    ...createSignIn(parts),
    ...createLinks(parts),
    ...createLoginFactors(parts),
    async list(workspaceId) {
      const owner = await storage.read.workspaces.byId(workspaceId)
      if (!owner) throw new SvcError('not_found', 'Workspace not found')
      const others = await storage.read.members.list(workspaceId)
      const { id, email, owner_name: name, created_at } = owner
      return [
        { id, email, name, role: 'owner', created_at },
        ...others.map(({ user_id, ...rest }) => ({ id: user_id, ...rest })),
      ]
    },
    async workspacesOf(userId) {
      const owned = await storage.read.workspaces.byId(userId)
      const joined = await storage.read.members.ofUser(userId)
      return [
        ...(owned ? [{ workspace_id: owned.id, name: owned.name, role: 'owner' as const }] : []),
        ...joined.map(({ workspace_id, name, role }) => ({ workspace_id, name, role })),
      ]
    },
    async update(workspaceId, userId, { role }, actor = SERVICE) {
      return storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'administer')
        if (userId === workspaceId) throw ownerStays()
        const before = await stores.members.byId(workspaceId, userId)
        if (!before) throw memberNotFound()
        const updated_at = runtime.now()
        if (before.role !== role) {
          await stores.members.change(workspaceId, userId, { role, updated_at })
          const changed = {
            workspace_id: workspaceId,
            action: 'member.changed',
            target: { type: 'member', id: userId },
            details: { from: before.role, role },
          } as const
          await stores.audit.record(auditRow(runtime, actor, changed))
        }
        return memberOf(stores, { ...before, role })
      })
    },
    async rename(workspaceId, userId, name, actor = SERVICE) {
      await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'belong')
        const { session } = actor
        if (session && (session.user_id ?? workspaceId) !== userId) {
          throw new SvcError('forbidden', 'You can change only your own name')
        }
        const { workspaces, users, members, audit } = stores
        // A change of the owner in another workspace would move the login meanwhile.
        await workspaces.lock(userId)
        await users.lock(userId)
        const isMember = userId === workspaceId || (await members.byId(workspaceId, userId))
        const login = isMember ? await loginById(stores, userId) : null
        if (!login) throw memberNotFound()
        if (login.name === name) return
        const at = runtime.now()
        if (login.owns_workspace) await workspaces.renameOwner(userId, name, at)
        else await users.rename(userId, name, at)
        const renamed = {
          workspace_id: workspaceId,
          action: 'member.renamed',
          target: { type: 'member', id: userId },
        } as const
        await audit.record(auditRow(runtime, actor, renamed))
      })
    },
    async remove(workspaceId, userId, actor = SERVICE) {
      await storage.write(async (stores) => {
        const leaves = actor.session?.user_id === userId
        await assertCredentialHolds(stores, workspaceId, actor, leaves ? 'belong' : 'administer')
        if (userId === workspaceId) throw ownerStays()
        await removeMember(stores, { workspace_id: workspaceId, user_id: userId })
        const removed = {
          workspace_id: workspaceId,
          action: 'member.removed',
          target: { type: 'member', id: userId },
        } as const
        await stores.audit.record(auditRow(runtime, actor, removed))
      })
    },
    async endSessionsOf(workspaceId, userId, actor = SERVICE) {
      await storage.write(async (stores) => {
        const isOwner = userId === workspaceId
        await assertCredentialHolds(stores, workspaceId, actor, isOwner ? 'own' : 'administer')
        if (!isOwner && !(await stores.members.byId(workspaceId, userId))) throw memberNotFound()
        const at = runtime.now()
        await stores.workspaces.endTokens(userId, at)
        await stores.users.endTokens(userId, at)
        await stores.sessions.clear(userId)
        const target = { type: 'member', id: userId }
        const ended = { workspace_id: workspaceId, action: 'sessions.ended', target } as const
        await stores.audit.record(auditRow(runtime, actor, ended))
      })
    },
    async makeOwner(workspaceId, userId, { current_password }, actor = SERVICE) {
      const before = await storage.read.workspaces.byId(workspaceId)
      const hash = before?.password_hash ?? null
      if (!(await passwords.verify(hash, current_password))) throw wrongPassword()
      await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'own')
        const owner = await stores.workspaces.byId(workspaceId)
        if (!owner || owner.password_hash !== hash) throw wrongPassword()
        await stores.users.lock(userId)
        const member = await stores.members.byId(workspaceId, userId)
        if (!member) throw memberNotFound()
        const user = await stores.users.byId(userId)
        const changed = {
          workspace_id: workspaceId,
          action: 'owner.changed',
          target: { type: 'member', id: userId },
        } as const
        await stores.audit.record(auditRow(runtime, actor, changed))
        await exchangeOwner(runtime, stores, { owner, user })
      })
    },
  }
}

/** The workspace gets the user's address and password; a new user, who is an admin, gets the owner's. */
async function exchangeOwner(
  runtime: Runtime,
  stores: Writes,
  { owner, user }: { owner: WorkspaceRow; user: UserRow | null },
): Promise<void> {
  const { workspaces, users, members, sessions, loginNetworks, accountTokens, audit } = stores
  if (!user) {
    throw new SvcError('forbidden', 'The member owns another workspace: a login owns one at most')
  }
  if (user.password_hash === null) {
    throw new SvcError('forbidden', 'The member has no password: choose one with forgot-password')
  }
  if (!owner.email_verified) {
    throw new SvcError('forbidden', 'Verify the e-mail address of the workspace first')
  }
  const at = runtime.now()
  const former = runtime.id()
  const { id: workspace_id } = owner
  await members.remove(workspace_id, user.id)
  await audit.moveLogin(workspace_id, null, former)
  await audit.moveLogin(workspace_id, user.id, null)
  for (const [from, to] of [
    [workspace_id, former],
    [user.id, workspace_id],
  ] as const) {
    const joined = (await members.ofUser(from)).map((other) => other.workspace_id)
    const others = new Set([...joined, ...(await audit.leftBy(from))])
    // Here the owner has the id of the workspace before and after.
    others.delete(workspace_id)
    for (const other of others) await audit.moveLogin(other, from, to)
  }
  await users.move(workspace_id, former)
  await users.move(user.id, workspace_id)
  await users.remove(user.id)
  await users.insert({
    id: former,
    email: owner.email,
    email_key: owner.email_key,
    name: owner.owner_name,
    password_hash: owner.password_hash,
    token_version: 1,
    created_at: at,
    updated_at: at,
  })
  const role = 'admin'
  const times = { created_at: at, updated_at: at, invited_by: null, invited_at: null }
  await members.add({ workspace_id, user_id: former, role, ...times })
  const { email, email_key, name: owner_name, password_hash } = user
  // No token of the former owner may be valid for the new owner.
  const token_version = Math.max(owner.token_version, user.token_version) + 1
  const login = { email, email_key, owner_name, password_hash, token_version }
  await workspaces.changeOwner(workspace_id, login, at)
  await sessions.clear(workspace_id)
  await loginNetworks.clear(workspace_id)
  await accountTokens.end({ workspace_id, purpose: 'verify_email' })
  await accountTokens.end({ workspace_id, purpose: 'reset_password' })
}

function ownerStays(): SvcError {
  return new SvcError(
    'forbidden',
    'The owner keeps the role and cannot be removed: make another member the owner first',
  )
}

function wrongPassword(): SvcError {
  return invalid('current_password', 'Current password is wrong')
}
