import { and, asc, desc, eq, inArray } from 'drizzle-orm'
import type { WebhookReads, WebhookWrites } from '../../webhooks/store.ts'
import { type Db, rowCount } from '../dialect.ts'
import type { Tables } from '../tables.ts'

export function webhookStore(db: Db, tables: Tables): WebhookReads & WebhookWrites {
  const { webhooks: t, deliveries, delivery_queue: queue, delivery_attempts: attempts } = tables

  const mine = (workspaceId: string, webhookId: string) =>
    and(eq(t.workspace_id, workspaceId), eq(t.id, webhookId))
  const deliveriesTo = (workspaceId: string, webhookId: string) =>
    and(eq(deliveries.workspace_id, workspaceId), eq(deliveries.webhook_id, webhookId))

  return {
    async byId(workspaceId, webhookId) {
      const [row] = await db.select().from(t).where(mine(workspaceId, webhookId))
      return row ?? null
    },
    async list(workspaceId, { limit, offset }) {
      const all = db.select().from(t).where(eq(t.workspace_id, workspaceId))
      return all.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId) {
      const all = db.select({ n: rowCount }).from(t).where(eq(t.workspace_id, workspaceId))
      return (await all)[0]?.n ?? 0
    },
    async deliveries(workspaceId, webhookId, { limit, offset }) {
      const found = db.select().from(deliveries).where(deliveriesTo(workspaceId, webhookId))
      return found.orderBy(desc(deliveries.id)).limit(limit).offset(offset)
    },
    async countDeliveries(workspaceId, webhookId) {
      const found = db
        .select({ n: rowCount })
        .from(deliveries)
        .where(deliveriesTo(workspaceId, webhookId))
      return (await found)[0]?.n ?? 0
    },
    async deliveriesOf(workspaceId, messageId) {
      const about = and(
        eq(deliveries.workspace_id, workspaceId),
        eq(deliveries.message_id, messageId),
      )
      return db.select().from(deliveries).where(about).orderBy(asc(deliveries.id))
    },
    async attempts(workspaceId, deliveryId) {
      const of = and(eq(attempts.workspace_id, workspaceId), eq(attempts.delivery_id, deliveryId))
      return db.select().from(attempts).where(of).orderBy(asc(attempts.number))
    },
    async insert(webhook) {
      await db.insert(t).values(webhook)
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
