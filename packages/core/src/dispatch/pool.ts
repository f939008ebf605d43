import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import type { Log } from '../runtime/runtime.ts'
import type { Telemetry } from '../runtime/telemetry.ts'
import type { Performer, PerformerSettings } from './performer.ts'

/**
 * More batches than both lanes have slots: what waited for its turn inside the pool would use up its deadline there.
 * Nearly all of a batch's time is waiting for the network.
 */
const BATCHES_PER_THREAD = 8192

/**
 * Work done in threads, so that signing, parsing and slow peers never hold up the event loop that answers requests. A
 * provider that sends on the connection it listens on is left to `here`: what arrives there is written by this thread.
 */
export function createPool({
  threads,
  log,
  telemetry,
  settings,
  here,
  isHere,
}: {
  threads: number
  log: Log
  telemetry?: Telemetry | undefined
  settings: PerformerSettings
  here: Performer
  isHere: (provider: string) => boolean
}): Performer {
  const pool = new Piscina({
    filename: workerFile(),
    workerData: settings,
    minThreads: 1,
    maxThreads: threads,
    concurrentTasksPerWorker: BATCHES_PER_THREAD,
    // With the default, a thread without tasks blocks in `Atomics.wait`. Its event loop then stands still: it does not
    // see that a peer has closed an idle connection, and writes the next request to it.
    atomics: 'disabled',
    // A thread that is stopped and started again loses its connections.
    idleTimeout: Number.POSITIVE_INFINITY,
    // A loader that this process runs with is of no use to built code, and slow to start.
    execArgv: [],
  })
  // A thread that dies is replaced, and its batches are answered as lost.
  pool.on('error', (error) => {
    log.error({ err: error }, 'a worker thread died')
    telemetry?.threadDied()
  })
  // Nothing to do, so answered when the thread has loaded.
  const loaded = pool.run({ jobs: [], start_by_ms: 0 }, { name: 'deliver' })
  loaded.catch(() => {})
  return {
    send: (provider, jobs, start_by_ms) =>
      isHere(provider)
        ? here.send(provider, jobs, start_by_ms)
        : pool.run({ provider, jobs, start_by_ms }, { name: 'send' }),
    lookup: (provider, jobs) =>
      isHere(provider)
        ? here.lookup(provider, jobs)
        : pool.run({ provider, jobs }, { name: 'lookup' }),
    deliver: (jobs, start_by_ms) => pool.run({ jobs, start_by_ms }, { name: 'deliver' }),
    async close() {
      // Node 20 aborts the process when a thread is ended while it loads a module.
      await Promise.allSettled([loaded])
      await Promise.all([pool.destroy(), here.close()])
    },
  }
}

/** The built worker. Node 20 cannot run a thread from TypeScript, so sources use the build's too. */
function workerFile(): string {
  for (const place of ['./worker.js', './dispatch/worker.js', '../../dist/dispatch/worker.js']) {
    const file = fileURLToPath(new URL(place, import.meta.url))
    if (existsSync(file)) return file
  }
  throw new Error('dispatch/worker.js is missing: build @svc/core, or set threads to 0')
}
