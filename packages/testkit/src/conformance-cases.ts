import { randomBytes } from 'node:crypto'
import { EVENT_KINDS } from '@svc/core/contract'
import { mintSecret } from '@svc/core/webhooks'
import {
  describeAnswer,
  type Finding,
  isSuccess,
  type Probe,
  withHeaders,
} from './conformance-probe.ts'
import { forge, type Mutation } from './mutations.ts'
import {
  deliveryOf,
  type SignableEvent,
  type SignedDelivery,
  type SignOptions,
  sign,
  signText,
} from './sign.ts'

/** One requirement on a receiver. */
export interface Check {
  readonly name: string
  /**
   * `must`: if it fails, events are lost, or forged events are accepted. `should`: if it fails,
   * the receiver works, but with a risk.
   */
  readonly level: 'must' | 'should'
  /** The requirement, in one sentence. */
  readonly description: string
  /** How to fix a failure, in one sentence. */
  readonly mend: string
  /** Later checks are skipped when a gate fails, because their findings would mean nothing. */
  readonly is_gate?: boolean
  /** The option that the check requires. */
  readonly needs?: 'previous_secret' | 'observe'
  run(probe: Probe): Promise<Finding>
}

/** Signs a delivery with the receiver's secret. */
function signed(
  { secret }: Probe,
  event: SignableEvent,
  options: Partial<SignOptions> = {},
): SignedDelivery {
  return sign(event, { secret, ...options })
}

/** Creates a delivery that must be refused. */
function forged(probe: Probe, mutation: Mutation): SignedDelivery {
  return forge(probe.fresh('message.delivered'), mutation, { secret: probe.secret })
}

/** Returns the first finding among the items. */
async function firstOf<T>(
  items: readonly T[],
  look: (item: T) => Promise<Finding>,
): Promise<Finding> {
  for (const item of items) {
    const finding = await look(item)
    if (finding !== null) return finding
  }
  return null
}

const LARGE_BYTES = 64 * 1024
const QUICK_MS = 5_000

/**
 * Checks that every possible delivery of the service is acknowledged. The last check reads data
 * that the other checks collected.
 */
