import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventKind, WireEventData } from '@svc/core/contract'
import { signHex } from '@svc/core/webhooks'
import { fixture, type Overrides, type TestEvent } from './fixture.ts'
import { deliveryOf, type SignedDelivery } from './sign.ts'
import type { Answer, Transport } from './transport.ts'

/** What the receiver did wrong, without a subject, such as "answered 500"; null without a fault. */
export type Finding = string | null

/** The functions with which checks test a receiver. */
export interface Probe {
  readonly secret: string
  readonly previous_secret: string | null
  /** Returns how often the receiver handled an event; null when unknown. */
  readonly observe: ((event_id: string) => number | Promise<number>) | null
  /** Creates an event that no check has used before. */
  fresh<Kind extends EventKind>(kind: Kind, data?: Overrides<WireEventData<Kind>>): TestEvent<Kind>
  /** The result of `observe`; null when there is none within the remaining time. */
  timesHandled(event_id: string): Promise<number | null>
  post(delivery: SignedDelivery): Promise<Answer>
  /** Posts a delivery that must be acknowledged. */
  accepts(delivery: SignedDelivery): Promise<Finding>
  /** Posts a delivery that must be refused; `statuses` are allowed besides 401 and 403. */
  refuses(delivery: SignedDelivery, statuses?: readonly number[]): Promise<Finding>
  /** Observations of all checks. */
  readonly seen: Seen
}

/** Observations of all checks, collected in every request. */
export interface Seen {
  slowest_ms: number
  /** The refusals that had a wrong status. */
  unfit: Set<string>
  /** The answers that contained a secret value. */
  leaks: Set<string>
}

/**
 * The statuses after which the service tries the other secret during a rotation. Source: contract
 * section 12.
 */
const REFUSALS = [401, 403]

/** Opens a probe on a receiver; after `ends_at` (of `performance.now`) it sends nothing. */
export function createProbe(
  transport: Transport,
  options: Pick<Probe, 'secret' | 'previous_secret' | 'observe'>,
  { timeout_ms, ends_at }: { timeout_ms: number; ends_at: number },
): Probe {
  const seen: Seen = { slowest_ms: 0, unfit: new Set(), leaks: new Set() }
  const { secret } = options
  let seed = randomInt(2 ** 40)

  const left_ms = () => Math.max(1, Math.ceil(ends_at - performance.now()))

  async function post(delivery: SignedDelivery): Promise<Answer> {
    const answer = await transport.post(delivery, Math.min(timeout_ms, left_ms()))
    const digest = signHex(secret, delivery.body)
    const isSigned = Object.values(delivery.headers).some((value) => value.includes(digest))
    if (answer.body.includes(secret)) seen.leaks.add('answered with the secret')
    // A sender of forgeries lacks only the valid signature, so no answer may contain it.
    if (!isSigned && answer.body.includes(digest)) {
      seen.leaks.add('answered a forgery with the right signature')
    }
    return answer
  }

  return {
    ...options,
    seen,
    post,
    async timesHandled(event_id) {
      const stop = new AbortController()
      const late = sleep(left_ms(), null, { signal: stop.signal }).catch(() => null)
      const times = await Promise.race([options.observe?.(event_id) ?? null, late])
      stop.abort()
      return times
    },
    fresh: (kind, data) => {
      seed += 1
      return fixture(kind, data, { seed })
    },
    async accepts(delivery) {
      const answer = await post(delivery)
      if (!isSuccess(answer)) return describeAnswer(answer)
      seen.slowest_ms = Math.max(seen.slowest_ms, answer.duration_ms)
      return null
    },
    async refuses(delivery, statuses = []) {
      const answer = await post(delivery)
      if (isSuccess(answer)) return describeAnswer(answer)
      const { status } = answer
      if (status !== null && ![...REFUSALS, ...statuses].includes(status))
        seen.unfit.add(describeAnswer(answer))
      return null
    },
  }
}

/** Whether the service treats the answer as an acknowledgement. */
export function isSuccess({ status }: Answer): boolean {
  return status !== null && status >= 200 && status < 300
}

const NO_ANSWERS: Record<NonNullable<Answer['error']>, string> = {
  timeout: 'gave no answer in time',
  connect: 'refused the connection or could not be reached',
  dns: 'has a name that does not resolve',
  reset: 'broke the connection',
  tls: 'failed the TLS handshake, or has an invalid certificate',
  failed: 'gave no valid HTTP answer',
}

/** Describes an answer without a subject, such as "answered 500". */
export function describeAnswer({ status, error, headers }: Answer): string {
  if (status === null) return NO_ANSWERS[error ?? 'failed']
  const to = status >= 300 && status < 400 && headers.location ? ` to ${headers.location}` : ''
  return `answered ${status}${to}`
}

/** Returns the delivery with changed headers; `null` removes one. */
export function withHeaders(
  { headers, body }: SignedDelivery,
  change: Readonly<Record<string, string | null>>,
): SignedDelivery {
  const kept = Object.entries({ ...headers, ...change }).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  )
  return deliveryOf(Object.fromEntries(kept), body)
}
