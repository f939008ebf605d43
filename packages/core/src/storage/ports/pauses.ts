import type { Channel } from '../../contract/resources/messages.ts'
import type { DispatchPauseRow, PauseRow } from '../../rows/rows.ts'

/** Selects queued messages accepted until `created_until` that are either claimed or due until `due_until`. */
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

/** A message that a provider may have received after the backup, without its content. */
export interface DoubtfulMessage {
  id: string
  workspace_id: string
  channel: Channel
  recipient: string
  created_at: Date
  scheduled_at: Date | null
  attempt: number
  /** The token of the claim that was in progress; null without a claim. */
  token: string | null
}

export interface DispatchPauseReads {
  /** The pause of this scope, or null. */
  byScope(scope: DispatchPauseRow['scope']): Promise<DispatchPauseRow | null>
  /** The numbers of calls of messages, and of deliveries, that have begun and whose lease has not ended. */
  inFlight(calls: {
    now: Date
    provider?: string | undefined
    /** Only messages from this sender, and those that name none. */
    sender?: string | undefined
  }): Promise<{ messages: number; deliveries: number }>
  /** Returns the totals sorted by workspace and channel. */
  doubtfulTotals(doubt: Doubt): Promise<DoubtfulTotal[]>
  /** Returns the messages with ids above `after`, sorted by id. */
  doubtfulMessages(doubt: Doubt, page: { after: string; limit: number }): Promise<DoubtfulMessage[]>
}

export interface DispatchPauseWrites {
  /**
   * Replaces the current pause, except that an operator's pause does not replace a restore's pause. Returns the pause
   * that is now in effect.
   */
  put(pause: DispatchPauseRow): Promise<DispatchPauseRow>
  /** Returns false when there was no pause. */
  remove(scope: DispatchPauseRow['scope']): Promise<boolean>
}

export interface PauseReads {
  /** All pauses of the service, which are few. */
  list(): Promise<PauseRow[]>
}

export interface PauseWrites {
  /** Replaces the current pause; only an operator's pause replaces an operator's pause. */
  put(pause: PauseRow): Promise<void>
  /** Returns false when no such pause exists. With a `cause`, only a pause with that cause is removed. */
  remove(
    pause: Pick<PauseRow, 'provider' | 'sender'> & { cause?: PauseRow['cause'] },
  ): Promise<boolean>
}
