import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BroadcastRow, MessageFileRow, TestUsageRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'

import {
  type AcceptPlan,
  type AcceptRequest,
  type AcceptResult,
  type AcceptState,
  broadcastKey,
  fileKey,
  idempotencyKeyOf,
  isLarge,
  planAccept,
  type Spending,
  STEP_COLUMNS,
  slicesOf,
  spendingKey,
  weightOf,
} from '../../../rules/accept.ts'
import type { NewQueueRow, QueuePlan } from '../../../rules/claim.ts'
import { type Account, type Tolerance, toleranceOf } from '../../../rules/decide.ts'
import { emptyCodeState } from '../../../rules/verify.ts'
import { inTurns } from '../../../runtime/in-turns.ts'
import { type Clock, type ClockSteps, type GivenLanes, queueMessages } from '../../queueing.ts'
import {
  type Database,
  type RowsStatement,
  type Statement,
  statement,
  type Transaction,
} from '../engine/database.ts'
import { dueAt, insertInto, updateOf } from '../engine/rows.ts'
import {
  ANSWERED,
  addCounts,
  answeredKeyOf,
  arraysOf,
  codeRows,
  creditRows,
  findAnswers,
  findCodes,
  findSuppressed,
  type Key,
  SUPPRESSED,
  suppressedOf,
} from './shared-rows.ts'

const findSpent = statement<Spending>(
  'find_spent',
  `select k.workspace_id, k.api_key_id, k.day, k.spent
   from unnest($1::text[], $2::text[], $3::text[]) r(workspace_id, api_key_id, day)
   join api_key_spending k using (workspace_id, api_key_id, day)`,
)

const findTestUsage = statement<TestUsageRow>(
  'find_test_usage',
  `select workspace_id, day, messages, bytes from test_usage
   where workspace_id = any($1::text[])`,
)

/** Holds the files, so that no other transaction removes them before the commit. */
const findFiles = statement<{ workspace_id: string; sha256: string }>(
  'find_files',
  `select f.workspace_id, f.sha256 from files f
   where (f.workspace_id, f.sha256) in (select * from unnest($1::text[], $2::text[])) and f.is_whole
   order by f.workspace_id, f.sha256 for key share`,
)

/** Holds the broadcasts, so that no request pauses one before the commit. */
const findBroadcasts = statement<Pick<BroadcastRow, 'workspace_id' | 'id' | 'status' | 'cursor'>>(
  'find_broadcasts',
  `select b.workspace_id, b.id, b.status, b.cursor from broadcasts b
   where (b.workspace_id, b.id) in (select * from unnest($1::text[], $2::text[]))
   order by b.workspace_id, b.id for update`,
)

/**
 * The verb `accept` on PostgreSQL: lock, look up, plan, write; two round trips, or one on accounts as last seen. The account's
 * lock also orders requests with the same idempotency key: the later request sees the response to the first.
 */
