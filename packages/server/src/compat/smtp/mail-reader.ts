import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Reading, readMail } from './read-mail.ts'
import { type Refusal, refusal } from './reply.ts'

/** Reads mails of any content so that the event loop stays free. */
export interface MailReader {
  /** @throws Refusal if too many mails of the workspace wait, or this mail takes too long. */
  read(raw: Uint8Array, workspace_id: string): Promise<Reading>
  close(): Promise<void>
}

// The parser needs up to 12 µs for a line of any length, so a mail of this size blocks the event loop for at most 15 ms.
const LINES_HERE_MAX = 1_000
const BYTES_HERE_MAX = 64 * 1024

/** A mail of the maximum size is read in 2 s on a slow machine. */
const READ_MAX_MS = 5_000
const WAITING_MAX = 100
/** An idle thread ends after this time, because it holds 20 MB of memory. */
const IDLE_MS = 30_000
const HEAP_MAX_MIB = 256

interface Waiting {
  workspace_id: string
  raw: Uint8Array
  resolve(reading: Reading): void
  reject(refusal: Refusal): void
}

/**
 * Reads small mails at once, and large ones one by one in a thread, which starts when it is needed. The workspaces take
 * turns, so that a mail waits for at most one mail of each other workspace. When too many mails wait, the last one of the
 * workspace with the most is refused.
 */
export function createMailReader(): MailReader {
  /** By workspace, in the order of their turns. No queue is empty. */
  const queues = new Map<string, Waiting[]>()
  let waiting = 0
  let worker: Worker | null = null
  let running: Waiting | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function start(): Worker {
    // The built code does not need this process's loader; a loader would start slowly.
    const started = new Worker(workerFile(), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MIB },
    })
    started.on('message', (reading: Reading) => {
      running?.resolve(reading)
      next()
    })
    started.on('error', () => {
      if (worker === started) lose()
    })
    return started
  }

  /** Ends the thread. The mail that it was reading is refused, because the next attempt would end in the same way. */
  function lose(): void {
    void worker?.terminate()
    worker = null
    running?.reject(refusal('554 5.6.0', 'The mail could not be read'))
    next()
  }

  function enqueue(one: Waiting): void {
    const queue = queues.get(one.workspace_id)
    if (queue) queue.push(one)
    else queues.set(one.workspace_id, [one])
    waiting += 1
  }

  /** The first mail of the workspace whose turn it is. */
  function dequeue(): Waiting | null {
    for (const [workspace_id, queue] of queues) {
      const one = queue.shift()
      queues.delete(workspace_id)
      if (queue.length > 0) queues.set(workspace_id, queue)
      waiting -= 1
      return one ?? null
    }
    return null
  }

  /** Makes room for a mail of a workspace. False if no other workspace has more mails waiting. */
  function makeRoom(workspace_id: string): boolean {
    if (waiting < WAITING_MAX) return true
    const longest = [...queues.values()].reduce((a, b) => (b.length > a.length ? b : a))
    if (longest.length <= (queues.get(workspace_id)?.length ?? 0) + 1) return false
    longest.pop()?.reject(tooMany())
    waiting -= 1
    return true
  }

  function next(): void {
    clearTimeout(timer)
    running = isClosed ? null : dequeue()
    if (!running) {
      timer = setTimeout(() => {
        void worker?.terminate()
        worker = null
      }, IDLE_MS).unref()
      worker?.unref()
      return
    }
    worker ??= start()
    worker.ref()
    timer = setTimeout(lose, READ_MAX_MS)
    worker.postMessage(running.raw)
  }

  return {
    async read(raw, workspace_id) {
      if (isSmall(raw)) return readMail(raw)
      if (isClosed || !makeRoom(workspace_id)) throw tooMany()
      return new Promise((resolve, reject) => {
        enqueue({ workspace_id, raw, resolve, reject })
        if (!running) next()
      })
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      const left = [...(running ? [running] : []), ...[...queues.values()].flat()]
      running = null
      queues.clear()
      waiting = 0
      for (const { reject } of left) reject(refusal('451 4.3.2', 'The service is stopping'))
      await worker?.terminate()
      worker = null
    },
  }
}

function tooMany(): Refusal {
  return refusal('451 4.4.5', 'Too many mails. Please try again later')
}

function isSmall(raw: Uint8Array): boolean {
  if (raw.length > BYTES_HERE_MAX) return false
  let end = -1
  for (let lines = 0; lines < LINES_HERE_MAX; lines += 1) {
    end = raw.indexOf(0x0a, end + 1)
    if (end < 0) return true
  }
  return false
}

/** The built worker. The sources use it too, because Node 20 cannot run a thread from TypeScript. */
function workerFile(): string {
  const places = ['./mail-worker.js', './compat/smtp/mail-worker.js']
  for (const place of [...places, '../../../dist/compat/smtp/mail-worker.js']) {
    const file = fileURLToPath(new URL(place, import.meta.url))
    if (existsSync(file)) return file
  }
  throw new Error('compat/smtp/mail-worker.js is missing: build @svc/server')
}
