import type { AcceptRequest, AcceptState } from '../../../rules/accept.ts'
import type { Account } from '../../../rules/decide.ts'
import { ACCOUNT_COLUMNS } from '../../account-columns.ts'
import { statement, type Transaction } from '../engine/database.ts'
import { ANSWERED, answeredKeyOf, arraysOf } from './find-answers.ts'
import { SUPPRESSED, suppressedOf } from './find-suppressed.ts'

/** The maximum number of accounts that are kept; one more account clears the list. */
const SEEN_MAX = 10_000

/**
 * The maximum number of batches that look up their accounts after an outdated account. If several servers spend from the same
 * accounts, nearly every account is outdated.
 */
const PAUSE_MAX = 64

/** SQL: fails unless the condition is true. The text of the error is in the log of the database. */
const assert = (condition: string) =>
  `select case when ${condition} then 1 else concat('an account, a recipient or an answer changed: trying again')::int end`

const COLUMNS = ACCOUNT_COLUMNS.join(', ')

/** Locks the accounts in the order of their ids, and fails unless each is as expected. */
const assertAccounts = statement(
  'assert_accounts',
  `with locked as (
     select ${COLUMNS} from credit_accounts where workspace_id = any($1::text[]) order by workspace_id for update
   ), expected as (
     select ${COLUMNS} from json_populate_recordset(null::credit_accounts, $2)
   )
   ${assert('not exists (select * from expected except select * from locked)')}`,
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

/** Whether the expected state was outdated. */
export function isOutdated(error: unknown): boolean {
  return (error as { code?: unknown }).code === '22P02'
}

/**
 * The accounts as the last batches of this process left them. A batch that is planned on them asserts them in its
 * transaction, so that look-ups, writes and commit travel together.
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

  /**
   * Sends the statements that fail unless the accounts are as expected, no recipient is suppressed, and no request was
   * answered before.
   */
  assume(tx: Transaction, accounts: Seen, requests: readonly AcceptRequest[]): AcceptState {
    void tx.rows(assertAccounts, [...accounts.keys()], JSON.stringify([...accounts.values()]))
    void tx.rows(assertUnsuppressed, ...suppressedOf(requests.flatMap(({ messages }) => messages)))
    const keys = requests.flatMap(answeredKeyOf)
    if (keys.length > 0) void tx.rows(assertUnanswered, ...arraysOf(keys))
    return {
      // The plan changes its state, and the transaction may be repeated.
      accounts: new Map(accounts),
      answers: new Map(),
      suppressed: new Set(),
      spent: new Map(),
      test_usage: new Map(),
    }
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
