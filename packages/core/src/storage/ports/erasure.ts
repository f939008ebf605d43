import type { EventRow, MessageRow } from '../../rows/rows.ts'
import type { Recipient } from '../../rules/recipient.ts'

/** The tables that are gone through for an address, no index having it. */
export type SearchedTable = 'messages' | 'events' | 'received_messages'

/** The rows with these ids: after the first, and up to the second. */
export interface IdWindow {
  after_id: string
  last_id: string
}

/** An answer kept for an `Idempotency-Key`. */
export interface KeptAnswer {
  route: string
  key: string
  response: string
}

/** Of e-mail addresses, all verbs that read answer what may be meant: `isTo` tells. */
export interface ErasureReads {
  /** The last of the next `rows` rows after that one; null where there are none. */
  windowEnd(
    workspaceId: string,
    table: SearchedTable,
    next: { after_id: string; rows: number },
  ): Promise<string | null>
  /** Messages of the window that are not erased; `is_queued` while they are in the queue. */
  messagesTo(
    workspaceId: string,
    recipient: Recipient,
    window: IdWindow,
  ): Promise<(Pick<MessageRow, 'id' | 'recipient'> & { is_queued: boolean })[]>
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
  /** With how many senders the address has a conversation. */
  conversations(workspaceId: string, recipient: Recipient): Promise<number>
  /** Answers to bulks, in the order of their keys, after that one. */
  answers(
    workspaceId: string,
    recipient: Recipient,
    page: { after: Pick<KeptAnswer, 'route' | 'key'> | null; limit: number },
  ): Promise<KeptAnswer[]>
}

export interface ErasureWrites {
  /**
   * Takes out of messages all that tells whom they went to and what they said, with their attempts and history. Those
   * in the queue, and those erased before, are left alone. Answers the ids of those it did.
   */
  messages(workspaceId: string, messageIds: readonly string[], at: Date): Promise<string[]>
  /** Gives events other bodies. */
  rewriteEvents(
    workspaceId: string,
    events: readonly Pick<EventRow, 'id' | 'body'>[],
  ): Promise<void>
  /** Forgets what receivers answered to deliveries about these messages, received ones among them. */
  forgetResponsesAbout(workspaceId: string, messageIds: readonly string[]): Promise<void>
  removeReceived(workspaceId: string, ids: readonly string[]): Promise<number>
  removeConversations(workspaceId: string, recipient: Recipient): Promise<void>
  rewriteAnswer(workspaceId: string, answer: KeptAnswer): Promise<void>
  /** Removes parts of long texts that the address has begun to send. They are no workspace's yet. Answers how many. */
  removeParts(recipient: Recipient): Promise<number>
}
