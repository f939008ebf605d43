import type { EventKind, WireEventData } from '@svc/core/contract'
import { type HeaderSource, verify } from '@svc/core/webhooks'
import { fixture, type Overrides } from './fixture.ts'
import { MUTATIONS, type Mutation } from './mutations.ts'
import type { TestReceiver } from './receiver.ts'
import { createSender } from './sender.ts'
import type { SignableEvent } from './sign.ts'
import type { Target } from './transport.ts'
import { summaryOf } from './waiting.ts'

/** Options of `toRejectForgery`. */
export interface ForgeryOptions {
  /** The secret that the receiver knows. */
  secret: string
  /** The event to forge; default: `message.delivered`. */
  event?: SignableEvent
  /** The mutations to try; default: every mutation that `webhook-signature` reveals. */
  mutations?: readonly Mutation[]
  /** The deadline of each request; default: 15 s. */
  deadline_ms?: number
}

/** The matchers that `@svc/testkit/vitest` and `@svc/testkit/jest` add to `expect`. */
export interface WebhookMatchers {
  /**
   * Passes if a test receiver got the event with a valid signature. Only the fields present in
   * `data` are compared.
   */
  toHaveReceivedEvent<Kind extends EventKind>(
    event: Kind,
    data?: Overrides<WireEventData<Kind>>,
  ): void
  /** Passes if headers and body were signed with the secret, at any time. */
  toBeSignedBy(secret: string): void
  /**
   * Passes if a receiver accepts a genuine delivery, and answers each forgery with 4xx or cuts the
   * connection. Await it.
   */
  toRejectForgery(options: ForgeryOptions): Promise<void>
}

/** The result of a matcher. */
interface Verdict {
  pass: boolean
  message: () => string
}

/** The context that `expect` passes to a matcher. */
interface MatcherState {
  equals(a: unknown, b: unknown): boolean
}

/** The matchers for your own `expect`: `expect.extend(matchers)`. */
export const matchers = {
  toHaveReceivedEvent(
    this: MatcherState,
    receiver: Pick<TestReceiver, 'requests'>,
    event: string,
    data: object = {},
  ): Verdict {
    const { requests } = receiver
    const pass = requests.some(
      (one) => one.verification.ok && one.event === event && contains(one.data, data, this.equals),
    )
    const expectation = `${event} ${JSON.stringify(data)}`
    const others = requests.filter((one) => one.event === event).map((one) => one.data)
    const data_seen = others.length > 0 ? `; its data: ${JSON.stringify(others)}` : ''
    return {
      pass,
      message: () =>
        pass
          ? `expected the receiver not to have received ${expectation}`
          : `expected the receiver to have received ${expectation}, but ${summaryOf(requests)}${data_seen}`,
    }
  },

  toBeSignedBy(
    this: MatcherState,
    { headers, body }: { headers: HeaderSource; body: string | Uint8Array },
    secret: string,
  ): Verdict {
    const result = verify({ secret, headers, body, tolerance_s: false })
    return {
      pass: result.ok,
      message: () =>
        result.ok
          ? 'expected the delivery not to be signed with this secret'
          : `expected the delivery to be signed with this secret, but: ${result.reason}. ${result.hint}`,
    }
  },

  async toRejectForgery(
    this: MatcherState,
    target: Target,
    { secret, event = fixture('message.delivered'), mutations, deadline_ms }: ForgeryOptions,
  ): Promise<Verdict> {
    const sender = createSender({ secret, retry: [], ...(deadline_ms && { deadline_ms }) })
    const accepted: string[] = []
    for (const mutation of mutations ?? FORGERIES) {
      const { status, error } = await sender.forge(target, event, mutation)
      const is_refused = status === null ? error === 'reset' : status >= 400 && status < 500
      const answer = status ?? error
      if (!is_refused) accepted.push(`${mutation} (${answer}): ${MUTATIONS[mutation].description}`)
    }
    // Without this check, a receiver that refuses everything would pass.
    const { outcome, attempts } = await sender.deliver(target, event)
    if (outcome !== 'delivered') {
      const answer = attempts[0]?.status ?? attempts[0]?.error
      throw new Error(`the receiver must accept a genuine delivery, but answered ${answer}`)
    }
    return {
      pass: accepted.length === 0,
      message: () =>
        accepted.length === 0
          ? 'expected the receiver to accept a forgery, but it refused all of them'
          : `expected the receiver to refuse with 4xx:\n${accepted.join('\n')}`,
    }
  },
}

const FORGERIES = (Object.keys(MUTATIONS) as Mutation[]).filter(
  (name) => MUTATIONS[name].seen_by !== 'content',
)

/** Whether `actual` contains every field of `expected`. Asymmetric matchers compare themselves. */
function contains(actual: unknown, expected: unknown, equals: MatcherState['equals']): boolean {
  if (!isPlain(expected)) return equals(actual, expected)
  if (!isPlain(actual)) return false
  return Object.entries(expected).every(([key, value]) => contains(actual[key], value, equals))
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !('asymmetricMatch' in value)
  )
}
