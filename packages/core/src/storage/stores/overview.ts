import { and, desc, eq, gt, inArray, lte, ne, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { OverviewReads, QueueState } from '../ports/overview.ts'

/** The number of histories (workspace and channel) searched for the last failures: those with the most failures. */
const HISTORIES_MAX = 100

/** The operator's view of all workspaces: its queries name no workspace. */
export function overviewStore(db: Db, tables: Tables): OverviewReads {
  const { messages, message_counts: counts, message_queue, delivery_queue } = tables
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

  return {
    async messageTotals() {
      const count = sumOf(counts.count)
      const found = db
        .select({ channel: counts.channel, status: counts.status, count })
        .from(counts)
        .where(isWhole)
        .groupBy(counts.channel, counts.status)
      return found.orderBy(counts.channel, counts.status)
    },
    async messageQueue(now) {
      const state = await queueState(message_queue, now)
      const unknown = sql`${message_queue.unknown_since} is not null`
      const [found] = await db.select({ unknown: countWhere(unknown) }).from(message_queue)
      return { ...state, unknown: found?.unknown ?? 0 }
    },
    deliveryQueue: (now) => queueState(delivery_queue, now),
    async creditTotals() {
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
    async webhookTotals() {
      const found = await db
        .select({ status: webhooks.status, count: rowCount })
        .from(webhooks)
        .groupBy(webhooks.status)
      const totals = { active: 0, failing: 0, disabled: 0 }
      for (const { status, count } of found) totals[status] = count
      return totals
    },
    async troubledWebhooks(limit) {
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
    async failedMessages(limit, only) {
      const failed = and(
        isWhole,
        eq(counts.status, 'failed'),
        gt(counts.count, 0),
        only && eq(counts.channel, only),
      )
      const histories = await db
        .select({ workspace_id: counts.workspace_id, channel: counts.channel })
        .from(counts)
        .where(failed)
        .orderBy(desc(counts.count), counts.workspace_id, counts.channel)
        .limit(HISTORIES_MAX)
      if (histories.length === 0) return []
      const newest = histories.map(({ workspace_id, channel }) => {
        const mine = and(
          eq(messages.workspace_id, workspace_id),
          eq(messages.channel, channel),
          eq(messages.status, 'failed'),
        )
        const ids = db.select({ id: messages.id }).from(messages).where(mine)
        return sql`select id from (${ids.orderBy(desc(messages.id)).limit(limit)}) history`
      })
      const ids = sql`(${sql.join(newest, sql` union all `)} order by id desc limit ${limit})`
      const { id, workspace_id, channel, recipient, provider } = messages
      const { error_code, error_message, created_at, failed_at } = messages
      const workspaces = [...new Set(histories.map((history) => history.workspace_id))]
      return db
        .select({
          ...{ id, workspace_id, channel, recipient, provider },
          ...{ error_code, error_message, created_at, failed_at },
        })
        .from(messages)
        .where(and(inArray(workspace_id, workspaces), inArray(id, ids)))
        .orderBy(desc(id))
        .limit(limit)
    },
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
