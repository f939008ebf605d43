import type { PauseRow } from '../../rows/rows.ts'

export interface PauseReads {
  /** All pauses of the service, which are few. */
  list(): Promise<PauseRow[]>
}

export interface PauseWrites {
  /** Replaces the present pause; only an operator's pause replaces an operator's pause. */
  put(pause: PauseRow): Promise<void>
  /** Returns false when there is none; with a `cause`, none with that cause. */
  remove(
    pause: Pick<PauseRow, 'provider' | 'sender'> & { cause?: PauseRow['cause'] },
  ): Promise<boolean>
}
