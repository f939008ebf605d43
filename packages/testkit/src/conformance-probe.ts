import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventKind, WireEventData } from '@svc/core/contract'
import { signHex } from '@svc/core/webhooks'
import { fixture, type Overrides, type TestEvent } from './fixture.ts'
import { deliveryOf, type SignedDelivery } from './sign.ts'
import type { Answer, Transport } from './transport.ts'

/** What a check saw that is wrong, in words that follow "it"; null where nothing is. */
export type Finding = string | null

/** What the checks ask a receiver with. */
export interface Probe {
  readonly secret: string
  readonly previous_secret: string | null
  /** How often the receiver handled an event, where somebody can tell. */
  readonly observe: ((event_id: string) => number | Promise<number>) | null
  /** An event that no check had before. */
  fresh<Kind extends EventKind>(kind: Kind, data?: Overrides<WireEventData<Kind>>): TestEvent<Kind>
  /** What `observe` tells; null when it does not within the time left. */
  timesHandled(event_id: string): Promise<number | null>
  post(delivery: SignedDelivery): Promise<Answer>
  /** Posts what is to be acknowledged. */
  accepts(delivery: SignedDelivery): Promise<Finding>
  /** Posts what is to be refused; `statuses` are fitting besides 401 and 403. */
  refuses(delivery: SignedDelivery, statuses?: readonly number[]): Promise<Finding>
  /** What was learned by the way. */
  readonly seen: Seen
}

/** What is learned by the way, whatever a check looks at. */
export interface Seen {
  slowest_ms: number
  /** Refusals by a status that is none. */
  unfit: Set<string>
  /** Answers that give away what nobody may know. */
  leaks: Set<string>
}

/** Refusals: what the service follows with the other secret during a rotation. Source: contract section 12. */
const REFUSALS = [401, 403]

/** Opens a probe on a receiver; after `ends_at` (of `performance.now`) nothing is sent any more. */
export function createProbe(
  transport: Transport,
  given: Pick<Probe, 'secret' | 'previous_secret' | 'observe'>,
  { timeout_ms, ends_at }: { timeout_ms: number; ends_at: number },
): Probe {
  const seen: Seen = { slowest_ms: 0, unfit: new Set(), leaks: new Set() }
  const { secret } = given
  let seed = randomInt(2 ** 40)

  const left_ms = () => Math.max(1, Math.ceil(ends_at - performance.now()))

  async function post(delivery: SignedDelivery): Promise<Answer> {
    const answer = await transport.post(delivery, Math.min(timeout_ms, left_ms()))
    const digest = signHex(secret, delivery.body)
    const isSigned = Object.values(delivery.headers).some((value) => value.includes(digest))
    if (answer.body.includes(secret)) seen.leaks.add('answered with the secret')
    // To whoever sent a forgery the right signature is all that he lacks.
    if (!isSigned && answer.body.includes(digest)) {
      seen.leaks.add('answered a forgery with the right signature')
    }
    return answer
  }

  return {
    ...given,
    seen,
    post,
    async timesHandled(event_id) {
      const stop = new AbortController()
      const late = sleep(left_ms(), null, { signal: stop.signal }).catch(() => null)
      const times = await Promise.race([given.observe?.(event_id) ?? null, late])
      stop.abort()
      return times
    },
    fresh: (kind, data) => {
      seed += 1
      return fixture(kind, data, { seed })
    },
    async accepts(delivery) {
      const answer = await post(delivery)
      if (!isSuccess(answer)) return said(answer)
      seen.slowest_ms = Math.max(seen.slowest_ms, answer.duration_ms)
      return null
    },
    async refuses(delivery, statuses = []) {
      const answer = await post(delivery)
      if (isSuccess(answer)) return said(answer)
      const { status } = answer
      if (status !== null && ![...REFUSALS, ...statuses].includes(status))
        seen.unfit.add(said(answer))
      return null
    },
  }
}

/** Whether the service takes it for an acknowledgement. */
export function isSuccess({ status }: Answer): boolean {
  return status !== null && status >= 200 && status < 300
}

const NO_ANSWERS: Record<NonNullable<Answer['error']>, string> = {
  timeout: 'gave no answer in time',
  connect: 'could not be connected to',
  dns: 'has a name that does not resolve',
  reset: 'broke the connection',
  tls: 'failed to agree on TLS, or has a bad certificate',
  failed: 'gave no answer that is HTTP',
}

/** An answer in words that follow "it". */
export function said({ status, error, headers }: Answer): string {
  if (status === null) return NO_ANSWERS[error ?? 'failed']
  const to = status >= 300 && status < 400 && headers.location ? ` to ${headers.location}` : ''
  return `answered ${status}${to}`
}

/** The delivery with other headers; `null` leaves one out. */
export function withHeaders(
  { headers, body }: SignedDelivery,
  change: Readonly<Record<string, string | null>>,
): SignedDelivery {
  const kept = Object.entries({ ...headers, ...change }).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  )
  return deliveryOf(Object.fromEntries(kept), body)
}
