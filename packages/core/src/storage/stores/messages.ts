import { and, asc, desc, eq, gte, lt, lte } from 'drizzle-orm'
import type { MessageFilter, MessageReads, MessageWrites } from '../../messages/store.ts'
import { type Db, rowCount } from '../dialect.ts'
import type { Tables } from '../tables.ts'

export function messageStore(db: Db, tables: Tables): MessageReads & MessageWrites {
  const { messages: t, message_attempts: attempts, message_events: events } = tables
  const { idempotency_keys: answers } = tables

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
    async forgetAnswers(before, limit) {
      const ended = lt(answers.created_at, before)
      const at = { at: answers.created_at }
      const oldest = db.select(at).from(answers).where(ended).orderBy(asc(answers.created_at))
      const [last] = await oldest.limit(1).offset(limit - 1)
      const some = last ? and(ended, lte(answers.created_at, last.at)) : ended
      return (await db.delete(answers).where(some).returning(at)).length
    },
  }
}
