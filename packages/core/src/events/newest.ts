import type { Runtime } from '../runtime/runtime.ts'
import type { EventLogState } from '../storage/ports/event-log.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** How often the log is looked at, because reports of other processes can get lost. */
const LOOK_EVERY_MS = 1_000

/** The newest position of the log, for all readers of this process. */
export interface Newest {
  /** The newest known position; null until it is known for the first time. */
  position(): number | null
  /** Takes over a state that was read, and begins to follow the log. */
  follow(state: EventLogState): void
  /** Resolves when the newest position is above `position`, or when `signal` aborts. */
  above(position: number, signal: AbortSignal): Promise<void>
  /** Keeps the process running while there are such readers. */
  hold(): () => void
  stop(): void
}

export function createNewest({ storage, runtime }: { storage: Storage; runtime: Runtime }): Newest {
  let newest: number | null = null
  let timer: NodeJS.Timeout | null = null
  let holders = 0
  let isLooking = false
  let looksAgain = false
  let unlisten = () => {}
  const waiting = new Set<() => void>()

  function set(position: number): void {
    if (newest !== null && position <= newest) return
    newest = position
    for (const wake of [...waiting]) wake()
  }

  async function look(): Promise<void> {
    if (isLooking) {
      looksAgain = true
      return
    }
    isLooking = true
    do {
      looksAgain = false
      try {
        set((await storage.read.eventLog.state()).position)
      } catch (error) {
        // The next look finds the events.
        runtime.log.debug({ reason: nameOf(error) }, 'the log of events could not be read')
      }
    } while (looksAgain && timer !== null)
    isLooking = false
  }

  return {
    position: () => newest,
    follow({ position }) {
      set(position)
      if (timer !== null) return
      unlisten = storage.onEvents(() => void look())
      timer = setInterval(() => void look(), LOOK_EVERY_MS)
      if (holders === 0) timer.unref()
    },
    async above(position, signal) {
      if (newest !== null && newest > position) return
      await new Promise<void>((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
        if (signal.aborted) wake()
      })
    },
    hold() {
      holders += 1
      timer?.ref()
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        holders -= 1
        if (holders === 0) timer?.unref()
      }
    },
    stop() {
      unlisten()
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}

/** The name of an error. Its text could have contents of messages. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error
}
