import {
  and,
  asc,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  type SQL,
  sql,
} from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Channel } from '../../contract/resources/messages.ts'
import type { WebhookStatus } from '../../contract/resources/webhooks.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { CountedStatus } from '../../rows/messages.ts'
import { EMPTY_PART, type QueuePart } from '../../rows/operating.ts'
import type { Tables } from '../../rows/tables.ts'
import { HELD_UNTIL } from '../../rules/claim.ts'

/** The length of a queue. A claimed row is due again when its lease ends. */
export interface QueueState {
  /** All rows, due or not. */
  waiting: number
  /** Rows that are due now. */
  due: number
  /** The earliest due time; null when no row is due. */
  oldest_due_at: Date | null
}

/** The state of the queue of messages. */
export interface MessageQueueState extends QueueState {
  /** The messages for which it is unknown whether a provider has them. */
  unknown: number
}

/** A message for which it is unknown whether a provider has it, without its content. */
export interface UnknownMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  provider: string | null
  attempt: number
  unknown_since: Date
  /** The time of the next look-up. */
  due_at: Date
}

/** The rows of a queue by their state. A row is in one state. */
export interface QueueStates {
  /** Claimed by a server. */
  leased: number
  /** Due, and not claimed. */
  due: number
  /** Due later: scheduled, or waiting for another attempt. */
  later: number
  /** The earliest time at which a row that is not claimed is due; null for none. */
  first_due_at: Date | null
}

/** The number of messages of all workspaces that have this status now. */
export interface MessageTotal {
  channel: Channel
  status: CountedStatus
  count: number
}

/** Sums over all accounts, in micro-credits; rounded if a sum exceeds 2^53. */
export interface CreditTotals {
  workspaces: number
  frozen: number
  balance: number
  held: number
}

/** The number of webhooks in each state. */
export type WebhookTotals = Record<WebhookStatus, number>

/** A webhook whose deliveries fail, or that the service disabled. */
export interface TroubledWebhook {
  id: string
  workspace_id: string
  url: string
  status: WebhookStatus
  disabled_reason: string | null
  consecutive_failures: number
  last_success_at: Date | null
  last_failure_at: Date | null
}

/** A failed message, without its content. */
export interface FailedMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  provider: string | null
  error_code: string | null
  error_message: string | null
  bulk_id: string | null
  /** The campaign of the bulk's request; null without one. */
  bulk_name: string | null
  created_at: Date
  failed_at: Date | null
}

/** The number of histories (workspace and channel) searched for the last failures: those with the most failures. */
const HISTORIES_MAX = 100
/** The newest failed messages of a history among which those that were not canceled are looked for. */
const FAILURES_EXAMINED = 1_000

/** The number of queue rows of each kind that are read one by one. */
const PARTS_MAX = 10_000

/** Messages that are due within this time wait now: a slow or paused provider postpones a message by less. */
const WAITING_MS = 60_000

