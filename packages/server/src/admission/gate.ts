import type { Socket } from 'node:net'
import type { Endpoint } from '@svc/core/contract'
import type { Awaitable } from '@svc/core/operate'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { tooBusy } from '../failures.ts'
import { readSetting } from '../settings/readers.ts'

/** Refuses requests while the service is overloaded or about to stop. */
export interface Gate {
  /**
   * Runs the admission of a request in its turn, and then checks whether there is room. A request to no endpoint gets its refusal
   * even without room; requests that are `kept` wait for no turn.
   * @throws the errors of `admission`; SvcError 429 while requests of this priority are refused.
   */
  admit(
    endpoint: Rated | null,
    request: Pick<FastifyRequest, 'raw'>,
    admission: () => Awaitable<void>,
  ): Awaitable<void>
  /** Checks whether there is room for work that came by no HTTP request. @throws SvcError 429. */
  checkLoad(priority: Priority): void
  /** Runs work of a request, which counts as load until it ends or fails. */
  during<T>(work: () => Awaitable<T>): Awaitable<T>
}

/** Whether the app serves, still takes requests while it stops, or refuses them. */
export interface Phase {
  now: 'open' | 'lingering' | 'ending'
}

/** The gate of an app. It sheds load above `bounds`. While the app is ending, it refuses all but `kept` requests. */
export function createGate(
  app: FastifyInstance,
  {
    bounds,
    beyond,
    phase,
    measured,
  }: {
    bounds: Load
    /** The connections above the limit of the server. Such a connection carries one request. */
    beyond: WeakSet<Socket>
    phase: Phase
    /** The load for a test; by default the gate measures it. */
    measured: (() => Load) | undefined
  },
): Gate {
  const loop = watchLoopDelay()
  const turns = createTurns()
  app.server.on('connection', turns.noteConnection)
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
  const isRefused = (priority: Priority) =>
    phase.now === 'ending' || isShed(priority, load(), bounds)
  const check = (priority: Priority | null, { raw }: Pick<FastifyRequest, 'raw'>) => {
    if (priority === null || priority === 'kept') return
    if (beyond.has(raw.socket) || isRefused(priority)) throw tooBusy()
  }
  // Counted when work begins and ends, because the sockets of pipelined requests may close without an event.
  const during: Gate['during'] = (work) => {
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
  }
  return {
    admit: (endpoint, request, admission) =>
      during(() => {
        const priority = endpoint && priorityOf(endpoint)
        const turn = priority === 'kept' ? undefined : turns.next()
        const admitted = turn ? turn.then(admission) : admission()
        if (admitted instanceof Promise) return admitted.then(() => check(priority, request))
        check(priority, request)
      }),
    checkLoad(priority) {
      if (isRefused(priority)) throw tooBusy()
    },
    during,
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

/**
 * The priority of a request under overload. The service refuses `bulk` first, then `lists` (all ordinary requests), then
 * `sends`; it never refuses `kept`. Source: contract section 1.
 */
export type Priority = 'bulk' | 'lists' | 'sends' | 'kept'

/** The load of the service. */
export interface Load {
  /** Requests that wait for a turn or run, including the current one. They do not count until their body arrived. */
  readonly requests: number
  /** The greater of two delays in milliseconds: of requests that wait for their turn, and of the event loop. */
  readonly delay_ms: number
}

/** The default load above which even sends are refused. 256 busy connections stay below the share of every priority. */
export const OVERLOAD: Load = {
  requests: readSetting('SVC_OVERLOAD_REQUESTS'),
  delay_ms: readSetting('SVC_OVERLOAD_DELAY_MS'),
}

/** The share of the bounds that each priority may use. */
const SHARES: Record<Priority, number> = {
  bulk: 0.25,
  lists: 0.5,
  sends: 1,
  kept: Number.POSITIVE_INFINITY,
}

/** What decides the priority of an endpoint's requests. */
type Rated = Pick<Endpoint, 'rate' | 'signed_by' | 'idempotent'>

/** The priority of an endpoint's requests. Sends and purchases are the endpoints that take an idempotency key. */
export function priorityOf(endpoint: Rated): Priority {
  // Payment notifications, callbacks with receipts, and probes are `kept`.
  if (endpoint.signed_by || endpoint.rate === 'exempt') return 'kept'
  if (endpoint.rate === 'bulk') return 'bulk'
  return endpoint.idempotent ? 'sends' : 'lists'
}

/** Whether requests of this priority are refused under this load. */
export function isShed(priority: Priority, load: Load, bounds: Load): boolean {
  const share = SHARES[priority]
  return load.requests > bounds.requests * share || load.delay_ms > bounds.delay_ms * share
}

/** How many requests begin in one turn of the event loop; they take about 10 ms. */
const PER_TURN = 64

/**
 * How long requests wait, at most, while connections wait to be accepted. Node accepts one connection in each turn of the event
 * loop (libuv since 1.45). If each turn also did the work of requests, the last of 3,000 connections would wait for seconds, and a
 * health check behind it. A turn that only accepts takes about 0.1 ms, so this time is enough for some hundred connections;
 * a longer time would let a client that connects without a pause slow all requests.
 */
const ACCEPTING_MAX_MS = 50

/**
 * Lets requests begin in their order, a few in each turn of the event loop. Between two turns the process reads other
 * requests, and answers requests that wait for no turn (health). The wait for a turn measures the overload.
 */
export interface Turns {
  /** Resolves when the request may begin; undefined if it may begin at once. */
  next(): Promise<void> | undefined
  /** Notes that this turn accepted a connection. Its requests wait, because the next turn may accept one more. */
  noteConnection(): void
  /** How long the latest request waited for its turn, in milliseconds. */
  readonly delay_ms: number
}

/**
 * @param now milliseconds of a monotonic clock
 * @param per_turn how many requests begin in one turn of the event loop; default 64
 */
export function createTurns({
  now = () => performance.now(),
  per_turn = PER_TURN,
}: {
  now?: () => number
  per_turn?: number
} = {}): Turns {
  interface Waiting {
    since: number
    begin: () => void
  }
  let waiting: Waiting[] = []
  /** In this turn; below `per_turn`, nothing waits. */
  let begun = 0
  let begun_at = Number.NEGATIVE_INFINITY
  let isAccepting = false
  let isScheduled = false
  let delay_ms = 0

  function mayBegin(): boolean {
    return !isAccepting || now() - begun_at >= ACCEPTING_MAX_MS
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(turn)
  }

  function turn(): void {
    isScheduled = false
    const due = mayBegin() ? waiting.slice(0, per_turn) : []
    delay_ms = waiting[0] ? now() - waiting[0].since : 0
    waiting = waiting.slice(due.length)
    isAccepting = false
    begun = due.length
    if (begun > 0) begun_at = now()
    for (const { begin } of due) begin()
    // More requests may wait. The next turn lets them begin, or finds none.
    if (begun > 0 || waiting.length > 0) schedule()
  }

  return {
    next() {
      schedule()
      if (begun < per_turn && waiting.length === 0 && mayBegin()) {
        if (begun === 0) begun_at = now()
        begun += 1
        return undefined
      }
      return new Promise((begin) => waiting.push({ since: now(), begin }))
    },
    noteConnection() {
      isAccepting = true
      schedule()
    },
    get delay_ms() {
      return delay_ms
    },
  }
}
