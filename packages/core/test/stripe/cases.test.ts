import { afterEach, beforeEach, expect, it } from 'vitest'
import { createBilling } from '../../src/billing/billing.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { PACKAGES } from './shop.ts'
import { CREDITS, openStage, PRICE, type Stage } from './stage.ts'

let stage: Stage
let stripe: Stage['stripe']
let shop: Stage['shop']
beforeEach(async () => {
  stage = await openStage('stripe cases')
  stripe = stage.stripe
  shop = stage.shop
})
afterEach(() => stage.close())

it('a card payment: paid when the session is complete, and granted once', async () => {
  const { purchase_id, payment } = await stage.paid()
  expect(await shop.balance()).toBe(CREDITS)
  expect(await shop.purchase(purchase_id)).toMatchObject({
    status: 'paid',
    payment_id: payment,
    paid_at: stage.runtime.now(),
    review_reason: null,
  })
})

it('a method that takes days: grants when the money has arrived, not when the session is complete', async () => {
  const { session_id, purchase_id } = await shop.buy()
  stripe.pay(session_id, 'bank')
  expect((await shop.deliverEvents()).map(({ type }) => type)).toEqual([
    'checkout.session.completed',
  ])
  expect(await shop.balance()).toBe(0)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'pending', paid_at: null })
  stripe.settle(session_id, 'succeeded')
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(CREDITS)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'paid' })
})

it('a method that takes days and fails: nothing is granted', async () => {
  const { session_id, purchase_id } = await shop.buy()
  stripe.pay(session_id, 'bank')
  stripe.settle(session_id, 'failed')
  await shop.deliverEvents()
  expect(await shop.entries()).toEqual([])
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'failed', paid_at: null })
})

it('a session that ends unpaid: nothing is granted', async () => {
  const { session_id, purchase_id } = await shop.buy()
  stripe.expire(session_id)
  await shop.deliverEvents()
  expect(await shop.entries()).toEqual([])
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'expired', paid_at: null })
})

it('the same event twice, and many at the same time: one grant', async () => {
  const { session_id } = await shop.buy()
  stripe.pay(session_id)
  const notifications = stripe.takeEvents().map((event) => stripe.sign(event))
  const many = Array.from({ length: 12 }, () => notifications).flat()
  await Promise.all(many.map(shop.notify))
  for (const notification of notifications) await shop.notify(notification)
  expect((await shop.entries()).map(({ kind, amount }) => [kind, amount])).toEqual([
    ['purchase', CREDITS],
  ])
})

it.each([
  ['amount_mismatch', { amount_total: PRICE - 1 }],
  ['currency_mismatch', { currency: 'eur' }],
])(
  'a payment with %s: nothing is granted, and one error is logged for the operator',
  async (reason, other) => {
    const { session_id, purchase_id } = await shop.buy()
    Object.assign(stripe.sessions.get(session_id) ?? {}, other)
    stripe.pay(session_id)
    const [event] = await shop.deliverEvents()
    if (event) await shop.notify(stripe.sign(event))
    expect(await shop.entries()).toEqual([])
    expect(await shop.purchase(purchase_id)).toMatchObject({
      status: 'pending',
      review_reason: reason,
      payment_id: shop.paymentOf(session_id),
      paid_at: null,
    })
    expect(stage.errors).toMatchObject([{ purchase_id, review_reason: reason }])
    expect(
      await stage.storage.read.purchases.list({ in_review: true }, { limit: 2, offset: 0 }),
    ).toHaveLength(1)
    // Stripe corrects its error.
    Object.assign(stripe.sessions.get(session_id) ?? {}, { amount_total: PRICE, currency: 'usd' })
    await shop.billing.sync()
    expect(await shop.balance()).toBe(CREDITS)
    expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'paid', review_reason: null })
  },
)

it('an event of the other mode: no request is made', async () => {
  const { session_id } = await shop.buy()
  stripe.pay(session_id)
  const [event] = stripe.takeEvents()
  if (!event) throw new Error('no event was sent')
  const before = stripe.calls.length
  await shop.notify(stripe.sign({ ...event, livemode: true }))
  expect(stripe.calls).toHaveLength(before)
  expect(await shop.entries()).toEqual([])
})

it.each([
  ['product.created', { id: 'prod_1', object: 'product' }],
  ['checkout.session.completed', { id: 'cs_test_foreign', object: 'checkout.session' }],
  ['charge.refunded', { id: 'ch_1', object: 'charge', payment_intent: 'pi_foreign' }],
  ['charge.refunded', { id: 'ch_1', object: 'charge', payment_intent: null }],
])('%s about %j, which is not ours: acknowledged', async (type, object) => {
  const [created, data] = [stage.runtime.now().getTime() / 1000, { object }]
  const event = { id: 'evt_1', object: 'event' as const, api_version: '', livemode: false }
  await shop.notify(stripe.sign({ ...event, type, created, data }))
  expect(await shop.entries()).toEqual([])
})

it('a process that dies between the effect and its acknowledgement: the repeated notification changes nothing', async () => {
  const { session_id } = await shop.buy()
  stripe.pay(session_id)
  const [event] = stripe.takeEvents()
  if (!event) throw new Error('no event was sent')
  const write: Storage['write'] = async (work) => {
    await stage.storage.write(work)
    throw new Error('the process died')
  }
  const dying = shop.billingOn({ ...stage.storage, write })
  await expect(dying.notify(stripe.sign(event))).rejects.toThrow('the process died')
  expect(await shop.balance()).toBe(CREDITS)
  await shop.notify(stripe.sign(event))
  expect(await shop.entries()).toHaveLength(1)
})

it.each([
  ['500', [{ status: 500 }]],
  ['429', [{ status: 429 }]],
  // The library itself retries once after a broken connection.
  ['nothing', ['drop_before', 'drop_before']],
] as const)(
  'Stripe answers %s to our request: the notification fails, and the repeated one grants',
  async (_, faults) => {
    const { session_id } = await shop.buy()
    stripe.pay(session_id)
    const [event] = stripe.takeEvents()
    if (!event) throw new Error('no event was sent')
    stripe.fail(...faults)
    await expect(shop.notify(stripe.sign(event))).rejects.toThrow()
    expect(await shop.entries()).toEqual([])
    await shop.notify(stripe.sign(event))
    expect(await shop.balance()).toBe(CREDITS)
  },
)

it('a purchase of another provider: no request to Stripe', async () => {
  const { session_id } = await shop.buy()
  stripe.pay(session_id)
  const { storage, runtime } = stage
  const other = { ...shop.payments, name: 'other' }
  const billing = createBilling({ storage, runtime, packages: PACKAGES, payments: other })
  for (const event of stripe.takeEvents()) await billing.notify(stripe.sign(event))
  expect(await shop.entries()).toEqual([])
})