/** The operator's view of all workspaces: its queries name no workspace. */
export function overviewStore(db: Db, tables: Tables) {
  const {
    messages,
    bulks,
    message_counts: counts,
    message_queue,
    delivery_queue,
    message_attempts,
  } = tables
  const { credit_accounts: accounts, webhooks } = tables

  // The condition has the same text as in the index: with a parameter, no engine uses the index.
  const isWhole = sql`${counts.unit} = 'all'`

  async function queueState(
    queue: typeof message_queue | typeof delivery_queue,
    now: Date,
  ): Promise<QueueState> {
    const [all, [first]] = await Promise.all([
      db.select({ waiting: rowCount, due: countWhere(lte(queue.due_at, now)) }).from(queue),
      db.select({ due_at: queue.due_at }).from(queue).orderBy(queue.due_at).limit(1),
    ])
    const oldest = first && first.due_at <= now ? first.due_at : null
    return { waiting: all[0]?.waiting ?? 0, due: all[0]?.due ?? 0, oldest_due_at: oldest }
  }

  async function queueStates(
    queue: typeof message_queue | typeof delivery_queue,
    now: Date,
  ): Promise<QueueStates> {
    const isFree = isNull(queue.token)
    const isDue = lte(queue.due_at, now)
    const [[sums], [first]] = await Promise.all([
      db
        .select({
          leased: countWhere(isNotNull(queue.token)),
          due: countWhere(sql`${isFree} and ${isDue}`),
          later: countWhere(sql`${isFree} and not (${isDue})`),
        })
        .from(queue),
      db
        .select({ due_at: queue.due_at })
        .from(queue)
        .where(and(isFree, lt(queue.due_at, HELD_UNTIL)))
        .orderBy(queue.due_at)
        .limit(1),
    ])
    const { leased = 0, due = 0, later = 0 } = sums ?? {}
    return { leased, due, later, first_due_at: first?.due_at ?? null }
  }

  /** The oldest rows of the message queue of one kind, summed by channel and provider. */
  async function partsOf(condition: SQL | undefined, at: 'waiting' | 'call' | 'unknown') {
    const { message_id, workspace_id, due_at, attempt, unknown_since } = message_queue
    const head = db
      .select({ message_id, workspace_id, due_at, attempt, unknown_since })
      .from(message_queue)
      .where(condition)
      .orderBy(...(at === 'waiting' ? [due_at] : []))
      .limit(PARTS_MAX)
      .as('head')
    const { provider, started_at } = message_attempts
    const { channel, livemode, created_at, scheduled_at } = messages
    const oldest = {
      waiting: sql`coalesce(${scheduled_at}, ${created_at})`,
      call: started_at,
      unknown: head.unknown_since,
    }[at]
    const attempts = message_attempts
    return db
      .select({
        ...{ channel, livemode, provider },
        count: rowCount,
        oldest_at: sql<Date | null>`min(${oldest})`.mapWith(created_at),
      })
      .from(head)
      .innerJoin(
        messages,
        and(eq(messages.workspace_id, head.workspace_id), eq(messages.id, head.message_id)),
      )
      .leftJoin(
        attempts,
        and(
          eq(attempts.workspace_id, head.workspace_id),
          eq(attempts.message_id, head.message_id),
          eq(attempts.number, head.attempt),
        ),
      )
      .groupBy(channel, livemode, provider)
  }

  return {
    reads: {
      async messageTotals(): Promise<MessageTotal[]> {
        const count = sumOf(counts.count)
        const found = db
          .select({ channel: counts.channel, status: counts.status, count })
          .from(counts)
          .where(isWhole)
          .groupBy(counts.channel, counts.status)
        return found.orderBy(counts.channel, counts.status)
      },
      async messageQueue(now: Date): Promise<MessageQueueState> {
        const state = await queueState(message_queue, now)
        const unknown = sql`${message_queue.unknown_since} is not null`
        const [found] = await db.select({ unknown: countWhere(unknown) }).from(message_queue)
        return { ...state, unknown: found?.unknown ?? 0 }
      },
      deliveryQueue: (now: Date): Promise<QueueState> => queueState(delivery_queue, now),
      /**
       * The queue of messages by channel and provider. Reads at most 10,000 rows of each kind, those that are due first, so that
       * a long backlog does not make it slow.
       */
      async queueParts(now: Date): Promise<QueuePart[]> {
        const { due_at, token, unknown_since, task } = message_queue
        const isNear = lte(due_at, new Date(now.getTime() + WAITING_MS))
        const isSend = and(eq(task, 'send'), isNull(unknown_since))
        const [waiting, calls, unknown] = await Promise.all([
          partsOf(and(isSend, isNull(token), isNear), 'waiting'),
          // Leases end by the clock of the database, so they are not compared with `now`.
          partsOf(and(isSend, isNotNull(token)), 'call'),
          partsOf(isNotNull(unknown_since), 'unknown'),
        ])
        const parts = new Map<string, QueuePart>()
        const partOf = ({ channel, livemode, provider }: (typeof waiting)[number]): QueuePart => {
          const key = `${channel} ${livemode} ${provider ?? ''}`
          const part = parts.get(key) ?? { channel, livemode, provider, ...EMPTY_PART }
          parts.set(key, part)
          return part
        }
        for (const row of waiting) {
          Object.assign(partOf(row), { waiting: row.count, oldest_waiting_at: row.oldest_at })
        }
        for (const row of calls) {
          Object.assign(partOf(row), { calls: row.count, oldest_call_at: row.oldest_at })
        }
        for (const row of unknown) {
          Object.assign(partOf(row), { unknown: row.count, oldest_unknown_at: row.oldest_at })
        }
        return [...parts.values()]
      },
      messageQueueStates: (now: Date): Promise<QueueStates> => queueStates(message_queue, now),
      deliveryQueueStates: (now: Date): Promise<QueueStates> => queueStates(delivery_queue, now),
      /** The messages with an unknown outcome, the oldest first. */
      async unknownMessages(limit: number): Promise<UnknownMessage[]> {
        const { id, workspace_id, channel, recipient, provider } = messages
        const { attempt, due_at, unknown_since } = message_queue
        const rows = await db
          .select({
            id,
            workspace_id,
            channel,
            recipient,
            provider,
            attempt,
            due_at,
            unknown_since,
          })
          .from(message_queue)
          .innerJoin(
            messages,
            and(
              eq(messages.workspace_id, message_queue.workspace_id),
              eq(messages.id, message_queue.message_id),
            ),
          )
          .where(isNotNull(unknown_since))
          .orderBy(asc(unknown_since), asc(id))
          .limit(limit)
        return rows.flatMap(({ unknown_since: since, ...row }) =>
          since ? [{ ...row, unknown_since: since }] : [],
        )
      },
      async creditTotals(): Promise<CreditTotals> {
        const [found] = await db
          .select({
            workspaces: rowCount,
            frozen: countWhere(eq(accounts.status, 'frozen')),
            balance: sumOf(accounts.balance),
            held: sumOf(accounts.held),
          })
          .from(accounts)
        return found ?? { workspaces: 0, frozen: 0, balance: 0, held: 0 }
      },
      async webhookTotals(): Promise<WebhookTotals> {
        const found = await db
          .select({ status: webhooks.status, count: rowCount })
          .from(webhooks)
          .groupBy(webhooks.status)
        const totals = { active: 0, failing: 0, disabled: 0 }
        for (const { status, count } of found) totals[status] = count
        return totals
      },
      /** Failing or disabled webhooks, the latest failure first. */
      async troubledWebhooks(limit: number): Promise<TroubledWebhook[]> {
        const { id, workspace_id, url, status, disabled_reason } = webhooks
        const { consecutive_failures, last_success_at, last_failure_at } = webhooks
        return db
          .select({
            ...{ id, workspace_id, url, status, disabled_reason },
            ...{ consecutive_failures, last_success_at, last_failure_at },
          })
          .from(webhooks)
          .where(ne(webhooks.status, 'active'))
          .orderBy(sql`${last_failure_at} desc nulls last`, desc(id))
          .limit(limit)
      },
      /** Failed messages that were not canceled, newest first; with `channel`, only of this channel. */
      async failedMessages(limit: number, only?: Channel): Promise<FailedMessage[]> {
        const failed = and(isWhole, eq(counts.status, 'failed'), only && eq(counts.channel, only))
        const number = sql`sum(${counts.count})`
        const histories = await db
          .select({ workspace_id: counts.workspace_id, channel: counts.channel })
          .from(counts)
          .where(failed)
          .groupBy(counts.workspace_id, counts.channel)
          .having(gt(number, 0))
          .orderBy(desc(number), counts.workspace_id, counts.channel)
          .limit(HISTORIES_MAX)
        if (histories.length === 0) return []
        const newest = histories.map(({ workspace_id, channel }) => {
          const mine = and(
            eq(messages.workspace_id, workspace_id),
            eq(messages.channel, channel),
            eq(messages.status, 'failed'),
          )
          const { id, error_code } = messages
          const found = db.select({ id, error_code }).from(messages).where(mine)
          const examined = found.orderBy(desc(id)).limit(Math.max(limit, FAILURES_EXAMINED))
          return sql`select id from (select id from (${examined}) failed
            where error_code is null or error_code <> 'canceled' order by id desc limit ${limit}) history`
        })
        const ids = sql`(${sql.join(newest, sql` union all `)} order by id desc limit ${limit})`
        const { id, workspace_id, channel, recipient, provider } = messages
        const { error_code, error_message, bulk_id, created_at, failed_at } = messages
        const workspaces = [...new Set(histories.map((history) => history.workspace_id))]
        return db
          .select({
            ...{ id, workspace_id, channel, recipient, provider },
            ...{ error_code, error_message, bulk_id, created_at, failed_at },
            bulk_name: bulks.name,
          })
          .from(messages)
          .leftJoin(bulks, and(eq(bulks.workspace_id, workspace_id), eq(bulks.id, bulk_id)))
          .where(and(inArray(workspace_id, workspaces), inArray(id, ids)))
          .orderBy(desc(id))
          .limit(limit)
      },
    },
    writes: {},
  }
}

/** The number of matching rows, as a JavaScript number on both engines. */
function countWhere(condition: SQL): SQL<number> {
  return sql<number>`cast(coalesce(sum(case when ${condition} then 1 else 0 end), 0) as integer)`
}

/** The sum is a floating-point number, because many full accounts would overflow an integer. */
function sumOf(column: PgColumn): SQL<number> {
  return sql<number>`coalesce(sum(cast(${column} as double precision)), 0)`
}
