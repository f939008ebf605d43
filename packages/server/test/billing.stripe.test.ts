import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { refusal } from './refusal.ts'
import { openShop, type Shop } from './stripe-shop.ts'

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

const paidEvent = () => shop.payUnheard(owner)

describe('a purchase', () => {
  it('is paid at Stripe, with what the package says, and known there by its id', async () => {
    const { purchase_id, session_id, checkout_url } = await shop.checkout(owner, {
      package_id: 'large',
      success_url: 'https://shop.example/thanks?session={CHECKOUT_SESSION_ID}',
    })
    expect(checkout_url).toBe(`https://checkout.stripe.example/c/pay/${session_id}`)
    const metadata = { purchase_id, workspace_id: owner.id }
    expect(shop.stripe.sessions.get(session_id)).toMatchObject({
      amount_total: 9_000,
      currency: 'jpy',
      client_reference_id: purchase_id,
      metadata,
      success_url: 'https://shop.example/thanks?session={CHECKOUT_SESSION_ID}',
    })
    shop.stripe.pay(session_id)
    const payment = shop.stripe.intents.get(shop.paymentOf(session_id))
    expect(payment).toMatchObject({ metadata })
  })

  it('gives its credits once it is paid, however often that is told', async () => {
    const event = await paidEvent()
    const answers = await Promise.all(Array.from({ length: 5 }, () => shop.notify(event)))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    await shop.world.advance(60_000)
    expect(await shop.notify(event)).toMatchObject({
      status: 200,
      body: { success: true, data: { received: true } },
    })
    expect(await shop.ledger(owner)).toEqual([['purchase', 1000]])
  })

  it('by a method that takes days gives nothing before it is settled, and nothing when it fails', async () => {
    const { stripe } = shop
    for (const [result, credits] of [
      ['failed', 0],
      ['succeeded', 1000],
    ] as const) {
      const { session_id } = await shop.checkout(owner)
      stripe.pay(session_id, 'bank')
      await shop.hear()
      expect(await balance()).toBe(0)
      stripe.settle(session_id, result)
      await shop.hear()
      expect(await balance()).toBe(credits)
    }
  })

  it('gives nothing when its session ended', async () => {
    const { session_id, purchase_id } = await shop.checkout(owner)
    shop.stripe.expire(session_id)
    await shop.hear()
    expect(await shop.world.core.billing.purchase(owner.id, purchase_id)).toMatchObject({
      status: 'expired',
      paid_at: null,
    })
    expect(await shop.ledger(owner)).toEqual([])
  })

  it('that Stripe refuses is a 402', async () => {
    shop.stripe.fail({ status: 400, code: 'currency_not_supported' })
    const { status, body } = await shop.world.call('POST', '/api/v1/billing/checkout', {
      token: owner.token,
      json: { package_id: 'starter' },
    })
    expect(status).toBe(402)
    expect(body).toStrictEqual(refusal('insufficient_credits', 'Credit purchase failed'))
    expect(shop.warnings).toEqual(['Stripe refuses a checkout'])
  })
})

describe('money that goes back', () => {
  it('by parts takes its share of the credits, each time, down to nothing', async () => {
    const { payment_id, purchase_id } = await shop.buy(owner)
    const statuses: string[] = []
    for (const amount of [1, 332, 667]) {
      shop.stripe.refund(payment_id, { amount })
      await shop.hear()
      statuses.push((await shop.world.core.billing.purchase(owner.id, purchase_id)).status)
    }
    expect(await shop.ledger(owner)).toEqual([
      ['purchase', 1000],
      ['purchase_adjust', -1],
      ['purchase_adjust', -332],
      ['purchase_adjust', -667],
    ])
    expect(statuses).toEqual(['paid', 'paid', 'refunded'])
  })

  it('brings the credits back when the refund fails', async () => {
    const { payment_id } = await shop.buy(owner)
    const refund = shop.stripe.refund(payment_id, { status: 'pending' })
    await shop.hear()
    expect(await balance()).toBe(0)
    shop.stripe.endRefund(refund?.id ?? '', 'failed')
    await shop.hear()
    expect(await balance()).toBe(1000)
  })

  it('by the operator takes all credits, below zero where they are spent, and sends are refused then', async () => {
    const { purchase_id } = await shop.buy(owner)
    const { key } = await shop.world.key(owner)
    await shop.world.send(key)
    const { billing } = shop.world.core
    expect(await billing.refund(owner.id, purchase_id)).toMatchObject({ status: 'refunded' })
    await shop.hear()
    expect(await balance()).toBe(-1)
    expect((await shop.world.send(key)).status).toBe(402)
    // The next purchase fills the hole first.
    await shop.buy(owner)
    expect(await balance()).toBe(999)
  })

  it.each([
    ['won', 1000, 'paid'],
    ['lost', 0, 'disputed'],
  ] as const)(
    'by a dispute takes the credits when it is opened, and %s leaves %d',
    async (result, left, status) => {
      const { payment_id, purchase_id } = await shop.buy(owner)
      const dispute = shop.stripe.dispute(payment_id)
      await shop.hear()
      expect(await balance()).toBe(0)
      expect(await shop.world.core.billing.purchase(owner.id, purchase_id)).toMatchObject({
        status: 'disputed',
      })
      shop.stripe.closeDispute(dispute.id, result)
      await shop.hear()
      expect(await balance()).toBe(left)
      expect(await shop.world.core.billing.purchase(owner.id, purchase_id)).toMatchObject({
        status,
      })
    },
  )

  it('not by an inquiry, in which no money moves', async () => {
    const { payment_id } = await shop.buy(owner)
    shop.stripe.dispute(payment_id, { inquiry: true })
    await shop.hear()
    expect(await shop.ledger(owner)).toEqual([['purchase', 1000]])
  })

  it('is believed in whatever order it is told', async () => {
    const { session_id } = await shop.checkout(owner)
    shop.stripe.pay(session_id)
    shop.stripe.refund(shop.paymentOf(session_id), { amount: 400 })
    for (const event of shop.stripe.takeEvents().reverse()) {
      expect((await shop.notify(event)).status).toBe(200)
      expect(await balance()).toBe(600)
    }
    expect(await shop.ledger(owner)).toEqual([['purchase', 600]])
  })
})
