import { LIMITS } from '../../../contract/limits.ts'
import type { EventRow, MessageRow, VerificationRow } from '../../../rows/rows.ts'
import type { Tables } from '../../../rows/tables.ts'

import type { CountChange } from '../../../rules/count-changes.ts'
import {
  ACCOUNT_CHANGES,
  ACCOUNT_COLUMNS,
  type Account,
  type Entry,
} from '../../../rules/decide.ts'
import { ENDPOINT_COLUMNS, type SubscribedWebhook } from '../../../rules/deliveries.ts'
import { suppressedAddresses, suppressionKey } from '../../../rules/recipients.ts'
import type { CodeCountChange, FailedCode } from '../../../rules/settlement.ts'
import {
  addressOf,
  type CodeState,
  codeKeys,
  codeLimitsOf,
  codeWindows,
  countedAt,
} from '../../../rules/verify.ts'
import type { Counter, HotVerbs } from '../../ports/hot.ts'
import type { Connection } from '../engine/connection.ts'
import { insertAll, insertInto, namesOf, selectFrom, updateOf } from '../engine/rows.ts'

/** Accounts and their ledger entries, as the verbs that move credits read and write them. */
export function creditRows(connection: Connection, t: Tables) {
  const select = selectFrom(connection, t.credit_accounts, ACCOUNT_COLUMNS, 'workspace_id = ?')
  const update = updateOf(connection, t.credit_accounts, {
    key: ['workspace_id'],
    set: [...ACCOUNT_CHANGES],
  })
  const insert = insertAll(connection, t.ledger_entries, [
    'id',
    'seq',
    'amount',
    'held_delta',
    'balance_after',
    'held_after',
    'ref_id',
    'quantity',
    'unit_price',
    'created_at',
  ])
  return {
    /** Puts the account of `workspaceId` into `accounts`, once. */
    load(accounts: Map<string, Account>, workspaceId: string): void {
      if (accounts.has(workspaceId)) return
      const account = select(workspaceId)[0]
      if (account) accounts.set(workspaceId, account as Account)
    },
    store(accounts: readonly Account[], entries: readonly Entry[]): void {
      insert(entries)
      for (const account of accounts) update(account)
    },
  }
}

/** The number of rows of one statement: a change of one status counts in three periods. */
const ROWS = 3

/** Adds to the stored counts of messages. */
export function addCounts(connection: Connection): (changes: readonly CountChange[]) => void {
  const prepare = (rows: number) =>
    connection.prepare(
      `insert into message_counts
         (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id)
       values ${Array.from({ length: rows }, () => '(?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
       on conflict do update set count = count + excluded.count, test_count = test_count + excluded.test_count,
         first_id = min(coalesce(first_id, excluded.first_id), coalesce(excluded.first_id, first_id)),
         last_id = max(coalesce(last_id, excluded.last_id), coalesce(excluded.last_id, last_id))`,
    )
  const addOne = prepare(1)
  const addSome = prepare(ROWS)
  return (changes) => {
    const alone_from = changes.length - (changes.length % ROWS)
    for (let i = 0; i < alone_from; i += ROWS) {
      addSome.run(...changes.slice(i, i + ROWS).flatMap(valuesOf))
    }
    for (const change of changes.slice(alone_from)) addOne.run(...valuesOf(change))
  }
}

function valuesOf(change: CountChange): (string | number | null)[] {
  const { workspace_id, unit, since, channel, status, count, test_count, first_id, last_id } =
    change
  const key = [workspace_id, unit, since.getTime(), channel, status]
  return [...key, count, test_count, first_id, last_id]
}

/** Gives the next positions of the log to stored events. The log must be kept. */
export function prepareEventLog(
  connection: Connection,
  t: Tables,
): (events: readonly EventRow[]) => void {
  const take = connection
    .prepare(
      "update event_log_state set position = position + ? where name = 'events' returning position",
    )
    .pluck()
  const insert = insertAll(connection, t.event_log, ['position', 'event_id'])
  return (events) => {
    const newest = take.get(events.length) as number
    const first = newest - events.length + 1
    insert(
      events.map(({ workspace_id, id: event_id }, i) => {
        return { position: first + i, workspace_id, event_id }
      }),
    )
  }
}

