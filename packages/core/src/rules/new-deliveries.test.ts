import { expect, it } from 'vitest'
import { builders, testRuntime } from '../../test/fixtures.ts'
import { EVENTS } from '../contract/resources/events.ts'
import type { DeliveryRow } from '../rows/rows.ts'
import { type FanOut, fanOut, planDeliveryQueue } from './deliveries.ts'

const runtime = testRuntime('claim-deliveries')
const make = builders(runtime)
const AT = runtime.now()
const later = (ms: number) => new Date(AT.getTime() + ms)
const webhook = make.webhook('w1')

/** An event and its deliveries to the webhook, about a live or a test message. */
function announced({ livemode = true, to = webhook.id } = {}): FanOut {
  const into: FanOut = { events: [], deliveries: [], delivery_queue: [] }
  const { data, example } = EVENTS['message.sent']
  const happening = { event: 'message.sent', workspace_id: 'w1', message_id: 'm1' } as const
  fanOut(
    into,
    { ...happening, data: { ...data.parse(example), livemode } },
    [{ ...webhook, id: to }],
    { at: AT, newId: runtime.id },
  )
  return into
}

const context = { now: AT, elapsed_ms: 0, lease_ms: 30_000, token: 't1', admits: () => true }

it('a new delivery that may be sent now is leased in the write that queues it', () => {
  const into = announced()
  const [delivery] = into.deliveries as [DeliveryRow]
  const plan = planDeliveryQueue(into, new Map([['w1', [make.webhook('w1'), webhook]]]), context)
  expect(plan).toEqual({
    queue: [
      {
        delivery_id: delivery.id,
        workspace_id: 'w1',
        webhook_id: webhook.id,
        due_at: later(30_000),
        set_at: AT,
        token: 't1',
      },
    ],
    claimed: [
      {
        delivery_id: delivery.id,
        workspace_id: 'w1',
        webhook_id: webhook.id,
        event_id: delivery.event_id,
        event: 'message.sent',
        url: webhook.url,
        secret: webhook.secret,
        previous_secret: null,
        accepted_secret: null,
        headers: webhook.headers,
        format: 'svc',
        message: null,
        body: into.events[0]?.body,
        attempt: 1,
        token: 't1',
      },
    ],
    waiting: [],
  })
})

it.each<
  [string, Partial<typeof webhook>, { livemode?: boolean; to?: string }, Partial<typeof context>]
>([
  ['its receiver has no room', {}, {}, { admits: () => false }],
  ['it is about a test message', {}, { livemode: false }, {}],
  ['its format needs the message', { format: 'resend' }, {}, {}],
  ['its receiver never took a webhook', { gate_host: 'receiver.example' }, {}, {}],
  ['it is due later', {}, {}, { now: later(-1) }],
  ['its webhook is no subscriber: a status callback', {}, { to: 'c1' }, {}],
])('a new delivery waits for a claim when %s', (_, endpoint, event, terms) => {
  const into = announced(event)
  const webhooks = new Map([['w1', [{ ...webhook, ...endpoint }]]])
  const plan = planDeliveryQueue(into, webhooks, { ...context, ...terms })
  expect(plan).toEqual({ queue: into.delivery_queue, claimed: [], waiting: into.deliveries })
})

it('no delivery is claimed without terms, or without its body or the webhooks of its workspace', () => {
  const into = announced()
  const all = { queue: into.delivery_queue, claimed: [], waiting: into.deliveries }
  const webhooks = new Map([['w1', [webhook]]])
  expect(planDeliveryQueue(into, webhooks, null)).toEqual(all)
  expect(planDeliveryQueue({ ...into, events: [] }, webhooks, context)).toEqual(all)
  expect(planDeliveryQueue(into, new Map([['w2', [webhook]]]), context)).toEqual(all)
})

it.each([
  [1, webhook.secret],
  [0, null],
  [-1, null],
])('an old secret that ends in %d ms signs too until it ends', (ms, previous_secret) => {
  const old = { previous_secret: webhook.secret, previous_secret_ends_at: later(ms) }
  const webhooks = new Map([['w1', [{ ...webhook, ...old }]]])
  const { claimed } = planDeliveryQueue(announced(), webhooks, context)
  expect(claimed).toMatchObject([{ previous_secret }])
})
