import { randomBytes } from 'node:crypto'

/** What the service writes about itself. pino fits; so does `console`. Never given secrets or message contents. */
export interface Log {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

/** The outside world, injected: a whole service can run under a simulated clock with repeatable ids. */
export interface Runtime {
  /** The present, UTC. */
  now(): Date
  /** A new UUIDv7 (RFC 9562): ids made later sort later. */
  id(): string
  /** `count` unpredictable bytes. */
  bytes(count: number): Buffer
  /** A number in [0, 1), for jitter only. */
  random(): number
  log: Log
}

const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** The real world. */
export function systemRuntime(log: Log = silent): Runtime {
  const now = () => new Date()
  return { now, id: idGenerator(now, randomBytes), bytes: randomBytes, random: Math.random, log }
}

/**
 * UUIDv7 whose 12 bits after the timestamp count up within one millisecond (RFC 9562, section 6.2, method 1), so that
 * ids of one process are strictly increasing even when the clock stands still or steps back.
 */
export function idGenerator(now: () => Date, bytes: (count: number) => Buffer): () => string {
  const pool: { buffer: Buffer; at: number } = { buffer: Buffer.alloc(0), at: 0 }
  let lastMs = 0
  let counter = 0
  return () => {
    const ms = now().getTime()
    if (ms > lastMs) {
      lastMs = ms
      counter = 0
    } else if (++counter > 0xfff) {
      lastMs++
      counter = 0
    }
    // One call for many ids: a system call for random bytes costs more than the rest of an id.
    if (pool.at + 8 > pool.buffer.length) {
      pool.buffer = bytes(8 * 256)
      pool.at = 0
    }
    const tail = pool.buffer.subarray(pool.at, pool.at + 8)
    pool.at += 8
    return format(lastMs, counter, tail)
  }
}

function format(ms: number, counter: number, tail: Buffer): string {
  const time = ms.toString(16).padStart(12, '0')
  const variant = ((tail[0] ?? 0) & 0x3f) | 0x80
  const rest = tail.toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${variant.toString(16)}${rest.slice(2, 4)}-${rest.slice(4)}`
}
