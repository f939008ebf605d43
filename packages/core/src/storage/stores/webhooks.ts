import {
  and,
  asc,
  desc,
  eq,
  exists,
  gt,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  or,
  sql,
} from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Delivery } from '../../contract/resources/webhook-deliveries.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type {
  DeliveryAttemptRow,
  DeliveryQueueRow,
  DeliveryRow,
  EventRow,
  WebhookRow,
} from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import type { AttemptCount } from '../../rules/answer-times.ts'
import type { FanOut, Subscriber } from '../../rules/deliveries.ts'
import { attemptInRow } from '../../rules/record.ts'
import {
  blocksOf,
  filledUp,
  isBelow,
  isIndexed,
  removeOldest,
  type StoreDialect,
} from './queries.ts'

/** Selects deliveries of a webhook. */
export interface DeliveryFilter {
  status?: Delivery['status'] | undefined
  event?: string | undefined
  livemode?: boolean | undefined
}

/** Selects webhooks. */
export interface WebhookFilter {
  mode?: 'all' | 'live' | 'test' | undefined
}

/** The columns that the owner or a rotation changes. */
export type WebhookChange = Partial<
  Omit<WebhookRow, 'id' | 'workspace_id' | 'last_success_at' | 'last_failure_at' | 'created_at'>
>

/** The body of an event's deliveries. */
export type EventBody = Pick<EventRow, 'id' | 'body'>

function cut(text: string | null, max: number): string | null {
  return text === null ? null : text.slice(0, max).replace(/[\ud800-\udbff]$/, '')
}

