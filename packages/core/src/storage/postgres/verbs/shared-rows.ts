import { dialects } from '../../../rows/dialect.ts'
import type {
  EventRow,
  MessageQueueRow,
  MessageRow,
  SuppressionRow,
  VerificationCountRow,
  VerificationPauseRow,
  VerificationRow,
  VerificationSpendingRow,
  WorkspaceRow,
} from '../../../rows/rows.ts'
import { type Tables, tables } from '../../../rows/tables.ts'

import type { AcceptRequest } from '../../../rules/accept.ts'
import { type CountChange, OF_SETTLEMENTS_MS } from '../../../rules/count-changes.ts'
import {
  ACCOUNT_CHANGES,
  ACCOUNT_COLUMNS,
  type Account,
  accountChange,
  type Entry,
  relativeEntry,
} from '../../../rules/decide.ts'
import { ENDPOINT_COLUMNS, type FanOut, type SubscribedWebhook } from '../../../rules/deliveries.ts'
import { suppressedAddresses, suppressionKey } from '../../../rules/recipients.ts'
import type { CodeCountChange, FailedCode, SettledMessage } from '../../../rules/settlement.ts'
import {
  addressOf,
  type CodeState,
  codeKeys,
  codeLimitsOf,
  codeWindows,
  countedAt,
  emptyCodeState,
  type OfAddress,
} from '../../../rules/verify.ts'
import type { Clock } from '../../queueing.ts'
import { type RowsStatement, statement, type Transaction } from '../engine/database.ts'
import { dueAt, insertInto, namesOf, updateOf } from '../engine/rows.ts'

/** Locks of messages: first the queue rows, then the messages, each in the order of the ids, in every verb that changes both. */
export function messageRows(t: Tables) {
  const lockQueued = statement<MessageQueueRow>(
    'lock_queued_messages',
    `select ${namesOf(t.message_queue)
      .map((name) => `q.${name}`)
      .join(', ')}
     from unnest($1::text[], $2::text[]) r(workspace_id, id)
     join message_queue q on q.message_id = r.id and q.workspace_id = r.workspace_id
     order by q.message_id for update of q`,
  )
  const lockMessages = statement<SettledMessage>(
    'lock_messages',
    `select ${namesOf(t.messages, 'content')
      .map((name) => `m.${name}`)
      .join(', ')}
     from unnest($1::text[], $2::text[]) r(workspace_id, id)
     join messages m on m.workspace_id = r.workspace_id and m.id = r.id
     order by m.id for update of m`,
  )
  return { lockQueued, lockMessages }
}

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

/**
 * Adds to the stored counts of messages, row by row in the order of the keys, which prevents deadlocks. Settlements add to rows of
 * their own (`OF_SETTLEMENTS_MS`): otherwise each would wait until the commit of an accept of the same workspace is on disk, and
 * each accept until that of a settlement.
 */
function addingCounts(name: string, instead: { since?: string } = {}): RowsStatement<CountChange> {
  const { text, ...inserted } = insertInto(name, tables(dialects.postgres).message_counts, instead)
  return {
    ...inserted,
    text: `${text} order by r.workspace_id, r.unit, r.since, r.channel, r.status
           on conflict (workspace_id, unit, since, channel, status)
           do update set count = message_counts.count + excluded.count,
             test_count = message_counts.test_count + excluded.test_count,
             first_id = least(message_counts.first_id, excluded.first_id),
             last_id = greatest(message_counts.last_id, excluded.last_id)`,
  }
}

export const addCounts = addingCounts('insert_message_counts')
export const addSettledCounts = addingCounts('insert_settled_counts', {
  since: `r.since + interval '${OF_SETTLEMENTS_MS} milliseconds'`,
})

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

type Nullable<T> = { [K in keyof T]: T[K] | null }

// The webhooks are locked against removal, because otherwise a delivery could be queued for a removed webhook. Without
// webhooks there is one row, with the state of the log of events and an id of null.
const findSubscribers = statement<{ keeps_events: boolean | null } & Nullable<SubscribedWebhook>>(
  'find_subscribers',
  `with subscribers as (
     select id, workspace_id, events, mode, format, ${ENDPOINT_COLUMNS.join(', ')} from webhooks
     where workspace_id = any($1::text[]) and is_active and callback_origin is null order by workspace_id, id for key share)
   select (select is_kept from event_log_state where name = 'events') as keeps_events, s.*
   from (select 1) one left join subscribers s on true`,
)

