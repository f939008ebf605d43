import {
  and,
  asc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  ne,
  notInArray,
  or,
  type SQL,
  sql,
} from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { ERASED } from '../../contract/resources/message.ts'
import { type Db, rowCount } from '../../rows/dialect.ts'
import type { BulkRejectionRow, EventRow, MessageRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import type { Recipient } from '../../rules/recipients.ts'
import { idFloor, timeOfId } from '../../runtime/runtime.ts'
import { namesOne, UNNAMED } from './bulks.ts'
import { fileStore } from './files.ts'
import { blocksOf, filledUp, includes, isAfter, isIndexed, type StoreDialect } from './queries.ts'

/** The tables that are scanned for an address, because they have no index on addresses. */
export type SearchedTable = 'messages' | 'events' | 'received_messages' | 'bulk_rejections'

/** A rejected recipient of a bulk. */
export type RejectionKey = Pick<BulkRejectionRow, 'bulk_id' | 'position'>

/** The rows with ids above `after_id` and up to `last_id`. */
export interface IdWindow {
  after_id: string
  last_id: string
}

/** A response that is kept for an `Idempotency-Key`. */
export interface KeptAnswer {
  route: string
  key: string
  response: string
}

/** The time after the id of an event within which the ids of its deliveries were made. */
const STORED_MS = 60_000

/** The routes whose answers name recipients. */
const BULK_ROUTES = ['bulks.send', 'bulks.sendEmails', 'bulks.retry'].flatMap((route) => [
  route,
  `${route} test`,
])

/** For an e-mail address, the queries may return rows of other addresses too: the caller filters with `isTo`. */
export function erasureStore(db: Db, tables: Tables, dialect: StoreDialect) {
  const { locked } = dialect
  const { writes: files } = fileStore(db, tables, dialect)
  const { messages, message_queue: queue, message_attempts, message_events, events } = tables
  const { received_messages: received, conversations, idempotency_keys: answers } = tables
  const { deliveries, delivery_attempts: tries, received_parts: parts, webhooks } = tables
  const { bulks, bulk_rejections: rejections } = tables

  const within = (
    t: typeof messages | typeof events | typeof received,
    workspaceId: string,
    { after_id, last_id }: IdWindow,
  ) => and(eq(t.workspace_id, workspaceId), gt(t.id, after_id), lte(t.id, last_id))
  const known = (names: readonly string[]) =>
    or(
      inArray(conversations.address, [...names]),
      inArray(conversations.other_number, [...names]),
      inArray(conversations.user_id, [...names]),
    )
  const theirs = (workspaceId: string, recipient: Recipient, others: readonly string[]) =>
    and(
      eq(conversations.workspace_id, workspaceId),
      recipient.kind === 'email'
        ? eq(conversations.channel, 'email')
        : inArray(conversations.channel, ['sms', 'whatsapp', 'voice']),
      known([recipient.address, ...others]),
    )

  async function eraseHistory(workspaceId: string, ids: string[]): Promise<void> {
    const attempts = message_attempts
    await db
      .update(attempts)
      .set({ error_message: null, provider_message_id: withoutNumber(attempts) })
      .where(and(eq(attempts.workspace_id, workspaceId), inArray(attempts.message_id, ids)))
    const history = and(
      eq(message_events.workspace_id, workspaceId),
      inArray(message_events.message_id, ids),
      isNotNull(message_events.error_message),
    )
    await db.update(message_events).set({ error_message: null }).where(history)
  }

  /** SQL: whether a delivery is about these messages. */
  function isAbout(workspaceId: string, some: SQL): SQL {
    const { workspace_id, webhook_id, id } = deliveries
    return isIndexed(db, deliveries, [webhook_id, id], and(eq(workspace_id, workspaceId), some))
  }

  async function forgetResponses(workspaceId: string, some: SQL | undefined): Promise<void> {
    const theirs = and(eq(deliveries.workspace_id, workspaceId), some)
    await db.update(deliveries).set({ response_body: null }).where(theirs)
    const about = db.select({ id: deliveries.id }).from(deliveries).where(theirs)
    await db
      .update(tries)
      .set({ response_body: null })
      .where(and(eq(tries.workspace_id, workspaceId), inArray(tries.delivery_id, about)))
  }

  /** Erases the addresses of several recipients; their results stay, because the refunds follow from them. */
  async function eraseRecipients(workspaceId: string, ids: string[]): Promise<void> {
    const { id, recipients } = messages
    const some = and(eq(messages.workspace_id, workspaceId), inArray(id, ids))
    const found = db
      .select({ id, recipients })
      .from(messages)
      .where(and(some, isNotNull(recipients)))
    for (const row of await found) {
      const erased = row.recipients?.map((one) => ({
        ...one,
        address: ERASED,
        error_message: null,
      }))
      await db
        .update(messages)
        .set({ recipients: erased ?? null })
        .where(and(eq(messages.workspace_id, workspaceId), eq(id, row.id)))
    }
  }

  /** Removes what names bulks to one recipient, which may be about this person, with the messages. */
  async function forgetBulks(workspaceId: string, messageIds: readonly string[]): Promise<void> {
    const mine = and(
      eq(messages.workspace_id, workspaceId),
      inArray(messages.id, messageIds),
      isNotNull(messages.bulk_id),
    )
    const ids = db.select({ id: messages.bulk_id }).from(messages).where(mine)
    const { workspace_id, id } = bulks
    const theirs = and(eq(workspace_id, workspaceId), inArray(id, ids))
    await db
      .update(bulks)
      .set(UNNAMED)
      .where(and(theirs, namesOne(bulks)))
  }

  return {
    reads: {
      /** The last id among the next `rows` rows after `after_id`; null without such rows. Rejected recipients have that of their bulk. */
      async windowEnd(
        workspaceId: string,
        table: SearchedTable,
        { after_id, rows }: { after_id: string; rows: number },
      ): Promise<string | null> {
        const t = tables[table]
        const key = table === 'bulk_rejections' ? rejections.bulk_id : tables[table].id
        const next = and(eq(t.workspace_id, workspaceId), gt(key, after_id))
        const id = sql`${key}`.as('id')
        const ids = db.select({ id }).from(t).where(next).orderBy(asc(key)).limit(rows)
        const [last] = await db.select({ id: sql<string | null>`max(id)` }).from(ids.as('ids'))
        return last?.id ?? null
      },
      /** Messages of the window that are not erased; `is_queued` is true while a message is in the queue. */
      async messagesTo(
        workspaceId: string,
        recipient: Recipient,
        window: IdWindow,
      ): Promise<(Pick<MessageRow, 'id' | 'recipient' | 'recipients'> & { is_queued: boolean })[]> {
        const { id, erased_at } = messages
        const found = await db
          .select({
            id,
            recipient: messages.recipient,
            recipients: messages.recipients,
            queued: queue.message_id,
          })
          .from(messages)
          .leftJoin(queue, eq(queue.message_id, id))
          .where(
            and(
              within(messages, workspaceId, window),
              isNull(erased_at),
              or(maybe(messages.recipient, recipient), among(messages.recipients, recipient)),
            ),
          )
          .orderBy(asc(id))
        return found.map(({ queued, ...row }) => ({ ...row, is_queued: queued !== null }))
      },
      async receivedFrom(
        workspaceId: string,
        recipient: Recipient,
        window: IdWindow,
      ): Promise<{ id: string; sender: string }[]> {
        const { id, sender } = received
        const from = and(within(received, workspaceId, window), maybe(sender, recipient))
        return db.select({ id, sender }).from(received).where(from).orderBy(asc(id))
      },
      async eventsNaming(
        workspaceId: string,
        recipient: Recipient,
        window: IdWindow,
      ): Promise<Pick<EventRow, 'id' | 'message_id' | 'body'>[]> {
        const { id, message_id, body, event } = events
        const named = (field: string) => includesName(body, field, recipient)
        const is = eq(event, 'message.received')
        const about = or(
          and(is, named('sender')),
          and(sql`not ${is}`, or(named('recipient'), named('address'), named('to'))),
        )
        const found = db.select({ id, message_id, body }).from(events)
        return found.where(and(within(events, workspaceId, window), about)).orderBy(asc(id))
      },
      /**
       * The events of one message that were stored until `until`, and later events with a delivery. `messageId`: of a sent or
       * a received message.
       */
      async eventsOf(
        workspaceId: string,
        messageId: string,
        until: Date,
      ): Promise<Pick<EventRow, 'id' | 'body'>[]> {
        const { id, workspace_id, message_id, body } = events
        const of = and(
          eq(deliveries.workspace_id, workspaceId),
          isAbout(workspaceId, eq(deliveries.message_id, messageId)),
        )
        const delivered = db.select({ id: deliveries.event_id }).from(deliveries).where(of)
        const within = and(gt(id, messageId), lt(id, idFloor(until)), eq(message_id, messageId))
        const found: { id: string; body: string }[] = []
        // Two queries, because events have no index by message.
        for (const some of [inArray(id, delivered), within]) {
          const mine = and(eq(workspace_id, workspaceId), some)
          found.push(...(await db.select({ id, body }).from(events).where(mine)))
        }
        return [...new Map(found.map((event) => [event.id, event])).values()]
      },
      /** All rejected recipients of the bulks of the window that are texts and not erased, in no spelling in particular. */
      async rejections(
        workspaceId: string,
        { after_id, last_id }: IdWindow,
      ): Promise<(RejectionKey & { recipient: string })[]> {
        const { workspace_id, bulk_id, position, recipient } = rejections
        const found = await db
          .select({ bulk_id, position, recipient })
          .from(rejections)
          .where(
            and(
              eq(workspace_id, workspaceId),
              gt(bulk_id, after_id),
              lte(bulk_id, last_id),
              isNotNull(recipient),
              ne(recipient, ERASED),
            ),
          )
        return found.map((row) => ({ ...row, recipient: row.recipient as string }))
      },
      /** The names in the conversations with one of these numbers: addresses, and the other numbers and ids at WhatsApp. */
      async knownNames(workspaceId: string, numbers: readonly string[]): Promise<string[]> {
        const { workspace_id, address, other_number, user_id } = conversations
        const found = await db
          .selectDistinct({ address, other_number, user_id })
          .from(conversations)
          .where(and(eq(workspace_id, workspaceId), known(numbers)))
        return found.flatMap((one) => Object.values(one).filter((name) => name !== null))
      },
      /** The number of conversations with the address, or with a person that has one of the other names. */
      async conversations(
        workspaceId: string,
        recipient: Recipient,
        others: readonly string[] = [],
      ): Promise<number> {
        const found = db.select({ n: rowCount }).from(conversations)
        return (await found.where(theirs(workspaceId, recipient, others)))[0]?.n ?? 0
      },
      /** Responses to bulk requests, in the order of their keys, after the given key. */
      async answers(
        workspaceId: string,
        recipient: Recipient,
        { after, limit }: { after: Pick<KeptAnswer, 'route' | 'key'> | null; limit: number },
      ): Promise<KeptAnswer[]> {
        const { route, key, response } = answers
        const found = db
          .select({ route, key, response })
          .from(answers)
          .where(
            and(
              eq(answers.workspace_id, workspaceId),
              inArray(route, BULK_ROUTES),
              isAfter([route, key], after && [after.route, after.key]),
              includesName(response, 'to', recipient),
            ),
          )
        return found.orderBy(asc(route), asc(key)).limit(limit)
      },
    },
    writes: {
      /**
       * Removes recipient, content and other personal data from messages, their attempts and their history. Skips queued
       * and erased messages. Returns the ids of the changed messages.
       */
      async messages(
        workspaceId: string,
        messageIds: readonly string[],
        at: Date,
      ): Promise<string[]> {
        if (messageIds.length === 0) return []
        const { id, workspace_id, erased_at } = messages
        const some = and(eq(workspace_id, workspaceId), inArray(id, filledUp(messageIds)))
        // The messages are locked in the same order as in a settlement.
        await locked(db.select({ id }).from(messages).where(some).orderBy(asc(id)))
        const inQueue = db
          .select({ id: queue.message_id })
          .from(queue)
          .where(inArray(queue.message_id, filledUp(messageIds)))
        const erased = await db
          .update(messages)
          .set({
            recipient: ERASED,
            content: {} as never,
            metadata: {},
            tags: null,
            sender: null,
            error_message: null,
            provider_message_id: withoutNumber(messages),
            status_callback: null,
            erased_at: at,
          })
          .where(and(some, isNull(erased_at), notInArray(id, inQueue)))
          .returning({ id })
        const ids = erased.map((row) => row.id)
        if (ids.length > 0) {
          await eraseRecipients(workspaceId, filledUp(ids))
          await eraseHistory(workspaceId, filledUp(ids))
          await files.removeOf(workspaceId, ids)
          await forgetBulks(workspaceId, filledUp(ids))
        }
        return ids
      },
      /** Empties the content of a message. Returns false, and changes nothing, for a queued message. */
      async redact(workspaceId: string, messageId: string): Promise<boolean> {
        const one = and(eq(messages.workspace_id, workspaceId), eq(messages.id, messageId))
        await locked(db.select({ id: messages.id }).from(messages).where(one))
        const queued = db.select({ id: queue.message_id }).from(queue)
        const inQueue = queued.where(eq(queue.message_id, messageId))
        const redacted = await db
          .update(messages)
          .set({ content: {} as never, tags: null })
          .where(and(one, notInArray(messages.id, inQueue)))
          .returning({ id: messages.id })
        if (redacted.length === 0) return false
        await files.removeOf(workspaceId, [messageId])
        await forgetBulks(workspaceId, [messageId])
        return true
      },
      /** Empties the content of a received message. */
      async redactReceived(workspaceId: string, id: string): Promise<void> {
        const one = and(eq(received.workspace_id, workspaceId), eq(received.id, id))
        await db
          .update(received)
          .set({ content: { text: null, media: [] } })
          .where(one)
      },
      /** Replaces the bodies of events. */
      async rewriteEvents(
        workspaceId: string,
        rewritten: readonly Pick<EventRow, 'id' | 'body'>[],
      ): Promise<void> {
        for (const block of blocksOf(rewritten)) {
          const bodies = block.map(({ id, body }) => sql`when ${id} then ${body}`)
          const ids = block.map(({ id }) => id)
          await db
            .update(events)
            .set({ body: sql`case ${events.id} ${sql.join(bodies, sql` `)} end` })
            .where(and(eq(events.workspace_id, workspaceId), inArray(events.id, ids)))
        }
      },
      /** Removes the receivers' responses to deliveries about these messages, sent or received. */
      async forgetResponsesAbout(
        workspaceId: string,
        messageIds: readonly string[],
      ): Promise<void> {
        if (messageIds.length === 0) return
        const some = inArray(deliveries.message_id, filledUp(messageIds))
        const about = isAbout(workspaceId, some)
        await forgetResponses(workspaceId, about)
      },
      /** Removes the receivers' responses to the deliveries of these events. */
      async forgetResponsesTo(workspaceId: string, eventIds: readonly string[]): Promise<void> {
        const own = db.select({ id: webhooks.id }).from(webhooks)
        const byWebhook = inArray(
          deliveries.webhook_id,
          own.where(eq(webhooks.workspace_id, workspaceId)),
        )
        for (const id of eventIds) {
          // Deliveries have no index by event, but are stored with it: the search is by their key.
          const end = idFloor(new Date(timeOfId(id).getTime() + STORED_MS))
          const with_it = and(byWebhook, gt(deliveries.id, id), lt(deliveries.id, end))
          await forgetResponses(workspaceId, and(with_it, eq(deliveries.event_id, id)))
        }
      },
      async removeReceived(workspaceId: string, ids: readonly string[]): Promise<number> {
        if (ids.length === 0) return 0
        const some = and(
          eq(received.workspace_id, workspaceId),
          inArray(received.id, filledUp(ids)),
        )
        return (await db.delete(received).where(some).returning({ id: received.id })).length
      },
      /** Removes the addresses and the error texts of rejected recipients. */
      async eraseRejections(workspaceId: string, keys: readonly RejectionKey[]): Promise<void> {
        const { workspace_id, bulk_id, position } = rejections
        for (const id of new Set(keys.map((key) => key.bulk_id))) {
          const theirs = keys.filter((key) => key.bulk_id === id).map((key) => key.position)
          const some = and(eq(bulk_id, id), inArray(position, filledUp(theirs)))
          await db
            .update(rejections)
            .set({ recipient: ERASED, message: '' })
            .where(and(eq(workspace_id, workspaceId), some))
        }
      },
      async removeConversations(
        workspaceId: string,
        recipient: Recipient,
        others: readonly string[] = [],
      ): Promise<void> {
        await db.delete(conversations).where(theirs(workspaceId, recipient, others))
      },
      async rewriteAnswer(
        workspaceId: string,
        { route, key, response }: KeptAnswer,
      ): Promise<void> {
        const one = and(
          eq(answers.workspace_id, workspaceId),
          eq(answers.route, route),
          eq(answers.key, key),
        )
        await db.update(answers).set({ response }).where(one)
      },
      /**
       * Removes the parts of the address's incomplete long texts, which belong to no workspace yet. Returns their number.
       */
      async removeParts({ address }: Recipient): Promise<number> {
        const gone = db.delete(parts).where(sql`lower(${parts.sender}) = ${address}`)
        return (await gone.returning({ number: parts.number })).length
      },
    },
  }
}

/** The provider's id after erasure; null for WhatsApp, because its ids contain the recipient's number in base64. */
function withoutNumber({ provider_message_id: id }: { provider_message_id: PgColumn }) {
  return sql<string | null>`case when ${id} like 'wamid.%' then null else ${id} end`
}

/** Compares e-mail addresses by the part before the domain, which has only one spelling, apart from case. */
function maybe(column: PgColumn, { kind, address }: Recipient) {
  if (kind === 'phone') return eq(column, address)
  const local = address.slice(0, address.lastIndexOf('@') + 1)
  return sql`lower(${column}) like ${`${escaped(local)}%`} escape '!'`
}

/** Whether a JSON text has the field with the phone number or, possibly, with the e-mail address. */
function includesName(column: PgColumn, field: string, { kind, address }: Recipient) {
  if (kind === 'phone') return includes(column, `"${field}":"${address}"`)
  const local = address.slice(0, address.lastIndexOf('@') + 1)
  return sql`lower(${column}) like ${`%${escaped(`"${field}":"${local}`)}%`} escape '!'`
}

/** Whether the recipients of a message possibly include the e-mail address; undefined for a phone number. */
function among(column: PgColumn, { kind, address }: Recipient): SQL | undefined {
  if (kind === 'phone') return undefined
  const local = address.slice(0, address.lastIndexOf('@') + 1)
  const named = `%${escaped(`"address":"${local}`)}%`
  return sql`(${column} is not null and lower(cast(${column} as text)) like ${named} escape '!')`
}

function escaped(text: string): string {
  return text.replace(/[!%_]/g, '!$&')
}
