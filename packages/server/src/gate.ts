import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ConnectionBound } from './connections.ts'
import { tooBusy } from './failures.ts'
import { isShed, type Load, type Priority } from './load.ts'
import { watchLoopDelay } from './loop-delay.ts'
import { createTurns } from './turns.ts'

/** Keeps out what a service that is overloaded, or about to stop, cannot take. */
export interface Gate {
  /** Resolves when a request of that priority may begin; what is kept may at once. */
  turn(priority: Priority): Promise<void> | undefined
  /** @throws SvcError 429 when such a request is refused for now. */
  check(priority: Priority, request: Pick<FastifyRequest, 'raw'>): void
  /** Does a piece of a request's work, which is load until it has ended, however it ends. */
  during<T>(work: () => T | Promise<T>): Promise<T>
}

/** The gate of an app: it sheds by `bounds`, and once the app is ending, everything but what is kept. */
export function createGate(
  app: FastifyInstance,
  {
    bounds,
    connections,
    isEnding,
    measured,
  }: {
    bounds: Load
    connections: ConnectionBound
    isEnding: () => boolean
    /** The load, where it is not to be measured. */
    measured: (() => Load) | undefined
  },
): Gate {
  const loop = watchLoopDelay()
  const turns = createTurns()
  app.addHook('onClose', async () => loop.stop())
  // One object for all requests: nothing is made to look at.
  const own = {
    requests: 0,
    get delay_ms() {
      return Math.max(loop.delay_ms, turns.delay_ms)
    },
  }
  const load = measured ?? (() => own)
  return {
    turn: (priority) => (priority === 'kept' ? undefined : turns.next()),
    check(priority, { raw }) {
      if (priority === 'kept') return
      if (isEnding() || connections.isBeyond(raw.socket)) throw tooBusy()
      if (isShed(priority, load(), bounds)) throw tooBusy()
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