/** The webhooks of workspaces that may get their events, and whether events are kept without webhooks. */
export async function lookUpSubscribers(
  tx: Transaction,
  workspaceIds: Iterable<string>,
): Promise<{ keeps_events: boolean; subscribers: Map<string, SubscribedWebhook[]> }> {
  const rows = await tx.rows(findSubscribers, [...new Set(workspaceIds)])
  const subscribers = new Map<string, SubscribedWebhook[]>()
  for (const { keeps_events: _, ...subscriber } of rows) {
    if (!isSubscriber(subscriber)) continue
    const known = subscribers.get(subscriber.workspace_id)
    if (known) known.push(subscriber)
    else subscribers.set(subscriber.workspace_id, [subscriber])
  }
  return { keeps_events: rows[0]?.keeps_events === true, subscribers }
}

function isSubscriber(row: Nullable<SubscribedWebhook>): row is SubscribedWebhook {
  return row.id !== null
}

/** Writes events, their deliveries and the queue rows of these. */
export function prepareWriteEvents(t: Tables, clock: Clock) {
  const insertEvents = insertInto('insert_events', t.events)
  const insertDeliveries = insertInto('insert_deliveries', t.deliveries)
  const insertQueued = insertInto('queue_deliveries', t.delivery_queue, {
    due_at: dueAt('r.due_at', '$3'),
    set_at: dueAt('r.set_at', '$3'),
  })
  return (tx: Transaction, { events, deliveries, delivery_queue }: FanOut): void => {
    tx.write(insertEvents, events)
    tx.write(insertDeliveries, deliveries)
    tx.write(
      insertQueued,
      delivery_queue.map((row) => {
        const at = row.set_at ?? row.due_at
        return { ...row, due_at: clock.sent(row.due_at, at), set_at: clock.sent(at, at) }
      }),
      clock.origin,
    )
  }
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

/** Verifications and their counts, as `accept` writes them. */
export function codeRows(t: Tables) {
  const columns = namesOf(t.verifications, 'workspace_id', 'id')
  const counts = insertInto('add_verification_counts', t.verification_counts)
  return {
    store: insertInto(
      'store_verifications',
      t.verifications,
      {},
      `on conflict (workspace_id, id) do update
       set ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    ),
    // The spending is read under the account's lock, so the last value written is complete.
    spend: insertInto(
      'store_verification_spending',
      t.verification_spending,
      {},
      'on conflict (workspace_id) do update set day = excluded.day, spent = excluded.spent',
    ),
    // The order of the keys prevents deadlocks.
    count: {
      ...counts,
      text: `${counts.text} order by r.workspace_id, r.country, r.hour
             on conflict (workspace_id, country, hour) do update
             set sent = verification_counts.sent + excluded.sent,
               approved = verification_counts.approved + excluded.approved,
               credits_used = verification_counts.credits_used + excluded.credits_used`,
    } satisfies RowsStatement<VerificationCountRow>,
  }
}

/** Holds the verifications, so that no check changes them before the commit. */
const findRecent = statement<VerificationRow>(
  'find_recent_verifications',
  `select v.* from unnest($1::text[], $2::text[], $3::boolean[]) r(workspace_id, recipient, livemode)
   join verifications v using (workspace_id, recipient, livemode)
   where v.created_at > $4 order by v.workspace_id, v.id for update of v`,
)

// All messages of a workspace with codes are accepted under its account's lock, so these need no lock of their own.
const sendsTo = (name: string, column: 'recipient' | 'other_recipient') =>
  statement<OfAddress & Pick<VerificationRow, 'workspace_id' | 'livemode'> & { address: string }>(
    name,
    `select v.workspace_id, v.livemode, r.address, v.id, v.sent_at, v.messages
     from unnest($1::text[], $2::text[], $3::boolean[]) r(workspace_id, address, livemode)
     join verifications v on v.workspace_id = r.workspace_id and v.livemode = r.livemode
       and v.${column} = r.address
     where v.created_at > $4`,
  )
const findFirsts = sendsTo('find_verifications_of_first_addresses', 'recipient')
const findSeconds = sendsTo('find_verifications_of_second_addresses', 'other_recipient')

const findStarted = statement<
  Pick<VerificationRow, 'workspace_id' | 'client_network' | 'livemode'> & { started: number }
>(
  'find_started_verifications',
  `select r.workspace_id, r.client_network, r.livemode, (
     select count(*)::int from verifications v
     where v.workspace_id = r.workspace_id and v.client_network = r.client_network
       and v.livemode = r.livemode and v.created_at > $4) as started
   from unnest($1::text[], $2::text[], $3::boolean[]) r(workspace_id, client_network, livemode)`,
)

const findCodeCounts = statement<VerificationCountRow>(
  'find_verification_counts',
  `select c.* from unnest($1::text[], $2::text[]) r(workspace_id, country)
   join verification_counts c using (workspace_id, country) where c.hour > $3`,
)

const findCodePauses = statement<VerificationPauseRow>(
  'find_verification_pauses',
  `select p.* from unnest($1::text[], $2::text[]) r(workspace_id, country)
   join verification_pauses p using (workspace_id, country)`,
)

const findCodeLimits = statement<
  Pick<WorkspaceRow, 'id' | 'verification_daily_credits' | 'verification_countries'>
>(
  'find_code_limits',
  `select id, verification_daily_credits, verification_countries from workspaces
   where id = any($1::text[])`,
)

const findCodeSpending = statement<VerificationSpendingRow>(
  'find_verification_spending',
  `select workspace_id, day, spent from verification_spending where workspace_id = any($1::text[])`,
)

/** Finds what decides about the requests for codes. Makes no query without such requests. */
export async function findCodes(
  tx: Transaction,
  requests: readonly AcceptRequest[],
): Promise<CodeState> {
  const state = emptyCodeState()
  const asked = requests.flatMap(({ code }) => (code ? [code.verification] : []))
  const [first] = asked
  if (!first) return state
  const since = codeWindows(first.created_at)
  const unique = (key: keyof ReturnType<typeof codeKeys>) => [
    ...new Map(
      asked.flatMap((of) => (codeKeys(of)[key] === null ? [] : [[codeKeys(of)[key], of]])),
    ).values(),
  ]
  const column = (rows: VerificationRow[], name: keyof VerificationRow) =>
    rows.map((row) => row[name])
  const [addresses, networks, countries] = [unique('address'), unique('network'), unique('country')]
  const named = [column(countries, 'workspace_id'), column(countries, 'country')]
  const targets = new Map<string, { of: VerificationRow } & ReturnType<typeof addressOf>>()
  for (const { code, messages } of requests) {
    const [message] = messages
    if (!code || !message) continue
    const target = addressOf(code.verification, message.channel)
    const is_second = target.is_second || targets.get(target.key)?.is_second === true
    targets.set(target.key, { ...target, is_second, of: code.verification })
  }
  const second = [...targets.values()].filter(({ is_second }) => is_second)
  const findSends = (find: typeof findFirsts, of: typeof second) =>
    tx.rows(
      find,
      of.map((one) => one.of.workspace_id),
      of.map(({ address }) => address),
      of.map((one) => one.of.livemode),
      since.recent,
    )
  const workspaces = [...new Set(asked.map(({ workspace_id }) => workspace_id))]
  const [recent, firsts, seconds, started, counts, pauses, limits, spent] = await Promise.all([
    tx.rows(
      findRecent,
      column(addresses, 'workspace_id'),
      column(addresses, 'recipient'),
      column(addresses, 'livemode'),
      since.recent,
    ),
    second.length > 0 ? findSends(findFirsts, second) : [],
    findSends(findSeconds, [...targets.values()]),
    networks.length > 0
      ? tx.rows(
          findStarted,
          column(networks, 'workspace_id'),
          column(networks, 'client_network'),
          column(networks, 'livemode'),
          since.network,
        )
      : [],
    countries.length > 0 ? tx.rows(findCodeCounts, ...named, since.counts) : [],
    countries.length > 0 ? tx.rows(findCodePauses, ...named) : [],
    tx.rows(findCodeLimits, workspaces),
    tx.rows(findCodeSpending, workspaces),
  ])
  for (const row of recent.sort(byNewest)) addTo(state.recent, codeKeys(row).address, row)
  // Without rows, a later request of the batch still counts those of an earlier one.
  for (const { key, is_second } of targets.values()) {
    state.seconds.set(key, [])
    if (is_second) state.firsts.set(key, [])
  }
  const addSends = (map: CodeState['seconds'], rows: typeof seconds) => {
    for (const { address: recipient, workspace_id, livemode, ...row } of rows) {
      const of = { workspace_id, livemode, recipient, country: null, client_network: null }
      addTo(map, codeKeys(of).address, row)
    }
  }
  addSends(state.firsts, firsts)
  addSends(state.seconds, seconds)
  for (const { started: count, ...of } of started) {
    const { network } = codeKeys({ ...of, recipient: '', country: null })
    if (network !== null) state.started.set(network, count)
  }
  for (const row of counts) addTo(state.counts, `${row.workspace_id}\n${row.country}`, row)
  for (const row of pauses) state.pauses.set(`${row.workspace_id}\n${row.country}`, row)
  for (const row of limits) state.limits.set(row.id, codeLimitsOf(row))
  for (const row of spent) state.spent.set(row.workspace_id, row)
  return state
}

function byNewest(a: VerificationRow, b: VerificationRow): number {
  return b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? 1 : -1)
}

function addTo<Row>(map: Map<string, Row[]>, key: string, row: Row): void {
  const rows = map.get(key)
  if (rows) rows.push(row)
  else map.set(key, [row])
}

const addRecounts = statement(
  'recount_codes',
  `insert into verification_counts (workspace_id, country, hour, sent, approved, credits_used)
   select v.workspace_id, v.country, r.hour, sum(r.sent), 0, sum(r.credits_used)
   from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::int8[], $8::int8[])
     r(workspace_id, message_id, recipient, created_at, since, hour, sent, credits_used)
   join verifications v on v.workspace_id = r.workspace_id and v.livemode and v.country is not null
     and (v.recipient = r.recipient or v.other_recipient = r.recipient)
     and v.created_at between r.since and r.created_at and strpos(v.messages::text, r.message_id) > 0
   group by 1, 2, 3 order by 1, 2, 3
   on conflict (workspace_id, country, hour) do update set
     sent = verification_counts.sent + excluded.sent,
     credits_used = verification_counts.credits_used + excluded.credits_used`,
)

/** Changes the counts of codes, for the messages that have one. The order of the keys prevents deadlocks. */
export function recountCodes(tx: Transaction, changes: readonly CodeCountChange[]): void {
  if (changes.length === 0) return
  const rows = changes.map((change) => ({ ...change, ...countedAt(change.created_at) }))
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) =>
    rows.map((row) => row[name])
  void tx.rows(
    addRecounts,
    column('workspace_id'),
    column('message_id'),
    column('recipient'),
    column('created_at'),
    column('since'),
    column('hour'),
    column('sent'),
    column('credits_used'),
  )
}

const speedUp = statement(
  'speed_up_codes',
  `with due as (
     select v.workspace_id, v.id, r.at
     from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
       r(workspace_id, message_id, address, at)
     join verifications v on v.workspace_id = r.workspace_id and v.message_id = r.message_id
       and (v.recipient = r.address or v.other_recipient = r.address)
       and v.ended_at is null and v.fallback_at > r.at
     order by v.workspace_id, v.id for update of v)
   update verifications v set fallback_at = due.at from due
   where v.workspace_id = due.workspace_id and v.id = due.id`,
)

/** Makes the next channels of codes due whose last message failed. The order of the ids prevents deadlocks. */
export function speedUpCodes(tx: Transaction, failed: readonly FailedCode[]): void {
  if (failed.length === 0) return
  const column = <Name extends keyof FailedCode>(name: Name) => failed.map((one) => one[name])
  void tx.rows(
    speedUp,
    column('workspace_id'),
    column('message_id'),
    column('address'),
    column('at'),
  )
}