export const ACCEPTING: readonly Check[] = [
  {
    name: 'acknowledges',
    level: 'must',
    is_gate: true,
    description: 'A delivery as the service sends it is answered with a 2xx.',
    mend: 'Let the receiver run at its final address (redirects are not followed), verify with the secret of this webhook, and answer a 2xx within 15 seconds.',
    run: (probe) => probe.accepts(signed(probe, probe.fresh('message.delivered'))),
  },
  {
    name: 'every_event',
    level: 'must',
    description: 'Every kind of event is acknowledged.',
    mend: 'Answer 200 to kinds that you do not use, or subscribe the webhook only to the others.',
    run: (probe) =>
      firstOf(EVENT_KINDS, async (kind) => {
        const finding = await probe.accepts(signed(probe, probe.fresh(kind)))
        return finding && `${finding} to ${kind}`
      }),
  },
  {
    name: 'test_event',
    level: 'must',
    description: 'An event of a test message, whose livemode is false, is acknowledged.',
    mend: 'Answer 200 to events with livemode false and ignore them, or give the webhook the mode live.',
    run: (probe) => probe.accepts(signed(probe, probe.fresh('message.sent', { livemode: false }))),
  },
  {
    name: 'unknown_event',
    level: 'must',
    description: 'A kind of event that does not exist yet is acknowledged.',
    mend: 'Answer 200 to unknown kinds: webhooks of all events receive new kinds without notice.',
    run: (probe) =>
      probe.accepts(signed(probe, { ...probe.fresh('webhook.test'), event: 'message.clicked' })),
  },
  {
    name: 'new_fields',
    level: 'must',
    description: 'Unknown fields are no reason to refuse an event.',
    mend: 'Ignore unknown fields instead of validating strictly.',
    run(probe) {
      const event = probe.fresh('message.delivered')
      const data = { ...event.data, cost_center: { id: 1 } }
      return probe.accepts(signed(probe, { ...event, data }))
    },
  },
  {
    name: 'large_body',
    level: 'must',
    description: 'A body of 64 KB is acknowledged.',
    mend: 'Raise the limit of the body parser for this route to at least 64 KB.',
    run: (probe) =>
      probe.accepts(
        signed(
          probe,
          probe.fresh('message.received', { content: { text: 'x'.repeat(LARGE_BYTES) } }),
        ),
      ),
  },
  {
    name: 'content_type',
    level: 'should',
    description: 'application/json with a charset, or in another case, is acknowledged too.',
    mend: 'Compare only the media type, without its parameters and in lower case.',
    run: (probe) =>
      firstOf(['application/json; charset=utf-8', 'Application/JSON'], async (type) => {
        const finding = await probe.accepts(
          withHeaders(signed(probe, probe.fresh('message.sent')), { 'content-type': type }),
        )
        return finding && `${finding} to ${type}`
      }),
  },
  {
    name: 'header_case',
    level: 'must',
    description: 'Header names in lower case, as proxies and HTTP/2 write them, are found.',
    mend: 'Look headers up without regard to case.',
    run(probe) {
      const { headers, body } = signed(probe, probe.fresh('message.sent'))
      const lower = Object.entries(headers).map(
        ([name, value]) => [name.toLowerCase(), value] as const,
      )
      return probe.accepts(deliveryOf(Object.fromEntries(lower), body))
    },
  },
  {
    name: 'signature_forms',
    level: 'must',
    description: 'One of X-Svc-Signature, X-Svc-Signature-256 and webhook-signature is enough.',
    mend: 'Verify one of the three headers and do not require the others: proxies may drop headers.',
    run: signatureForms,
  },
  {
    name: 'quick',
    level: 'should',
    description: 'The slowest acknowledgement took less than 5 seconds.',
    mend: 'Put the event in a queue, answer 200, and work afterwards: after 15 seconds the attempt fails.',
    run: async ({ seen }) =>
      seen.slowest_ms > QUICK_MS ? `took ${(seen.slowest_ms / 1000).toFixed(1)} s` : null,
  },
]

const FORMS = ['X-Svc-Signature', 'X-Svc-Signature-256', 'webhook-signature']

async function signatureForms(probe: Probe): Promise<Finding> {
  let finding: Finding = null
  for (const form of FORMS) {
    const others = FORMS.filter((name) => name !== form).map((name) => [name, null])
    const delivery = signed(probe, probe.fresh('message.sent'))
    const answer = await probe.post(withHeaders(delivery, Object.fromEntries(others)))
    if (isSuccess(answer)) return null
    finding = `${describeAnswer(answer)} to each of the three alone`
  }
  return finding
}

const OVERSIZED_STATUSES = [400, 413]
const MALFORMED_STATUSES = [400, 413, 415, 422]

