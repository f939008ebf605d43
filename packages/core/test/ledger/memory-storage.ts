import { units } from '../../src/contract/fields/units.ts'
import type {
  AuditEntryRow,
  MessageQueueRow,
  MessageRow,
  PurchaseRow,
  WorkspaceRow,
} from '../../src/rows/rows.ts'
import {
  type AcceptState,
  idempotencyKeyOf,
  planAccept,
  spendingKey,
} from '../../src/rules/accept.ts'
import { type ClaimedMessage, queuedRow } from '../../src/rules/claim.ts'
import type { Account } from '../../src/rules/decide.ts'
import { cancellations, planCancel, planSettle } from '../../src/rules/settle.ts'
import type { Settlement, SettlePlan, SettleState } from '../../src/rules/settlement.ts'
import { emptyCodeState } from '../../src/rules/verify.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { HotVerbs } from '../../src/storage/ports/hot.ts'
import { memoryCredits } from './memory-credits.ts'
import { memoryPurchases } from './memory-purchases.ts'
import { type MemoryTable, type MemoryTables, memoryTables } from './memory-tables.ts'
import type { Rows } from './rows.ts'

/**
 * What moves credits, without a database: the planners and `decide` over tables in memory, which have the unique
 * indexes that count. One transaction after the other.
 */
export function openMemory(runtime: Pick<Runtime, 'id' | 'random'>) {
  const tables = memoryTables()
  const rows = tables.table<MessageRow>()
  const credits = memoryCredits(tables, (messageId) => rows.get(messageId)?.bulk_id)
  const purchases = tables.table<PurchaseRow>()
  const messages = memoryMessages({ tables, messages: rows, credits }, runtime)
  const workspaces = tables.table<WorkspaceRow>()
  const audit = tables.table<AuditEntryRow>()
  const stores = {
    ...credits.stores,
    messages: {
      // One transaction after the other: there is only one caller.
      lock: async () => {},
      uncharge: async (_workspaceId: string, messageIds: readonly string[]) => {
        for (const messageId of messageIds) {
          const row = rows.get(messageId)
          if (row?.channel === 'voice') rows.put(messageId, { ...row, credits_used: units(0) })
        }
      },
    },
    purchases: memoryPurchases(purchases),
    audit: { record: async (row: AuditEntryRow) => void audit.insert(row.id, row) },
    workspaces: {
      byId: async (id: string) => workspaces.get(id) ?? null,
      insert: async (row: WorkspaceRow) => workspaces.insert(row.id, row),
    },
  }
  return {
    read: stores,
    write: <T>(work: (writes: typeof stores) => Promise<T>) =>
      tables.transactionOf(() => work(stores)),
    hot: messages.hot,
    version: tables.version,
    rows: (): Rows => ({
      ...credits.rows(),
      purchases: purchases.all(),
      messages: messages.rows(),
      rest: '',
    }),
  }
}

type MessageVerbs = Pick<HotVerbs, 'accept' | 'settle' | 'cancel' | 'claimMessages'>

function memoryMessages(
  {
    tables,
    messages,
    credits,
  }: {
    tables: MemoryTables
    messages: MemoryTable<MessageRow>
    credits: ReturnType<typeof memoryCredits>
  },
  { id, random }: Pick<Runtime, 'id' | 'random'>,
) {
  const queue = tables.table<MessageQueueRow>()
  const answers = tables.table<{ request_hash: string; response: string }>()
  const spending = tables.table<AcceptState['spent'] extends Map<string, infer U> ? U : never>()

  function settleState(settlements: readonly Settlement[]): SettleState {
    const accounts = new Map<string, Account>()
    const state = {
      messages: new Map(),
      queue: new Map(),
      subscribers: new Map(),
      accounts,
      attempts: new Map(),
      parts: new Map(),
      entries_about: new Map(),
    }
    for (const { message_id, workspace_id } of settlements) {
      const message = messages.get(message_id)
      if (message?.workspace_id !== workspace_id) continue
      state.messages.set(message_id, message)
      const queued = queue.get(message_id)
      if (queued) state.queue.set(message_id, queued)
      credits.load(accounts, workspace_id)
    }
    return state
  }

  function store(plan: SettlePlan): void {
    for (const message of plan.messages) {
      messages.put(message.id, { ...(messages.get(message.id) as MessageRow), ...message })
    }
    for (const row of plan.requeue) queue.put(row.message_id, row)
    for (const messageId of plan.dequeue) queue.remove(messageId)
    credits.book(plan.accounts, plan.entries)
  }

  const context = { newId: id, random }
  const hot: MessageVerbs = {
    accept: async (requests) =>
      tables.transaction(() => {
        const state: AcceptState = {
          accounts: new Map(),
          answers: new Map(),
          suppressed: new Set(),
          spent: new Map(),
          test_usage: new Map(),
          files: new Set(),
          codes: emptyCodeState(),
          broadcasts: new Map(),
        }
        for (const { workspace_id, idempotency, spending: of } of requests) {
          credits.load(state.accounts, workspace_id)
          const key = idempotency && idempotencyKeyOf(workspace_id, idempotency)
          const known = key ? answers.get(key) : undefined
          if (key && known) state.answers.set(key, known)
          const spent = of ? spending.get(spendingKey(workspace_id, of)) : undefined
          if (of && spent) state.spent.set(spendingKey(workspace_id, of), spent)
        }
        const plan = planAccept(requests, state)
        credits.book(plan.accounts, plan.entries)
        for (const row of plan.messages) {
          messages.insert(row.id, row)
          queue.insert(row.id, queuedRow(row))
        }
        for (const row of plan.spending) spending.put(spendingKey(row.workspace_id, row), row.spent)
        for (const row of plan.answers) answers.insert(idempotencyKeyOf(row.workspace_id, row), row)
        return plan.results
      }),
    settle: async (settlements) =>
      tables.transaction(() => {
        const plan = planSettle(settlements, settleState(settlements), context)
        store(plan)
        return plan.counted
      }),
    cancel: async (request) =>
      tables.transaction(() => {
        const settlements = cancellations(request)
        const { plan, outcomes } = planCancel(settlements, settleState(settlements), context)
        store(plan)
        return outcomes
      }),
    claimMessages: async ({ now, limit, lease_ms, token }) =>
      tables.transaction(() => {
        const due = queue.all().filter(({ due_at }) => due_at <= now)
        due.sort((a, b) => a.due_at.getTime() - b.due_at.getTime())
        const due_at = new Date(now.getTime() + lease_ms)
        return due.slice(0, limit).map((row): ClaimedMessage => {
          const message = messages.get(row.message_id) as MessageRow
          const interrupted = row.token !== null
          const starts = row.task === 'send' && message.status === 'queued' && !interrupted
          const attempt = starts ? row.attempt + 1 : row.attempt
          queue.put(row.message_id, { ...row, due_at, token, attempt })
          const { message_id, task, unknown_since } = row
          const route = { provider: 'carrier', sender: null }
          const claimed = {
            ...message,
            message_id,
            task,
            attempt,
            unknown_since,
            token,
            interrupted,
          }
          return { ...claimed, suppressed: false, left_out: [], route }
        })
      }),
  }
  return {
    hot,
    rows: () => messages.all(),
  }
}
