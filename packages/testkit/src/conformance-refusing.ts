import { type Check, firstOf, forged } from './conformance-check.ts'
import type { Finding, Probe } from './conformance-probe.ts'
import type { Mutation } from './mutations.ts'
import { deliveryOf, signText } from './sign.ts'

const OVERSIZED_STATUSES = [400, 413]
const MALFORMED_STATUSES = [400, 413, 415, 422]

/** That forgeries are refused, and how. The last two look at what the others saw. */
export const REFUSING: readonly Check[] = [
  {
    name: 'verifies',
    level: 'must',
    is_gate: true,
    description: 'A delivery that another secret signed is refused.',
    mend: 'Verify the signature before anything else, and answer 403 when it does not fit.',
    run: (probe) => probe.refuses(forged(probe, 'wrong_secret')),
  },
  refusal(
    'flipped_byte',
    'A body that was changed after signing is refused.',
    'Compute the signature over the whole body.',
  ),
  refusal(
    'truncated_body',
    'A body that is cut short is refused.',
    'Compute the signature over the whole body.',
  ),
  refusal(
    'missing_signature',
    'A delivery without a signature is refused.',
    'Refuse what has no signature instead of letting it pass unverified.',
  ),
  refusal(
    'empty_signature',
    'An empty signature is refused.',
    'Refuse an empty header; compare only signatures of full length.',
  ),
  refusal(
    'truncated_signature',
    'The first half of the right signature is refused.',
    'Compare the lengths before crypto.timingSafeEqual, and never only as much as was given.',
  ),
  refusal(
    'oversized',
    'Eight megabytes from a stranger are refused.',
    'Bound the bytes that you read before the signature is known to be right.',
    OVERSIZED_STATUSES,
  ),
  {
    name: 'refuses_garbage',
    level: 'must',
    description: 'Bytes that are no JSON, unsigned, are refused.',
    mend: 'Verify before parsing, so that nobody can make the receiver fail.',
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
      'It is the raw bytes that are verified, not a body that was parsed and printed again.',
    mend: 'Read the raw body before any JSON parser does, and verify that.',
    async run(probe) {
      const event = probe.fresh('message.sent', { metadata: { 'zażółć 🚀': '\u2028</script>' } })
      const { event: kind, data } = event
      const spaced = signText(JSON.stringify({ event: kind, data }, null, 1), event, {
        secret: probe.secret,
      })
      const reprinted = await probe.refuses(forged(probe, 'reserialised'))
      return (
        (await probe.accepts(spaced)) ??
        (reprinted && `${reprinted} to a body that was printed anew`)
      )
    },
  },
  {
    name: 'time',
    level: 'should',
    description: 'A delivery that was signed an hour ago, or for an hour from now, is refused.',
    mend: 'Verify webhook-signature, and refuse a webhook-timestamp more than five minutes from now: X-Svc-Signature cannot show a replay.',
    run: (probe) =>
      firstOf(['stale_timestamp', 'future_timestamp'] as const, async (mutation) => {
        const finding = await probe.refuses(forged(probe, mutation))
        return (
          finding &&
          `${finding} to one ${mutation === 'stale_timestamp' ? 'of an hour ago' : 'of the future'}`
        )
      }),
  },
  {
    name: 'event_id',
    level: 'should',
    description: 'A webhook-id that is not the one that was signed is refused.',
    mend: 'Verify webhook-signature, which signs the webhook-id: without it a replay passes for a new event.',
    run: (probe) => probe.refuses(forged(probe, 'swapped_id')),
  },
  {
    name: 'refuses_uppercase_signature',
    level: 'should',
    description: 'Signatures in upper case are refused.',
    mend: 'Compare the header as it came with 64 lower-case digits: to take both cases lets no forgery in, but hides that something on the way changes headers.',
    run: (probe) => probe.refuses(forged(probe, 'uppercase_signature')),
  },
  {
    name: 'refusal_status',
    level: 'must',
    description: 'Whatever was refused was answered with 401 or 403.',
    mend: 'Answer 403 to what does not verify: 410 disables the webhook, and a 5xx says that a stranger can make the receiver fail.',
    run: async ({ seen }) => firstIn(seen.unfit, ' to a forgery'),
  },
  {
    name: 'discretion',
    level: 'must',
    description: 'No answer has the secret or the right signature in it.',
    mend: 'Answer a refusal with a fixed text, and keep the expected signature to yourself.',
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
