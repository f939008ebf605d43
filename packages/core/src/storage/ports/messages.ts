import type { Units } from '../../contract/fields/units.ts'
import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import type {
  BulkRow,
  MessageAttemptRow,
  MessageEventRow,
  MessagePartRow,
  MessageRow,
} from '../../rows/rows.ts'

/** What a list may be narrowed by. Bounds are inclusive. */
export interface MessageFilter {
  channel?: Channel | undefined
  status?: MessageStatus | undefined
  from?: Date | undefined
  until?: Date | undefined
  bulk_id?: string | undefined
  recipient?: string | undefined
  /** Only what was sent with test keys: found at once, however many live messages there are. */
  livemode?: false | undefined
  /** Only messages older than this one. */
  before_id?: string | undefined
}

/** A message whose content is null where it is too long for a list. */
export type ShortMessageRow = Omit<MessageRow, 'content'> & {
  content: MessageRow['content'] | null
}

export interface MessageReads {
  byId(workspaceId: string, messageId: string): Promise<MessageRow | null>
  /** Newest first. */
  list(
    workspaceId: string,
    filter: MessageFilter,
    page: { limit: number; offset: number },
  ): Promise<MessageRow[]>
  /** As `list`; a content that is longer than `content_length` is null, and is not read by the service's own thread. */
  listShort(
    workspaceId: string,
    filter: MessageFilter,
    page: { limit: number; offset: number; content_length: number },
  ): Promise<ShortMessageRow[]>
  /** Exact. Where nothing but channel and status narrows it, as cheap for a long history as for a short one. */
  count(workspaceId: string, filter: MessageFilter): Promise<number>
  /** The history of one message, oldest first. */
  attempts(workspaceId: string, messageId: string): Promise<MessageAttemptRow[]>
  events(workspaceId: string, messageId: string): Promise<MessageEventRow[]>
  /** The messages of a bulk, all or those of one status, in the order in which they were made. */
  ofBulk(workspaceId: string, bulkId: string, status?: MessageStatus): Promise<MessageRow[]>
}

export interface MessageWrites {
  /** Locks messages, so that what is learned of them waits. Before the account: whoever settles locks in this order. */
  lock(workspaceId: string, messageIds: readonly string[]): Promise<void>
  /** Calls cost nothing, until it is told what they did. */
  uncharge(workspaceId: string, messageIds: readonly string[]): Promise<void>
  /** Forgets what was answered to requests with an `Idempotency-Key` before that moment; says of how many. */
  forgetAnswers(before: Date, limit: number): Promise<number>
}

/** How far a bulk is. */
export interface BulkProgress {
  counts: Record<MessageStatus, number>
  credits_refunded: Units
}

export interface BulkReads {
  byId(workspaceId: string, bulkId: string): Promise<BulkRow | null>
  /** The bulk that sent this one's failed messages again; null when none did. */
  retryOf(workspaceId: string, bulkId: string): Promise<BulkRow | null>
  /** How many of its messages have which status just now, and what was given back for them all. */
  progress(workspaceId: string, bulkId: string): Promise<BulkProgress>
}

export interface MessagePartReads {
  /** All that a provider knows by one of these ids, of whatever workspace, newest first. */
  byProvider(provider: string, providerMessageIds: readonly string[]): Promise<MessagePartRow[]>
}
