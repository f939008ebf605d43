import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openShop, SECRETS, type Shop } from './stripe-shop.ts'

const UNSIGNED = refusal(
  'validation_error',
  'The payment notification has no valid signature',
  'Stripe-Signature',
)

let shop: Shop
let owner: Account
beforeAll(async () => {
  shop = await openShop()
})
beforeEach(async () => {
  owner = await shop.world.signup()
})
afterEach(() => shop.world.settle())
afterAll(() => shop.world.close())

const balance = () => shop.world.balance(owner)

const paidEvent = () => shop.payWithoutNotification(owner)

describe('a notification is accepted', () => {
  it.each(SECRETS)('when it is signed with %s, while the secret is rolled', async (secret) => {
    expect((await shop.notify(await paidEvent(), { secret })).status).toBe(200)
    expect(await balance()).toBe(1000)
  })

  it('when it has the signatures of an unknown secret and of ours', async () => {
    const raw = JSON.stringify(await paidEvent())
    const [, other] = shop.signatureOf(raw, { secret: 'whsec_other' }).split(',')
    const [time, ours] = shop.signatureOf(raw).split(',')
    expect((await shop.post(raw, `${time},${other},${ours}`)).status).toBe(200)
    expect(await balance()).toBe(1000)
  })

  it('with an unused type of event, and changes nothing', async () => {
    const event = { ...(await paidEvent()), type: 'customer.created' }
    const calls = shop.stripe.calls.length
    expect((await shop.notify(event)).status).toBe(200)
    expect(await balance()).toBe(0)
    expect(shop.stripe.calls).toHaveLength(calls)
  })

  it('about an unknown session and payment, and changes nothing', async () => {
    const { stripe } = shop
    const session = stripe.openSession({
      amount_total: 1_000,
      currency: 'usd',
      client_reference_id: null,
      metadata: {},
      intent_metadata: {},
      success_url: 'https://elsewhere.example',
      cancel_url: null,
      expires_at: 0,
    })
    stripe.pay(session.id)
    stripe.refund(shop.paymentOf(session.id))
    await shop.notifyAll()
    expect(await shop.ledger(owner)).toEqual([])
  })

  it('at 256 KB', async () => {
    const event = await paidEvent()
    const room = 256 * 1024 - Buffer.byteLength(JSON.stringify({ ...event, x: '' }))
    const raw = JSON.stringify({ ...event, x: 'x'.repeat(room) })
    expect(Buffer.byteLength(raw)).toBe(256 * 1024)
    expect((await shop.post(raw, shop.signatureOf(raw))).status).toBe(200)
    expect(await balance()).toBe(1000)
  })
})

describe('a notification is refused', () => {
  it.each([
    ['with a secret that is not ours', { secret: 'whsec_other' }, 0],
    ['more than five minutes ago', {}, -301],
    ['more than five minutes ahead', {}, 301],
  ])('when it was signed %s', async (_, sending, seconds) => {
    const at = new Date(shop.world.now().getTime() + seconds * 1_000)
    const { status, body } = await shop.notify(await paidEvent(), { ...sending, at })
    expect([status, body]).toStrictEqual([400, UNSIGNED])
    expect(await balance()).toBe(0)
  })

  it('when a proxy parsed and serialized its body', async () => {
    const event = await paidEvent()
    const signature = shop.signatureOf(JSON.stringify(event, null, 2))
    const { status, body } = await shop.post(JSON.stringify(event), signature)
    expect([status, body]).toStrictEqual([400, UNSIGNED])
    expect(await balance()).toBe(0)
  })

  it('when it is one byte over 256 KB, with any signature', async () => {
    const raw = `"${'x'.repeat(256 * 1024 - 1)}"`
    const { status, body } = await shop.post(raw, shop.signatureOf(raw))
    expect(status).toBe(400)
    expect(body).toStrictEqual(refusal('validation_error', 'Request body is too large', ''))
  })
})

it.each([
  [true, false],
  [false, true],
])('with livemode %s, an event of livemode %s changes nothing', async (livemode, other) => {
  const real = await openShop({ livemode })
  const account = await real.world.signup()
  const { session_id } = await real.checkout(account)
  real.stripe.pay(session_id)
  const [event] = real.stripe.takeEvents()
  expect((await real.notify({ ...event, livemode: other })).status).toBe(200)
  expect(await real.world.balance(account)).toBe(0)
  expect(real.warnings).toEqual(['a Stripe event of the other mode'])
  expect((await real.notify({ ...event })).status).toBe(200)
  expect(await real.world.balance(account)).toBe(1000)
  await real.world.close()
})

describe('faults during a notification', () => {
  it('a Stripe that does not answer causes a 500, so that Stripe sends the notification again', async () => {
    const event = await paidEvent()
    shop.stripe.fail({ status: 500 })
    expect((await shop.notify(event)).status).toBe(500)
    expect(shop.world.takeFaults().map(({ msg }) => msg)).toEqual(['request failed', 'request'])
    expect(await balance()).toBe(0)
    expect((await shop.notify(event)).status).toBe(200)
    expect(await balance()).toBe(1000)
  })

  it('a sync finds payments without a notification', async () => {
    const { payment_id } = await shop.buy(owner)
    await paidEvent()
    shop.stripe.refund(payment_id, { amount: 500 })
    shop.stripe.takeEvents()
    expect(await balance()).toBe(1000)
    await shop.world.core.billing.sync({})
    expect(await balance()).toBe(1500)
    await shop.world.core.billing.sync({})
    expect(await shop.ledger(owner)).toHaveLength(3)
  })
})
