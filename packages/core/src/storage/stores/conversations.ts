import { and, desc, eq, inArray, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import type { ConversationWrites } from '../ports/inbound.ts'
import { blocksOf } from './batches.ts'

/** The maximum number of conversations read for one address. */
const CONVERSATIONS_MAX = 1_000

/** SQL of both engines: an outcome without names of the recipient keeps those that are known. */
export const CONVERSATION_CONFLICT = `on conflict (workspace_id, channel, sender, address)
     do update set last_sent_at = excluded.last_sent_at,
       other_number = coalesce(excluded.other_number, conversations.other_number),
       user_id = coalesce(excluded.user_id, conversations.user_id)`

export function conversationStore(db: Db, { conversations: t }: Tables): ConversationWrites {
  return {
    async with({ channel, names, sender }) {
      const all = [...names]
      const isNamed = or(
        inArray(t.address, all),
        inArray(t.other_number, all),
        inArray(t.user_id, all),
      )
      const last = (from: SQL, limit: number) => {
        const found = and(eq(t.channel, channel), isNamed, from)
        const newest = [desc(t.last_sent_at), desc(t.workspace_id)]
        return db
          .select()
          .from(t)
          .where(found)
          .orderBy(...newest)
          .limit(limit)
      }
      // The answered sender's conversations come first: a workspace with many senders must not hide them.
      const same = await last(eq(t.sender, sender), CONVERSATIONS_MAX)
      const left = CONVERSATIONS_MAX - same.length
      return left > 0 ? [...same, ...(await last(ne(t.sender, sender), left))] : same
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
        other_number: sql`coalesce(excluded.other_number, ${t.other_number})`,
        user_id: sql`coalesce(excluded.user_id, ${t.user_id})`,
      }
      for (const block of blocksOf(conversations)) {
        await db.insert(t).values(block).onConflictDoUpdate({ target, set: later })
      }
    },
  }
}
