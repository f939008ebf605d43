import type { MessageRow, RetentionMarkRow } from '../../rows/rows.ts'

/** What is walked through, from the oldest on. `late_messages` are those that were not done when it was their turn. */
export type RetentionKind = RetentionMarkRow['kind']

/** A part of a history, by ids: from the first on, and none from the second on. */
export interface IdRange {
  from_id: string
  before_id: string
}

/** A message, as far as it matters whether its time is over. */
export type AgedMessage = Pick<MessageRow, 'id' | 'channel' | 'recipient' | 'erased_at'> & {
  /** When its story was over, as far as that is known; null while it is in the queue. */
  ended_at: Date | null
}

export interface RetentionReads {
  /**
   * Workspaces that have rows of that kind between their mark and `before_id`, in the order of their ids, after that
   * one. What is nobody's is of the workspace `''`. The one verb that names no workspace.
   */
  due(
    kind: RetentionKind,
    page: { before_id: string; latest_mark: string; after: string | null; limit: number },
  ): Promise<string[]>
  /** Where a walk goes on: at the beginning where there is no mark, or one that is later than `latest`. */
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
  /** Forgets what receivers answered to the deliveries with these ids. */
  forgetResponses(workspaceId: string, range: IdRange): Promise<void>
  /** Forgets that these were written to, where that was last before the moment. */
  forgetConversations(
    workspaceId: string,
    withWhom: readonly Pick<MessageRow, 'channel' | 'recipient'>[],
    before: Date,
  ): Promise<void>
}