/** Events and their deliveries, as the verbs that announce changes read and write them. */
export function eventRows(connection: Connection, t: Tables) {
  const findSubscribers: (workspace_id: string) => SubscribedWebhook[] = selectFrom(
    connection,
    t.webhooks,
    ['id', 'workspace_id', 'events', 'mode', 'format', ...ENDPOINT_COLUMNS],
    'workspace_id = ? and is_active = 1 and callback_origin is null',
  )
  const eventLog = connection
    .prepare("select is_kept from event_log_state where name = 'events'")
    .pluck()
  return {
    /** The webhooks of a workspace that may get its events. */
    findSubscribers,
    isEventLogKept: (): boolean => eventLog.get() === 1,
    insertEvents: insertAll(connection, t.events, ['id', 'event', 'message_id', 'body']),
    insertDeliveries: insertAll(connection, t.deliveries, [
      'id',
      'webhook_id',
      'event_id',
      'event',
      'message_id',
    ]),
    insertQueued: insertAll(connection, t.delivery_queue, ['delivery_id', 'webhook_id']),
  }
}

/**
 * Finds the suppressed recipients of messages, as keys of `suppressionKey`. A workspace without suppressions needs one
 * statement for all of its messages.
 */
export function prepareFindSuppressed(connection: Connection) {
  const find = connection
    .prepare('select 1 from suppressions where workspace_id = ? and channel = ? and address = ?')
    .pluck()
  const findAny = connection
    .prepare('select 1 from suppressions where workspace_id = ? limit 1')
    .pluck()
  return (
    messages: readonly Pick<MessageRow, 'workspace_id' | 'channel' | 'recipient' | 'recipients'>[],
  ): Set<string> => {
    const keys = new Set<string>()
    const hasAny = new Map<string, boolean>()
    for (const message of messages) {
      const { workspace_id, channel } = message
      if (!hasAny.has(workspace_id)) {
        hasAny.set(workspace_id, findAny.get(workspace_id) !== undefined)
      }
      if (!hasAny.get(workspace_id)) continue
      for (const address of suppressedAddresses(message)) {
        if (find.get(workspace_id, channel, address) === undefined) continue
        keys.add(suppressionKey({ workspace_id, channel, address }))
      }
    }
    return keys
  }
}

interface Window {
  count: number
  ends_at_ms: number
}

/** Counters whose window ended are removed at this number of counters. */
const SWEEP_AT = 100_000

/**
 * The verb `count` for the only process on a file. The counters are in its memory. Unlike a bounded cache, it keeps
 * every counter until its window ends: a throttled client cannot evict its own counter by using many keys. `elapsed_ms`
 * measures windows: setting the clock does not change their length.
 */
export function prepareCount(): HotVerbs['count'] {
  const windows = new Map<string, Window>()
  let sweepAt = SWEEP_AT

  function sweep(at_ms: number): void {
    if (windows.size < sweepAt) return
    for (const [key, { ends_at_ms }] of windows) if (ends_at_ms <= at_ms) windows.delete(key)
    sweepAt = Math.max(SWEEP_AT, windows.size * 2)
  }

  function running(key: string, at_ms: number): Window | null {
    const window = windows.get(key)
    return window && window.ends_at_ms > at_ms ? window : null
  }

  return (countings) =>
    countings.map(({ key, window_ms, add, elapsed_ms: at_ms }): Counter => {
      const window = running(key, at_ms) ?? { count: 0, ends_at_ms: at_ms + window_ms }
      if (add > 0) {
        window.count += add
        windows.set(key, window)
        sweep(at_ms)
      }
      return { count: window.count, ends_in_ms: Math.ceil(window.ends_at_ms - at_ms) }
    })
}