export function prepareAccept(
  database: Database,
  t: Tables,
  {
    clock,
    onQueued,
    steps,
    lanes,
  }: {
    clock: Clock
    onQueued: () => void
    steps: ClockSteps
    lanes: GivenLanes
  },
) {
  const credits = creditRows(t)
  const codes = codeRows(t)
  const seen = new SeenAccounts()
  const insertMessages = insertInto('insert_messages', t.messages)
  const insertQueued = insertInto('queue_messages', t.message_queue, {
    due_at: dueAt('r.due_at', '$3'),
    set_at: dueAt('r.set_at', '$3'),
  })
  const journal = insertInto('journal_new_attempts', t.message_attempts)
  const insertHolds = insertInto('insert_holds', t.credit_holds)
  const insertFiles = insertInto('insert_message_files', t.message_files)
  const markUsed: RowsStatement<MessageFileRow> = {
    ...insertFiles,
    name: 'mark_files_used',
    text: `update files f set unused_since = null
           from json_populate_recordset(json_populate_record(null::message_files, $2), $1) r
           where f.workspace_id = r.workspace_id and f.sha256 = r.sha256
             and f.unused_since is not null`,
  }
  const insertBulks = insertInto('insert_bulks', t.bulks)
  const insertRejections = insertInto('insert_rejections', t.bulk_rejections)
  const insertAnswers = insertInto('insert_answers', t.idempotency_keys)
  const storeSpent = storeSpending(t)
  const advanceBroadcasts = updateOf('advance_broadcasts', t.broadcasts, {
    key: ['workspace_id', 'id'],
    set: STEP_COLUMNS,
  })
  // The test usage is read under the account's lock, as the spending is.
  const storeTestUsage = insertInto(
    'store_test_usage',
    t.test_usage,
    {},
    `on conflict (workspace_id) do update
     set day = excluded.day, messages = excluded.messages, bytes = excluded.bytes`,
  )

  async function lookUp(tx: Transaction, requests: readonly AcceptRequest[]): Promise<AcceptState> {
    const testing = requests.flatMap((of) => (of.test_use ? [of.workspace_id] : []))
    const [accounts, answers, suppressed, spent, usage, files, codes, broadcasts] =
      await Promise.all([
        credits.lock(tx, new Set(requests.filter(isExclusive).map((of) => of.workspace_id))),
        findByKeys(tx, findAnswers, requests.flatMap(answeredKeyOf)),
        findSuppressed(
          tx,
          requests.flatMap(({ messages }) => messages),
        ),
        findByKeys(tx, findSpent, requests.flatMap(limited)),
        testing.length > 0 ? tx.rows(findTestUsage, testing) : [],
        findFilesOf(tx, requests),
        findCodes(tx, requests),
        findBroadcastsOf(tx, requests),
      ])
    return {
      accounts,
      answers: new Map(answers.map((row) => [idempotencyKeyOf(row.workspace_id, row), row])),
      suppressed,
      spent: new Map(spent.map((row) => [spendingKey(row.workspace_id, row), row.spent])),
      test_usage: new Map(usage.map((row) => [row.workspace_id, row])),
      files: new Set(files.map(fileKey)),
      codes,
      broadcasts: new Map(broadcasts.map((row) => [broadcastKey(row), row])),
    }
  }

  const timed = (row: NewQueueRow): NewQueueRow => ({
    ...row,
    due_at: clock.sent(row.due_at, row.set_at),
    set_at: clock.sent(row.set_at, row.set_at),
  })

  function writeAtOnce(tx: Transaction, plan: AcceptPlan, { queue, attempts }: QueuePlan): void {
    tx.write(insertMessages, plan.messages)
    tx.write(insertQueued, queue.map(timed), clock.origin)
    tx.write(journal, attempts)
    tx.write(insertRejections, plan.rejections)
  }

  /** The longest turn of a bulk of 10,000 takes 34 to 68 ms; written at once, it took 116 to 258 ms. */
  async function writeInTurns(
    tx: Transaction,
    plan: AcceptPlan,
    { queue, attempts }: QueuePlan,
  ): Promise<void> {
    await nextTurn()
    await inTurns(slicesOf(plan.messages, weightOf), (rows) => tx.write(insertMessages, rows))
    await inTurns(slicesOf(queue), (rows) => tx.write(insertQueued, rows.map(timed), clock.origin))
    await inTurns(slicesOf(attempts), (rows) => tx.write(journal, rows))
    await inTurns(slicesOf(plan.rejections), (rows) => tx.write(insertRejections, rows))
  }

  /** Plans on the expected accounts, or on the state that it looks up, and writes. */
  function commit(
    requests: readonly AcceptRequest[],
    expected: ReturnType<SeenAccounts['expect']>,
  ) {
    return database.transact(async (tx) => {
      const state = expected ? assumedState(expected) : await lookUp(tx, requests)
      // The plan changes its state.
      const before = new Map(state.accounts)
      const plan = planAccept(requests, state)
      const large = isLarge(requests)
      if (large) await nextTurn()
      const queued = queueMessages(plan.messages, lanes.current?.messages, steps)
      tx.hold(queued)
      if (expected) assertReachable(tx, requests)
      // No other transaction waits for these rows, so they come before the lock of the accounts.
      if (large) await writeInTurns(tx, plan, queued)
      else writeAtOnce(tx, plan, queued)
      if (expected) assertPlan(tx, expected, requests, plan)
      credits.add(tx, before, plan.accounts, plan.entries)
      tx.write(insertHolds, plan.holds)
      tx.write(insertBulks, plan.bulks)
      tx.write(insertFiles, plan.files)
      tx.write(markUsed, plan.files)
      tx.write(storeSpent, plan.spending)
      tx.write(storeTestUsage, plan.test_usage)
      tx.write(insertAnswers, plan.answers)
      tx.write(codes.store, plan.verifications)
      tx.write(codes.count, plan.verification_counts)
      tx.write(codes.spend, plan.verification_spending)
      tx.write(advanceBroadcasts, plan.broadcasts)
      // The counts come last, right before the commit: other transactions settle messages of the same workspaces.
      tx.write(addCounts, plan.counts)
      return { plan, accounts: state.accounts, waiting: queued.waiting }
    })
  }

  /** Commits on the accounts as last seen, and looks them up only if another server changed one. */
  async function commitOnce(requests: readonly AcceptRequest[]) {
    // Files, broadcasts and what decides about codes are looked up.
    const expected = requests.some(({ files, code, broadcast }) => files ?? code ?? broadcast)
      ? null
      : seen.expect(requests)
    if (!expected) return commit(requests, null)
    try {
      const done = await commit(requests, expected)
      seen.met(true)
      return done
    } catch (error) {
      if (!isOutdated(error)) throw error
      seen.met(false)
      return commit(requests, null)
    }
  }

  return async (requests: readonly AcceptRequest[]): Promise<AcceptResult[]> => {
    const { plan, accounts, waiting } = await commitOnce(requests)
    seen.stored([...accounts.values()])
    if (waiting.length > 0) onQueued()
    return plan.results
  }
}

