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
  /** The number or address that received the message. */
  recipient?: string | undefined
  /** Only replies to messages of test keys. */
  livemode?: false | undefined
  from?: Date | undefined
  until?: Date | undefined
}

export interface ReceivedMessageReads {
  byId(workspaceId: string, id: string): Promise<ReceivedMessageRow | null>
  /** Returns the newest first. */
  list(workspaceId: string, filter: ReceivedFilter, page: Slice): Promise<ReceivedMessageRow[]>
  count(workspaceId: string, filter: ReceivedFilter): Promise<number>
  /**
   * The newest message of each author on a channel, newest first. Searches only the next `AUTHORS_SEARCHED` messages after the
   * position; `searched_to` is the id of the last one of them, and null if there are fewer.
   */
  newestOfAuthors(
    workspaceId: string,
    filter: Pick<ReceivedFilter, 'livemode'>,
    page: Pick<Slice, 'limit' | 'after'>,
  ): Promise<{ rows: ReceivedMessageRow[]; searched_to: string | null }>
}

/** The common columns of the parts of one text. */
export type PartedText = Pick<
  ReceivedPartRow,
  'provider' | 'sender' | 'recipient' | 'reference' | 'total'
>

export interface ReceivedMessageWrites {
  /** Returns false, and changes nothing, if the workspace already has a message with this provider id. */
  insert(received: ReceivedMessageRow): Promise<boolean>
  /** Whether one of these workspaces already has this message. */
  isKnown(
    workspaceIds: readonly string[],
    by: { provider: string; provider_message_id: string },
  ): Promise<boolean>
  /** Whether this sender sent the keyword `help` to this recipient since that time. */
  hasRequestedHelp(
    between: Pick<
      ReceivedMessageRow,
      'workspace_id' | 'channel' | 'sender' | 'recipient' | 'livemode'
    >,
    since: Date,
  ): Promise<boolean>
  /**
   * Queues messages that cost nothing, due at once. Call it last in a transaction, because other writers lock the same
   * counts.
   */
  reply(messages: readonly MessageRow[], counts: readonly CountChange[]): Promise<void>
  /** The parts of a text that arrived since then, sorted by number. Number 0 marks a text that was joined already. */
  partsOf(text: PartedText, since: Date): Promise<ReceivedPartRow[]>
  /** Returns false if a part with that number exists. */
  insertPart(part: ReceivedPartRow): Promise<boolean>
  removeParts(text: PartedText): Promise<void>
  /** Keeps the newest `kept` parts from `sender` to `recipient`; parts of one millisecond stay together. */
  forgetOldestParts(
    between: Pick<ReceivedPartRow, 'provider' | 'sender' | 'recipient'>,
    kept: number,
  ): Promise<void>
  /** Removes parts that arrived before that moment; returns their number. */
  forgetParts(before: Date, limit: number): Promise<number>
}

export interface ConversationWrites {
  /**
   * The conversations on the channel with a person that has one of these names: its address, its other number or its id. First
   * the conversations of this sender, then all others, both newest first. Returns at most 1,000; conversations of other
   * senders are left out first.
   */
  with(
    to: Pick<ConversationRow, 'channel' | 'sender'> & { names: readonly string[] },
  ): Promise<ConversationRow[]>
  /** Whether the workspace has sent from that sender. */
  hasSender(of: Pick<ConversationRow, 'workspace_id' | 'channel' | 'sender'>): Promise<boolean>
  /** Stores conversations. If the key exists, the later time is kept, and the names that are not given. */
  note(
    conversations: readonly (Omit<ConversationRow, 'other_number' | 'user_id'> &
      Partial<Pick<ConversationRow, 'other_number' | 'user_id'>>)[],
  ): Promise<void>
}

export interface ParkedReceiptReads {
  /** Returns the oldest first; with `after`, only later receipts. */
  due(
    limit: number,
    after?: Pick<ParkedReceiptRow, 'created_at' | 'id'>,
  ): Promise<ParkedReceiptRow[]>
}

export interface ParkedReceiptWrites {
  park(receipts: readonly ParkedReceiptRow[]): Promise<void>
  /** Returns the number of removed receipts. */
  remove(ids: readonly string[]): Promise<number>
}
