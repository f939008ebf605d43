import type { DispatchPauseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The scope of the row that pauses all dispatch. */
export const ALL = 'all'

/** Whether this process may claim due work. The database holds the gate, so all servers read it and it survives a restart. */
export interface DispatchGate {
  isPaused(): boolean
  /** Reads the pause from the database. */
  refresh(): Promise<void>
}

/** @param onOpened called when a pause has ended, so that due work is claimed at once. */
export function createDispatchGate({
  storage,
  log,
  onOpened,
}: {
  storage: Storage
  log: Runtime['log']
  onOpened: () => void
}): DispatchGate {
  let pause: DispatchPauseRow | null = null

  async function refresh(): Promise<void> {
    const before = pause
    pause = await storage.read.dispatchPauses.byScope(ALL)
    if (pause && !before) {
      const { cause, reason, backup_at } = pause
      log.warn(
        { cause, reason, backup_at },
        'nothing is sent or delivered. See: svc resume --dry-run',
      )
    }
    if (before && !pause) {
      log.info({}, 'sending and delivering continue')
      onOpened()
    }
  }

  return { isPaused: () => pause !== null, refresh }
}
