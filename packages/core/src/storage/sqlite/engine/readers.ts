import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { SvcError } from '../../../contract/errors.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { Query } from './query.ts'

/** One statement on its way to a thread. */
export interface Asked {
  text: string
  parameters: unknown[]
  method: Parameters<Query>[2]
}

/** What a thread says to it. */
export type Told = { rows: unknown[] } | { failure: { message: string; code?: string } }

/** Threads that read, so that a long question holds up nobody but whoever asks another long one. */
export interface Readers {
  query: Query
  /** Ends the threads; whoever still waits is refused. */
  close(): Promise<void>
}

/** So many questions may wait for a thread before new ones are refused. */
const WAITING_MAX = 1_000

interface Waiting {
  asked: Asked
  resolve(answer: { rows: unknown[] }): void
  reject(error: unknown): void
}

interface Thread {
  worker: Worker
  running: Waiting | null
}

/**
 * Reads a database in up to `threads` threads of its own, started when they are first needed. One that dies fails the
 * question it was about and is replaced for the next.
 */
export function openReaders(
  file: string,
  { threads: threads_max, log, worker = workerFile() }: ReaderOptions,
): Readers {
  const threads = new Set<Thread>()
  const waiting: Waiting[] = []
  let isClosed = false

  function start(): Thread {
    // A loader that this process runs with is of no use to built code, and slow to start.
    const thread: Thread = {
      worker: new Worker(worker, { workerData: { file }, execArgv: [] }),
      running: null,
    }
    const lose = (error: Error) => {
      if (!threads.delete(thread)) return
      if (!isClosed) log.error({ err: error }, 'a reading thread died')
      thread.running?.reject(error)
      next()
    }
    thread.worker.on('message', (told: Told) => answer(thread, told))
    thread.worker.on('error', lose)
    thread.worker.on('exit', () => lose(new Error('a reading thread ended')))
    threads.add(thread)
    return thread
  }

  function answer(thread: Thread, told: Told): void {
    const { running } = thread
    thread.running = null
    thread.worker.unref()
    if ('rows' in told) running?.resolve(told)
    else
      running?.reject(Object.assign(new Error(told.failure.message), { code: told.failure.code }))
    next()
  }

  /** Gives the next questions to threads that have none. */
  function next(): void {
    while (waiting.length > 0 && !isClosed) {
      const idle = [...threads].find(({ running }) => !running)
      if (!idle && threads.size >= threads_max) return
      const thread = idle ?? start()
      thread.running = waiting.shift() ?? null
      thread.worker.ref()
      thread.worker.postMessage(thread.running?.asked)
    }
  }

  return {
    query(text, parameters, method) {
      if (isClosed) return Promise.reject(closed())
      if (waiting.length >= WAITING_MAX) return Promise.reject(busy())
      return new Promise((resolve, reject) => {
        waiting.push({ asked: { text, parameters, method }, resolve, reject })
        next()
      })
    },
    async close() {
      isClosed = true
      for (const { reject } of waiting.splice(0)) reject(closed())
      const ending = [...threads].map(({ worker, running }) => {
        running?.reject(closed())
        return worker.terminate()
      })
      await Promise.all(ending)
    },
  }
}

export interface ReaderOptions {
  threads: number
  log: Pick<Log, 'error'>
  /** The file a thread starts with; the built one unless told. */
  worker?: string
}

function closed(): Error {
  return new Error('the database is closed')
}

function busy(): SvcError {
  return new SvcError('rate_limit_exceeded', 'Too many requests. Please try again later.', {
    retry_after_s: 1,
  })
}

/** The built worker. Node 20 cannot run a thread from TypeScript, so sources use the build's too. */
function workerFile(): string {
  const places = ['./reader-worker.js', './storage/sqlite/reader-worker.js']
  for (const place of [...places, '../../../../dist/storage/sqlite/reader-worker.js']) {
    const file = fileURLToPath(new URL(place, import.meta.url))
    if (existsSync(file)) return file
  }
  throw new Error(
    'storage/sqlite/reader-worker.js is missing: build @svc/core, or set threads to 0',
  )
}
