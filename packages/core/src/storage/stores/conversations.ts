import { and, desc, eq, sql } from 'drizzle-orm'
import type { ConversationWrites } from '../../inbound/store.ts'
import type { Db } from '../dialect.ts'
import type { Tables } from '../tables.ts'
import { blocksOf } from './batches.ts'

/** More workspaces and senders that wrote to one address are not looked at. */
const CONVERSATIONS_MAX = 1_000

export function conversationStore(db: Db, { conversations: t }: Tables): ConversationWrites {
  return {
    async with({ channel, address }) {
      const found = db
        .select()
        .from(t)
        .where(and(eq(t.channel, channel), eq(t.address, address)))
      return found.orderBy(desc(t.last_sent_at), desc(t.workspace_id)).limit(CONVERSATIONS_MAX)
    },
    async hasSender({ workspace_id, channel, sender }) {
      const from = and(
        eq(t.workspace_id, workspace_id),
        eq(t.channel, channel),
        eq(t.sender, sender),
      )
      return (await db.select({ sender: t.sender }).from(t).where(from).limit(1)).length > 0
    },
    async note(conversations) {
      const target = [t.workspace_id, t.channel, t.sender, t.address]
      const later = {
        last_sent_at: sql`case when excluded.last_sent_at > ${t.last_sent_at} then excluded.last_sent_at else ${t.last_sent_at} end`,
      }
      for (const block of blocksOf(conversations)) {
        await db.insert(t).values(block).onConflictDoUpdate({ target, set: later })
      }
    },
  }
}
