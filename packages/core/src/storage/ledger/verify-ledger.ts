import { ANY_ENTRY_FAULT, ENTRY_CHECKS, ENTRY_FROM, type RowCheck } from './entry-checks.ts'
import { IS_CHARGED, IS_STUCK, MESSAGE_CHECKS } from './message-checks.ts'
import { withSnapshot } from './open-snapshot.ts'
import {
  LEDGER_CHECKS,
  type LedgerCheck,
  type LedgerDifference,
  type LedgerReport,
} from './report.ts'
import { type Slice, slicesOf } from './slices.ts'
import type { NamedValues, Snapshot } from './snapshot.ts'
import { TABLE_CHECKS } from './table-checks.ts'
import { type EntrySums, tallyCounters, tallyEntries } from './tally.ts'

export interface VerifyOptions {
  /** This workspace alone; without it all. */
  workspace_id?: string | undefined
  /** Checks that are left out. */
  without?: readonly LedgerCheck[] | undefined
  /** How many differences of one check are reported at the most. */
  differences_max?: number | undefined
  now?: (() => Date) | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: { name: string; done: number; total: number }) => void) | undefined
}

const DIFFERENCES_MAX = 20
const HOUR_MS = 3_600_000

/**
 * Recomputes the books from their entries, in one snapshot and with flat memory, and says what is not as it must be.
 * Changes nothing; a server may run meanwhile. Source: contract section 4, ledger study section 2.11.
 * @throws Error in one line, with a `code`: `not_found`, or `behind` and `newer` for another schema.
 */
export function verifyLedger(
  database_url: string,
  options: VerifyOptions = {},
): Promise<LedgerReport> {
  return withSnapshot(database_url, (snapshot) => verify(snapshot, options))
}

/** A run, and what it has found. */
interface Run {
  snapshot: Snapshot
  workspaceId: string | null
  hourAgo: Date
  max: number
  found(differences: readonly LedgerDifference[]): void
  tell(name: string, done: number, total: number): void
}

async function verify(snapshot: Snapshot, options: VerifyOptions): Promise<LedgerReport> {
  const { workspace_id = null, without = [], now = () => new Date(), signal, onProgress } = options
  const max = options.differences_max ?? DIFFERENCES_MAX
  const byCheck = new Map<LedgerCheck, LedgerDifference[]>()
  let has_more = false
  const run: Run = {
    snapshot,
    workspaceId: workspace_id,
    hourAgo: new Date(now().getTime() - HOUR_MS),
    max,
    found(differences) {
      for (const difference of differences) {
        if (without.includes(difference.check)) continue
        const same = byCheck.get(difference.check) ?? []
        byCheck.set(difference.check, same)
        if (same.length < max) same.push(difference)
        else has_more = true
      }
    },
    tell(name, done, total) {
      signal?.throwIfAborted()
      onProgress?.({ name, done: Math.min(done, total), total })
    },
  }
  const size = await sizeOf(run)
  const books = await verifyEntries(run, size.entries)
  await verifyMessages(run, size.messages, books)
  await verifyTables(run)
  verifyTrial(run, size.balance, books.counter_accounts)
  const differences = LEDGER_CHECKS.flatMap((check) => byCheck.get(check) ?? [])
  return {
    ok: differences.length === 0,
    workspaces: size.workspaces,
    entries: books.entries,
    messages: size.messages,
    workspaces_balance: size.balance,
    counter_accounts: books.counter_accounts,
    differences,
    has_more,
  }
}

interface Size {
  workspaces: number
  entries: number
  messages: number
  balance: string
}

async function sizeOf({ snapshot, workspaceId }: Run): Promise<Size> {
  const own = workspaceId === null ? 'true' : 'workspace_id = :workspace'
  const [size] = await snapshot.rows<Record<keyof Size, string>>(
    `select cast(count(*) as text) as workspaces, cast(coalesce(sum(seq), 0) as text) as entries,
       cast(coalesce(sum(balance), 0) as text) as balance,
       cast((select coalesce(sum(count), 0) from message_counts where ${own}) as text) as messages
     from credit_accounts where ${own}`,
    { workspace: workspaceId },
  )
  if (!size) throw new Error('an aggregate without a row')
  const { workspaces, entries, messages, balance } = size
  return {
    workspaces: Number(workspaces),
    entries: Number(entries),
    messages: Number(messages),
    balance,
  }
}