export function webhookStore(
  db: Db,
  tables: Tables,
  { locked, kept, present }: StoreDialect,
  eventLog: { note(stored: FanOut['events']): void },
) {
  const { webhooks: t, deliveries, delivery_queue: queue, delivery_attempts: attempts } = tables
  const { events, receiver_hosts: hosts, webhook_hours: hours, webhook_failures: failures } = tables

  const isListed = isNull(t.callback_origin)
  const mine = (workspaceId: string, webhookId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, webhookId))
  const deliveriesTo = (workspaceId: string, webhookId: string) =>
    and(eq(deliveries.workspace_id, workspaceId), eq(deliveries.webhook_id, webhookId))
  const hoursOf = (workspaceId: string, webhookId: string) =>
    and(eq(hours.workspace_id, workspaceId), eq(hours.webhook_id, webhookId))
  const ofMode = (workspaceId: string, { mode }: WebhookFilter) =>
    and(eq(t.workspace_id, workspaceId), isListed, mode ? eq(t.mode, mode) : undefined)
  const matching = (workspaceId: string, webhookId: string, filter: DeliveryFilter) => {
    const { status, event, livemode } = filter
    return and(
      deliveriesTo(workspaceId, webhookId),
      livemode === undefined ? undefined : eq(deliveries.livemode, livemode),
      status ? eq(deliveries.status, status) : undefined,
      event ? eq(deliveries.event, event) : undefined,
    )
  }

  async function enqueue(rows: readonly DeliveryQueueRow[]): Promise<void> {
    for (const block of blocksOf(rows)) {
      const due = block.map((row) => {
        const at = present(row.due_at)
        return { ...row, due_at: at, set_at: at }
      })
      await db.insert(queue).values(due)
    }
  }

  return {
    reads: {
      /** Also returns hidden webhooks. */
      async byId(workspaceId: string, webhookId: string): Promise<WebhookRow | null> {
        const [row] = await db.select().from(t).where(mine(workspaceId, webhookId))
        return row ?? null
      },
      /** The hidden webhook that gets the callbacks for this origin, signed by this key. */
      async byCallbackOrigin(
        workspaceId: string,
        { api_key_id, callback_origin }: { api_key_id: string; callback_origin: string },
      ): Promise<WebhookRow | null> {
        const one = and(
          eq(t.workspace_id, workspaceId),
          eq(t.api_key_id, api_key_id),
          eq(t.callback_origin, callback_origin),
        )
        return (await db.select().from(t).where(one))[0] ?? null
      },
      /** Returns the newest first, without hidden webhooks. */
      async list(
        workspaceId: string,
        { limit, offset, after, ...filter }: WebhookFilter & Slice,
      ): Promise<WebhookRow[]> {
        const all = db
          .select()
          .from(t)
          .where(and(ofMode(workspaceId, filter), isBelow(t.id, after)))
        return all.orderBy(desc(t.id)).limit(limit).offset(offset)
      },
      /** Without hidden webhooks. */
      async count(workspaceId: string, filter: WebhookFilter = {}): Promise<number> {
        const all = db.select({ n: rowCount }).from(t).where(ofMode(workspaceId, filter))
        return (await all)[0]?.n ?? 0
      },
      /** Returns the newest first. */
      async deliveries(
        workspaceId: string,
        webhookId: string,
        { limit, offset, after, ...filter }: DeliveryFilter & Slice,
      ): Promise<DeliveryRow[]> {
        const found = db
          .select()
          .from(deliveries)
          .where(and(matching(workspaceId, webhookId, filter), isBelow(deliveries.id, after)))
        return found.orderBy(desc(deliveries.id)).limit(limit).offset(offset)
      },
      async countDeliveries(
        workspaceId: string,
        webhookId: string,
        filter: DeliveryFilter = {},
      ): Promise<number> {
        const found = db
          .select({ n: rowCount })
          .from(deliveries)
          .where(matching(workspaceId, webhookId, filter))
        return (await found)[0]?.n ?? 0
      },
      async delivery(
        workspaceId: string,
        webhookId: string,
        deliveryId: string,
      ): Promise<DeliveryRow | null> {
        const one = and(deliveriesTo(workspaceId, webhookId), eq(deliveries.id, deliveryId))
        return (await db.select().from(deliveries).where(one))[0] ?? null
      },
      /** When the next of the waiting deliveries is due; null if none waits. Deliveries in flight do not wait. */
      async nextDue(workspaceId: string, webhookId: string): Promise<Date | null> {
        const to = and(eq(queue.webhook_id, webhookId), eq(queue.workspace_id, workspaceId))
        const waiting = db
          .select({ due_at: queue.due_at })
          .from(queue)
          .where(and(to, isNull(queue.token)))
        return (await waiting.orderBy(asc(queue.due_at)).limit(1))[0]?.due_at ?? null
      },
      /** At most `limit` deliveries with ids above `after_id`, of any status, oldest first. */
      async deliveriesAfter(
        workspaceId: string,
        webhookId: string,
        { after_id, limit }: { after_id: string; limit: number },
      ): Promise<Pick<DeliveryRow, 'id' | 'event_id' | 'status' | 'livemode' | 'created_at'>[]> {
        const { id, event_id, status, livemode, created_at } = deliveries
        const later = and(deliveriesTo(workspaceId, webhookId), gt(id, after_id))
        const row = { id, event_id, status, livemode, created_at }
        const found = db.select(row).from(deliveries).where(later)
        return found.orderBy(asc(id)).limit(limit)
      },
      /** All deliveries about one message, oldest first. */
      async deliveriesOf(workspaceId: string, messageId: string): Promise<DeliveryRow[]> {
        const { workspace_id, webhook_id, id, message_id } = deliveries
        const mine = eq(workspace_id, workspaceId)
        const some = and(mine, eq(message_id, messageId))
        const about = and(mine, isIndexed(db, deliveries, [webhook_id, id], some))
        return db.select().from(deliveries).where(about).orderBy(asc(deliveries.id))
      },
      /** The bodies of these events, in any order; missing events are left out. */
      async eventBodies(workspaceId: string, eventIds: readonly string[]): Promise<EventBody[]> {
        if (eventIds.length === 0) return []
        const some = and(eq(events.workspace_id, workspaceId), inArray(events.id, [...eventIds]))
        return db.select({ id: events.id, body: events.body }).from(events).where(some)
      },
      /** The counts of attempts of these hours, both inclusive, by periods of `hours_each`; `period` is an hour divided by it. */
      async attemptCounts(
        workspaceId: string,
        webhookId: string,
        { from, until, hours_each }: { from: number; until: number; hours_each: number },
      ): Promise<(AttemptCount & { period: number })[]> {
        const { hour, outcome, step, count } = hours
        const period = sql<number>`${hour} / ${sql.raw(`${Math.trunc(hours_each)}`)}`
        return db
          .select({ period, outcome, step, count: sql<number>`cast(sum(${count}) as integer)` })
          .from(hours)
          .where(and(hoursOf(workspaceId, webhookId), gte(hour, from), lte(hour, until)))
          .groupBy(period, outcome, step)
          .orderBy(period, outcome, step)
      },
      /** The last failed attempts with their deliveries, newest first; their bodies have at most `body_max` characters. */
      async lastFailures(
        workspaceId: string,
        webhookId: string,
        { livemode, body_max }: { livemode?: boolean | undefined; body_max: number },
      ): Promise<{ delivery: DeliveryRow; attempt: DeliveryAttemptRow }[]> {
        const own = and(
          eq(failures.workspace_id, workspaceId),
          eq(failures.webhook_id, webhookId),
          livemode === undefined ? undefined : eq(deliveries.livemode, livemode),
        )
        const rows = await db
          .select({ delivery: deliveries, attempt: attempts, number: failures.number })
          .from(failures)
          .innerJoin(
            deliveries,
            and(
              eq(deliveries.workspace_id, failures.workspace_id),
              eq(deliveries.webhook_id, failures.webhook_id),
              eq(deliveries.id, failures.delivery_id),
            ),
          )
          .leftJoin(
            attempts,
            and(
              eq(attempts.workspace_id, failures.workspace_id),
              eq(attempts.delivery_id, failures.delivery_id),
              eq(attempts.number, failures.number),
            ),
          )
          .where(own)
          .orderBy(desc(failures.at), desc(failures.delivery_id), desc(failures.number))
        return rows.flatMap(({ delivery, attempt, number }) => {
          const only = attemptInRow(delivery)
          const one = attempt ?? (only?.number === number ? only : null)
          if (!one) return []
          return [
            { delivery, attempt: { ...one, response_body: cut(one.response_body, body_max) } },
          ]
        })
      },
      /** The tries of one delivery, oldest first. */
      async attempts(
        workspaceId: string,
        webhookId: string,
        deliveryId: string,
      ): Promise<DeliveryAttemptRow[]> {
        const one = and(deliveriesTo(workspaceId, webhookId), eq(deliveries.id, deliveryId))
        const [row] = await db.select().from(deliveries).where(one)
        const only = row && attemptInRow(row)
        if (only) return [only]
        const of = and(eq(attempts.workspace_id, workspaceId), eq(attempts.delivery_id, deliveryId))
        return db.select().from(attempts).where(of).orderBy(asc(attempts.number))
      },
    },
    writes: {
      /** Removes counts of hours before `hour`, at most `limit`; returns their number. */
      async forgetHours(hour: number, limit: number): Promise<number> {
        const { workspace_id, webhook_id, outcome, step } = hours
        const key = sql`${workspace_id}, ${webhook_id}, ${hours.hour}, ${outcome}, ${step}`
        const removed = await db
          .delete(hours)
          .where(
            sql`(${key}) in (select ${key} from ${hours} where ${lt(hours.hour, hour)} order by ${hours.hour} limit ${limit})`,
          )
          .returning({ hour: hours.hour })
        return removed.length
      },
      /**
       * Removes hosts at whose gates no attempt began or was held since `before`: those of deleted webhooks too. Returns their
       * number, at most `limit`.
       */
      async forgetHosts(before: Date, limit: number): Promise<number> {
        const isFree = or(isNull(hosts.held_until), lt(hosts.held_until, before))
        const condition = and(lt(hosts.waits_until, before), isFree)
        return removeOldest(db, { from: hosts, by: hosts.waits_until, condition }, limit)
      },
      /** The URLs of the workspace's webhooks, even if disabled, without hidden ones. The list is exact while the workspace is locked. */
      async targets(workspaceId: string): Promise<Pick<WebhookRow, 'id' | 'url'>[]> {
        const all = and(eq(t.workspace_id, workspaceId), isListed)
        return db.select({ id: t.id, url: t.url }).from(t).where(all)
      },
      async insert(webhook: WebhookRow): Promise<void> {
        await db.insert(t).values(webhook)
      },
      /** The webhook, locked until the transaction ends. */
      async lock(workspaceId: string, webhookId: string): Promise<WebhookRow | null> {
        const [row] = await locked(db.select().from(t).where(mine(workspaceId, webhookId)))
        return row ?? null
      },
      /**
       * The webhooks that this API key signs, hidden ones included, locked until the transaction ends; null: that any key
       * signs. Sorted by id.
       */
      async lockSignedBy(workspaceId: string, keyId: string | null): Promise<WebhookRow[]> {
        const signed = keyId === null ? isNotNull(t.api_key_id) : eq(t.api_key_id, keyId)
        const found = db.select().from(t)
        return locked(found.where(and(eq(t.workspace_id, workspaceId), signed)).orderBy(asc(t.id)))
      },
      /** The number of the hidden webhooks that get callbacks, or will again. It is exact while the workspace is locked. */
      async countCallbacks(workspaceId: string): Promise<number> {
        const used = or(eq(t.is_active, true), inArray(t.disabled_reason, ['gone', 'failing']))
        const all = and(eq(t.workspace_id, workspaceId), isNotNull(t.callback_origin), used)
        return (await db.select({ n: rowCount }).from(t).where(all))[0]?.n ?? 0
      },
      async change(workspaceId: string, webhookId: string, change: WebhookChange): Promise<void> {
        await db.update(t).set(change).where(mine(workspaceId, webhookId))
      },
      /** Disables every active webhook of the workspace; returns their number without hidden ones. */
      async disableAll(
        workspaceId: string,
        { reason, at }: { reason: string; at: Date },
      ): Promise<number> {
        const active = and(eq(t.workspace_id, workspaceId), eq(t.is_active, true))
        // The webhooks are locked in the same order as by delivery results.
        await locked(db.select({ id: t.id }).from(t).where(active).orderBy(asc(t.id)))
        const disabled = {
          ...({ is_active: false, status: 'disabled', disabled_reason: reason } as const),
          disabled_at: at,
          notice: 'no' as const,
        }
        const changed = await db
          .update(t)
          .set({ ...disabled, updated_at: at })
          .where(active)
          .returning({ callback_origin: t.callback_origin })
        return changed.filter(({ callback_origin }) => callback_origin === null).length
      },
      /** The active webhooks without hidden ones. None of them can be removed until the transaction ends. */
      async subscribers(workspaceId: string): Promise<Subscriber[]> {
        const { id, workspace_id, events, mode, format } = t
        const active = and(eq(workspace_id, workspaceId), eq(t.is_active, true), isListed)
        const found = db.select({ id, workspace_id, events, mode, format }).from(t).where(active)
        return kept(found.orderBy(asc(id)))
      },
      /** Stores an event and queues its deliveries. */
      async queue(announced: FanOut): Promise<void> {
        for (const block of blocksOf(announced.events)) await db.insert(events).values(block)
        eventLog.note(announced.events)
        for (const block of blocksOf(announced.deliveries))
          await db.insert(deliveries).values(block)
        await enqueue(announced.delivery_queue)
      },
      /**
       * Makes deliveries due at `at`, with the trigger `manual`. Waiting deliveries keep their remaining tries, finished
       * deliveries get `tries` more. A delivery in flight gets one more try, directly after the try in flight if that fails;
       * until then its `next_attempt_at` is null. A finished delivery whose event was removed stays as it is. Lock the webhook first.
       * Returns the number of changed deliveries.
       */
      async requeue(
        workspaceId: string,
        webhookId: string,
        deliveryIds: readonly string[],
        { at, tries }: { at: Date; tries: number },
      ): Promise<number> {
        if (deliveryIds.length === 0) return 0
        const due = { trigger: 'manual', next_attempt_at: at, updated_at: at } as const
        const oneMore = sql`${deliveries.max_attempts} + 1`
        const to = deliveriesTo(workspaceId, webhookId)
        const ids = filledUp(deliveryIds)
        const queued = and(
          eq(queue.workspace_id, workspaceId),
          eq(queue.webhook_id, webhookId),
          inArray(queue.delivery_id, ids),
        )
        const held = db
          .select({ id: queue.delivery_id })
          .from(queue)
          .where(and(queued, isNotNull(queue.token)))
        const inFlight = await db
          .update(deliveries)
          .set({ ...due, next_attempt_at: null, max_attempts: oneMore })
          .where(and(to, inArray(deliveries.id, held), isNotNull(deliveries.next_attempt_at)))
          .returning({ id: deliveries.id })
        const waiting = await db
          .update(queue)
          .set({ due_at: present(at), set_at: present(at) })
          .where(and(queued, isNull(queue.token), gt(queue.due_at, present(at))))
          .returning({ id: queue.delivery_id })
        const earlier = filledUp(waiting.map(({ id }) => id))
        if (earlier.length > 0) {
          await db
            .update(deliveries)
            .set({ ...due, max_attempts: oneMore })
            .where(and(to, inArray(deliveries.id, earlier)))
        }
        // An event can be older than the delivery, so the removal of its month leaves the delivery. No claim finds it without the event.
        const event = db
          .select({ n: sql`1` })
          .from(events)
          .where(and(eq(events.workspace_id, workspaceId), eq(events.id, deliveries.event_id)))
        const finished = await db
          .update(deliveries)
          .set({
            ...due,
            status: 'pending',
            max_attempts: sql`${deliveries.attempt_count} + ${tries}`,
          })
          .where(
            and(to, inArray(deliveries.id, ids), ne(deliveries.status, 'pending'), exists(event)),
          )
          .returning({ delivery_id: deliveries.id })
        const again = finished.map(({ delivery_id }) => ({
          delivery_id,
          workspace_id: workspaceId,
          webhook_id: webhookId,
          due_at: at,
          set_at: at,
          token: null,
        }))
        await enqueue(again)
        return inFlight.length + waiting.length + finished.length
      },
      /**
       * Puts a queued delivery before all others of its webhook, so that it is the next one or the next probe. Does nothing
       * while it is in flight. Lock the webhook first.
       */
      async putFirst(workspaceId: string, webhookId: string, deliveryId: string): Promise<void> {
        const waiting = and(
          eq(queue.workspace_id, workspaceId),
          eq(queue.webhook_id, webhookId),
          isNull(queue.token),
        )
        const [first] = await db
          .select({ due_at: queue.due_at })
          .from(queue)
          .where(waiting)
          .orderBy(asc(queue.due_at))
          .limit(1)
        if (!first) return
        const due_at = new Date(first.due_at.getTime() - 1)
        await db
          .update(queue)
          .set({ due_at })
          .where(and(waiting, eq(queue.delivery_id, deliveryId)))
      },
      /** Removes the webhook with all its deliveries. Returns false when there is no such webhook. */
      async remove(workspaceId: string, webhookId: string): Promise<boolean> {
        const removed = await db
          .delete(t)
          .where(mine(workspaceId, webhookId))
          .returning({ id: t.id })
        if (removed.length === 0) return false
        await db.delete(queue).where(eq(queue.webhook_id, webhookId))
        await db.delete(hours).where(hoursOf(workspaceId, webhookId))
        await db
          .delete(failures)
          .where(and(eq(failures.workspace_id, workspaceId), eq(failures.webhook_id, webhookId)))
        const gone = db
          .select({ id: deliveries.id })
          .from(deliveries)
          .where(deliveriesTo(workspaceId, webhookId))
        await db
          .delete(attempts)
          .where(and(eq(attempts.workspace_id, workspaceId), inArray(attempts.delivery_id, gone)))
        await db.delete(deliveries).where(deliveriesTo(workspaceId, webhookId))
        return true
      },
    },
  }
}