/** Verifications and their counts, as `accept` reads and writes them. */
export function codeRows(connection: Connection, t: Tables) {
  const recent = selectFrom(
    connection,
    t.verifications,
    namesOf(t.verifications),
    `workspace_id = ? and recipient = ? and livemode = ? and created_at > ?
     order by created_at desc, id desc`,
  )
  const sends = ['id', 'sent_at', 'messages'] as const
  const firsts = selectFrom(
    connection,
    t.verifications,
    sends,
    'workspace_id = ? and recipient = ? and livemode = ? and created_at > ?',
  )
  const seconds = selectFrom(
    connection,
    t.verifications,
    sends,
    'workspace_id = ? and other_recipient = ? and livemode = ? and created_at > ?',
  )
  const started = selectFrom(
    connection,
    t.verifications,
    ['id'],
    'workspace_id = ? and client_network = ? and livemode = ? and created_at > ? limit ?',
  )
  const counts = selectFrom(
    connection,
    t.verification_counts,
    namesOf(t.verification_counts),
    'workspace_id = ? and country = ? and hour > ?',
  )
  const pauses = selectFrom(
    connection,
    t.verification_pauses,
    namesOf(t.verification_pauses),
    'workspace_id = ? and country = ?',
  )
  const limits = selectFrom(
    connection,
    t.workspaces,
    ['verification_daily_credits', 'verification_countries'],
    'id = ?',
  )
  const spent = selectFrom(
    connection,
    t.verification_spending,
    namesOf(t.verification_spending),
    'workspace_id = ?',
  )
  return {
    /** Adds to the state what decides about one request. */
    load(
      state: CodeState,
      of: VerificationRow,
      { channel, created_at: at }: Pick<MessageRow, 'channel' | 'created_at'>,
    ): void {
      const { workspace_id, recipient, livemode, country, client_network } = of
      const keys = codeKeys(of)
      const since = codeWindows(at)
      if (!state.limits.has(workspace_id)) {
        for (const row of limits(workspace_id)) state.limits.set(workspace_id, codeLimitsOf(row))
        for (const row of spent(workspace_id)) state.spent.set(workspace_id, row)
      }
      if (!state.recent.has(keys.address)) {
        const found = recent(workspace_id, recipient, Number(livemode), since.recent.getTime())
        state.recent.set(keys.address, found)
      }
      const { address, key, is_second } = addressOf(of, channel)
      const sentTo = [workspace_id, address, Number(livemode), since.recent.getTime()] as const
      if (!state.seconds.has(key)) state.seconds.set(key, seconds(...sentTo))
      if (is_second && !state.firsts.has(key)) state.firsts.set(key, firsts(...sentTo))
      if (keys.network !== null && !state.started.has(keys.network)) {
        const limit = LIMITS.verifications_per_network
        const from = since.network.getTime()
        const found = started(workspace_id, client_network, Number(livemode), from, limit)
        state.started.set(keys.network, found.length)
      }
      if (keys.country !== null && !state.counts.has(keys.country)) {
        state.counts.set(keys.country, counts(workspace_id, country, since.counts.getTime()))
        for (const pause of pauses(workspace_id, country)) state.pauses.set(keys.country, pause)
      }
    },
    store: insertInto(connection, t.verifications, { replacing: true }),
    spend: insertInto(connection, t.verification_spending, { replacing: true }),
    count: insertInto(connection, t.verification_counts, {
      conflict: `on conflict (workspace_id, country, hour) do update set
        sent = sent + excluded.sent, approved = approved + excluded.approved,
        credits_used = credits_used + excluded.credits_used`,
    }),
  }
}

/** Changes the counts of a code, if a message has one. An address has its verification as its first or second one. */
export function recountCodes(connection: Connection): (change: CodeCountChange) => void {
  const add = connection.prepare(
    `insert into verification_counts (workspace_id, country, hour, sent, approved, credits_used)
     select workspace_id, country, @hour, @sent, 0, @credits_used from verifications
     where workspace_id = @workspace_id and livemode = 1 and country is not null
       and (recipient = @recipient or other_recipient = @recipient)
       and created_at between @since and @created_at and instr(messages, @message_id) > 0
     on conflict (workspace_id, country, hour) do update set
       sent = sent + excluded.sent, credits_used = credits_used + excluded.credits_used`,
  )
  return (change) => {
    const { created_at, ...of } = change
    const { since, hour } = countedAt(created_at)
    add.run({
      ...of,
      created_at: created_at.getTime(),
      since: since.getTime(),
      hour: hour.getTime(),
    })
  }
}

/** Makes the next channel of a code due, if its last message failed. */
export function speedUpCodes(connection: Connection): (failed: FailedCode) => void {
  const update = connection.prepare(
    `update verifications set fallback_at = @at
     where workspace_id = @workspace_id and (recipient = @address or other_recipient = @address)
       and message_id = @message_id and ended_at is null and fallback_at > @at`,
  )
  return ({ at, ...of }) => {
    update.run({ ...of, at: at.getTime() })
  }
}