/** Checks that forgeries get a suitable refusal. The last two checks read data of the others. */
export const REFUSING: readonly Check[] = [
  {
    name: 'verifies',
    level: 'must',
    is_gate: true,
    description: 'A delivery signed with another secret is refused.',
    mend: 'Verify the signature first, and answer 403 when it does not match.',
    run: (probe) => probe.refuses(forged(probe, 'wrong_secret')),
  },
  refusal(
    'flipped_byte',
    'A body that was changed after signing is refused.',
    'Compute the signature over the whole body.',
  ),
  refusal(
    'truncated_body',
    'A truncated body is refused.',
    'Compute the signature over the whole body.',
  ),
  refusal(
    'missing_signature',
    'A delivery without a signature is refused.',
    'Refuse a delivery without a signature.',
  ),
  refusal(
    'empty_signature',
    'An empty signature is refused.',
    'Refuse an empty header; compare only signatures of full length.',
  ),
  refusal(
    'truncated_signature',
    'The first half of the right signature is refused.',
    'Compare the lengths before crypto.timingSafeEqual, and never only a prefix.',
  ),
  refusal(
    'oversized',
    'A body of 8 MB with an invalid signature is refused.',
    'Limit the bytes that you read before the signature is verified.',
    OVERSIZED_STATUSES,
  ),
  {
    name: 'refuses_garbage',
    level: 'must',
    description: 'An unsigned body that is not JSON is refused.',
    mend: 'Verify before parsing, so that no unsigned request can make the receiver fail.',
    run: (probe) =>
      probe.refuses(
        deliveryOf({ 'content-type': 'application/json' }, Buffer.from([123, 255, 0])),
        MALFORMED_STATUSES,
      ),
  },
  {
    name: 'raw_body',
    level: 'must',
    description:
      'The receiver verifies the raw bytes, not a body that was parsed and serialised again.',
    mend: 'Read the raw body before any JSON parser does, and verify it.',
    async run(probe) {
      const event = probe.fresh('message.sent', { metadata: { 'zażółć 🚀': '\u2028</script>' } })
      const { event: kind, data } = event
      const spaced = signText(JSON.stringify({ event: kind, data }, null, 1), event, {
        secret: probe.secret,
      })
      const reprinted = await probe.refuses(forged(probe, 'reserialised'))
      return (
        (await probe.accepts(spaced)) ??
        (reprinted && `${reprinted} to a body that was serialised again`)
      )
    },
  },
  {
    name: 'time',
    level: 'should',
    description:
      'A delivery signed an hour ago, or with a time one hour in the future, is refused.',
    mend: 'Verify webhook-signature, and refuse a webhook-timestamp more than five minutes from now: X-Svc-Signature cannot reveal a replay.',
    run: (probe) =>
      firstOf(['stale_timestamp', 'future_timestamp'] as const, async (mutation) => {
        const finding = await probe.refuses(forged(probe, mutation))
        return (
          finding &&
          `${finding} to one ${mutation === 'stale_timestamp' ? 'from an hour ago' : 'from the future'}`
        )
      }),
  },
  {
    name: 'event_id',
    level: 'should',
    description: 'A webhook-id other than the signed one is refused.',
    mend: 'Verify webhook-signature, which covers the webhook-id: otherwise a replay passes as a new event.',
    run: (probe) => probe.refuses(forged(probe, 'swapped_id')),
  },
  {
    name: 'refuses_uppercase_signature',
    level: 'should',
    description: 'Signatures in upper case are refused.',
    mend: 'Compare the header unchanged with 64 lower-case digits: accepting both cases admits no forgery, but hides that a proxy changes headers.',
    run: (probe) => probe.refuses(forged(probe, 'uppercase_signature')),
  },
  {
    name: 'refusal_status',
    level: 'must',
    description: 'Every refusal was answered with 401 or 403.',
    mend: 'Answer 403 to an invalid signature: 410 disables the webhook, and a 5xx shows that an unsigned request can make the receiver fail.',
    run: async ({ seen }) => firstIn(seen.unfit, ' to a forgery'),
  },
  {
    name: 'discretion',
    level: 'must',
    description: 'No answer contains the secret or the valid signature.',
    mend: 'Answer a refusal with a fixed text, without the expected signature.',
    run: async ({ seen }) => firstIn(seen.leaks),
  },
]

function refusal(
  mutation: Mutation,
  description: string,
  mend: string,
  statuses: readonly number[] = mutation === 'truncated_body' ? MALFORMED_STATUSES : [],
): Check {
  const run = (probe: Probe) => probe.refuses(forged(probe, mutation), statuses)
  return { name: `refuses_${mutation}`, level: 'must', description, mend, run }
}

function firstIn(findings: ReadonlySet<string>, more = ''): Finding {
  const [first] = findings
  return first === undefined ? null : `${first}${more}`
}