/** The spending is read under the account's lock, so the last value written is complete. */
function storeSpending(t: Tables): RowsStatement<Spending> {
  const { text, ...statement } = insertInto('insert_spending', t.api_key_spending)
  return {
    ...statement,
    text: `${text} on conflict (workspace_id, api_key_id, day) do update set spent = excluded.spent`,
  }
}

/**
 * Whether the account's lock is needed: to spend, to use a quota, to be the only request with its idempotency key, or
 * to be the only one that decides about codes or is the next step of a broadcast.
 */
function isExclusive({ debit, test_use, idempotency, code, broadcast }: AcceptRequest): boolean {
  return (
    debit !== null ||
    test_use !== null ||
    idempotency !== null ||
    code !== undefined ||
    broadcast !== undefined
  )
}

/** Queries these keys, if there are any. */
async function findByKeys<Row>(
  tx: Transaction,
  statement: Statement<Row>,
  keys: Key[],
): Promise<Row[]> {
  if (keys.length === 0) return []
  return tx.rows(statement, ...arraysOf(keys))
}

async function findFilesOf(tx: Transaction, requests: readonly AcceptRequest[]) {
  const files = requests.flatMap((of) => of.files ?? [])
  if (files.length === 0) return []
  const ids = files.map(({ workspace_id }) => workspace_id)
  return tx.rows(
    findFiles,
    ids,
    files.map(({ sha256 }) => sha256),
  )
}

async function findBroadcastsOf(tx: Transaction, requests: readonly AcceptRequest[]) {
  const steps = requests.flatMap(({ workspace_id, broadcast }) =>
    broadcast ? [{ workspace_id, id: broadcast.id }] : [],
  )
  if (steps.length === 0) return []
  const ids = steps.map(({ workspace_id }) => workspace_id)
  return tx.rows(
    findBroadcasts,
    ids,
    steps.map(({ id }) => id),
  )
}

function limited({ workspace_id, debit, spending }: AcceptRequest): Key[] {
  return debit && spending ? [[workspace_id, spending.api_key_id, spending.day]] : []
}

/** The maximum number of accounts that are kept; one more account clears the list. */
const SEEN_MAX = 10_000

/**
 * The maximum number of batches that look up their accounts after an outdated account. Accounts that other servers
 * refund, or that are nearly empty, are outdated often.
 */
const PAUSE_MAX = 64

/** SQL: fails unless the condition is true. The text of the error is in the log of the database. */
const assert = (condition: string) =>
  `select case when ${condition} then 1 else concat('an account, a recipient or an answer changed: trying again')::int end`

/** The columns in which an account must be as planned, with their types. */
const TERMS = {
  credit_limit: 'int8',
  status: 'text',
  daily_limit: 'int8',
  spent_on: 'int4',
  low_balance: 'int8',
  low_state: 'text',
} as const satisfies Partial<Record<keyof Account, string>>

/** An account of a plan, and the accounts for which the plan holds too. */
type Planned = Tolerance & Pick<Account, 'workspace_id' | keyof typeof TERMS>

const PLANNED = {
  workspace_id: 'text',
  ...TERMS,
  seq: 'int8',
  available_min: 'int8',
  spent_max: 'int8',
} as const satisfies Record<keyof Planned, string>

const termsOf = (row: string) =>
  `(${Object.keys(TERMS)
    .map((column) => `${row}.${column}`)
    .join(', ')})`

