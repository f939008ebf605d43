import type { Piscina } from 'piscina'
import type { ProviderFault } from '../providers/defined/definition.ts'
import { builtFile } from '../runtime/built-file.ts'
import type { Log } from '../runtime/runtime.ts'
import type { Telemetry } from '../runtime/telemetry.ts'
import { memoryOf } from './mail-files.ts'
import { logProviderFault, type Performer, type PerformerSettings } from './performer.ts'

/**
 * This limit is above the number of slots of both lanes, because a batch uses up its deadline while it waits in the pool's
 * queue. A batch spends nearly all its time waiting for the network.
 */
const BATCHES_PER_THREAD = 8192

/**
 * Works in threads, so that signing and parsing do not block the event loop that answers requests. `here` serves the
 * providers that send and receive on one connection, because this thread stores the reports that they receive, and those
 * that the threads cannot open. The threads start with the first batch, so that an idle service needs 30 MB less.
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
  const filename = builtFile(
    import.meta.url,
    'dispatch/worker.js',
    'build @svc/core, or set threads to 0',
  )
  let opening: Promise<{ pool: Piscina; loaded: Promise<unknown> } | null> | undefined
  let isClosing = false

  async function open() {
    const { Piscina } = await import('piscina')
    const pool = new Piscina({
      filename,
      workerData: settings,
      minThreads: 1,
      maxThreads: threads,
      concurrentTasksPerWorker: BATCHES_PER_THREAD,
      // With the default, a thread without tasks blocks in `Atomics.wait`, and its event loop stops. The thread then does not
      // notice that a peer closed an idle connection, and writes the next request to this connection.
      atomics: 'disabled',
      // A thread is never stopped when it is idle, because a restarted thread has lost its connections.
      idleTimeout: Number.POSITIVE_INFINITY,
      // Built code needs none of this process's loaders, which start slowly.
      execArgv: [],
    })
    // Piscina replaces a thread that dies. It rejects its batches with the reason, and emits the reason if there are none.
    pool.on('workerDestroy', () => {
      if (isClosing) return
      log.error({ threads }, 'a worker thread died')
      telemetry?.threadDied()
    })
    pool.on('error', (error) => log.error({ err: error }, 'a worker thread failed'))
    pool.on('message', (fault: ProviderFault) => logProviderFault(log, fault))
    // The empty batch resolves when the thread has loaded.
    const loaded = pool.run({ jobs: [], start_by_ms: 0 }, { name: 'deliver' })
    loaded.catch(() => {})
    return { pool, loaded }
  }

  /** Returns null if the threads cannot be started; no provider or receiver was called then. The next batch tries again. */
  async function run(name: keyof Performer, task: object, transferList: ArrayBuffer[] = []) {
    opening ??= open().catch((error) => {
      opening = undefined
      log.error({ err: error }, 'the worker threads could not be started')
      return null
    })
    const opened = await opening
    return opened === null ? null : opened.pool.run(task, { name, transferList })
  }

  return {
    send: (provider, jobs, start_by_ms) =>
      isHere(provider)
        ? here.send(provider, jobs, start_by_ms)
        : run('send', { provider, jobs, start_by_ms }, memoryOf(jobs)),
    lookup: (provider, jobs) =>
      isHere(provider) ? here.lookup(provider, jobs) : run('lookup', { provider, jobs }),
    deliver: (jobs, start_by_ms) => run('deliver', { jobs, start_by_ms }),
    async close() {
      isClosing = true
      const { pool, loaded } = (await opening) ?? {}
      // Node 20 aborts the process when a thread is terminated while it loads a module.
      await Promise.allSettled([loaded])
      await Promise.all([pool?.destroy(), here.close()])
    },
  }
}
