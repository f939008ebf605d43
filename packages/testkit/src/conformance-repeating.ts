import { randomBytes } from 'node:crypto'
import { mintSecret } from '@svc/core/webhooks'
import { type Check, signed } from './conformance-check.ts'
import { describeAnswer, type Finding, isSuccess, type Probe } from './conformance-probe.ts'
import { sign } from './sign.ts'

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
