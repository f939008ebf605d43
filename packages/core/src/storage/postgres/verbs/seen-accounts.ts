import type { AcceptPlan, AcceptRequest, AcceptState } from '../../../rules/accept.ts'
import { type Account, type Tolerance, toleranceOf } from '../../../rules/decide.ts'

import { statement, type Transaction } from '../engine/database.ts'
import { ANSWERED, answeredKeyOf, arraysOf, SUPPRESSED, suppressedOf } from './shared-rows.ts'

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
export function isOutdated(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22P02'
}

/** The state that a plan on seen accounts assumes: no recipient is suppressed, and no request was answered before. */
export function assumedState(accounts: Seen): AcceptState {
  return {
    // The plan changes its state, and the transaction may be repeated.
    accounts: new Map(accounts),
    answers: new Map(),
    suppressed: new Set(),
    spent: new Map(),
    test_usage: new Map(),
    files: new Set(),
  }
}

/** Sends the statement that fails if a recipient of the messages is suppressed. */
export function assertReachable(tx: Transaction, requests: readonly AcceptRequest[]): void {
  void tx.rows(assertUnsuppressed, ...suppressedOf(requests.flatMap(({ messages }) => messages)))
}

/** Locks the accounts, and sends the statements that fail unless the plan on the seen accounts holds. */
export function assertPlan(
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
export class SeenAccounts {
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
