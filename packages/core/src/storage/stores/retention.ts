import { and, asc, eq, gt, gte, inArray, isNotNull, lt, lte, type SQL, sql } from 'drizzle-orm'
import { emailKey } from '../../contract/fields/email-address.ts'
import type { Db } from '../../rows/dialect.ts'
import type { MessageRow, RetentionMarkRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { namesOne, UNNAMED } from './bulks.ts'
import { filledUp } from './queries.ts'

/** The walks, oldest row first. `late_messages`: messages that were not finished when `messages` passed them; `late_responses`: receivers' answers since `events`. */
export type RetentionKind = RetentionMarkRow['kind']

/** A range of ids: from `from_id` up to, but not including, `before_id`. */
export interface IdRange {
  from_id: string
  before_id: string
}

/** The columns of a message that decide whether its retention time is over. */
export type AgedMessage = Pick<MessageRow, 'id' | 'channel' | 'recipient' | 'erased_at'> & {
  /** The time at which the message reached its last known status; null while it is in the queue. */
  ended_at: Date | null
}

export function retentionStore(db: Db, tables: Tables) {
  const { retention_marks: marks, workspaces, messages, message_queue: queue } = tables
  const { webhooks, deliveries, bulks, bulk_rejections: rejections } = tables
  const { events, received_messages: received, conversations, delivery_attempts: tries } = tables

  /** The table of a walk, and its column of ids that are sorted by time. */
  const walked = (kind: RetentionKind) =>
    ({
      messages: { t: messages, id: messages.id },
      late_messages: { t: messages, id: messages.id },
      events: { t: events, id: events.id },
      late_responses: { t: events, id: events.id },
      received_messages: { t: received, id: received.id },
      bulk_rejections: { t: rejections, id: rejections.bulk_id },
      bulk_texts: { t: bulks, id: bulks.id },
    })[kind]
  const markOf = (workspaceId: string, kind: RetentionKind, latest: string) =>
    and(eq(marks.workspace_id, workspaceId), eq(marks.kind, kind), lte(marks.before_id, latest))
  const within = (kind: RetentionKind, workspaceId: string, { from_id, before_id }: IdRange) => {
    const { t, id } = walked(kind)
    return and(eq(t.workspace_id, workspaceId), gte(id, from_id), lt(id, before_id))
  }

  async function mark(workspaceId: string, kind: RetentionKind, latest: string): Promise<string> {
    const found = db
      .select()
      .from(marks)
      .where(markOf(workspaceId, kind, latest))
    return (await found)[0]?.before_id ?? ''
  }

  async function hasDue(
    workspaceId: string,
    kind: RetentionKind,
    { before_id, latest_mark }: { before_id: string; latest_mark: string },
  ) {
    const { t, id } = walked(kind)
    const range = { from_id: await mark(workspaceId, kind, latest_mark), before_id }
    const found = db
      .select({ id })
      .from(t)
      .where(within(kind, workspaceId, range))
    return (await found.orderBy(asc(id)).limit(1)).length > 0
  }

  return {
    reads: {
      /**
       * Workspaces that have rows of that kind between their mark and `before_id`, with ids above `after`, sorted by id.
       * The id `''` means rows of no workspace. This is the only query here that names no workspace.
       */
      async due(
        kind: RetentionKind,
        {
          before_id,
          latest_mark,
          after,
          limit,
        }: { before_id: string; latest_mark: string; after: string | null; limit: number },
      ): Promise<string[]> {
        const { t, id } = walked(kind)
        const from_id = sql`coalesce((select ${marks.before_id} from ${marks}
        where ${marks.workspace_id} = ${workspaces.id} and ${marks.kind} = ${kind}
          and ${marks.before_id} <= ${latest_mark}), '')`
        // One index look-up for each workspace: a join could read the whole table.
        const first: SQL = sql`(select ${id} from ${t} where ${t.workspace_id} = ${workspaces.id}
        and ${id} >= ${from_id} and ${id} < ${before_id} order by ${id} limit 1)`
        const found = db
          .select({ id: workspaces.id })
          .from(workspaces)
          .where(and(gt(workspaces.id, after ?? ''), sql`${first} is not null`))
        const ids = (await found.orderBy(asc(workspaces.id)).limit(limit)).map(({ id }) => id)
        const isFirst = after === null && kind === 'received_messages'
        return isFirst && (await hasDue('', kind, { before_id, latest_mark })) ? ['', ...ids] : ids
      },
      /** The id at which a walk continues: `''` without a mark, or with a mark later than `latest`. */
      mark,
      /** Returns the oldest first. */
      async messages(workspaceId: string, range: IdRange, limit: number): Promise<AgedMessage[]> {
        const { id, channel, recipient, erased_at } = messages
        const { sent_at, delivered_at, failed_at, created_at } = messages
        const found = await db
          .select({
            ...{ id, channel, recipient, erased_at },
            ...{ sent_at, delivered_at, failed_at, created_at },
            queued: queue.message_id,
          })
          .from(messages)
          .leftJoin(queue, eq(queue.message_id, id))
          .where(within('messages', workspaceId, range))
          .orderBy(asc(id))
          .limit(limit)
        return found.map(({ queued, sent_at, delivered_at, failed_at, created_at, ...row }) => {
          const ended_at = failed_at ?? sent_at ?? delivered_at ?? created_at
          return { ...row, ended_at: queued === null ? ended_at : null }
        })
      },
      /** Returns the oldest first. */
      async events(
        workspaceId: string,
        range: IdRange,
        limit: number,
      ): Promise<{ id: string; body: string }[]> {
        const { id, body } = events
        const found = db
          .select({ id, body })
          .from(events)
          .where(within('events', workspaceId, range))
        return found.orderBy(asc(id)).limit(limit)
      },
      /** Returns ids, oldest first. */
      async received(workspaceId: string, range: IdRange, limit: number): Promise<string[]> {
        const { id } = received
        const found = db
          .select({ id })
          .from(received)
          .where(within('received_messages', workspaceId, range))
        return (await found.orderBy(asc(id)).limit(limit)).map((row) => row.id)
      },
    },
    writes: {
      async setMark(workspace_id: string, kind: RetentionKind, before_id: string): Promise<void> {
        const row = { workspace_id, kind, before_id }
        const target = [marks.workspace_id, marks.kind]
        await db.insert(marks).values(row).onConflictDoUpdate({ target, set: { before_id } })
      },
      /** Removes the receivers' responses to the deliveries with these ids. */
      async forgetResponses(workspaceId: string, { from_id, before_id }: IdRange): Promise<void> {
        const some = and(
          eq(tries.workspace_id, workspaceId),
          gte(tries.delivery_id, from_id),
          lt(tries.delivery_id, before_id),
          isNotNull(tries.response_body),
        )
        await db.update(tries).set({ response_body: null }).where(some)
        const own = db
          .select({ id: webhooks.id })
          .from(webhooks)
          .where(eq(webhooks.workspace_id, workspaceId))
        const only = and(
          eq(deliveries.workspace_id, workspaceId),
          inArray(deliveries.webhook_id, own),
          gte(deliveries.id, from_id),
          lt(deliveries.id, before_id),
          isNotNull(deliveries.response_body),
        )
        await db.update(deliveries).set({ response_body: null }).where(only)
      },
      /**
       * Removes rejected recipients of the oldest bulks of the range: whole bulks, at least `rows` rows if the range has them.
       * Returns the last of these bulks; null if the range has no more rows.
       */
      async removeRejections(
        workspaceId: string,
        range: IdRange,
        rows: number,
      ): Promise<string | null> {
        const { bulk_id } = rejections
        const some = within('bulk_rejections', workspaceId, range)
        const oldest = db.select({ bulk_id }).from(rejections).where(some).orderBy(asc(bulk_id))
        const last = (await oldest.limit(rows)).at(-1)?.bulk_id
        if (last === undefined) return null
        await db.delete(rejections).where(and(some, lte(bulk_id, last)))
        return last
      },
      /**
       * Removes the contents of the oldest bulks of the range, at most `rows`, and what names a bulk to one recipient. Returns
       * the id of the first bulk that is left; null if the range has none.
       */
      async forgetTexts(
        workspaceId: string,
        { from_id, before_id }: IdRange,
        rows: number,
      ): Promise<string | null> {
        const { id } = bulks
        const some = within('bulk_texts', workspaceId, { from_id, before_id })
        const oldest = db.select({ id }).from(bulks).where(some).orderBy(asc(id))
        const next = (await oldest.limit(rows + 1))[rows]?.id ?? null
        const until = { from_id, before_id: next ?? before_id }
        const over = within('bulk_texts', workspaceId, until)
        await db
          .update(bulks)
          .set(UNNAMED)
          .where(and(over, namesOne(bulks)))
        await db
          .update(bulks)
          .set({ content: null })
          .where(and(over, isNotNull(bulks.content)))
        return next
      },
      /** Removes conversations with these recipients whose last message is older than `before`. */
      async forgetConversations(
        workspaceId: string,
        recipients: readonly Pick<MessageRow, 'channel' | 'recipient'>[],
        before: Date,
      ): Promise<void> {
        for (const channel of new Set(recipients.map((one) => one.channel))) {
          const theirs = recipients.filter((one) => one.channel === channel)
          const addresses = theirs.map(({ recipient }) =>
            channel === 'email' ? emailKey(recipient) : recipient,
          )
          const some = and(
            eq(conversations.workspace_id, workspaceId),
            eq(conversations.channel, channel),
            inArray(conversations.address, filledUp(addresses)),
            lt(conversations.last_sent_at, before),
          )
          await db.delete(conversations).where(some)
        }
      },
    },
  }
}
