import { Worker } from 'node:worker_threads'
import { builtFile } from '../../runtime/built-file.ts'
import type { LedgerReport } from '../ledger/report.ts'
import type { VerifyOptions } from '../ledger/verify-ledger.ts'
import type { DatabaseFacts } from './facts.ts'

/** The messages of the thread. */
export type FromInspection =
  | { progress: { name: string; done: number; total: number } }
  | { result: unknown }
  | { failure: { message: string; code?: string | undefined } }

/** The work of the thread. */
export type Inspection = { task: 'ledger'; fast: boolean } | { task: 'facts' } | { task: 'damage' }

/** Verifies the ledger in a thread, so that a server continues to answer. Options and errors as of `verifyLedger`. */
export function verifyLedgerApart(
  database_url: string,
  { fast = false, signal, onProgress }: Pick<VerifyOptions, 'fast' | 'signal' | 'onProgress'> = {},
): Promise<LedgerReport> {
  return inThread(database_url, { task: 'ledger', fast }, { signal, onProgress })
}

/** Inspects a database in a thread, as `inspectDatabase` does. */
export function inspectDatabaseApart(database_url: string): Promise<DatabaseFacts> {
  return inThread(database_url, { task: 'facts' })
}

/** Searches for damaged pages in a thread, as `findDamage` does. */
export function findDamageApart(database_url: string): Promise<string | null> {
  return inThread(database_url, { task: 'damage' })
}

async function inThread<T>(
  database_url: string,
  inspection: Inspection,
  { signal, onProgress }: Pick<VerifyOptions, 'signal' | 'onProgress'> = {},
): Promise<T> {
  signal?.throwIfAborted()
  const worker = new Worker(
    builtFile(import.meta.url, 'maintenance/inspect/inspect-thread.js', 'build @svc/core'),
    {
      workerData: { database_url, inspection },
      execArgv: [],
    },
  )
  const stop = () => void worker.terminate()
  signal?.addEventListener('abort', stop)
  try {
    return await new Promise<T>((resolve, reject) => {
      worker.on('message', (message: FromInspection) => {
        if ('progress' in message) onProgress?.(message.progress)
        if ('result' in message) resolve(message.result as T)
        if ('failure' in message)
          reject(Object.assign(new Error(message.failure.message), message.failure))
      })
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the thread of the inspection ended')))
    })
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', stop)
    await worker.terminate()
  }
}
