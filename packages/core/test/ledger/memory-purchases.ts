import type { PurchaseRow } from '../../src/rows/rows.ts'
import type { Writes } from '../../src/storage/ports/stores.ts'
import type { MemoryTable } from './memory-tables.ts'

type Used = 'byId' | 'bySession' | 'insert' | 'change'

/** Purchases in memory: a change is made to the version that was read, or not at all. */
export function memoryPurchases(rows: MemoryTable<PurchaseRow>): Pick<Writes['purchases'], Used> {
  return {
    byId: async (workspaceId, id) => {
      const row = rows.get(id)
      return row?.workspace_id === workspaceId ? row : null
    },
    bySession: async (sessionId) =>
      rows.all().find(({ session_id }) => session_id === sessionId) ?? null,
    insert: async (row) => rows.insert(row.id, row),
    change: async ({ id, version }, change) => {
      const row = rows.get(id)
      if (row?.version !== version) return false
      rows.put(id, { ...row, ...change, version: version + 1 })
      return true
    },
  }
}
