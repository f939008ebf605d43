import { assertCredentialHolds } from '../api-keys/credential.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import type { AssignedRole } from '../contract/endpoints/roles.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import { LIMITS } from '../contract/limits.ts'
import type { invitations as endpoints, Invitation } from '../contract/resources/members.ts'
import type { InvitationRow, UserRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { SecondFactors } from '../second-factor/second-factor.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { type Login, loginByEmail, ofUser } from './logins.ts'
import type { OwnerMails } from './owner-mails.ts'
import type { Passwords } from './password.ts'
import { actorOf, beginSession, type NewSession } from './sessions.ts'
import { badToken, hashToken } from './token.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** What the page of an invitation shows to the person who has its token. */
export interface OpenInvitation {
  email: string
  role: AssignedRole
  workspace_name: string
  /** Whether the address has a login, whose password is then needed. */
  has_login: boolean
}

/** Invitations to workspaces. */
export interface Invitations<F extends Form = 'given'> {
  /** The open invitations of a workspace, oldest first. */
  invitations(workspaceId: string): Promise<Invitation[]>
  /**
   * Invites a person by mail. An earlier invitation to the address ends.
   * @throws SvcError `validation_error` for a member or a workspace with too many invitations; `forbidden` while the
   *   address of the workspace is not verified; `rate_limit_exceeded` when too many mails are waiting.
   */
  invite(
    workspaceId: string,
    request: BodyIn<typeof endpoints.create, F>,
    actor?: Actor,
  ): Promise<Invitation>
  /** Withdraws an invitation: its link is not valid any more. @throws SvcError `not_found`. */
  withdraw(workspaceId: string, invitationId: string, actor?: Actor): Promise<void>
  /** The invitation of a token; null for a token that is not valid. Uses nothing up. */
  invitationOf(token: string): Promise<OpenInvitation | null>
  /**
   * Makes the person with the token a member and begins a session. The token works once.
   * @throws SvcError `validation_error` for an invalid token or a password that is easy to guess; `unauthorized` for a wrong
   *   password of the login with the address; `validation_error` for a missing or wrong code of its second factor.
   */
  accept(request: BodyIn<typeof endpoints.accept, F>, actor?: Actor): Promise<NewSession>
}

export function createInvitations({
  storage,
  runtime,
  passwords,
  mails,
  factors,
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  mails: OwnerMails
  factors: SecondFactors
}): Invitations<'decoded'> {
  /** @throws SvcError when the workspace may not invite this person now. */
  async function assertMayInvite(
    { workspaces, members, invitations, audit }: Writes,
    workspaceId: string,
    email: string,
  ): Promise<void> {
    const at = runtime.now()
    const owner = await workspaces.byId(workspaceId)
    if (!owner?.email_verified) {
      throw new SvcError('forbidden', 'Verify the e-mail address of the workspace first')
    }
    const key = emailKey(email)
    const addresses = [owner, ...(await members.list(workspaceId))].map((each) => each.email)
    if (addresses.some((address) => emailKey(address) === key)) {
      throw invalid('email', 'The person is a member of the workspace already')
    }
    if (addresses.length > LIMITS.members) throw tooManyMembers()
    const open = await invitations.list(workspaceId, at)
    if (open.filter(({ email_key }) => email_key !== key).length >= LIMITS.invitations) {
      throw invalid('', `A workspace may have at most ${LIMITS.invitations} open invitations`)
    }
    const from = new Date(at.getTime() - DAY_MS)
    const sent = await audit.count(workspaceId, { action: 'invitation.created', from })
    if (sent >= LIMITS.invitations_per_day) {
      const text = `A workspace may send at most ${LIMITS.invitations_per_day} invitations in a day`
      throw new SvcError('rate_limit_exceeded', text, { retry_after_s: 3_600 })
    }
  }

  /** The user that accepts, whose password is not hashed for a wrong request. */
  async function newUser(
    invitation: InvitationRow,
    { password, name }: { password: string; name: string | null },
  ): Promise<UserRow> {
    await passwords.checkNew('password', password)
    passwords.checkNotOwn('password', password, { email: invitation.email, name: name ?? '' })
    const at = runtime.now()
    return {
      id: runtime.id(),
      email: invitation.email,
      email_key: invitation.email_key,
      name,
      password_hash: await passwords.hash(password),
      token_version: 1,
      created_at: at,
      updated_at: at,
    }
  }

  return {
    async invitations(workspaceId) {
      return (await storage.read.invitations.list(workspaceId, runtime.now())).map(recordOf)
    },
    async invite(workspaceId, { email, role }, actor = SERVICE) {
      const token = runtime.bytes(LIMITS.token_bytes).toString('base64url')
      const { row, owner_email } = await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'administer')
        await assertMayInvite(stores, workspaceId, email)
        const row = newInvitation(runtime, {
          ...{ workspace_id: workspaceId, email, role, token },
          invited_by: loginOfActor(actor, workspaceId),
        })
        await stores.invitations.insert(row)
        const created = {
          workspace_id: workspaceId,
          action: 'invitation.created',
          target: { type: 'invitation', id: row.id },
          details: { role },
        } as const
        await stores.audit.record(auditRow(runtime, actor, created))
        return { row, owner_email: (await stores.workspaces.byId(workspaceId))?.email ?? '' }
      })
      if (!mails.invite(row.email, { token, owner_email })) {
        const text = 'Too many mails are waiting. Invite the person again later.'
        throw new SvcError('rate_limit_exceeded', text, { retry_after_s: 5 })
      }
      return recordOf(row)
    },
    async withdraw(workspaceId, invitationId, actor = SERVICE) {
      await storage.write(async (stores) => {
        await assertCredentialHolds(stores, workspaceId, actor, 'administer')
        if (!(await stores.invitations.remove(workspaceId, invitationId))) {
          throw new SvcError('not_found', 'Invitation not found')
        }
        const withdrawn = {
          workspace_id: workspaceId,
          action: 'invitation.withdrawn',
          target: { type: 'invitation', id: invitationId },
        } as const
        await stores.audit.record(auditRow(runtime, actor, withdrawn))
      })
    },
    async invitationOf(token) {
      const { read } = storage
      const row = await read.invitations.byToken(hashToken(token), runtime.now())
      const workspace = row && (await read.workspaces.byId(row.workspace_id))
      if (!row || !workspace) return null
      const has_login = (await loginByEmail(read, row.email)) !== null
      return { email: row.email, role: row.role, workspace_name: workspace.name, has_login }
    },
    async accept({ token, password, name = null, otp }, actor = SERVICE) {
      const token_hash = hashToken(token)
      // The token is checked before the password is hashed, so that a guessed token costs no hash.
      const invitation = await storage.read.invitations.byToken(token_hash, runtime.now())
      if (!invitation) throw badToken()
      const known = await loginByEmail(storage.read, invitation.email)
      if (known && !(await passwords.verify(known.password_hash, password))) throw notTheirs()
      const user = known ? null : await newUser(invitation, { password, name })
      const opened = known && (await factors.open(known.id))
      return storage.write(async (stores) => {
        const { workspace_id } = invitation
        await stores.workspaces.lock(workspace_id)
        const taken = await stores.invitations.take(token_hash, runtime.now())
        if (!taken) throw badToken()
        const login = await loginOfAccepting(stores, { known, user })
        const factor = { known: opened, code: otp }
        const has_second_factor = await factors.use(stores, login.id, factor)
        await join(runtime, stores, {
          workspace_id,
          login,
          role: taken.role,
          invitation: taken,
          actor,
        })
        return beginSession(runtime, stores, { login, workspace_id, has_second_factor, actor })
      })
    },
  }
}

