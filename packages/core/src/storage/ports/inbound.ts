import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Channel } from '../../contract/resources/content.ts'
import type {
  ConversationRow,
  MessageRow,
  ParkedReceiptRow,
  ReceivedMessageRow,
  ReceivedPartRow,
} from '../../rows/rows.ts'
import type { CountChange } from '../../rules/count-changes.ts'

/** Filters of a list. Bounds are inclusive. */
export interface ReceivedFilter {
  channel?: Channel | undefined
  /** The author's number or address. */
  sender?: string | undefined
  /** Only replies to messages of test keys. */
  livemode?: false | undefined
  from?: Date | undefined
  until?: Date | undefined
}

export interface ReceivedMessageReads {
  /** Newest first. */
  list(workspaceId: string, filter: ReceivedFilter, page: Slice): Promise<ReceivedMessageRow[]>
  count(workspaceId: string, filter: ReceivedFilter): Promise<number>
}

/** The common columns of the parts of one text. */
export type PartedText = Pick<
  ReceivedPartRow,
  'provider' | 'sender' | 'recipient' | 'reference' | 'total'
>

export interface ReceivedMessageWrites {
  /** Returns false, and changes nothing, where the workspace already has a message with this provider id. */
  insert(received: ReceivedMessageRow): Promise<boolean>
  /** Whether one of these workspaces has it already. */
  isKnown(
    workspaceIds: readonly string[],
    by: { provider: string; provider_message_id: string },
  ): Promise<boolean>
  /** Whether this sender sent the keyword `help` to this recipient since then. */
  hasRequestedHelp(
    between: Pick<
      ReceivedMessageRow,
      'workspace_id' | 'channel' | 'sender' | 'recipient' | 'livemode'
    >,
    since: Date,
  ): Promise<boolean>
  /**
   * Queues messages that cost nothing, due at once. Call it last in a transaction: other writers lock the same
   * counts.
   */
  reply(messages: readonly MessageRow[], counts: readonly CountChange[]): Promise<void>
  /** The parts of a text that arrived since then, in order. `number` 0 marks a text that was joined already. */
  partsOf(text: PartedText, since: Date): Promise<ReceivedPartRow[]>
  /** Returns false where a part of that number exists. */
  insertPart(part: ReceivedPartRow): Promise<boolean>
  removeParts(text: PartedText): Promise<void>
  /** Keeps the last `kept` parts between two numbers, and those of the same millisecond. */
  forgetOldestParts(
    between: Pick<ReceivedPartRow, 'provider' | 'sender' | 'recipient'>,
    kept: number,
  ): Promise<void>
  /** Removes parts that arrived before that moment; returns their number. */
  forgetParts(before: Date, limit: number): Promise<number>
}

export interface ConversationWrites {
  /**
   * The conversations with that address on the channel: those of this sender first, then others, each newest first. At
   * most 1,000: beyond that, conversations of other senders are left out first.
   */
  with(to: Pick<ConversationRow, 'channel' | 'address' | 'sender'>): Promise<ConversationRow[]>
  /** Whether the workspace has sent from that sender. */
  hasSender(of: Pick<ConversationRow, 'workspace_id' | 'channel' | 'sender'>): Promise<boolean>
  /** Stores conversations; of two with the same key the later time stays. */
  note(conversations: readonly ConversationRow[]): Promise<void>
}

export interface ParkedReceiptReads {
  /** Oldest first; with `after`, only later ones. */
  due(
    limit: number,
    after?: Pick<ParkedReceiptRow, 'created_at' | 'id'>,
  ): Promise<ParkedReceiptRow[]>
}

export interface ParkedReceiptWrites {
  park(receipts: readonly ParkedReceiptRow[]): Promise<void>
  /** Returns how many of them existed. */
  remove(ids: readonly string[]): Promise<number>
}
