import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import type { BodyIn, Form } from '../contract/endpoints/endpoint.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { type Units, units } from '../contract/fields/units.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { workspaces as endpoints } from '../contract/resources/workspaces.ts'
import type { UserRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { EndSigning } from '../webhooks/sealed-webhook.ts'
import { endLinks } from './links.ts'
import { type Login, loginById, workspaceIdsOf } from './logins.ts'
import type { OwnerMails } from './owner-mails.ts'
import type { Passwords } from './password.ts'
import { loginNetworkOf, removeMember } from './sessions.ts'
import { badToken, hashToken } from './token.ts'

import { grantSignupCredits, NOTHING_REVOKED, type Revoked, revokeAll } from './verification.ts'

/** Verification of addresses, and passwords. Contract section 2. */
export interface Access<F extends Form = 'given'> {
  /**
   * Verifies the address of a workspace with the token of a mail; a token works once. The first verification revokes the
   * API keys and disables the webhooks created before it, because the owner of the address may not have created them.
   * @throws SvcError `validation_error` for an invalid token.
   */
  verifyEmail(
    request: BodyIn<typeof endpoints.verify_email, F>,
    actor?: Actor,
  ): Promise<{ workspace_id: string; revoked: Revoked }>
  /** The address of the login whose mail has this token; null for a token that is not valid. Uses nothing up. */
  linkOf(
    purpose: 'verify_email' | 'reset_password',
    token: string,
  ): Promise<{ email: string } | null>
  /**
   * Sends another verification mail in the background, if a workspace has the address and it is not verified.
   * @throws SvcError `rate_limit_exceeded` when too many mails are waiting.
   */
  resendVerification(request: BodyIn<typeof endpoints.resend_verification, F>): void
  /**
   * Sends a mail to choose a new password in the background, if a login has the address.
   * @throws SvcError `rate_limit_exceeded` when too many mails are waiting.
   */
  forgotPassword(request: BodyIn<typeof endpoints.forgot_password, F>): void
  /**
   * Sets a new password with the token of a mail; a token works once. Ends every session and forgets the networks of
   * earlier logins; only the network of this request is known afterwards. Unless `keep_recent` is true, ends what the login added
   * since its last verified sign-in: API keys, webhooks, links to OIDC subjects, invitations, and the members who accepted them.
   * `revoke_api_keys` ends all its links, and all keys and webhooks of the owner's workspace. An unverified address becomes
   * verified, as with `verifyEmail`.
   * @throws SvcError `validation_error` for an invalid token or a password that is easy to guess.
   */
  resetPassword(
    request: BodyIn<typeof endpoints.reset_password, F>,
    actor?: Actor,
  ): Promise<Revoked>
  /**
   * Changes the password of a login, ends every session, and invalidates the token of a requested reset. `loginId`: the
   * workspace for its owner, otherwise the user.
   * @throws SvcError `validation_error` when the current password is wrong or the new password is easy to guess.
   */
  changePassword(
    loginId: string,
    request: BodyIn<typeof endpoints.change_password, F>,
    actor?: Actor,
  ): Promise<void>
}

export function createAccess({
  storage,
  runtime,
  passwords,
  mails,
  endSigning,
  creditsOnVerification = units(0),
}: {
  storage: Storage
  runtime: Runtime
  passwords: Passwords
  mails: OwnerMails
  endSigning: EndSigning
  /** The credits that are granted when the address is verified for the first time. */
  creditsOnVerification?: Units
}): Access<'decoded'> {
  /** Verifies the address; returns false if it is already verified. */
  async function verify(
    stores: Writes,
    workspace_id: string,
    { actor, at }: { actor: Actor; at: Date },
  ): Promise<boolean> {
    const isFirst = await stores.workspaces.verifyEmail(workspace_id, at)
    if (!isFirst) return false
    const verified = { workspace_id, action: 'email.verified' } as const
    await stores.audit.record(auditRow(runtime, actor, verified))
    await grantSignupCredits(runtime, stores, { workspace_id, amount: creditsOnVerification })
    return true
  }

  async function revoke(
    stores: Writes,
    workspace_id: string,
    { actor, disabled }: { actor: Actor; disabled: Parameters<typeof revokeAll>[2] },
  ): Promise<Revoked> {
    const revoked = await revokeAll(stores, workspace_id, disabled)
    await endSigning(stores, workspace_id, null)
    const all = { ...NOTHING_REVOKED, ...revoked }
    if (revoked.api_keys + revoked.webhooks === 0) return all
    const details = { ...revoked, reason: disabled.reason }
    const entry = { workspace_id, action: 'credentials.revoked', details } as const
    await stores.audit.record(auditRow(runtime, actor, entry))
    return all
  }

  /** Records a change of a user's password in each workspace of the user. */
  async function recordForUser(
    stores: Writes,
    change: { user_id: string; action: 'password.reset' | 'password.changed'; actor: Actor },
  ): Promise<void> {
    const { user_id, action, actor } = change
    for (const workspace_id of await workspaceIdsOf(stores, {
      id: user_id,
      owns_workspace: false,
    })) {
      await stores.audit.record(
        auditRow(runtime, { ...actor, id: user_id }, { workspace_id, action }),
      )
    }
  }

  /** Ends what a stranger may have added with the login: all of it, or what was added since the last verified sign-in. */
  async function endAccess(
    stores: Writes,
    login: Login,
    { since, all, actor }: { since: Date; all: boolean; actor: Actor },
  ): Promise<Revoked> {
    const recent = await endRecent(runtime, stores, { login, since, actor, endSigning })
    if (!all) return recent
    const rows = await stores.users.identities(login.id)
    const links = await endLinks(runtime, stores, rows, () => true, actor)
    const ended = { ...recent, links: recent.links + links }
    if (!login.owns_workspace) return ended
    const disabled = { reason: 'password_reset', at: runtime.now() } as const
    const { api_keys, webhooks } = await revoke(stores, login.id, { actor, disabled })
    return {
      ...ended,
      api_keys: recent.api_keys + api_keys,
      webhooks: recent.webhooks + webhooks,
    }
  }

  return {
    verifyEmail({ token }, actor = SERVICE) {
      const at = runtime.now()
      return storage.write(async (stores) => {
        const workspace_id = await stores.accountTokens.take(hashToken(token), 'verify_email', at)
        if (!workspace_id) throw badToken()
        const isFirst = await verify(stores, workspace_id, { actor, at })
        const disabled = { reason: 'email_verified', at } as const
        const revoked = isFirst
          ? await revoke(stores, workspace_id, { actor, disabled })
          : NOTHING_REVOKED
        return { workspace_id, revoked }
      })
    },
    async linkOf(purpose, token) {
      const { read } = storage
      const holder = await read.accountTokens.holderOf(hashToken(token), purpose, runtime.now())
      const login = holder === null ? null : await loginById(read, holder)
      return login && { email: login.email }
    },
    resendVerification({ email }) {
      if (!mails.verify(email)) throw tooManyMails()
    },
    forgotPassword({ email }) {
      if (!mails.reset(email)) throw tooManyMails()
    },
    async resetPassword({ token, password, revoke_api_keys, keep_recent }, actor = SERVICE) {
      const token_hash = hashToken(token)
      const at = runtime.now()
      // The token is checked before the password is hashed, so that a guessed token costs no hash.
      if (!(await storage.read.accountTokens.holderOf(token_hash, 'reset_password', at))) {
        throw badToken()
      }
      await passwords.checkNew('password', password)
      const to = await passwords.hash(password)
      const network = loginNetworkOf(actor.address)
      return storage.write(async (stores) => {
        const { workspaces, users, accountTokens, loginNetworks, sessions, audit } = stores
        const user_id = await accountTokens.take(token_hash, 'reset_password', at)
        const login = user_id === null ? null : await loginById(stores, user_id)
        if (!login) throw badToken()
        const { id, owns_workspace } = login
        const owner = owns_workspace ? await workspaces.byId(id) : null
        // The error rolls the transaction back: the token can be used again.
        passwords.checkNotOwn('password', password, owner ?? ownTexts(login))
        const since = await lastVerified(stores, login, network)
        await (owns_workspace ? workspaces : users).changePassword(id, { to, at })
        await sessions.clear(id)
        // A thief may have added one, which would sign in without the new password.
        await stores.passkeys.needPassword(id)
        // A thief who knew the old password may have used other networks. The owner read the mail in this network.
        await loginNetworks.clear(id)
        if (network !== null) {
          await loginNetworks.note({ workspace_id: id, network, last_login_at: at })
        }
        const action = 'password.reset'
        if (owner) await audit.record(auditRow(runtime, actor, { workspace_id: id, action }))
        else await recordForUser(stores, { user_id: id, action, actor })
        const isFirst = owns_workspace && (await verify(stores, id, { actor, at }))
        if (isFirst) await accountTokens.end({ workspace_id: id, purpose: 'verify_email' })
        const all = isFirst || revoke_api_keys === true
        if (!all && keep_recent) return NOTHING_REVOKED
        return endAccess(stores, login, { since, all, actor })
      })
    },
    async changePassword(login_id, { current_password, new_password }, actor = SERVICE) {
      const owner = await storage.read.workspaces.byId(login_id)
      const user = owner ? null : await storage.read.users.byId(login_id)
      const from = (owner ?? user)?.password_hash ?? null
      if (!(await passwords.verify(from, current_password)) || from === null) throw wrongPassword()
      await passwords.checkNew('new_password', new_password)
      if (owner) passwords.checkNotOwn('new_password', new_password, owner)
      if (user) passwords.checkNotOwn('new_password', new_password, ownTexts(user))
      const to = await passwords.hash(new_password)
      await storage.write(async (stores) => {
        const { workspaces, users, accountTokens, sessions } = stores
        const change = { from, to, at: runtime.now() }
        const changed = await (owner ? workspaces : users).changePassword(login_id, change)
        if (!changed) throw wrongPassword()
        await accountTokens.end({ workspace_id: login_id, purpose: 'reset_password' })
        await sessions.clear(login_id)
        await stores.passkeys.needPassword(login_id)
        const action = 'password.changed'
        if (owner) {
          await stores.audit.record(auditRow(runtime, actor, { workspace_id: login_id, action }))
        } else await recordForUser(stores, { user_id: login_id, action, actor })
      })
    },
  }
}

function wrongPassword(): SvcError {
  return invalid('current_password', 'Current password is wrong')
}

function tooManyMails(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 5,
  })
}

