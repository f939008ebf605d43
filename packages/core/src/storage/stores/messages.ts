import { and, asc, desc, eq, gte, lt, lte } from 'drizzle-orm'
import type { MessageFilter, MessageReads } from '../../messages/store.ts'
import { type Db, rowCount } from '../dialect.ts'
import type { Tables } from '../tables.ts'

export function messageStore(db: Db, tables: Tables): MessageReads {
  const { messages: t, message_attempts: attempts, message_events: events } = tables

  function matching(workspaceId: string, filter: MessageFilter) {
    return and(
      eq(t.workspace_id, workspaceId),
      filter.channel && eq(t.channel, filter.channel),
      filter.status && eq(t.status, filter.status),
      filter.from && gte(t.created_at, filter.from),
      filter.until && lte(t.created_at, filter.until),
      filter.bulk_id ? eq(t.bulk_id, filter.bulk_id) : undefined,
      filter.recipient ? eq(t.recipient, filter.recipient) : undefined,
      filter.before_id ? lt(t.id, filter.before_id) : undefined,
    )
  }

  return {
    async byId(workspaceId, messageId) {
      const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, messageId))
      const [row] = await db.select().from(t).where(mine)
      return row ?? null
    },
    async list(workspaceId, filter, { limit, offset }) {
      // Ids are UUIDv7: their order is the order of creation, and the primary key serves it without a sort.
      const found = db.select().from(t).where(matching(workspaceId, filter))
      return found.orderBy(desc(t.id)).limit(limit).offset(offset)
    },
    async count(workspaceId, filter) {
      const found = db.select({ n: rowCount }).from(t).where(matching(workspaceId, filter))
      return (await found)[0]?.n ?? 0
    },
    async attempts(workspaceId, messageId) {
      const mine = and(eq(attempts.workspace_id, workspaceId), eq(attempts.message_id, messageId))
      return db.select().from(attempts).where(mine).orderBy(asc(attempts.number))
    },
    async events(workspaceId, messageId) {
      const mine = and(eq(events.workspace_id, workspaceId), eq(events.message_id, messageId))
      return db.select().from(events).where(mine).orderBy(asc(events.id))
    },
  }
}
