import type { Report, Sink } from '../../contract/outside/provider.ts'
import { STATUS } from './status-table.ts'

/** The maximum number of reports that wait to be stored. The SMSC must repeat any further reports. */
const WAITING_MAX = 5000
const BATCH_MAX = 500

interface Arrival {
  report: Report
  answer: (status: number) => void
}

/**
 * Stores the reports of the SMSC in batches, and acknowledges each one after it is stored. Reports that arrive while a batch
 * is being stored form the next batch and share its commit.
 */
export function createIntake(receive: Sink['receive']) {
  const waiting: Arrival[] = []
  let pumping: Promise<void> | null = null

  async function pump(): Promise<void> {
    // Lets the other reports of the same packet join the batch.
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_MAX)
      const status = await store(batch.map(({ report }) => report))
      for (const { answer } of batch) answer(status)
    }
    pumping = null
  }

  async function store(reports: Report[]): Promise<number> {
    try {
      await receive(reports)
      return STATUS.ok
    } catch {
      // The SMSC keeps the reports and sends them again.
      return STATUS.temporary_error
    }
  }

  return {
    /** Stores a report. `answer` receives the status for the SMSC. */
    add(report: Report, answer: (status: number) => void): void {
      if (waiting.length >= WAITING_MAX) {
        answer(STATUS.temporary_error)
        return
      }
      waiting.push({ report, answer })
      pumping ??= pump()
    },
    /** Resolves when every report has its answer. */
    async idle(): Promise<void> {
      await pumping
    },
  }
}

const AGAIN_MS = 1000
const TRIES_MAX = 300
const OPEN_MAX = 5000

type Store = (report: Report, done: (isStored: boolean) => void) => void

/**
 * Stores reports that the SMSC does not repeat, such as a late answer. Retries for five minutes. Reports that come
 * before `open`, or that exceed the limit, are lost.
 */
export function createOwnReports() {
  let store: Store | null = null
  const timers = new Set<NodeJS.Timeout>()

  function attempt(report: Report, tries: number): void {
    store?.(report, (isStored) => {
      if (isStored || !store || tries >= TRIES_MAX || timers.size >= OPEN_MAX) return
      const timer = setTimeout(() => {
        timers.delete(timer)
        attempt(report, tries + 1)
      }, AGAIN_MS)
      timers.add(timer)
    })
  }

  return {
    open(by: Store): void {
      store = by
    },
    add: (report: Report): void => attempt(report, 1),
    close(): void {
      store = null
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}

const EVERY_MS = 60_000

/** Notes a delivery that cannot be stored, and the reason. */
export type UnusableNotes = (reason: string) => void

/**
 * Notes deliveries that cannot be stored, at most one line a minute. `count` is the number of deliveries since the
 * previous line, and `reason` is the reason of the latest delivery.
 */
export function createUnusableNotes(
  note: (fields: { reason: string; count: number }) => void,
  now_ms: () => number = () => performance.now(),
): UnusableNotes {
  let noted_at = Number.NEGATIVE_INFINITY
  let count = 0
  return (reason) => {
    count += 1
    if (now_ms() - noted_at < EVERY_MS) return
    noted_at = now_ms()
    note({ reason, count })
    count = 0
  }
}