/** The public texts of a user that must not be the password. */
function ownTexts({ email, name }: Pick<UserRow, 'email' | 'name'>): {
  email: string
  name: string
} {
  return { email, name: name ?? email }
}

/** The entries of the audit log that one query reads. */
const PAGE = 1_000

const REASON = 'password_reset'

/**
 * The last time at which the owner of the address certainly used the login: its last login from the network of this request, in
 * which the mail was read, its last verification or reset by mail, or the creation of the login.
 */
async function lastVerified(
  stores: Pick<Writes, 'audit' | 'loginNetworks' | 'members'>,
  login: Login,
  network: string | null,
): Promise<Date> {
  const { audit, loginNetworks } = stores
  const times = [login.created_at]
  const last = network === null ? null : await loginNetworks.lastLogin(login.id, network)
  if (last) times.push(last)
  for (const workspace_id of await workspaceIdsOf(stores, login)) {
    for (const action of ['email.verified', 'password.reset'] as const) {
      const entries = await audit.list(workspace_id, { action }, { limit: PAGE, offset: 0 })
      const own = entries.find(({ actor_id }) => (actor_id ?? workspace_id) === login.id)
      if (own) times.push(own.created_at)
    }
  }
  return new Date(Math.max(...times.map(Number)))
}

/**
 * Ends what sessions of a login added after `since`: links to OIDC subjects, invitations, the members who accepted them, and the
 * API keys and webhooks that the login or these members created. For an owner: those that any member created.
 */