/** One pass over the entries for all sums and faults; only where a slice has a fault is it looked for. */
async function verifyEntries(run: Run, total: number) {
  const { snapshot, workspaceId } = run
  const tally = tallyEntries()
  const counters = tallyCounters()
  for await (const slice of slicesOf(
    snapshot,
    { table: 'ledger_entries', key: 'seq' },
    workspaceId,
  )) {
    // A join on the primary key: 0.6 s for a million entries, where window functions take 1.6 s and reading the
    // columns into JavaScript 1.4 s; the bare sum takes 0.13 s.
    const sums = await snapshot.rows<EntrySums>(
      `select s.*, a.balance as balance, a.held as held, a.seq as seq from (
         select t.workspace_id as workspace_id, count(*) as entries, max(t.seq) as last_seq,
           cast(sum(t.amount) as text) as amount, cast(sum(t.held_delta) as text) as held_delta,
           sum(case when t.kind = 'send' and t.ref_type = 'message' then 1 else 0 end) as sends,
           sum(case when t.kind = 'refund' and t.ref_type = 'message' then 1 else 0 end) as refunds,
           sum(case when ${ANY_ENTRY_FAULT} then 1 else 0 end) as faults
         from ${ENTRY_FROM} where ${slice.where} group by t.workspace_id
       ) s left join credit_accounts a on a.workspace_id = s.workspace_id
       order by s.workspace_id`,
      slice.values,
    )
    for (const each of sums) run.found(tally.add(each))
    if (sums.some(({ faults }) => faults > 0)) {
      await nameFaults(run, ENTRY_CHECKS, {
        from: ENTRY_FROM,
        slice,
        seq: 't.seq',
        about: `t.ref_type || ':' || t.ref_id`,
      })
    }
    counters.add(
      await snapshot.rows(
        `select t.counter_account as counter_account, count(*) as entries, cast(sum(t.amount) as text) as amount
         from ledger_entries t where ${slice.where} group by t.counter_account`,
        slice.values,
      ),
    )
    run.tell('entries', tally.entries, total)
  }
  run.found(tally.end())
  run.tell('entries', total, total)
  return {
    entries: tally.entries,
    sends: tally.sends,
    refunds: tally.refunds,
    counter_accounts: counters.accounts(),
  }
}

/** Counts the messages; only where they are not as many as their entries, or one is stuck, are they looked up. */
async function verifyMessages(
  run: Run,
  total: number,
  { sends, refunds }: { sends: number; refunds: number },
): Promise<void> {
  const { snapshot, workspaceId, hourAgo } = run
  const sliced = { table: 'messages', key: 'id' } as const
  const counts = { messages: 0, charged: 0, refunded: 0, stuck: 0 }
  for await (const { where, values } of slicesOf(snapshot, sliced, workspaceId)) {
    const [slice] = await snapshot.rows<Record<keyof typeof counts, number | null>>(
      `select count(*) as messages, sum(case when ${IS_CHARGED} then 1 else 0 end) as charged,
         sum(case when t.credits_refunded > 0 then 1 else 0 end) as refunded,
         sum(case when ${IS_STUCK} then 1 else 0 end) as stuck
       from messages t where ${where}`,
      { ...values, hour_ago: hourAgo },
    )
    for (const name of ['messages', 'charged', 'refunded', 'stuck'] as const) {
      counts[name] += slice?.[name] ?? 0
    }
    run.tell('messages', counts.messages, total)
  }
  run.tell('messages', total, total)
  if (counts.charged === sends && counts.refunded === refunds && counts.stuck === 0) return
  for await (const slice of slicesOf(snapshot, sliced, workspaceId)) {
    const about = `'message:' || t.id`
    await nameFaults(run, MESSAGE_CHECKS, { from: 'messages t', slice, seq: 'null', about })
  }
}

async function verifyTables(run: Run): Promise<void> {
  const { workspaceId } = run
  for (const [i, check] of TABLE_CHECKS.entries()) {
    run.tell('accounts, holds, lots, purchases', i, TABLE_CHECKS.length)
    const key = check.table === 'workspaces' ? 'id' : 'workspace_id'
    await nameFaults(run, [check], {
      from: `${check.table} t`,
      slice: {
        where: workspaceId === null ? 'true' : `t.${key} = :workspace`,
        values: { workspace: workspaceId },
      },
      seq: check.seq ?? 'null',
      about: check.about,
      key,
    })
  }
  run.tell('accounts, holds, lots, purchases', TABLE_CHECKS.length, TABLE_CHECKS.length)
}

/** Adds the rows in which a check finds a fault, as many as are reported and one more. */
async function nameFaults(
  run: Run,
  checks: readonly RowCheck[],
  at: { from: string; slice: Slice; seq: string; about: string; key?: string },
): Promise<void> {
  const { from, slice, seq, about, key = 'workspace_id' } = at
  const values: NamedValues = { ...slice.values, hour_ago: run.hourAgo }
  for (const { check, when, fault, stands, should } of checks) {
    const rows = await run.snapshot.rows<Omit<LedgerDifference, 'check'>>(
      `select t.${key} as workspace_id, ${seq} as seq, ${about} as about, ${stands} as stands, ${should} as should
       from ${from} where ${slice.where} and (${when}) and (${fault}) limit ${run.max + 1}`,
      values,
    )
    run.found(
      rows.map(({ workspace_id, seq, about, stands, should }) => ({
        check,
        workspace_id,
        seq: seq === null ? null : Number(seq),
        about,
        stands,
        should,
      })),
    )
  }
}

/** The workspaces and the counter accounts have all credits between them: what one has, the other has given. */
function verifyTrial(run: Run, balance: string, accounts: LedgerReport['counter_accounts']): void {
  const others = accounts.reduce((sum, account) => sum + BigInt(account.balance), 0n)
  if (BigInt(balance) + others === 0n) return
  const workspace_id = run.workspaceId ?? 'all'
  const should = `${-others}, which the counter accounts gave`
  run.found([
    { check: 'trial_balance', workspace_id, seq: null, about: null, stands: balance, should },
  ])
}
