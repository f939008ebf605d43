import { Worker } from 'node:worker_threads'
import { SvcError } from '../../../contract/errors.ts'
import { builtFile } from '../../../runtime/built-file.ts'
import type { Log } from '../../../runtime/runtime.ts'
import type { Query } from './query.ts'

/** One statement for a thread. */
export interface ReaderRequest {
  text: string
  parameters: unknown[]
  method: Parameters<Query>[2]
}

/** The response of a thread. */
export type ReaderResponse = { rows: unknown[] } | { failure: { message: string; code?: string } }

/** Reader threads, so that a long query or a checkpoint delays only work in these threads. */
export interface Readers {
  query: Query
  /** Ends the threads; waiting queries are refused. */
  close(): Promise<void>
}

/** The maximum number of queries that wait for a thread; further queries are refused. */
const WAITING_MAX = 1_000

interface Waiting {
  request: ReaderRequest
  resolve(answer: { rows: unknown[] }): void
  reject(error: unknown): void
}

/** An idle thread ends after this time, because it holds 20 MB of memory. */
const IDLE_MS = 30_000

interface Thread {
  worker: Worker
  running: Waiting | null
  idle: NodeJS.Timeout | undefined
}

/**
 * Reads a database in up to `threads` threads, which start when they are needed and end when they are idle. If a thread
 * dies, its query fails, and a new thread runs the next query.
 */
export function openReaders(
  file: string,
  {
    threads: threads_max,
    log,
    idle_ms = IDLE_MS,
    worker = builtFile(
      import.meta.url,
      'storage/sqlite/reader-worker.js',
      'build @svc/core, or set threads to 0',
    ),
  }: ReaderOptions,
): Readers {
  const threads = new Set<Thread>()
  const waiting: Waiting[] = []
  let isClosed = false

  function start(): Thread {
    // The built code does not need this process's loader; a loader would start slowly.
    const thread: Thread = {
      worker: new Worker(worker, { workerData: { file }, execArgv: [] }),
      running: null,
      idle: undefined,
    }
    const lose = (error: Error) => {
      if (!threads.delete(thread)) return
      if (!isClosed) log.error({ err: error }, 'a reading thread died')
      thread.running?.reject(error)
      next()
    }
    thread.worker.on('message', (response: ReaderResponse) => answer(thread, response))
    thread.worker.on('error', lose)
    thread.worker.on('exit', () => lose(new Error('a reading thread ended')))
    threads.add(thread)
    return thread
  }

  function answer(thread: Thread, response: ReaderResponse): void {
    const { running } = thread
    thread.running = null
    thread.worker.unref()
    if ('rows' in response) running?.resolve(response)
    else
      running?.reject(
        Object.assign(new Error(response.failure.message), { code: response.failure.code }),
      )
    next()
    if (!thread.running) thread.idle = setTimeout(() => end(thread), idle_ms).unref()
  }

  function end(thread: Thread): void {
    threads.delete(thread)
    void thread.worker.terminate()
  }

  /** Gives the next queries to idle threads. */
  function next(): void {
    while (waiting.length > 0 && !isClosed) {
      const idle = [...threads].find(({ running }) => !running)
      if (!idle && threads.size >= threads_max) return
      const thread = idle ?? start()
      clearTimeout(thread.idle)
      thread.running = waiting.shift() ?? null
      thread.worker.ref()
      thread.worker.postMessage(thread.running?.request)
    }
  }

  return {
    query(text, parameters, method) {
      if (isClosed) return Promise.reject(closed())
      if (waiting.length >= WAITING_MAX) return Promise.reject(busy())
      return new Promise((resolve, reject) => {
        waiting.push({ request: { text, parameters, method }, resolve, reject })
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
  /** The time in milliseconds after which an idle thread ends; default: 30,000. */
  idle_ms?: number
  /** The start file of a thread; default: the built file. */
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
