import type { Awaitable } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ConnectionLimit } from '../connections/connection-limit.ts'
import { tooBusy } from '../failures.ts'
import { isShed, type Load, type Priority } from './load.ts'
import { createTurns } from './turns.ts'

/** Refuses requests while the service is overloaded or about to stop. */
export interface Gate {
  /** Resolves when a request of this priority may begin; undefined if it may begin at once, as every `kept` request. */
  turn(priority: Priority): Promise<void> | undefined
  /** @throws SvcError 429 while requests of this priority are refused. */
  check(priority: Priority, request: Pick<FastifyRequest, 'raw'>): void
  /** The same for work that came by no HTTP request. @throws SvcError 429. */
  checkLoad(priority: Priority): void
  /** Runs work of a request, which counts as load until it ends or fails. */
  during<T>(work: () => Awaitable<T>): Awaitable<T>
}

/** The gate of an app. It sheds load above `bounds`. While the app is ending, it refuses all but `kept` requests. */
export function createGate(
  app: FastifyInstance,
  {
    bounds,
    connections,
    isEnding,
    measured,
  }: {
    bounds: Load
    connections: ConnectionLimit
    isEnding: () => boolean
    /** The load for a test; by default the gate measures it. */
    measured: (() => Load) | undefined
  },
): Gate {
  const loop = watchLoopDelay()
  const turns = createTurns()
  app.addHook('onClose', async () => loop.stop())
  // One object for all requests, so that a check allocates nothing.
  const own = {
    requests: 0,
    get delay_ms() {
      return Math.max(loop.delay_ms, turns.delay_ms)
    },
  }
  const leave = () => {
    own.requests -= 1
  }
  const load = measured ?? (() => own)
  const checkLoad = (priority: Priority) => {
    if (isEnding() || isShed(priority, load(), bounds)) throw tooBusy()
  }
  return {
    turn: (priority) => (priority === 'kept' ? undefined : turns.next()),
    check(priority, { raw }) {
      if (priority === 'kept') return
      if (connections.isBeyond(raw.socket)) throw tooBusy()
      checkLoad(priority)
    },
    checkLoad,
    // Counted when work begins and ends, because the sockets of pipelined requests may close without an event.
    during(work) {
      own.requests += 1
      let isPending = false
      try {
        const result = work()
        if (!(result instanceof Promise)) return result
        isPending = true
        return result.finally(leave)
      } finally {
        if (!isPending) leave()
      }
    },
  }
}

/** The time between two samples. */
const SAMPLE_MS = 100

/** The delay counts only if this number of samples in a row is late, because one long task is not an overload. */
const SAMPLES = 5

/** Measures the delay of the event loop. */
interface LoopDelay {
  /** Takes a sample; the event loop calls it every `SAMPLE_MS`. */
  sample(): void
  /** The smallest delay of the last samples, in milliseconds. */
  readonly delay_ms: number
}

/** @param now milliseconds of a monotonic clock */
export function createLoopDelay(now: () => number): LoopDelay {
  const found = new Float64Array(SAMPLES)
  let next = 0
  let delay_ms = 0
  let due = now() + SAMPLE_MS
  return {
    sample() {
      const at = now()
      found[next] = Math.max(0, at - due)
      next = (next + 1) % SAMPLES
      due = at + SAMPLE_MS
      delay_ms = Math.min(...found)
    },
    get delay_ms() {
      return delay_ms
    },
  }
}

/** Measures this process until `stop`; it does not keep the process alive. */
export function watchLoopDelay(): { readonly delay_ms: number; stop(): void } {
  const delay = createLoopDelay(() => performance.now())
  const timer = setInterval(() => delay.sample(), SAMPLE_MS).unref()
  return {
    get delay_ms() {
      return delay.delay_ms
    },
    stop: () => clearInterval(timer),
  }
}
