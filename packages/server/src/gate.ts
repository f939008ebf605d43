import type { FastifyInstance } from 'fastify'
import { tooBusy } from './failures.ts'
import { isShed, type Load, type Priority } from './load.ts'
import { watchLoopDelay } from './loop-delay.ts'

/** Keeps out what a service that is overloaded, or about to stop, cannot take. */
export interface Gate {
  /** @throws SvcError 429 when such requests are refused for now. */
  check(priority: Priority): void
  /** Does a piece of a request's work, which is load until it has ended, however it ends. */
  during<T>(work: () => T | Promise<T>): Promise<T>
}

/** The gate of an app: it sheds by `bounds`, and once the app is ending, everything but what is kept. */
export function createGate(
  app: FastifyInstance,
  {
    bounds,
    isEnding,
    measured,
  }: {
    bounds: Load
    isEnding: () => boolean
    /** The load, where it is not to be measured. */
    measured: (() => Load) | undefined
  },
): Gate {
  const loop = watchLoopDelay()
  app.addHook('onClose', async () => loop.stop())
  // One object for all requests: nothing is made to look at.
  const own = {
    requests: 0,
    get delay_ms() {
      return loop.delay_ms
    },
  }
  const load = measured ?? (() => own)
  return {
    check(priority) {
      if (priority === 'kept') return
      if (isEnding() || isShed(priority, load(), bounds)) throw tooBusy()
    },
    // Counted where work begins and ends, and not at sockets: those of pipelined requests may vanish unheard.
    async during(work) {
      own.requests += 1
      try {
        return await work()
      } finally {
        own.requests -= 1
      }
    },
  }
}
