import { type Check, firstOf, forged } from './conformance-check.ts'
import type { Finding, Probe } from './conformance-probe.ts'
import type { Mutation } from './mutations.ts'
import { deliveryOf, signText } from './sign.ts'

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
