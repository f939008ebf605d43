import type { Units } from '../../src/contract/fields/units.ts'
import type { HoldRow, LotRow } from '../../src/rows/rows.ts'
import type { Entry } from '../../src/rules/decide.ts'
import { CONSUMING } from '../../src/rules/lots.ts'
import type { Overdue, Writes } from '../../src/storage/ports/stores.ts'
import type { MemoryTables } from './memory-tables.ts'

const first = (a: Overdue, b: Overdue) =>
  a.expires_at.getTime() - b.expires_at.getTime() || (a.id < b.id ? -1 : 1)
const isBehind = (one: Overdue, after: Overdue | null) =>
  after === null || (one.id !== after.id && first(after, one) < 0)

/** What is held, in memory. */
export function memoryHolds(tables: MemoryTables) {
  const holds = tables.table<HoldRow>()
  const numbers = tables.table<HoldRow>()
  const numberOf = ({ workspace_id, message_id, n }: HoldRow) =>
    `${workspace_id} ${message_id} ${n}`
  const store: Writes['creditHolds'] = {
    open: async (workspaceId, { limit, offset }) =>
      holds
        .all()
        .filter(({ workspace_id }) => workspace_id === workspaceId)
        .sort(first)
        .slice(offset, offset + limit),
    insert: async (hold) => {
      numbers.insert(numberOf(hold), hold)
      holds.insert(hold.id, hold)
    },
    remove: async (workspaceId, ids) => {
      for (const id of ids) {
        const hold = holds.get(id)
        if (hold?.workspace_id !== workspaceId) continue
        holds.remove(id)
        numbers.remove(numberOf(hold))
      }
    },
    overdue: async (now, { after, limit }) =>
      holds
        .all()
        .filter((hold) => hold.expires_at <= now && isBehind(hold, after))
        .sort(first)
        .slice(0, limit),
  }
  return { store, rows: () => holds.all() }
}

/** Credits that expire, in memory; `bulkOf` returns the bulk of a message. */
export function memoryLots(
  tables: MemoryTables,
  entriesOf: (workspaceId: string) => Entry[],
  bulkOf: (messageId: string) => string | null | undefined,
) {
  const lots = tables.table<LotRow>()
  const consuming: readonly string[] = [...CONSUMING]
  const burnOrder = (a: LotRow, b: LotRow) =>
    a.expires_at.getTime() - b.expires_at.getTime() || a.granted_seq - b.granted_seq
  const openOf = (workspaceId: string) =>
    lots
      .all()
      .filter((lot) => lot.workspace_id === workspaceId && lot.ended_at === null)
      .sort(burnOrder)
  function debitOf(entries: readonly Entry[], { ref_type, ref_id }: Entry): Entry | undefined {
    if (ref_type !== 'message') return undefined
    const sends = entries.filter(({ kind, ref_n }) => kind === 'send' && ref_n === 0)
    const own = sends.find((send) => send.ref_type === 'message' && send.ref_id === ref_id)
    const bulk = bulkOf(ref_id)
    return own ?? sends.find((send) => send.ref_type === 'bulk' && send.ref_id === bulk)
  }
  function change(id: string, changed: Partial<LotRow>): void {
    const lot = lots.get(id)
    if (lot) lots.put(id, { ...lot, ...changed })
  }
  const store: Writes['creditLots'] = {
    open: async (workspaceId) => openOf(workspaceId),
    consumed: async (workspaceId, { after, up_to }) => {
      const entries = entriesOf(workspaceId)
      const counted = entries.filter((entry) => {
        const { seq, kind } = entry
        if (seq <= after || seq > up_to || !consuming.includes(kind)) return false
        return kind !== 'refund' || (debitOf(entries, entry)?.seq ?? 0) > after
      })
      return counted.reduce((sum, { amount }) => sum - amount, 0) as Units
    },
    insert: async (lot) => lots.insert(lot.id, lot),
    recount: async (workspaceId, counted_seq, counted) => {
      for (const { id } of openOf(workspaceId)) change(id, { counted_seq })
      for (const { id, remaining } of counted) change(id, { remaining })
    },
    end: async (_, id, ended_at) => change(id, { ended_at }),
    due: async (now, { after, limit }) =>
      lots
        .all()
        .filter((lot) => lot.expires_at <= now && lot.ended_at === null && isBehind(lot, after))
        .sort(first)
        .slice(0, limit),
  }
  return { store, rows: () => lots.all() }
}