async function endRecent(
  runtime: Runtime,
  stores: Writes,
  {
    login,
    since,
    actor,
    endSigning,
  }: { login: Login; since: Date; actor: Actor; endSigning: EndSigning },
): Promise<Revoked> {
  const all = { ...NOTHING_REVOKED }
  const links = await stores.users.identities(login.id)
  all.links = await endLinks(runtime, stores, links, (row) => row.created_at > since, actor)
  for (const workspace_id of await workspaceIdsOf(stores, login)) {
    const { invitations, logins } = await endInvitations(runtime, stores, {
      ...{ workspace_id, login, since, actor },
    })
    const by = workspace_id === login.id ? null : new Set([login.id, ...logins])
    const createdBy = (action: AuditAction) =>
      createdSince(stores, { workspace_id, since, by, action })
    let api_keys = 0
    for (const id of await createdBy('api_key.created')) {
      if (!(await stores.apiKeys.isActive(workspace_id, id))) continue
      await stores.apiKeys.deactivate(workspace_id, id)
      await endSigning(stores, workspace_id, id)
      api_keys += 1
    }
    let webhooks = 0
    for (const id of await createdBy('webhook.created')) {
      const row = await stores.webhooks.lock(workspace_id, id)
      if (!row?.is_active) continue
      const disabled = { is_active: false, status: 'disabled', disabled_reason: REASON } as const
      const at = runtime.now()
      await stores.webhooks.change(workspace_id, id, {
        ...disabled,
        disabled_at: at,
        updated_at: at,
      })
      webhooks += 1
    }
    const ended = { api_keys, webhooks, invitations, members: logins.length }
    if (Object.values(ended).every((n) => n === 0)) continue
    for (const name of Object.keys(ended) as (keyof typeof ended)[]) all[name] += ended[name]
    const details = { ...ended, reason: REASON, since: since.toISOString() }
    const revoked = { workspace_id, action: 'credentials.revoked', details } as const
    await stores.audit.record(auditRow(runtime, actor, revoked))
  }
  return all
}

