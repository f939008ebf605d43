import type { MessageRow, RetentionMarkRow } from '../../rows/rows.ts'

/** The walks, each from the oldest row on. `late_messages`: those that were not finished at their turn. */
export type RetentionKind = RetentionMarkRow['kind']

/** A range of ids: from the first up to, not including, the second. */
export interface IdRange {
  from_id: string
  before_id: string
}

/** The columns of a message that decide whether its retention time is over. */
export type AgedMessage = Pick<MessageRow, 'id' | 'channel' | 'recipient' | 'erased_at'> & {
  /** When the message reached its last known status; null while it is in the queue. */
  ended_at: Date | null
}

export interface RetentionReads {
  /**
   * Workspaces that have rows of that kind between their mark and `before_id`, by id, after `after`. The id `''` means
   * rows of no workspace. The only query here that names no workspace.
   */
  due(
    kind: RetentionKind,
    page: { before_id: string; latest_mark: string; after: string | null; limit: number },
  ): Promise<string[]>
  /** The id where a walk continues: `''` without a mark, or with one later than `latest`. */
  mark(workspaceId: string, kind: RetentionKind, latest: string): Promise<string>
  /** Oldest first. */
  messages(workspaceId: string, range: IdRange, limit: number): Promise<AgedMessage[]>
  /** Oldest first. */
  events(
    workspaceId: string,
    range: IdRange,
    limit: number,
  ): Promise<{ id: string; body: string }[]>
  /** Ids, oldest first. */
  received(workspaceId: string, range: IdRange, limit: number): Promise<string[]>
}

export interface RetentionWrites {
  setMark(workspaceId: string, kind: RetentionKind, beforeId: string): Promise<void>
  /** Removes the receivers' responses to the deliveries with these ids. */
  forgetResponses(workspaceId: string, range: IdRange): Promise<void>
  /** Removes conversations with these recipients whose last message is from before the moment. */
  forgetConversations(
    workspaceId: string,
    recipients: readonly Pick<MessageRow, 'channel' | 'recipient'>[],
    before: Date,
  ): Promise<void>
}
