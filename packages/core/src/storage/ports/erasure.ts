import type { BulkRejectionRow, EventRow, MessageRow } from '../../rows/rows.ts'
import type { Recipient } from '../../rules/recipient.ts'

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

/** For an e-mail address, the queries may return rows of other addresses too: the caller filters with `isTo`. */
export interface ErasureReads {
  /** The last id among the next `rows` rows after `after_id`; null without such rows. Rejected recipients have that of their bulk. */
  windowEnd(
    workspaceId: string,
    table: SearchedTable,
    next: { after_id: string; rows: number },
  ): Promise<string | null>
  /** Messages of the window that are not erased; `is_queued` is true while a message is in the queue. */
  messagesTo(
    workspaceId: string,
    recipient: Recipient,
    window: IdWindow,
  ): Promise<(Pick<MessageRow, 'id' | 'recipient' | 'recipients'> & { is_queued: boolean })[]>
  receivedFrom(
    workspaceId: string,
    recipient: Recipient,
    window: IdWindow,
  ): Promise<{ id: string; sender: string }[]>
  eventsNaming(
    workspaceId: string,
    recipient: Recipient,
    window: IdWindow,
  ): Promise<Pick<EventRow, 'id' | 'message_id' | 'body'>[]>
  /**
   * The events of one message that were stored until `until`, and later events with a delivery. `messageId`: of a sent or
   * a received message.
   */
  eventsOf(
    workspaceId: string,
    messageId: string,
    until: Date,
  ): Promise<Pick<EventRow, 'id' | 'body'>[]>
  /** All rejected recipients of the bulks of the window that are texts and not erased, in no spelling in particular. */
  rejections(
    workspaceId: string,
    window: IdWindow,
  ): Promise<(RejectionKey & { recipient: string })[]>
  /** The names in the conversations with one of these numbers: addresses, and the other numbers and ids at WhatsApp. */
  knownNames(workspaceId: string, numbers: readonly string[]): Promise<string[]>
  /** The number of conversations with the address, or with a person that has one of the other names. */
  conversations(
    workspaceId: string,
    recipient: Recipient,
    others?: readonly string[],
  ): Promise<number>
  /** Responses to bulk requests, in the order of their keys, after the given key. */
  answers(
    workspaceId: string,
    recipient: Recipient,
    page: { after: Pick<KeptAnswer, 'route' | 'key'> | null; limit: number },
  ): Promise<KeptAnswer[]>
}

export interface ErasureWrites {
  /**
   * Removes recipient, content and other personal data from messages, their attempts and their history. Skips queued
   * and erased messages. Returns the ids of the changed messages.
   */
  messages(workspaceId: string, messageIds: readonly string[], at: Date): Promise<string[]>
  /** Empties the content of a message. Returns false, and changes nothing, for a queued message. */
  redact(workspaceId: string, messageId: string): Promise<boolean>
  /** Empties the content of a received message. */
  redactReceived(workspaceId: string, id: string): Promise<void>
  /** Replaces the bodies of events. */
  rewriteEvents(
    workspaceId: string,
    events: readonly Pick<EventRow, 'id' | 'body'>[],
  ): Promise<void>
  /** Removes the receivers' responses to deliveries about these messages, sent or received. */
  forgetResponsesAbout(workspaceId: string, messageIds: readonly string[]): Promise<void>
  removeReceived(workspaceId: string, ids: readonly string[]): Promise<number>
  /** Removes the addresses and the error texts of rejected recipients. */
  eraseRejections(workspaceId: string, keys: readonly RejectionKey[]): Promise<void>
  removeConversations(
    workspaceId: string,
    recipient: Recipient,
    others?: readonly string[],
  ): Promise<void>
  rewriteAnswer(workspaceId: string, answer: KeptAnswer): Promise<void>
  /**
   * Removes the parts of the address's incomplete long texts, which belong to no workspace yet. Returns their number.
   */
  removeParts(recipient: Recipient): Promise<number>
}
