import { and, desc, eq, inArray, ne, or, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../../rows/dialect.ts'
import type { ConversationRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { blocksOf } from './queries.ts'

/** The maximum number of conversations read for one address. */
const CONVERSATIONS_MAX = 1_000

/** SQL of both engines: an outcome without names of the recipient keeps those that are known. */
export const CONVERSATION_CONFLICT = `on conflict (workspace_id, channel, sender, address)
     do update set last_sent_at = excluded.last_sent_at,
       other_number = coalesce(excluded.other_number, conversations.other_number),
       user_id = coalesce(excluded.user_id, conversations.user_id)`

export function conversationStore(db: Db, { conversations: t }: Tables) {
  return {
    reads: {},
    writes: {
      /**
       * The conversations on the channel with a person that has one of these names: its address, its other number or its id. First
       * the conversations of this sender, then all others, both newest first. Returns at most 1,000; conversations of other
       * senders are left out first.
       */
      async with({
        channel,
        names,
        sender,
      }: Pick<ConversationRow, 'channel' | 'sender'> & { names: readonly string[] }): Promise<
        ConversationRow[]
      > {
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
      /** Whether the workspace has sent from that sender. */
      async hasSender({
        workspace_id,
        channel,
        sender,
      }: Pick<ConversationRow, 'workspace_id' | 'channel' | 'sender'>): Promise<boolean> {
        const from = and(
          eq(t.workspace_id, workspace_id),
          eq(t.channel, channel),
          eq(t.sender, sender),
        )
        return (await db.select({ sender: t.sender }).from(t).where(from).limit(1)).length > 0
      },
      /** Stores conversations. If the key exists, the later time is kept, and the names that are not given. */
      async note(
        conversations: readonly (Omit<ConversationRow, 'other_number' | 'user_id'> &
          Partial<Pick<ConversationRow, 'other_number' | 'user_id'>>)[],
      ): Promise<void> {
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
    },
  }
}
