import type { EventRow } from '../../rows/rows.ts'

/** The state of the log of events. */
export interface EventLogState {
  /** Whether events are added to the log. */
  is_kept: boolean
  /** The position of the newest event; 0 if there is none. */
  position: number
  /** The log has every event after this position. */
  since: number
}

/** An event with its position in the order of commits. */
export interface LoggedEvent extends EventRow {
  position: number
}

export interface EventLogReads {
  state(): Promise<EventLogState>
  /**
   * The events with positions above `after` and up to `until`, in this order, of one workspace or of all. Once `state` has
   * returned a position, every event up to it is visible, and no event gets a position up to it later.
   */
  between(
    range: { after: number; until: number },
    workspaceId: string | undefined,
  ): Promise<LoggedEvent[]>
}

export interface EventLogWrites {
  /**
   * Begins or ends keeping events; returns the state afterwards. Locks the log until the transaction ends. To begin, it
   * waits for transactions that have read the state, so that all that end later store their events; such a wait delays
   * them, so call it only if `state` says that none are kept, and as the first call of a transaction.
   * @throws Error if another program's transaction, such as a backup, holds the log for longer than the deadline.
   */
  keep(isKept: boolean): Promise<EventLogState>
  /** Whether the transaction must store its events even if no webhook subscribes to them. */
  isKept(): Promise<boolean>
  /**
   * Gives positions to the events that the transaction stored. Called after its work, because the lock of the log must be
   * its last lock. Returns whether events got positions.
   */
  place(): Promise<boolean>
}
