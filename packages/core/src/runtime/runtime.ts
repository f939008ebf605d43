import { randomBytes } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { Telemetry } from './telemetry.ts'

/** The service's log; pino and `console` fit. It never receives secrets or message contents. */
export interface Log {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

/**
 * Clock, ids, randomness and the network of receivers. They are injected, so that a service can run under a simulated clock with
 * repeatable ids.
 */
export interface Runtime {
  now(): Date
  /**
   * Milliseconds since a fixed time of this process, never decreasing: for durations and time limits in memory.
   * `now` may step forwards and backwards when the machine's clock is corrected.
   */
  elapsed(): number
  /** A new UUIDv7 (RFC 9562); later ids sort later. */
  id(): string
  /** `count` unpredictable bytes. */
  bytes(count: number): Buffer
  /** A number in [0, 1), for jitter only. */
  random(): number
  log: Log
  telemetry?: Telemetry | undefined
  /** Takes the requests of webhooks in place of connections, for a simulated network; only for work of this thread. */
  network?: Dispatcher | undefined
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** The runtime of a real service: the system's clock, random UUIDs of version 7, and `log`. */
export function systemRuntime(log: Log = silent, telemetry?: Telemetry): Runtime {
  const now = () => new Date()
  const id = idGenerator(now, randomBytes)
  const elapsed = performance.now.bind(performance)
  return { now, elapsed, id, bytes: createBytes(), random: Math.random, log, telemetry }
}

/** Small values are parts of one block, each used once and then overwritten: a call of the system takes 5 µs. */
function createBytes(): Runtime['bytes'] {
  let block = Buffer.alloc(0)
  let at = 0
  return (count) => {
    if (count > SMALL_BYTES) return randomBytes(count)
    if (at + count > block.length) {
      block = randomBytes(SMALL_BYTES * SMALL_PER_CALL)
      at = 0
    }
    const value = Buffer.from(block.subarray(at, at + count))
    block.fill(0, at, at + count)
    at += count
    return value
  }
}

const SMALL_BYTES = 32
const SMALL_PER_CALL = 128

/**
 * UUIDv7 whose 12 bits after the timestamp count up within one millisecond (RFC 9562, section 6.2, method 1), so that
 * ids of one process are strictly increasing even when the clock stands still or steps back.
 */
export function idGenerator(now: () => Date, bytes: (count: number) => Buffer): () => string {
  const pool = { hex: '', at: 0 }
  let lastMs = 0
  let counter = 0
  // The digits of the current timestamp.
  let prefix = ''
  return () => {
    const ms = now().getTime()
    if (ms > lastMs) {
      lastMs = ms
      counter = 0
      prefix = ''
    } else if (++counter > 0xfff) {
      lastMs++
      counter = 0
      prefix = ''
    }
    prefix ||= prefixOf(lastMs)
    // One system call serves many ids, because the call costs more than the other work for an id.
    if (pool.at === pool.hex.length) {
      pool.hex = bytes(TAIL_BYTES * IDS_PER_CALL).toString('hex')
      pool.at = 0
    }
    const tail = pool.hex.slice(pool.at, pool.at + 2 * TAIL_BYTES)
    pool.at += 2 * TAIL_BYTES
    return `${prefix}${COUNTERS[counter]}-${VARIANTS[Number.parseInt(tail[0] as string, 16)]}${tail.slice(1, 4)}-${tail.slice(4)}`
  }
}

/** The UUIDv7 of the time `at`, with these bytes (ten or more) instead of random bytes. */
export function uuidAt(at: Date, bytes: Uint8Array): string {
  const hex = Buffer.from(bytes.subarray(0, 10)).toString('hex')
  const variant = VARIANTS[Number.parseInt(hex[3] as string, 16)]
  return `${prefixOf(at.getTime())}${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`
}

/** The lowest id of the time `at`: ids made earlier sort before it, all others after it. */
export function idFloor(at: Date): string {
  return prefixOf(Math.max(0, at.getTime()))
}

/** The time in a UUIDv7, to the millisecond. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

const TAIL_BYTES = 8
const IDS_PER_CALL = 256

/** All values of the 12-bit counter, and of the 4 bits with the variant, as hex digits. */
const COUNTERS = Array.from({ length: 0x1000 }, (_, i) => i.toString(16).padStart(3, '0'))
const VARIANTS = Array.from({ length: 16 }, (_, i) => ((i & 0x3) | 0x8).toString(16))

function prefixOf(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7`
}
