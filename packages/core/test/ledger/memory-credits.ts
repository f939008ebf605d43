import {
  type Account,
  decide,
  type Entry,
  isRepetition,
  newAccount,
  type Operation,
} from '../../src/rules/decide.ts'
import type { AccountRecord, Writes } from '../../src/storage/ports/stores.ts'
import { memoryHolds, memoryLots } from './memory-holds.ts'
import { memoryLowBalances } from './memory-low-balances.ts'
import type { MemoryTables } from './memory-tables.ts'

type Used = 'account' | 'lock' | 'entries' | 'entriesAbout' | 'open' | 'setTerms' | 'post'

/** Accounts and ledger entries in memory, with the unique indexes of the real ones. */
export function memoryCredits(
  tables: MemoryTables,
  bulkOf: (messageId: string) => string | null | undefined,
) {
  const accounts = tables.table<AccountRecord>()
  const entries = tables.table<Entry>()
  const facts = tables.table<Entry>()
  const resolved = tables.table<Entry>()

  function book(changed: readonly Account[], added: readonly Entry[]): void {
    for (const entry of added) {
      entries.insert(`${entry.workspace_id} ${entry.seq}`, entry)
      facts.insert(factKey(entry), entry)
      if (entry.resolves) resolved.insert(`${entry.workspace_id} ${entry.resolves}`, entry)
    }
    for (const account of changed) {
      accounts.put(account.workspace_id, {
        ...(accounts.get(account.workspace_id) as AccountRecord),
        ...account,
      })
    }
  }

  function post(workspaceId: string, operation: Operation) {
    const account = accounts.get(workspaceId)
    if (!account) throw new Error(`workspace ${workspaceId} has no credit account`)
    const { kind, reference } = operation
    const fact = { ref_type: reference.type, ref_id: reference.id, ref_n: reference.n }
    const standing = facts.get(factKey({ workspace_id: workspaceId, kind, ...fact }))
    if (standing) {
      return isRepetition(standing, operation)
        ? { ok: true as const, repeated: standing }
        : { ok: false as const, reason: 'ref_conflict' as const, standing }
    }
    const decision = decide(account, operation)
    if (decision.ok) book([decision.account], [decision.entry])
    return decision
  }

  const of = (workspaceId: string) =>
    entries.all().filter((entry) => entry.workspace_id === workspaceId)
  const store: Pick<Writes['credits'], Used> = {
    account: async (workspaceId) => accounts.get(workspaceId) ?? null,
    entries: async (workspaceId, { limit, offset }) =>
      of(workspaceId)
        .reverse()
        .slice(offset, offset + limit),
    entriesAbout: async (workspaceId, ids) =>
      of(workspaceId).filter(({ ref_id }) => ids.includes(ref_id)),
    lock: async (workspaceId) => accounts.get(workspaceId) ?? null,
    open: async (workspaceId, updated_at, limits) => {
      const unknown = { frozen_reason: null, low_balance_default: true, updated_at }
      accounts.insert(workspaceId, { ...newAccount(workspaceId), ...unknown, ...limits })
    },
    setTerms: async (workspaceId, terms, updated_at) => {
      const account = accounts.get(workspaceId)
      const thawed = terms.status === 'active' ? { frozen_reason: null } : {}
      if (account) accounts.put(workspaceId, { ...account, ...terms, ...thawed, updated_at })
      return account !== undefined
    },
    post: async (workspaceId, operation) => post(workspaceId, operation),
  }
  const holds = memoryHolds(tables)
  const lots = memoryLots(tables, of, bulkOf)
  return {
    stores: {
      credits: store,
      creditHolds: holds.store,
      creditLots: lots.store,
      lowBalances: memoryLowBalances(accounts),
    },
    book,
    load(into: Map<string, Account>, workspaceId: string): void {
      const account = accounts.get(workspaceId)
      if (account && !into.has(workspaceId)) into.set(workspaceId, account)
    },
    rows: () => ({
      accounts: accounts.all(),
      entries: entries.all(),
      holds: holds.rows(),
      lots: lots.rows(),
    }),
  }
}

function factKey(
  entry: Pick<Entry, 'workspace_id' | 'kind' | 'ref_type' | 'ref_id' | 'ref_n'>,
): string {
  const { workspace_id, kind, ref_type, ref_id, ref_n } = entry
  return `${workspace_id} ${kind} ${ref_type} ${ref_id} ${ref_n}`
}
