import type { PauseRow } from '../../rows/rows.ts'

export interface PauseReads {
  /** All there are: few, and of the whole service. */
  list(): Promise<PauseRow[]>
}

export interface PauseWrites {
  /** In place of the one that stands; only that of an operator goes in place of an operator's. */
  put(pause: PauseRow): Promise<void>
  /** Answers false when there is none; with a `cause`, none for that. */
  remove(
    pause: Pick<PauseRow, 'provider' | 'sender'> & { cause?: PauseRow['cause'] },
  ): Promise<boolean>
}