/** Locks the accounts in the order of their ids, and fails unless the plan holds for each. */
const assertAccounts = statement(
  'assert_accounts',
  `with locked as (
     select workspace_id, balance - held as available, seq, spent, ${Object.keys(TERMS).join(', ')}
     from credit_accounts where workspace_id = any($1::text[]) order by workspace_id for update
   ), planned as (
     select * from json_to_recordset($2) p (${Object.entries(PLANNED).map((column) => column.join(' '))})
   )
   ${assert(`not exists (
     select 1 from planned p left join locked l using (workspace_id)
     where ${termsOf('l')} is distinct from ${termsOf('p')}
       or l.seq <> p.seq or l.available < p.available_min or l.spent > p.spent_max
   )`)}`,
)

const assertUnsuppressed = statement(
  'assert_unsuppressed',
  assert(`not exists (select 1 from ${SUPPRESSED})`),
)

const assertUnanswered = statement(
  'assert_unanswered',
  assert(`not exists (select 1 from ${ANSWERED})`),
)

type Seen = ReadonlyMap<string, Account>

/** Whether the plan on the expected state does not hold. */
function isOutdated(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22P02'
}

/** The state that a plan on seen accounts assumes: no recipient is suppressed, and no request was answered before. */
function assumedState(accounts: Seen): AcceptState {
  return {
    // The plan changes its state, and the transaction may be repeated.
    accounts: new Map(accounts),
    answers: new Map(),
    suppressed: new Set(),
    spent: new Map(),
    test_usage: new Map(),
    files: new Set(),
    codes: emptyCodeState(),
    broadcasts: new Map(),
  }
}

/** Sends the statement that fails if a recipient of the messages is suppressed. */
function assertReachable(tx: Transaction, requests: readonly AcceptRequest[]): void {
  void tx.rows(assertUnsuppressed, ...suppressedOf(requests.flatMap(({ messages }) => messages)))
}

/** Locks the accounts, and sends the statements that fail unless the plan on the seen accounts holds. */
function assertPlan(
  tx: Transaction,
  accounts: Seen,
  requests: readonly AcceptRequest[],
  plan: AcceptPlan,
): void {
  const refused = new Set(
    requests.flatMap(({ workspace_id }, i) =>
      plan.results[i]?.outcome === 'accepted' ? [] : [workspace_id],
    ),
  )
  const after = new Map(plan.accounts.map((account) => [account.workspace_id, account]))
  const planned = [...accounts].map(([workspace_id, before]): Planned => {
    const { credit_limit, status, daily_limit, spent_on, low_balance, low_state } = before
    const terms = { credit_limit, status, daily_limit, spent_on, low_balance, low_state }
    const left = after.get(workspace_id) ?? before
    return { workspace_id, ...terms, ...toleranceOf(before, left, refused.has(workspace_id)) }
  })
  void tx.rows(assertAccounts, [...accounts.keys()], JSON.stringify(planned))
  const keys = requests.flatMap(answeredKeyOf)
  if (keys.length > 0) void tx.rows(assertUnanswered, ...arraysOf(keys))
}

/**
 * The accounts as the last batches of this process left them. Other servers may have spent from them since. A batch that
 * is planned on them asserts in its transaction that the plan holds, so that look-ups, writes and commit travel together.
 */
class SeenAccounts {
  private readonly seen = new Map<string, Account>()
  private pause = 0
  private next_pause = 1

  /** The expected accounts of these requests; null if their state must be looked up. */
  expect(requests: readonly AcceptRequest[]): Seen | null {
    if (this.pause > 0) {
      this.pause -= 1
      return null
    }
    const accounts = new Map<string, Account>()
    for (const { workspace_id, debit, spending, test_use } of requests) {
      const account = this.seen.get(workspace_id)
      if (!account || !debit || spending || test_use) return null
      accounts.set(workspace_id, account)
    }
    return accounts
  }

  /** Keeps the accounts as a batch has stored them. */
  stored(accounts: readonly Account[]): void {
    if (this.seen.size + accounts.length > SEEN_MAX) this.seen.clear()
    for (const account of accounts) this.seen.set(account.workspace_id, account)
  }

  /** Notes that an expected state was as expected, or was outdated. */
  met(wasExpected: boolean): void {
    this.next_pause = wasExpected ? 1 : Math.min(PAUSE_MAX, this.next_pause * 2)
    if (!wasExpected) this.pause = this.next_pause
  }
}
