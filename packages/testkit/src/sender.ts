import { type Clock, impatientClock } from './clock.ts'
import { eventIdOf } from './fixture.ts'
import { forge, type Mutation } from './mutations.ts'
import { type RetrySchedule, retriesOf } from './retry.ts'
import { type SignableEvent, type SignOptions, sign } from './sign.ts'
import { type Answer, openTransport, type Target, type Transport } from './transport.ts'

/** Options of `createSender`. */
export interface SenderOptions {
  /** The webhook's secret, `whsec_…`. */
  secret: string
  /** The old secret during a rotation. It signs first until the receiver accepts the new one. */
  previous_secret?: string | null
  /**
   * The service's schedule of twelve attempts, or the seconds to wait before each retry; `[]` tries
   * once.
   */
  retry?: RetrySchedule
  /** The source of time and waits; default: the real time without waits. */
  clock?: Clock
  /**
   * Returns a number in [0, 1) for the jitter, which adds up to a tenth to each wait; default: 0.
   */
  random?: () => number
  /** The time limit of one attempt: connect, headers and body, in real time; default: 15 s. */
  deadline_ms?: number
  /** The path of a receiver in this process, an app or a handler; a URL has its own. Default: `/`. */
  path?: string
  /** The webhook's own headers. */
  headers?: Readonly<Record<string, string>>
}

/** One attempt at a delivery. */
export interface Attempt extends Answer {
  /** Counted from 1. */
  attempt: number
  at: Date
  /** The wait after this attempt; null after the last one. */
  wait_ms: number | null
}

/** The result of a delivery. */
export interface DeliveryReport {
  event_id: string
  event: string
  /**
   * `delivered`: a 2xx; `failed`: no 2xx after the last attempt; `gone`: a 410, which disables a
   * webhook.
   */
  outcome: 'delivered' | 'failed' | 'gone'
  attempts: Attempt[]
  /** The sum of all waits. */
  waited_ms: number
}

/** Delivers events as the service does. */
export interface Sender {
  /** Retries on the schedule until the target acknowledges the event. */
  deliver(target: Target, event: SignableEvent): Promise<DeliveryReport>
  /**
   * Delivers one event several times, as at-least-once delivery can: in sequence or concurrently.
   */
  duplicate(
    target: Target,
    event: SignableEvent,
    options?: { times?: number; concurrent?: boolean },
  ): Promise<DeliveryReport[]>
  /** Delivers events in another order; the reports are in the order of delivery. */
  reorder(
    target: Target,
    events: readonly SignableEvent[],
    options?: { order?: 'reversed' | 'shuffled' },
  ): Promise<DeliveryReport[]>
  /** Sends a forgery once. A receiver must refuse it. */
  forge(target: Target, event: SignableEvent, mutation: Mutation): Promise<Attempt>
}

/** Source: contract section 7. */
const DEADLINE_MS = 15_000

/**
 * Creates a sender that delivers events as the service does: the same headers, deadline, retry
 * schedule and handling of `Retry-After`, 410 and rotations. It can also send forgeries, which a
 * receiver must refuse.
 *
 * @example
 * const sender = createSender({ secret })
 * const report = await sender.deliver('http://127.0.0.1:8080/', fixture('message.delivered'))
 * report.outcome // 'delivered'
 */
export function createSender(options: SenderOptions): Sender {
  const { clock = impatientClock, retry = 'production', random = () => 0 } = options
  const waitOf = retriesOf(retry, random)
  const post = createPost(options, clock)
  const using = <T>(target: Target, work: (transport: Transport) => Promise<T>) =>
    usingAt(target, options.path, work)

  async function deliverBy(transport: Transport, event: SignableEvent): Promise<DeliveryReport> {
    const { event_id, event: kind, data } = event
    const report = { event_id: event_id ?? eventIdOf(kind, data), event: kind, waited_ms: 0 }
    const attempts: Attempt[] = []
    for (;;) {
      const one = await post(transport, event, attempts.length + 1)
      attempts.push(one)
      if (isSuccess(one)) return { ...report, outcome: 'delivered', attempts }
      if (one.status === 410) return { ...report, outcome: 'gone', attempts }
      one.wait_ms = waitOf(one, clock.now())
      if (one.wait_ms === null) return { ...report, outcome: 'failed', attempts }
      report.waited_ms += one.wait_ms
      await clock.sleep(one.wait_ms)
    }
  }

  return {
    deliver: (target, event) => using(target, (transport) => deliverBy(transport, event)),
    duplicate: (target, event, { times = 2, concurrent = false } = {}) =>
      using(target, (transport) => {
        const events = Array.from({ length: times }, () => event)
        const deliverOne = (each: SignableEvent) => deliverBy(transport, each)
        return concurrent ? Promise.all(events.map(deliverOne)) : oneByOne(events, deliverOne)
      }),
    reorder: (target, events, { order = 'reversed' } = {}) =>
      using(target, (transport) => {
        const others = order === 'reversed' ? events.toReversed() : shuffled(events)
        return oneByOne(others, (each) => deliverBy(transport, each))
      }),
    forge: (target, event, mutation) =>
      using(target, async (transport) => {
        const at = clock.now()
        const forged = forge(event, mutation, { ...options, at })
        const answer = await transport.post(forged, options.deadline_ms ?? DEADLINE_MS)
        return { ...answer, attempt: 1, at, wait_ms: null }
      }),
  }
}

/**
 * Makes one attempt. During a rotation, a 401 or 403 is followed at once by a second request with
 * the other secret.
 */
function createPost(
  { secret, previous_secret, headers, deadline_ms }: SenderOptions,
  clock: Clock,
) {
  let inTurn = previous_secret ? [previous_secret, secret] : [secret]
  return async (transport: Transport, event: SignableEvent, attempt: number): Promise<Attempt> => {
    const at = clock.now()
    const [first, other] = inTurn as [string, string?]
    const signing: SignOptions = { secret: first, previous_secret: other, attempt, at, headers }
    const post = (more: Partial<SignOptions>) =>
      transport.post(sign(event, { ...signing, ...more }), deadline_ms ?? DEADLINE_MS)
    const answer = await post({})
    const done = { attempt, at, wait_ms: null }
    if (!other || (answer.status !== 401 && answer.status !== 403)) return { ...answer, ...done }
    const second = await post({ secret: other, previous_secret: first })
    if (isSuccess(second)) inTurn = [other, first]
    const duration_ms = answer.duration_ms + second.duration_ms
    return { ...second, ...done, duration_ms }
  }
}

async function usingAt<T>(
  target: Target,
  path: string | undefined,
  work: (transport: Transport) => Promise<T>,
): Promise<T> {
  const transport = await openTransport(target, path)
  try {
    return await work(transport)
  } finally {
    await transport.close()
  }
}

async function oneByOne<T>(
  events: readonly SignableEvent[],
  deliverOne: (event: SignableEvent) => Promise<T>,
): Promise<T[]> {
  const results: T[] = []
  for (const event of events) results.push(await deliverOne(event))
  return results
}

function isSuccess({ status }: Answer): boolean {
  return status !== null && status >= 200 && status < 300
}

/** Returns the events in another, fixed order: odd positions first. */
function shuffled<T>(events: readonly T[]): T[] {
  return [...events.filter((_, i) => i % 2 === 1), ...events.filter((_, i) => i % 2 === 0)]
}