/**
 * Checks that no event is lost or handled twice when deliveries are repeated or reordered, or when
 * the secret changes.
 */
export const REPEATING: readonly Check[] = [
  {
    name: 'rotation',
    level: 'must',
    description:
      'No event is lost during a rotation, while X-Svc-Signature is still made with the other secret.',
    mend: 'Answer only 401 or 403 to a signature that does not match: the service then sends the delivery again at once, signed with the other secret.',
    run: rotation,
  },
  {
    name: 'previous_secret',
    level: 'must',
    needs: 'previous_secret',
    description:
      'A delivery signed with the previous secret is acknowledged while that secret is configured.',
    mend: 'Verify with both secrets until the day after the change.',
    run: (probe) =>
      probe.accepts(sign(probe.fresh('message.sent'), { secret: probe.previous_secret ?? '' })),
  },
  {
    name: 'repetition',
    level: 'must',
    description: 'The same event, repeated as a second attempt, is acknowledged.',
    mend: 'Answer 200 to an event whose webhook-id you have handled: it is repeated until it is acknowledged.',
    async run(probe) {
      const event = probe.fresh('message.delivered')
      const first = await probe.accepts(signed(probe, event))
      return first ?? (await probe.accepts(signed(probe, event, { attempt: 2 })))
    },
  },
  {
    name: 'repetition_at_once',
    level: 'must',
    description:
      'Of two concurrent deliveries of one event, at least one is acknowledged and the other at most deferred.',
    mend: 'Let the database decide which request handles an event, and answer 409 or 503 to the other, which the service retries.',
    run: repetitionAtOnce,
  },
  {
    name: 'handles_once',
    level: 'must',
    needs: 'observe',
    description: 'An event that was delivered three times was handled once.',
    mend: 'Keep the webhook-id of each handled event, in the same transaction as its effects.',
    async run(probe) {
      const event = probe.fresh('message.delivered')
      const [first, second, third] = [1, 2, 3].map((attempt) => signed(probe, event, { attempt }))
      await Promise.all([first, second].map((each) => each && probe.post(each)))
      if (third) await probe.post(third)
      const times = await probe.timesHandled(event.event_id)
      return times === 1 ? null : `handled it ${times ?? 'an unknown number of'} times`
    },
  },
  {
    name: 'disorder',
    level: 'must',
    description: 'message.sent after the message.delivered of the same message is acknowledged.',
    mend: 'Ignore a change with a lower sequence than the stored one, and answer 200.',
    async run(probe) {
      const { data } = probe.fresh('message.delivered')
      const { message_id } = data
      const late = probe.fresh('message.sent', { message_id })
      const early = probe.fresh('message.delivered', { message_id })
      return (
        (await probe.accepts(signed(probe, early))) ?? (await probe.accepts(signed(probe, late)))
      )
    },
  },
]

/** Tries the other secret at once after a 401 or 403, as the service does. */
async function rotation(probe: Probe): Promise<Finding> {
  const { secret } = probe
  const other = mintSecret(randomBytes)
  const event = probe.fresh('message.delivered')
  const first = await probe.post(sign(event, { secret: other, previous_secret: secret }))
  if (isSuccess(first)) return null
  if (first.status !== 401 && first.status !== 403)
    return `${describeAnswer(first)} to the other secret`
  return probe.accepts(sign(event, { secret, previous_secret: other }))
}

const DEFERRED = [409, 425, 429, 503]

async function repetitionAtOnce(probe: Probe): Promise<Finding> {
  const delivery = signed(probe, probe.fresh('message.delivered'))
  const answers = await Promise.all([probe.post(delivery), probe.post(delivery)])
  const wrong = answers.find((each) => !isSuccess(each) && !DEFERRED.includes(each.status ?? 0))
  const worst = wrong ?? (answers.some(isSuccess) ? undefined : answers[0])
  return worst ? `${describeAnswer(worst)} to one of two concurrent deliveries` : null
}
