import { and, asc, eq, gt, isNotNull, isNull, lte, ne, or, sql } from 'drizzle-orm'
import type { Channel } from '../../contract/resources/messages.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { DispatchPauseRow, PauseRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

/** Selects queued messages accepted until `created_until` that are claimed, held by a broadcast, or due until `due_until`. */
export interface Doubt {
  created_until: Date
  due_until: Date
}

/** The number of messages of a workspace and channel that a provider may have received after the backup. */
export interface DoubtfulTotal {
  workspace_id: string
  channel: Channel
  count: number
  oldest_at: Date
  newest_at: Date
}

/** A message that a provider may have received after the backup, without its content. */
export interface DoubtfulMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  created_at: Date
  scheduled_at: Date | null
  attempt: number
  /** The token of the claim that was in progress; null without a claim. */
  token: string | null
}

/** These queries concern the whole service and name no workspace. */
export function dispatchPauseStore(
  db: Db,
  {
    dispatch_pauses: t,
    message_queue: queue,
    message_attempts: attempts,
    delivery_queue: deliveries,
    messages,
  }: Tables,
) {
  const mine = and(eq(messages.workspace_id, queue.workspace_id), eq(messages.id, queue.message_id))
  const doubtful = ({ created_until, due_until }: Doubt) =>
    and(
      eq(queue.task, 'send'),
      lte(messages.created_at, created_until),
      // A broadcast that held a message may have been resumed after the backup.
      or(lte(queue.due_at, due_until), isNotNull(queue.token), isNotNull(queue.held_by)),
    )

  async function byScope(scope: string) {
    const [found] = await db.select().from(t).where(eq(t.scope, scope))
    return found ?? null
  }

  return {
    reads: {
      /** The pause of this scope, or null. */
      byScope,
      /** The numbers of calls of messages, and of deliveries, that have begun and whose lease has not ended. */
      async inFlight({
        now,
        provider,
        sender,
      }: {
        now: Date
        provider?: string | undefined
        /** Only messages from this sender, and those that name none. */
        sender?: string | undefined
      }): Promise<{ messages: number; deliveries: number }> {
        const attempt = and(
          eq(attempts.workspace_id, queue.workspace_id),
          eq(attempts.message_id, queue.message_id),
          eq(attempts.number, queue.attempt),
        )
        const [sends] = await db
          .select({ count: rowCount })
          .from(queue)
          .innerJoin(attempts, attempt)
          .innerJoin(messages, mine)
          .where(
            and(
              eq(queue.task, 'send'),
              isNotNull(queue.token),
              gt(queue.due_at, now),
              provider === undefined ? undefined : eq(attempts.provider, provider),
              sender === undefined
                ? undefined
                : or(isNull(messages.sender), eq(messages.sender, sender)),
            ),
          )
        const [posts] =
          provider === undefined
            ? await db
                .select({ count: rowCount })
                .from(deliveries)
                .where(and(isNotNull(deliveries.token), gt(deliveries.due_at, now)))
            : []
        return { messages: sends?.count ?? 0, deliveries: posts?.count ?? 0 }
      },
      /** Returns the totals sorted by workspace and channel. */
      async doubtfulTotals(doubt: Doubt): Promise<DoubtfulTotal[]> {
        const { workspace_id, channel } = queue
        const oldest_at = sql<Date>`min(${messages.created_at})`.mapWith(messages.created_at)
        const newest_at = sql<Date>`max(${messages.created_at})`.mapWith(messages.created_at)
        return db
          .select({ workspace_id, channel, count: rowCount, oldest_at, newest_at })
          .from(queue)
          .innerJoin(messages, mine)
          .where(doubtful(doubt))
          .groupBy(workspace_id, channel)
          .orderBy(asc(workspace_id), asc(channel))
      },
      /** Returns the messages with ids above `after`, sorted by id. */
      async doubtfulMessages(
        doubt: Doubt,
        { after, limit }: { after: string; limit: number },
      ): Promise<DoubtfulMessage[]> {
        const { id, workspace_id, channel, recipient, created_at, scheduled_at } = messages
        const { attempt, token } = queue
        return db
          .select({
            ...{ id, workspace_id, channel, recipient },
            ...{ created_at, scheduled_at, attempt, token },
          })
          .from(queue)
          .innerJoin(messages, mine)
          .where(and(doubtful(doubt), gt(queue.message_id, after)))
          .orderBy(asc(queue.message_id))
          .limit(limit)
      },
    },
    writes: {
      /**
       * Replaces the current pause, except that an operator's pause does not replace a restore's pause. Returns the pause
       * that is now in effect.
       */
      async put(pause: DispatchPauseRow): Promise<DispatchPauseRow> {
        const { scope, ...changes } = pause
        const weaker = pause.cause === 'operator' && { setWhere: ne(t.cause, 'restore') }
        await db
          .insert(t)
          .values(pause)
          .onConflictDoUpdate({ target: t.scope, set: changes, ...weaker })
        return (await byScope(scope)) ?? pause
      },
      /** Returns false when there was no pause. */
      async remove(scope: DispatchPauseRow['scope']): Promise<boolean> {
        return (
          (await db.delete(t).where(eq(t.scope, scope)).returning({ scope: t.scope })).length > 0
        )
      },
    },
  }
}

export function pauseStore(db: Db, { provider_pauses: t }: Tables) {
  const matching = ({
    provider,
    sender,
    cause,
  }: Pick<PauseRow, 'provider' | 'sender'> & {
    cause?: PauseRow['cause']
  }) => and(eq(t.provider, provider), eq(t.sender, sender), cause && eq(t.cause, cause))
  return {
    reads: {
      /** All pauses of the service, which are few. */
      async list(): Promise<PauseRow[]> {
        return db.select().from(t).orderBy(asc(t.provider), asc(t.sender))
      },
    },
    writes: {
      /** Replaces the current pause; only an operator's pause replaces an operator's pause. */
      async put(pause: PauseRow): Promise<void> {
        const { provider: _, sender: __, ...changes } = pause
        const target = [t.provider, t.sender]
        const weaker = pause.cause !== 'operator' && { setWhere: ne(t.cause, 'operator') }
        await db
          .insert(t)
          .values(pause)
          .onConflictDoUpdate({ target, set: changes, ...weaker })
      },
      /** Returns false when no such pause exists. With a `cause`, only a pause with that cause is removed. */
      async remove(
        pause: Pick<PauseRow, 'provider' | 'sender'> & { cause?: PauseRow['cause'] },
      ): Promise<boolean> {
        return (
          (await db.delete(t).where(matching(pause)).returning({ provider: t.provider })).length > 0
        )
      },
    },
  }
}
