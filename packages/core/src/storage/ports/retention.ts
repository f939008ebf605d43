import type { MessageRow, RetentionMarkRow } from '../../rows/rows.ts'

/** The walks, oldest row first. `late_messages`: messages that were not finished when `messages` passed them. */
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

export interface RetentionReads {
  /**
   * Workspaces that have rows of that kind between their mark and `before_id`, with ids above `after`, sorted by id.
   * The id `''` means rows of no workspace. This is the only query here that names no workspace.
   */
  due(
    kind: RetentionKind,
    page: { before_id: string; latest_mark: string; after: string | null; limit: number },
  ): Promise<string[]>
  /** The id at which a walk continues: `''` without a mark, or with a mark later than `latest`. */
  mark(workspaceId: string, kind: RetentionKind, latest: string): Promise<string>
  /** Returns the oldest first. */
  messages(workspaceId: string, range: IdRange, limit: number): Promise<AgedMessage[]>
  /** Returns the oldest first. */
  events(
    workspaceId: string,
    range: IdRange,
    limit: number,
  ): Promise<{ id: string; body: string }[]>
  /** Returns ids, oldest first. */
  received(workspaceId: string, range: IdRange, limit: number): Promise<string[]>
}

export interface RetentionWrites {
  /**
   * Removes rejected recipients of the oldest bulks of the range: whole bulks, at least `rows` rows if the range has them.
   * Returns the last of these bulks; null if the range has no more rows.
   */
  removeRejections(workspaceId: string, range: IdRange, rows: number): Promise<string | null>
  setMark(workspaceId: string, kind: RetentionKind, beforeId: string): Promise<void>
  /** Removes the receivers' responses to the deliveries with these ids. */
  forgetResponses(workspaceId: string, range: IdRange): Promise<void>
  /** Removes conversations with these recipients whose last message is older than `before`. */
  forgetConversations(
    workspaceId: string,
    recipients: readonly Pick<MessageRow, 'channel' | 'recipient'>[],
    before: Date,
  ): Promise<void>
}