/** Withdraws invitations of a login, and removes the members who accepted them, and those that these members invited. */
async function endInvitations(
  runtime: Runtime,
  stores: Writes,
  {
    workspace_id,
    login,
    since,
    actor,
  }: { workspace_id: string; login: Login; since: Date; actor: Actor },
): Promise<{ invitations: number; logins: string[] }> {
  const logins: string[] = []
  for (let by = [login.id]; by.length > 0; ) {
    const invited = await stores.members.invitedBy(workspace_id, by, since)
    by = []
    for (const member of invited) {
      await removeMember(stores, member)
      const target = { type: 'member', id: member.user_id }
      const removed = { workspace_id, action: 'member.removed', target } as const
      await stores.audit.record(auditRow(runtime, actor, removed))
      by.push(member.user_id)
    }
    logins.push(...by)
  }
  const senders = new Set([login.id, ...logins])
  let invitations = 0
  for (const row of await stores.invitations.list(workspace_id, runtime.now())) {
    if (row.invited_by === null || !senders.has(row.invited_by) || row.created_at <= since) continue
    await stores.invitations.remove(workspace_id, row.id)
    const target = { type: 'invitation', id: row.id }
    const withdrawn = { workspace_id, action: 'invitation.withdrawn', target } as const
    await stores.audit.record(auditRow(runtime, actor, withdrawn))
    invitations += 1
  }
  return { invitations, logins }
}

/** The ids of what these logins created after `since`; null: what any login created. */
async function createdSince(
  { audit }: Pick<Writes, 'audit'>,
  {
    workspace_id,
    since,
    by,
    action,
  }: {
    workspace_id: string
    since: Date
    by: ReadonlySet<string> | null
    action: AuditAction
  },
): Promise<string[]> {
  const ids: string[] = []
  for (let offset = 0; ; offset += PAGE) {
    const page = { limit: PAGE, offset }
    const entries = await audit.list(workspace_id, { action, from: since }, page)
    for (const { created_at, actor_id, target_id } of entries) {
      const isTheirs = by === null || by.has(actor_id ?? workspace_id)
      if (isTheirs && created_at > since && target_id !== null) ids.push(target_id)
    }
    if (entries.length < PAGE) return ids
  }
}
