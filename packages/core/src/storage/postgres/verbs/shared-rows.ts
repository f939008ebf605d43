import { dialects } from '../../../rows/dialect.ts'
import type { EventRow, MessageRow, SuppressionRow } from '../../../rows/rows.ts'
import { type Tables, tables } from '../../../rows/tables.ts'

import type { AcceptRequest } from '../../../rules/accept.ts'
import type { CountChange } from '../../../rules/count-changes.ts'
import {
  ACCOUNT_CHANGES,
  ACCOUNT_COLUMNS,
  type Account,
  accountChange,
  type Entry,
  relativeEntry,
} from '../../../rules/decide.ts'
import { suppressedAddresses, suppressionKey } from '../../../rules/recipients.ts'
import { type RowsStatement, statement, type Transaction } from '../engine/database.ts'
import { insertInto, updateOf } from '../engine/rows.ts'

/** Accounts and their ledger entries, as the verbs that move credits read and write them. */
export function creditRows(t: Tables) {
  const lock = statement<Account>(
    'lock_accounts',
    `select ${ACCOUNT_COLUMNS.join(', ')} from credit_accounts
     where workspace_id = any($1::text[]) order by workspace_id for update`,
  )
  const update = updateOf('update_accounts', t.credit_accounts, {
    key: ['workspace_id'],
    set: [...ACCOUNT_CHANGES],
  })
  const insert = insertInto('insert_entries', t.ledger_entries)
  const add = updateOf('add_to_accounts', t.credit_accounts, {
    key: ['workspace_id'],
    set: [...ACCOUNT_CHANGES],
    instead: {
      balance: 't.balance + r.balance',
      held: 't.held + r.held',
      seq: 't.seq + r.seq',
      spent: 'case when t.spent_on = r.spent_on then t.spent else 0 end + r.spent',
    },
  })
  const relative = insertInto('append_entries', t.ledger_entries, {
    seq: 'a.seq + r.seq',
    balance_after: 'a.balance + r.balance_after',
    held_after: 'a.held + r.held_after',
  })
  const append = {
    ...relative,
    text: `${relative.text} join credit_accounts a on a.workspace_id = r.workspace_id`,
  }
  return {
    /** Locks the accounts until the transaction ends: always in the order of their ids, which prevents deadlocks. */
    async lock(tx: Transaction, workspaceIds: Set<string>): Promise<Map<string, Account>> {
      if (workspaceIds.size === 0) return new Map()
      const found = await tx.rows(lock, [...workspaceIds])
      return new Map(found.map((account) => [account.workspace_id, account]))
    },
    store(tx: Transaction, accounts: readonly Account[], entries: readonly Entry[]): void {
      tx.write(insert, entries)
      tx.write(update, accounts)
    },
    /**
     * Writes what a plan changes in accounts that are locked, on top of their values: the values before the plan may
     * differ from `before`.
     */
    add(
      tx: Transaction,
      before: ReadonlyMap<string, Account>,
      after: readonly Account[],
      entries: readonly Entry[],
    ): void {
      const planned = (id: string) => before.get(id) as Account
      tx.write(
        append,
        entries.map((entry) => relativeEntry(planned(entry.workspace_id), entry)),
      )
      tx.write(
        add,
        after.map((account) => accountChange(planned(account.workspace_id), account)),
      )
    },
  }
}

const inserted = insertInto('insert_message_counts', tables(dialects.postgres).message_counts)

/**
 * Adds to the stored counts of messages. The counts are written after the accounts are locked, row by row in the order
 * of the keys, which prevents deadlocks.
 */
export const addCounts: RowsStatement<CountChange> = {
  ...inserted,
  text: `${inserted.text} order by r.workspace_id, r.unit, r.since, r.channel, r.status
         on conflict (workspace_id, unit, since, channel, status)
         do update set count = message_counts.count + excluded.count,
           test_count = message_counts.test_count + excluded.test_count,
           first_id = least(message_counts.first_id, excluded.first_id),
           last_id = greatest(message_counts.last_id, excluded.last_id)`,
}

const insertPlaces = statement(
  'place_events',
  `with taken as (
     update event_log_state set position = position + cardinality($2::text[])
     where name = 'events' and is_kept returning position - cardinality($2::text[]) as last)
   insert into event_log (position, workspace_id, event_id)
   select taken.last + r.n, r.workspace_id, r.id
   from taken, unnest($1::text[], $2::text[]) with ordinality r(workspace_id, id, n)`,
)

/**
 * Gives the next positions of the log to stored events. The row of the log stays locked until the commit, so that the
 * positions rise in the order of the commits and have no gaps; it must be the last lock of the transaction.
 */
export function placeEvents(tx: Transaction, events: readonly EventRow[]): void {
  void tx.rows(
    insertPlaces,
    events.map(({ workspace_id }) => workspace_id),
    events.map(({ id }) => id),
  )
}

/** SQL: the suppressed recipients, as `s`, of messages whose values `suppressedOf` returns. */
export const SUPPRESSED = `unnest($1::text[], $2::text[], $3::text[]) r(workspace_id, channel, address)
   join suppressions s using (workspace_id, channel, address)`

type Recipient = Pick<MessageRow, 'workspace_id' | 'channel' | 'recipient' | 'recipients'>

const find = statement<Pick<SuppressionRow, 'workspace_id' | 'channel' | 'address'>>(
  'find_suppressed',
  `select s.workspace_id, s.channel, s.address
   from ${SUPPRESSED}`,
)

/** Finds the suppressed recipients of messages, as keys of `suppressionKey`. Makes no query without messages. */
export async function findSuppressed(
  tx: Transaction,
  messages: readonly Recipient[],
): Promise<Set<string>> {
  if (messages.length === 0) return new Set()
  const rows = await tx.rows(find, ...suppressedOf(messages))
  return new Set(rows.map(suppressionKey))
}

/** The parameters of `SUPPRESSED`. */
export function suppressedOf(messages: readonly Recipient[]): [string[], string[], string[]] {
  const workspaces: string[] = []
  const channels: string[] = []
  const addresses: string[] = []
  for (const message of messages) {
    for (const address of suppressedAddresses(message)) {
      workspaces.push(message.workspace_id)
      channels.push(message.channel)
      addresses.push(address)
    }
  }
  return [workspaces, channels, addresses]
}

/** SQL: the stored answers, as `i`, of the keys of requests, whose arrays `arraysOf` returns. */
export const ANSWERED = `unnest($1::text[], $2::text[], $3::text[]) r(workspace_id, route, key)
   join idempotency_keys i using (workspace_id, route, key)`

export const findAnswers = statement<{
  workspace_id: string
  route: string
  key: string
  request_hash: string
  response: string
}>(
  'find_answers',
  `select i.workspace_id, i.route, i.key, i.request_hash, i.response from ${ANSWERED}`,
)

export type Key = [string, string, string]

/** The key under which a request's answer is stored, if any. */
export function answeredKeyOf({ workspace_id, idempotency }: AcceptRequest): Key[] {
  return idempotency ? [[workspace_id, idempotency.route, idempotency.key]] : []
}

/** The columns of keys, as parameters. */
export function arraysOf(keys: readonly Key[]): string[][] {
  return [0, 1, 2].map((i) => keys.map((key) => key[i] as string))
}
