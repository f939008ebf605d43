import type { Channel } from '../../contract/resources/messages.ts'
import type { DispatchPauseRow, PauseRow } from '../../rows/rows.ts'

/** Selects queued messages: accepted until `created_until`, and either due until `due_until` or claimed. */
export interface Doubt {
  created_until: Date
  due_until: Date
}

/** The number of messages of a workspace and channel that a provider may have received after the backup. */
export interface DoubtfulTotal {
  workspace_id: string
  channel: Channel
  count: number
  oldest_at: Date
  newest_at: Date
}

/** Contains no content. */
export interface DoubtfulMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  created_at: Date
  scheduled_at: Date | null
  attempt: number
  /** The token of the claim that was in progress; null where none was. */
  token: string | null
}

export interface DispatchPauseReads {
  /** The pause of this scope, if there is one. */
  byScope(scope: DispatchPauseRow['scope']): Promise<DispatchPauseRow | null>
  /** Sorted by workspace and channel. */
  doubtfulTotals(doubt: Doubt): Promise<DoubtfulTotal[]>
  /** Sorted by id, those whose id sorts after `after`. */
  doubtfulMessages(doubt: Doubt, page: { after: string; limit: number }): Promise<DoubtfulMessage[]>
}

export interface DispatchPauseWrites {
  /**
   * Replaces the current pause, except that an operator's does not replace that of a restore. Returns the pause that
   * stands now.
   */
  put(pause: DispatchPauseRow): Promise<DispatchPauseRow>
  /** Returns false when there was none. */
  remove(scope: DispatchPauseRow['scope']): Promise<boolean>
}

export interface PauseReads {
  /** All pauses of the service, which are few. */
  list(): Promise<PauseRow[]>
}

export interface PauseWrites {
  /** Replaces the current pause; only an operator's pause replaces an operator's pause. */
  put(pause: PauseRow): Promise<void>
  /** Returns false when there is none; with a `cause`, none with that cause. */
  remove(
    pause: Pick<PauseRow, 'provider' | 'sender'> & { cause?: PauseRow['cause'] },
  ): Promise<boolean>
}
