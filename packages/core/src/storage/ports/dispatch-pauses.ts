import type { Channel } from '../../contract/resources/messages.ts'
import type { DispatchPauseRow } from '../../rows/rows.ts'

/** Which queued messages are meant: accepted by `created_until`, and due by `due_until` or being handed over. */
export interface Doubt {
  created_until: Date
  due_until: Date
}

/** Messages of a workspace and channel that a provider may have had after the backup. */
export interface DoubtfulTotal {
  workspace_id: string
  channel: Channel
  count: number
  oldest_at: Date
  newest_at: Date
}

/** Nothing in it of what was written. */
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
  /** The one there is, if there is one. */
  byScope(scope: DispatchPauseRow['scope']): Promise<DispatchPauseRow | null>
  /** By workspace and channel. */
  doubtfulTotals(doubt: Doubt): Promise<DoubtfulTotal[]>
  /** By id, those whose id sorts after `after`. */
  doubtfulMessages(doubt: Doubt, page: { after: string; limit: number }): Promise<DoubtfulMessage[]>
}

export interface DispatchPauseWrites {
  /** In place of the one that stands; an operator's never in place of that of a restore. Answers which stands now. */
  put(pause: DispatchPauseRow): Promise<DispatchPauseRow>
  /** Answers false when there was none. */
  remove(scope: DispatchPauseRow['scope']): Promise<boolean>
}
