import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lt, ne, or, sql } from 'drizzle-orm'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { DeliveryQueueRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'
import type { FanOut } from '../../rules/fan-out.ts'
import { attemptInRow } from '../../rules/record.ts'
import type {
  DeliveryFilter,
  WebhookFilter,
  WebhookReads,
  WebhookWrites,
} from '../ports/webhooks.ts'
import { blocksOf, filledUp } from './batches.ts'
import type { StoreDialect } from './dialect.ts'
import { isBelow, removeOldest } from './pages.ts'

export function webhookStore(
  db: Db,
  tables: Tables,
  { locked, kept, present }: StoreDialect,
  eventLog: { note(stored: FanOut['events']): void },
): WebhookReads & WebhookWrites {
  const { webhooks: t, deliveries, delivery_queue: queue, delivery_attempts: attempts } = tables
  const { events, receiver_hosts: hosts } = tables

  const isListed = isNull(t.callback_origin)
  const mine = (workspaceId: string, webhookId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, webhookId))
  const deliveriesTo = (workspaceId: string, webhookId: string) =>
    and(eq(deliveries.workspace_id, workspaceId), eq(deliveries.webhook_id, webhookId))
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
    async forgetHosts(before, limit) {
      const isFree = or(isNull(hosts.held_until), lt(hosts.held_until, before))
      const condition = and(lt(hosts.waits_until, before), isFree)
      return removeOldest(db, { from: hosts, by: hosts.waits_until, condition }, limit)
    },
    async byId(workspaceId, webhookId) {
      const [row] = await db.select().from(t).where(mine(workspaceId, webhookId))
      return row ?? null
    },
    async byCallbackOrigin(workspaceId, { api_key_id, callback_origin }) {
      const one = and(
        eq(t.workspace_id, workspaceId),
        eq(t.api_key_id, api_key_id),
        eq(t.callback_origin, callback_origin),
      )
      return (await db.select().from(t).where(one))[0] ?? null
    },
    async list(workspaceId, { limit, offset, after, ...filter }) {
      const all = db
        .select()
        .from(t)
        .where(and(ofMode(workspaceId, filter), isBelow(t.id, after)))
      return all.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId, filter = {}) {
      const all = db.select({ n: rowCount }).from(t).where(ofMode(workspaceId, filter))
      return (await all)[0]?.n ?? 0
    },
    async deliveries(workspaceId, webhookId, { limit, offset, after, ...filter }) {
      const found = db
        .select()
        .from(deliveries)
        .where(and(matching(workspaceId, webhookId, filter), isBelow(deliveries.id, after)))
      return found.orderBy(desc(deliveries.id)).limit(limit).offset(offset)
    },
    async countDeliveries(workspaceId, webhookId, filter = {}) {
      const found = db
        .select({ n: rowCount })
        .from(deliveries)
        .where(matching(workspaceId, webhookId, filter))
      return (await found)[0]?.n ?? 0
    },
    async delivery(workspaceId, webhookId, deliveryId) {
      const one = and(deliveriesTo(workspaceId, webhookId), eq(deliveries.id, deliveryId))
      return (await db.select().from(deliveries).where(one))[0] ?? null
    },
    async nextDue(workspaceId, webhookId) {
      const to = and(eq(queue.webhook_id, webhookId), eq(queue.workspace_id, workspaceId))
      const waiting = db
        .select({ due_at: queue.due_at })
        .from(queue)
        .where(and(to, isNull(queue.token)))
      return (await waiting.orderBy(asc(queue.due_at)).limit(1))[0]?.due_at ?? null
    },
    async deliveriesAfter(workspaceId, webhookId, { after_id, limit }) {
      const { id, event_id, status, livemode, created_at } = deliveries
      const later = and(deliveriesTo(workspaceId, webhookId), gt(id, after_id))
      const row = { id, event_id, status, livemode, created_at }
      const found = db.select(row).from(deliveries).where(later)
      return found.orderBy(asc(id)).limit(limit)
    },
    async deliveriesOf(workspaceId, messageId) {
      const about = and(
        eq(deliveries.workspace_id, workspaceId),
        eq(deliveries.message_id, messageId),
      )
      return db.select().from(deliveries).where(about).orderBy(asc(deliveries.id))
    },
    async eventBodies(workspaceId, eventIds) {
      if (eventIds.length === 0) return []
      const some = and(eq(events.workspace_id, workspaceId), inArray(events.id, [...eventIds]))
      return db.select({ id: events.id, body: events.body }).from(events).where(some)
    },
    async attempts(workspaceId, webhookId, deliveryId) {
      const one = and(deliveriesTo(workspaceId, webhookId), eq(deliveries.id, deliveryId))
      const [row] = await db.select().from(deliveries).where(one)
      const only = row && attemptInRow(row)
      if (only) return [only]
      const of = and(eq(attempts.workspace_id, workspaceId), eq(attempts.delivery_id, deliveryId))
      return db.select().from(attempts).where(of).orderBy(asc(attempts.number))
    },
    async targets(workspaceId) {
      const all = and(eq(t.workspace_id, workspaceId), isListed)
      return db.select({ id: t.id, url: t.url }).from(t).where(all)
    },
    async insert(webhook) {
      await db.insert(t).values(webhook)
    },
    async lock(workspaceId, webhookId) {
      const [row] = await locked(db.select().from(t).where(mine(workspaceId, webhookId)))
      return row ?? null
    },
    async lockSignedBy(workspaceId, keyId) {
      const signed = keyId === null ? isNotNull(t.api_key_id) : eq(t.api_key_id, keyId)
      const found = db.select().from(t)
      return locked(found.where(and(eq(t.workspace_id, workspaceId), signed)).orderBy(asc(t.id)))
    },
    async countCallbacks(workspaceId) {
      const used = or(eq(t.is_active, true), inArray(t.disabled_reason, ['gone', 'failing']))
      const all = and(eq(t.workspace_id, workspaceId), isNotNull(t.callback_origin), used)
      return (await db.select({ n: rowCount }).from(t).where(all))[0]?.n ?? 0
    },
    async change(workspaceId, webhookId, change) {
      await db.update(t).set(change).where(mine(workspaceId, webhookId))
    },
    async disableAll(workspaceId, { reason, at }) {
      const active = and(eq(t.workspace_id, workspaceId), eq(t.is_active, true))
      // The webhooks are locked in the same order as by delivery results.
      await locked(db.select({ id: t.id }).from(t).where(active).orderBy(asc(t.id)))
      const disabled = { is_active: false, status: 'disabled', disabled_reason: reason } as const
      const changed = await db
        .update(t)
        .set({ ...disabled, updated_at: at })
        .where(active)
        .returning({ callback_origin: t.callback_origin })
      return changed.filter(({ callback_origin }) => callback_origin === null).length
    },
    async subscribers(workspaceId) {
      const { id, workspace_id, events, mode, format } = t
      const active = and(eq(workspace_id, workspaceId), eq(t.is_active, true), isListed)
      const found = db.select({ id, workspace_id, events, mode, format }).from(t).where(active)
      return kept(found.orderBy(asc(id)))
    },
    async queue(announced) {
      for (const block of blocksOf(announced.events)) await db.insert(events).values(block)
      eventLog.note(announced.events)
      for (const block of blocksOf(announced.deliveries)) await db.insert(deliveries).values(block)
      await enqueue(announced.delivery_queue)
    },
    async requeue(workspaceId, webhookId, deliveryIds, { at, tries }) {
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
      const finished = await db
        .update(deliveries)
        .set({
          ...due,
          status: 'pending',
          max_attempts: sql`${deliveries.attempt_count} + ${tries}`,
        })
        .where(and(to, inArray(deliveries.id, ids), ne(deliveries.status, 'pending')))
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
    async remove(workspaceId, webhookId) {
      const removed = await db.delete(t).where(mine(workspaceId, webhookId)).returning({ id: t.id })
      if (removed.length === 0) return false
      await db.delete(queue).where(eq(queue.webhook_id, webhookId))
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
  }
}
