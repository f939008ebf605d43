import type { Channel } from '../../contract/resources/content.ts'
import type {
  ConversationRow,
  MessageRow,
  ParkedReceiptRow,
  ReceivedMessageRow,
  ReceivedPartRow,
} from '../../rows/rows.ts'
import type { CountChange } from '../../rules/count-changes.ts'

/** What a list may be narrowed by. Bounds are inclusive. */
export interface ReceivedFilter {
  channel?: Channel | undefined
  /** Who wrote. */
  sender?: string | undefined
  /** Only answers to messages of test keys. */
  livemode?: false | undefined
  from?: Date | undefined
  until?: Date | undefined
}

export interface ReceivedMessageReads {
  /** Newest first. */
  list(
    workspaceId: string,
    filter: ReceivedFilter,
    page: { limit: number; offset: number },
  ): Promise<ReceivedMessageRow[]>
  count(workspaceId: string, filter: ReceivedFilter): Promise<number>
}

/** What the parts of one text have in common. */
export type PartedText = Pick<
  ReceivedPartRow,
  'provider' | 'sender' | 'recipient' | 'reference' | 'total'
>

export interface ReceivedMessageWrites {
  /** Answers false where the workspace has what the provider named so already: nothing is changed then. */
  insert(received: ReceivedMessageRow): Promise<boolean>
  /** Whether one of these workspaces has it already. */
  isKnown(
    workspaceIds: readonly string[],
    by: { provider: string; provider_message_id: string },
  ): Promise<boolean>
  /** Whether what somebody wrote to a number of ours since then was the keyword `help`. */
  askedForHelp(
    between: Pick<
      ReceivedMessageRow,
      'workspace_id' | 'channel' | 'sender' | 'recipient' | 'livemode'
    >,
    since: Date,
  ): Promise<boolean>
  /** Queues messages that cost nothing, due at once. Last in a transaction: others count the same messages. */
  reply(messages: readonly MessageRow[], counts: readonly CountChange[]): Promise<void>
  /** The parts of a text that came since then, in order; and `number` 0, where it was joined already. */
  partsOf(text: PartedText, since: Date): Promise<ReceivedPartRow[]>
  /** Answers false where there is one of that number already. */
  insertPart(part: ReceivedPartRow): Promise<boolean>
  removeParts(text: PartedText): Promise<void>
  /** Keeps the last `kept` parts between two numbers, and those that came in the same millisecond. */
  forgetOldestParts(
    between: Pick<ReceivedPartRow, 'provider' | 'sender' | 'recipient'>,
    kept: number,
  ): Promise<void>
  /** Forgets parts that came before that moment; says of how many. */
  forgetParts(before: Date, limit: number): Promise<number>
}

export interface ConversationWrites {
  /**
   * Who wrote to that address on the channel: from this very sender, then from others; both last first. Not more than
   * 1,000: those from others are left out first.
   */
  with(to: Pick<ConversationRow, 'channel' | 'address' | 'sender'>): Promise<ConversationRow[]>
  /** Whether the workspace wrote from that sender. */
  hasSender(of: Pick<ConversationRow, 'workspace_id' | 'channel' | 'sender'>): Promise<boolean>
  /** Notes who wrote to whom; of two notes of one conversation the later time stays. */
  note(conversations: readonly ConversationRow[]): Promise<void>
}

export interface ParkedReceiptReads {
  /** Oldest first; only those after `after`, where it is given. */
  due(
    limit: number,
    after?: Pick<ParkedReceiptRow, 'created_at' | 'id'>,
  ): Promise<ParkedReceiptRow[]>
}

export interface ParkedReceiptWrites {
  park(receipts: readonly ParkedReceiptRow[]): Promise<void>
  /** Says how many of them were still there. */
  remove(ids: readonly string[]): Promise<number>
}
