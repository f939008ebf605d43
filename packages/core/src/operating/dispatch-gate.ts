import type { DispatchPauseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The one row that a pause of all dispatch is. */
export const ALL = 'all'

/** Whether this process may claim what is due: kept in the database, so that all servers know and a restart does. */
export interface DispatchGate {
  isPaused(): boolean
  /** Looks at what others have paused and resumed. */
  refresh(): Promise<void>
}

/** @param onOpened told when a pause has ended, so that what waited is looked for at once. */
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
      log.info({}, 'sending and delivering go on')
      onOpened()
    }
  }

  return { isPaused: () => pause !== null, refresh }
}
