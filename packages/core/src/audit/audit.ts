import { createHmac } from 'node:crypto'
import type { Form, QueryIn } from '../contract/endpoints/endpoint.ts'
import { pageOf, type Slice, sliceOf, withNext } from '../contract/endpoints/paging.ts'
import type { AuditEntry, audit as endpoints } from '../contract/resources/audit.ts'
import type { AuditEntryRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { AuditNames, OperatorAuditFilter } from '../storage/ports/stores.ts'
import { type Actor, auditRow, SERVICE } from './entry.ts'

/** An entry with its workspace; null for a change of the service itself. The names are those of now. */
export interface OperatorAuditEntry extends AuditEntry {
  workspace_id: string | null
  workspace_name: string | null
}

/** The audit log. */
export interface Audit<F extends Form = 'given'> {
  /** The entries of a workspace, newest first. */
  list(
    workspaceId: string,
    query: QueryIn<typeof endpoints.list, F>,
  ): Promise<{ audit_entries: AuditEntry[]; total: number; next_after: string | null }>
  /** The entries of all workspaces and of the service itself, newest first, for the operator. */
  ofAll(filter: OperatorAuditFilter, page: Slice): Promise<OperatorAuditEntry[]>
  /**
   * Records the names of the settings that changed since the last start. At the first start on a database, records the names
   * of all settings. Values are stored only as keyed digests.
   */
  noteSettings(settings: Readonly<Record<string, string>>): Promise<void>
}

/** The secret that keys the digests of settings, and of names without an account. */
export const AUDIT_SECRET = 'audit'

interface AuditParts {
  storage: Storage
  runtime: Runtime
  secret: (name: string) => Promise<string>
}

export function createAudit({ storage, runtime, secret }: AuditParts): Audit<'decoded'> {
  return {
    async list(workspaceId, { action, startDate, endDate, ...query }) {
      const slice = sliceOf(query)
      const filter = { action, from: startDate, until: endDate }
      const [found, total] = await Promise.all([
        storage.read.audit.list(workspaceId, filter, withNext(slice)),
        storage.read.audit.count(workspaceId, filter),
      ])
      const { rows, next_after } = pageOf(found, slice, ({ id }) => id)
      const names = await storage.read.audit.namesOf(rows, { only_members: true })
      return { audit_entries: rows.map((row, i) => entryOf(row, names[i])), total, next_after }
    },
    async ofAll(filter, page) {
      const rows = await storage.read.audit.ofAll(filter, page)
      const names = await storage.read.audit.namesOf(rows, { only_members: false })
      return rows.map((row, i) => ({
        ...entryOf(row, names[i]),
        workspace_id: row.workspace_id || null,
        workspace_name: names[i]?.workspace_name ?? null,
      }))
    },
    async noteSettings(settings) {
      const key = await secret(AUDIT_SECRET)
      const digests = Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [name, digestOf(key, name, value)]),
      )
      await storage.write(async ({ audit }) => {
        const action = 'settings.changed'
        const [last] = await audit.list('', { action }, { limit: 1, offset: 0 })
        const before = (last?.details.digests ?? {}) as Record<string, string>
        const names = new Set([...Object.keys(before), ...Object.keys(digests)])
        const changed = [...names].filter((name) => before[name] !== digests[name]).sort()
        if (changed.length === 0) return
        const row = auditRow(runtime, SERVICE, { workspace_id: '', action })
        await audit.record({ ...row, details: { changed, digests } })
      })
    },
  }
}

/**
 * A digest has 16 bits. They are enough to find a change (one in 65,536 is missed), and too few to test guesses of a
 * password with a stolen database. The digests are keyed, so that two databases have different digests.
 */
function digestOf(key: string, name: string, value: string): string {
  return createHmac('sha256', key).update(`${name}\0${value}`).digest('hex').slice(0, 4)
}

function entryOf(row: AuditEntryRow, names: AuditNames | undefined): AuditEntry {
  const { digests: _, ...details } = row.details
  return {
    id: row.id,
    action: row.action,
    actor: { kind: row.actor_kind, id: row.actor_id, name: names?.actor_name ?? null },
    address: row.address,
    target:
      row.target_type !== null && row.target_id !== null
        ? { type: row.target_type, id: row.target_id }
        : null,
    details,
    request_id: row.request_id,
    created_at: row.created_at,
  }
}

/** A login that belongs to many workspaces is recorded in the first of them. */
const WORKSPACES_MAX = 10
const HASH_LENGTH = 32

/** A sign-in that was refused. */
export interface RefusedSignIn {
  /** The account; null if no account has the name. */
  account: { id: string; workspace_ids: readonly string[] } | null
  /** The e-mail address or the name of an operator, as it was sent. */
  name: string
  kind: 'member' | 'operator'
  reason: 'password' | 'second_factor'
  actor: Actor
}

/** Records a refused sign-in in the audit log and in the log of the service. */
export type NoteRefused = (refused: RefusedSignIn) => Promise<void>

/**
 * Records refused sign-ins with the address of the client and the account. A name without an account may be a password in the
 * wrong field, so a keyed hash stands for it; equal names have equal hashes.
 */
export function createRefusedSignIns({ storage, runtime, secret }: AuditParts): NoteRefused {
  return async ({ account, name, kind, reason, actor }) => {
    const key = await secret(AUDIT_SECRET)
    const id = account?.id ?? hashOf(key, name)
    const type = kind === 'operator' ? 'operator' : 'login'
    const target = { type: account ? type : `unknown_${type}`, id }
    const { address } = actor
    runtime.log.warn({ [target.type]: id, address, reason }, 'a sign-in was refused')
    const action = kind === 'operator' ? 'operator.refused' : 'session.refused'
    const workspaces = account?.workspace_ids.slice(0, WORKSPACES_MAX) ?? []
    await storage.write(async ({ audit }) => {
      for (const workspace_id of workspaces.length > 0 ? workspaces : [''])
        await audit.record(
          auditRow(runtime, actor, { workspace_id, action, target, details: { reason } }),
        )
    })
  }
}

function hashOf(key: string, name: string): string {
  const hmac = createHmac('sha256', key).update(`sign-in\0${name.trim().toLowerCase()}`)
  return hmac.digest('hex').slice(0, HASH_LENGTH)
}
