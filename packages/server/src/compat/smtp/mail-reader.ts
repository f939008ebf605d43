import { Worker } from 'node:worker_threads'
import { builtFile, headFault } from '@svc/core/operate'
import { HEADER_BYTES_MAX, type Reading, readMail } from './read-mail.ts'
import { type Refusal, refusal } from './reply.ts'

/** The sender of a mail: its workspace and its client. One person can have many workspaces, and many programs one address. */
export interface MailOwner {
  workspace_id: string
  /** The network of the client, as `networkOf` returns it. */
  client: string
}

/** Reads mails of any content so that the event loop stays free. */
export interface MailReader {
  /**
   * Takes the memory of a large mail: its bytes are empty afterwards.
   * @throws Refusal if too many mails of the workspace or the client wait, or this mail takes too long.
   */
  read(raw: Uint8Array, owner: MailOwner): Promise<Reading>
  close(): Promise<void>
}

// The parser needs up to 12 µs for a line of any length, so a mail of this size blocks the event loop for at most 15 ms.
const LINES_HERE_MAX = 1_000
const BYTES_HERE_MAX = 64 * 1024

/** The time for a mail of any shape, and for each of its MB: files take a fifth of it on a slow machine. */
const READ_MAX_MS = 5_000
const READ_MAX_MS_PER_MIB = 500
const WAITING_MAX = 100
/** An idle thread ends after this time, because it holds 20 MB of memory. */
const IDLE_MS = 30_000
const HEAP_MAX_MIB = 256

/** Workspaces and clients whose last turn is remembered. */
const TURNS_MAX = 1_000

interface Waiting extends MailOwner {
  raw: Uint8Array
  resolve(reading: Reading): void
  reject(refusal: Refusal): void
}

/**
 * Reads small mails at once, and large ones one by one in a thread, which starts when it is needed. The workspaces take
 * turns, and so do the networks of the clients: the next mail is the one whose workspace and client had no turn for the longest
 * time. When too many mails wait, the last one of the workspace or the client with the most is refused.
 */
export function createMailReader(): MailReader {
  const waiting: Waiting[] = []
  /** The number of the last turn of each workspace and each client, the oldest first. */
  const turns = new Map<string, number>()
  let turn = 0
  let worker: Worker | null = null
  let running: Waiting | null = null
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function start(): Worker {
    // The built code does not need this process's loader; a loader would start slowly.
    const started = new Worker(
      builtFile(import.meta.url, 'compat/smtp/mail-worker.js', 'build @svc/server'),
      {
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: HEAP_MAX_MIB },
      },
    )
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

  /** The first mail of the workspace and the client whose turn it is. */
  function dequeue(): Waiting | null {
    const at = indexOfHighest(waiting, (one) => {
      const last = keysOf(one).map((key) => turns.get(key) ?? 0)
      return [-Math.max(...last), -Math.min(...last)]
    })
    const [one] = waiting.splice(at, 1)
    if (!one) return null
    turn += 1
    for (const key of keysOf(one)) {
      turns.delete(key)
      turns.set(key, turn)
    }
    for (const key of turns.keys()) {
      if (turns.size <= TURNS_MAX) break
      turns.delete(key)
    }
    return one
  }

  /** Adds a mail, and refuses one if too many wait: the last one of the workspace or the client with the most. */
  function enqueue(added: Waiting): void {
    waiting.push(added)
    if (waiting.length <= WAITING_MAX) return
    const counts = new Map<string, number>()
    for (const key of waiting.flatMap(keysOf)) counts.set(key, (counts.get(key) ?? 0) + 1)
    const at = indexOfHighest(waiting.toReversed(), (one) => {
      const all = keysOf(one).map((key) => counts.get(key) ?? 0)
      return [Math.max(...all), Math.min(...all)]
    })
    waiting.splice(waiting.length - 1 - at, 1)[0]?.reject(tooMany())
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
    const mib = running.raw.length / 2 ** 20
    timer = setTimeout(lose, READ_MAX_MS + READ_MAX_MS_PER_MIB * mib)
    worker.postMessage(running.raw, ownMemory(running.raw))
  }

  return {
    async read(raw, owner) {
      const fault = headFault(raw, HEADER_BYTES_MAX)
      if (fault !== null) return { fault }
      if (isSmall(raw)) return readMail(raw)
      if (isClosed) throw tooMany()
      return new Promise((resolve, reject) => {
        enqueue({ ...owner, raw, resolve, reject })
        if (!running) next()
      })
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      const left = [...(running ? [running] : []), ...waiting.splice(0)]
      running = null
      for (const { reject } of left) reject(refusal('451 4.3.2', 'The service is stopping'))
      await worker?.terminate()
      worker = null
    },
  }
}

/** The memory of a mail that no other value shares, to be moved to the thread: a short one may stand in Node's pool. */
function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}

function keysOf({ workspace_id, client }: MailOwner): string[] {
  return [`workspace ${workspace_id}`, `client ${client}`]
}

/** The index of the first item with the highest rank; the second number counts among equals. */
function indexOfHighest<T>(items: readonly T[], rankOf: (item: T) => [number, number]): number {
  let at = 0
  let highest: [number, number] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const [index, item] of items.entries()) {
    const rank = rankOf(item)
    if (rank[0] < highest[0] || (rank[0] === highest[0] && rank[1] <= highest[1])) continue
    highest = rank
    at = index
  }
  return at
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
