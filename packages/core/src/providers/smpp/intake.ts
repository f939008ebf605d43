import type { Report, Sink } from '../../contract/outside/provider.ts'
import { STATUS } from './status-table.ts'

/** How many reports wait to be stored: what comes beyond them is to come again. */
const WAITING_MAX = 5000
const BATCH_MAX = 500

interface Arrival {
  report: Report
  answer: (status: number) => void
}

/**
 * Hands over what the SMSC tells, and acknowledges it once it is stored. What arrives while a batch is being stored makes up
 * the next one, so that its commit is shared.
 */
export function createIntake(receive: Sink['receive']) {
  const waiting: Arrival[] = []
  let pumping: Promise<void> | null = null

  async function pump(): Promise<void> {
    // Whatever came in the same packet comes along.
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
      // The SMSC keeps it and tries again.
      return STATUS.temporary_error
    }
  }

  return {
    /** `answer` is called with the status to answer with. */
    add(report: Report, answer: (status: number) => void): void {
      if (waiting.length >= WAITING_MAX) {
        answer(STATUS.temporary_error)
        return
      }
      waiting.push({ report, answer })
      pumping ??= pump()
    },
    /** Once everything is stored and acknowledged, or could not be. */
    async idle(): Promise<void> {
      await pumping
    },
  }
}
