import { EVENT_KINDS } from '@svc/core/contract'
import { type Check, firstOf, signed } from './conformance-check.ts'
import {
  describeAnswer,
  type Finding,
  isSuccess,
  type Probe,
  withHeaders,
} from './conformance-probe.ts'
import { deliveryOf } from './sign.ts'

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
