import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Units } from '../../contract/fields/units.ts'
import type { Channel, MessageStatus } from '../../contract/resources/messages.ts'
import type {
  BulkRejectionRow,
  BulkRow,
  MessageAttemptRow,
  MessageEventRow,
  MessagePartRow,
  MessageRow,
} from '../../rows/rows.ts'

/** Filters of a list. Bounds are inclusive. */
export interface MessageFilter {
  channel?: Channel | undefined
  status?: MessageStatus | undefined
  from?: Date | undefined
  until?: Date | undefined
  bulk_id?: string | undefined
  recipient?: string | undefined
  sender?: string | undefined
  /** Only messages of test keys: the cost does not depend on the number of live messages. */
  livemode?: false | undefined
  /** Only messages older than this one. */
  before_id?: string | undefined
  /** Only messages newer than this one: of these, the oldest. Not with `before_id`. */
  newer_than?: string | undefined
}

/** A message whose content is null if it is too long for a list. */
export type ShortMessageRow = Omit<MessageRow, 'content'> & {
  content: MessageRow['content'] | null
}

/** The numbers of messages of one status that were created in a period. */
export interface PeriodCount {
  /** The start of the period (UTC). */
  since: Date
  status: MessageStatus
  count: number
  /** The number of these messages that test keys created. */
  test_count: number
}

/** The matching messages among the examined ones, newest first. */
export interface SearchedRows {
  rows: ShortMessageRow[]
  /** The oldest examined message, if older ones remain. */
  last: Pick<MessageRow, 'id' | 'created_at'> | null
}

export interface MessageReads {
  byId(workspaceId: string, messageId: string): Promise<MessageRow | null>
  /** Returns the newest first. */
  list(workspaceId: string, filter: MessageFilter, page: Slice): Promise<MessageRow[]>
  /** Like `list`, but a content longer than `content_length` is null and is not read into the calling thread. */
  listShort(
    workspaceId: string,
    filter: MessageFilter,
    page: { limit: number; offset: number; content_length: number },
  ): Promise<ShortMessageRow[]>
  /**
   * The messages in which `part` occurs: in recipient, sender, the provider's id, metadata or the first `SEARCHED_LENGTH`
   * characters of the content as JSON. Upper and lower case of ASCII letters are equal. At most `examine` messages are read.
   */
  search(
    workspaceId: string,
    filter: MessageFilter & { part: string },
    page: { limit: number; content_length: number; examine: number },
  ): Promise<SearchedRows>
  /**
   * The numbers of messages of a status for each error, most frequent first, among the newest `examine` of each channel. Earlier
   * messages than `since` are not counted, and ids below `first_id` not read.
   */
  errorsSince(
    workspaceId: string,
    filter: {
      status: MessageStatus
      since: Date
      first_id: string
      livemode?: false | undefined
      examine: number
    },
  ): Promise<{ error_code: string | null; count: number }[]>
  /** The exact number. Without `bulk_id`, `recipient` and `before_id`, the cost grows with days, not with messages. */
  count(workspaceId: string, filter: MessageFilter): Promise<number>
  /** The numbers of the days or hours from `from` on, from stored sums: the cost does not depend on the messages. */
  countsSince(
    workspaceId: string,
    period: { unit: 'day' | 'hour'; from: Date },
  ): Promise<PeriodCount[]>
  /** The history of one message, oldest first. */
  attempts(workspaceId: string, messageId: string): Promise<MessageAttemptRow[]>
  events(workspaceId: string, messageId: string): Promise<MessageEventRow[]>
  /** The messages of a bulk, all messages or only one status, in the order of creation. */
  ofBulk(workspaceId: string, bulkId: string, status?: MessageStatus): Promise<MessageRow[]>
}

export interface MessageWrites {
  /**
   * Locks messages, so that settlements of them wait. Call it before locking the account, because settling locks in
   * this order.
   */
  lock(workspaceId: string, messageIds: readonly string[]): Promise<void>
  /** Sets the price of calls to 0 until their outcome is known. */
  uncharge(workspaceId: string, messageIds: readonly string[]): Promise<void>
  /** Removes responses to requests with an `Idempotency-Key` that are older than `before`; returns their number. */
  forgetAnswers(before: Date, limit: number): Promise<number>
}

/** The progress of a bulk. */
export interface BulkProgress {
  counts: Record<MessageStatus, number>
  credits_refunded: Units
}

/** A bulk and the number of its messages that are queued or failed. */
export interface ListedBulkRow extends BulkRow {
  queued: number
  failed: number
}

export interface BulkReads {
  byId(workspaceId: string, bulkId: string): Promise<BulkRow | null>
  /** Returns the newest first. */
  list(
    workspaceId: string,
    filter: { channel?: Channel | undefined; livemode?: false | undefined },
    page: Slice,
  ): Promise<ListedBulkRow[]>
  /** The bulk that retried the failed messages of this bulk; null when there is none. */
  retryOf(workspaceId: string, bulkId: string): Promise<BulkRow | null>
  /** The rejected recipients of a bulk, as in the request. `after`: only those at later positions. */
  rejections(
    workspaceId: string,
    bulkId: string,
    page: Omit<Slice, 'after'> & { after?: number | undefined },
  ): Promise<BulkRejectionRow[]>
  /** The number of the bulk's messages for each status, and the sum of refunded credits. */
  progress(workspaceId: string, bulkId: string): Promise<BulkProgress>
}

export interface MessagePartReads {
  /** All parts to which a provider gave one of these ids, from all workspaces, newest first. */
  byProvider(provider: string, providerMessageIds: readonly string[]): Promise<MessagePartRow[]>
}