/** The login that accepts. The error rolls the transaction back: the token can be used again. */
async function loginOfAccepting(
  stores: Writes,
  { known, user }: { known: Login | null; user: UserRow | null },
): Promise<Login> {
  if (known) {
    if (!known.owns_workspace) await stores.users.lock(known.id)
    const now = await loginByEmail(stores, known.email)
    if (now?.id === known.id && now.password_hash === known.password_hash) return now
  } else if (user) {
    await stores.users.lockAddress(user.email)
    // A signup with this address may have come first.
    const other = await loginByEmail(stores, user.email)
    if (!other && (await stores.users.insert(user))) return ofUser(user)
  }
  throw new SvcError('unauthorized', 'The login of this address just changed. Try again.')
}

/** Adds a login to a workspace, with its audit entry. A member stays as it is. @throws SvcError beyond the limits. */
export async function join(
  runtime: Runtime,
  { members, audit }: Writes,
  {
    workspace_id,
    login,
    role,
    invitation,
    actor,
  }: {
    workspace_id: string
    login: Login
    role: AssignedRole
    invitation?: InvitationRow
    actor: Actor
  },
): Promise<void> {
  if (login.id === workspace_id) return
  if ((await members.ofUser(login.id)).length >= LIMITS.members) {
    throw invalid('', `A person may be a member of at most ${LIMITS.members} workspaces`)
  }
  if ((await members.count(workspace_id)) >= LIMITS.members) throw tooManyMembers()
  const at = runtime.now()
  const { invited_by = null, created_at: invited_at = null } = invitation ?? {}
  const invited = { invited_by, invited_at }
  const member = {
    workspace_id,
    user_id: login.id,
    role,
    created_at: at,
    updated_at: at,
    ...invited,
  }
  if (!(await members.add(member))) return
  const added = {
    workspace_id,
    action: 'member.added',
    target: { type: 'member', id: login.id },
    details: { role },
  } as const
  await audit.record(auditRow(runtime, actorOf(login.id, workspace_id, actor), added))
}

function newInvitation(
  { id, now }: Runtime,
  {
    workspace_id,
    email,
    role,
    token,
    invited_by,
  }: {
    workspace_id: string
    email: string
    role: AssignedRole
    token: string
    invited_by: string | null
  },
): InvitationRow {
  const at = now()
  return {
    workspace_id,
    id: id(),
    email,
    email_key: emailKey(email),
    role,
    token_hash: hashToken(token),
    expires_at: new Date(at.getTime() + LIMITS.invitation_lifetime_s * 1000),
    created_at: at,
    invited_by,
  }
}

/** The login of a session; null for another actor. */
function loginOfActor({ kind, id, session }: Actor, workspaceId: string): string | null {
  return kind === 'session' ? (session?.user_id ?? id ?? workspaceId) : null
}

function recordOf({ id, email, role, expires_at, created_at }: InvitationRow): Invitation {
  return { id, email, role, expires_at, created_at }
}

function tooManyMembers(): SvcError {
  return invalid('', `A workspace may have at most ${LIMITS.members} members besides its owner`)
}

function notTheirs(): SvcError {
  return new SvcError(
    'unauthorized',
    'Wrong password: this address has a login. Use its password, or choose a new one with forgot-password.',
  )
}
