import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Reading, readMail } from './read-mail.ts'
import { type Refusal, refusal } from './reply.ts'

/** Reads mails of any content so that the event loop stays free. */
export interface MailReader {
  /** @throws Refusal if too many mails wait, or this mail takes too long. */
  read(raw: Uint8Array): Promise<Reading>
  close(): Promise<void>
}

// The parser needs up to 12 µs for a line of any length, so a mail of this size blocks the event loop for at most 15 ms.
const LINES_HERE_MAX = 1_000
const BYTES_HERE_MAX = 64 * 1024

/** A mail of the maximum size is read in 2 s on a slow machine. */
const READ_MAX_MS = 10_000
const WAITING_MAX = 100
/** An idle thread ends after this time, because it holds 20 MB of memory. */
const IDLE_MS = 30_000
const HEAP_MAX_MIB = 256

interface Waiting {
  raw: Uint8Array
  resolve(reading: Reading): void
  reject(refusal: Refusal): void
}

/** Reads small mails at once, and large ones one by one in a thread, which starts when it is needed. */
export function createMailReader(): MailReader {
  const waiting: Waiting[] = []
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

  function next(): void {
    clearTimeout(timer)
    running = isClosed ? null : (waiting.shift() ?? null)
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
    async read(raw) {
      if (isSmall(raw)) return readMail(raw)
      if (isClosed || waiting.length >= WAITING_MAX) {
        throw refusal('451 4.4.5', 'Too many mails. Please try again later')
      }
      return new Promise((resolve, reject) => {
        waiting.push({ raw, resolve, reject })
        if (!running) next()
      })
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      const left = running ? [running, ...waiting.splice(0)] : waiting.splice(0)
      running = null
      for (const { reject } of left) reject(refusal('451 4.3.2', 'The service is stopping'))
      await worker?.terminate()
      worker = null
    },
  }
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
