import { expect, it } from 'vitest'
import { createStripePayments, type StripeOptions } from '../../src/billing/stripe.ts'
import { createLocalStripe } from './local-stripe.ts'
import type { Event } from './objects.ts'

const NOW = new Date('2026-05-04T09:00:00Z')
const now = () => NOW
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

const stripe = createLocalStripe({ now })

const EVENT: Event = {
  id: 'evt_1',
  object: 'event',
  api_version: '2026-10-28.endive',
  type: 'checkout.session.completed',
  created: NOW.getTime() / 1000,
  livemode: false,
  data: { object: { id: 'cs_test_1', object: 'checkout.session' } },
}
const OURS = { session_id: 'cs_test_1', payment_id: null }
const NOTHING = { session_id: null, payment_id: null }

const payments = (options: Partial<StripeOptions> = {}) =>
  createStripePayments({
    secret_key: 'sk_test_1',
    webhook_secrets: ['whsec_new', 'whsec_old'],
    now,
    ...options,
  })

const read = async (...[event, options]: Parameters<typeof stripe.sign>) =>
  (await payments()).read(stripe.sign(event, options))

it.each(['whsec_new', 'whsec_old'])('accepts a notification signed with %s', async (secret) => {
  expect(await read(EVENT, { secret })).toEqual(OURS)
})

it('refuses a notification signed with another secret', async () => {
  expect(await read(EVENT, { secret: 'whsec_other' })).toBeNull()
})

it('accepts two signatures if one is ours, as Stripe sends while a secret is rotated', async () => {
  const { body, signature = '' } = stripe.sign(EVENT, { secret: 'whsec_old' })
  const other = stripe.sign(EVENT, { secret: 'whsec_other' }).signature?.split(',v1=')[1]
  const { read } = await payments()
  expect(await read({ body, signature: `${signature},v1=${other}` })).toEqual(OURS)
})

it.each([
  [-301, false],
  [-300, true],
  [300, true],
  [301, false],
])('signed %d s from now: accepted is %s', async (seconds, isTaken) => {
  const subject = await read(EVENT, { secret: 'whsec_new', at: later(seconds) })
  expect(subject !== null).toBe(isTaken)
})

it.each([
  ['no signature', () => undefined],
  ['an empty signature', () => ''],
  ['no time', (signature: string) => signature.replace(/t=\d+,/, '')],
  ['two times', (signature: string) => `t=1,${signature}`],
  ['an invalid time', (signature: string) => signature.replace(/t=\d+/, 't=soon')],
  ['another scheme', (signature: string) => signature.replace('v1=', 'v0=')],
])('refuses %s', async (_, change) => {
  const { body, signature = '' } = stripe.sign(EVENT, { secret: 'whsec_new' })
  const { read } = await payments()
  expect(await read({ body, signature: change(signature) })).toBeNull()
})

it('verifies the raw bytes', async () => {
  const { body, signature } = stripe.sign(EVENT, { secret: 'whsec_new' })
  const { read } = await payments()
  const rewritten = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(body).toString('utf8'))))
  expect(await read({ body: rewritten, signature })).toBeNull()
  expect(await read({ body: new Uint8Array(body), signature })).toEqual(OURS)
})

it.each([
  ['sk_test_1', false, OURS],
  ['sk_test_1', true, NOTHING],
  ['rk_test_1', true, NOTHING],
  ['sk_live_1', true, OURS],
  ['rk_live_1', true, OURS],
  ['sk_live_1', false, NOTHING],
])('under %s, with livemode %s: %j', async (secret_key, livemode, subject) => {
  const warned: object[] = []
  const quiet = () => {}
  const warn = (fields: object) => warned.push(fields)
  const log = { debug: quiet, info: quiet, warn, error: quiet }
  const { read } = await payments({ secret_key, log })
  const notification = stripe.sign({ ...EVENT, livemode }, { secret: 'whsec_new' })
  expect(await read(notification)).toEqual(subject)
  expect(warned).toHaveLength(subject === NOTHING ? 1 : 0)
})

const payment = { id: 'any', object: 'any', payment_intent: 'pi_1' }

it.each([
  ...['completed', 'async_payment_succeeded', 'async_payment_failed', 'expired'].map(
    (type) => [`checkout.session.${type}`, EVENT.data.object, OURS] as const,
  ),
  ...[
    'charge.refunded',
    'refund.created',
    'refund.updated',
    'refund.failed',
    'charge.dispute.created',
    'charge.dispute.updated',
    'charge.dispute.funds_withdrawn',
    'charge.dispute.funds_reinstated',
    'charge.dispute.closed',
  ].map((type) => [type, payment, { session_id: null, payment_id: 'pi_1' }] as const),
  [
    'refund.created',
    { ...payment, payment_intent: { id: 'pi_2' } },
    { session_id: null, payment_id: 'pi_2' },
  ],
  ['refund.created', { ...payment, payment_intent: null }, NOTHING],
  ['payment_intent.succeeded', payment, NOTHING],
  ['of.a.time.to.come', payment, NOTHING],
] as const)('%s about %j is about %j', async (type, object, subject) => {
  expect(await read({ ...EVENT, type, data: { object } }, { secret: 'whsec_old' })).toEqual(subject)
})
