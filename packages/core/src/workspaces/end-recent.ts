import { type Actor, auditRow } from '../audit/entry.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Writes } from '../storage/ports/storage.ts'
import type { EndSigning } from '../webhooks/end-signing.ts'
import { endLinks } from './links.ts'
import { type Login, workspaceIdsOf } from './logins.ts'
import { removeMember } from './remove-member.ts'
import { NOTHING_REVOKED, type Revoked } from './verification.ts'

/** The entries of the audit log that one query reads. */
const PAGE = 1_000

const REASON = 'password_reset'

/**
 * The last time at which the owner of the address certainly used the login: its last login from the network of this request, in
 * which the mail was read, its last verification or reset by mail, or the creation of the login.
 */
export async function lastVerified(
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
export async function endRecent(
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
      await stores.webhooks.change(workspace_id, id, { ...disabled, updated_at: runtime.now() })
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
