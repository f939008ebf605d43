import { type Clock, impatientClock } from './clock.ts'
import { eventIdOf } from './fixture.ts'
import { forge, type Mutation } from './mutations.ts'
import { type RetrySchedule, retriesOf } from './retry.ts'
import { type SignableEvent, type SignOptions, sign } from './sign.ts'
import { type Answer, openTransport, type Target, type Transport } from './transport.ts'

/** How a sender delivers. */
export interface SenderOptions {
  /** The webhook's secret, `whsec_…`. */
  secret: string
  /** As within a rotation's overlap: signs first until the new one is seen to work. */
  previous_secret?: string | null
  /** The service's schedule of twelve tries, or the seconds to wait before each further one; `[]` tries once. */
  retry?: RetrySchedule
  /** The real time, with waits that are skipped, unless told. */
  clock?: Clock
  /** A number in [0, 1) for the jitter of up to a tenth that is added to each wait; 0 unless told. */
  random?: () => number
  /** Over connect, headers and body of one attempt, in real time; 15 s unless told. */
  deadline_ms?: number
  /** Headers of the webhook's own. */
  headers?: Readonly<Record<string, string>>
}

/** One try of a delivery. */
export interface Attempt extends Answer {
  /** Counted from 1. */
  attempt: number
  at: Date
  /** What was waited after it; null when it was the last. */
  wait_ms: number | null
}

/** What came of a delivery. */
export interface DeliveryReport {
  event_id: string
  event: string
  /** Acknowledged by a 2xx; given up after the last try; ended for ever by a 410, which disables a webhook. */
  outcome: 'delivered' | 'failed' | 'gone'
  attempts: Attempt[]
  /** What all waits come to. */
  waited_ms: number
}

/** Delivers events as the service does. */
export interface Sender {
  /** Tries until acknowledged, on the schedule. */
  deliver(target: Target, event: SignableEvent): Promise<DeliveryReport>
  /** The same event more than once, as at-least-once delivery may: one after another, or all at the same time. */
  duplicate(
    target: Target,
    event: SignableEvent,
    options?: { times?: number; concurrent?: boolean },
  ): Promise<DeliveryReport[]>
  /** Events in another order than they happened in; reports in the order that they were sent in. */
  reorder(
    target: Target,
    events: readonly SignableEvent[],
    options?: { order?: 'reversed' | 'shuffled' },
  ): Promise<DeliveryReport[]>
  /** One try of a delivery that a receiver must refuse. */
  forge(target: Target, event: SignableEvent, mutation: Mutation): Promise<Attempt>
}

/** Source: contract section 7. */
const DEADLINE_MS = 15_000

/**
 * Delivers events to your receiver as the service does: its headers, its deadline, its schedule of retries, what it
 * makes of `Retry-After`, 410 and a rotation; and, as the service would not, what your receiver must refuse.
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

/** One try, which while a rotation overlaps is two where the first is refused for its signature. */
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

async function using<T>(target: Target, work: (transport: Transport) => Promise<T>): Promise<T> {
  const transport = await openTransport(target)
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

/** Always the same other order: the odd places first. */
function shuffled<T>(events: readonly T[]): T[] {
  return [...events.filter((_, i) => i % 2 === 1), ...events.filter((_, i) => i % 2 === 0)]
}
