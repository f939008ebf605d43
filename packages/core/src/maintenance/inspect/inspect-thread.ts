import { parentPort, workerData } from 'node:worker_threads'
import { verifyLedger } from '../ledger/verify-ledger.ts'
import type { FromInspection, Inspection } from './apart.ts'
import { findDamage, inspectDatabase } from './inspect.ts'

const { database_url, inspection } = workerData as { database_url: string; inspection: Inspection }

/** One message a step is enough for a bar. */
const PROGRESS_EVERY_MS = 200
let shown_ms = 0

function send(message: FromInspection): void {
  parentPort?.postMessage(message)
}

function work(): Promise<unknown> {
  if (inspection.task === 'facts') return inspectDatabase(database_url, { now: () => new Date() })
  if (inspection.task === 'damage') return findDamage(database_url)
  const { fast } = inspection
  return verifyLedger(database_url, {
    fast,
    onProgress(progress) {
      if (performance.now() - shown_ms < PROGRESS_EVERY_MS) return
      shown_ms = performance.now()
      send({ progress })
    },
  })
}

work().then(
  (result) => send({ result }),
  (error: Error & { code?: string }) =>
    send({ failure: { message: error.message, code: error.code } }),
)
