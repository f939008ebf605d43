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

const paidEvent = () => shop.payWithoutNotification(owner)

describe('a purchase', () => {
  it('is paid at Stripe, with the data of the package, and has its id there', async () => {
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

  it('adds its credits after the payment, for repeated notifications too', async () => {
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

  it('with a slow payment method adds credits after the settlement, and none when it fails', async () => {
    const { stripe } = shop
    for (const [result, credits] of [
      ['failed', 0],
      ['succeeded', 1000],
    ] as const) {
      const { session_id } = await shop.checkout(owner)
      stripe.pay(session_id, 'bank')
      await shop.notifyAll()
      expect(await balance()).toBe(0)
      stripe.settle(session_id, result)
      await shop.notifyAll()
      expect(await balance()).toBe(credits)
    }
  })

  it('adds no credits when its session ended', async () => {
    const { session_id, purchase_id } = await shop.checkout(owner)
    shop.stripe.expire(session_id)
    await shop.notifyAll()
    expect(await shop.world.core.billing.purchase(owner.id, purchase_id)).toMatchObject({
      status: 'expired',
      paid_at: null,
    })
    expect(await shop.ledger(owner)).toEqual([])
  })

  it('returns 402 when Stripe refuses it', async () => {
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

describe('refunds and disputes', () => {
  it('remove the share of the credits of each partial refund, down to zero', async () => {
    const { payment_id, purchase_id } = await shop.buy(owner)
    const statuses: string[] = []
    for (const amount of [1, 332, 667]) {
      shop.stripe.refund(payment_id, { amount })
      await shop.notifyAll()
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

  it('add the credits again when the refund fails', async () => {
    const { payment_id } = await shop.buy(owner)
    const refund = shop.stripe.refund(payment_id, { status: 'pending' })
    await shop.notifyAll()
    expect(await balance()).toBe(0)
    shop.stripe.endRefund(refund?.id ?? '', 'failed')
    await shop.notifyAll()
    expect(await balance()).toBe(1000)
  })

  it('remove all credits after a refund by the operator, below zero if they are spent, and sends are refused then', async () => {
    const { purchase_id } = await shop.buy(owner)
    const { key } = await shop.world.key(owner)
    await shop.world.send(key)
    const { billing } = shop.world.core
    expect(await billing.refund(owner.id, purchase_id)).toMatchObject({ status: 'refunded' })
    await shop.notifyAll()
    expect(await balance()).toBe(-1)
    expect((await shop.world.send(key)).status).toBe(402)
    // The next purchase first fills the negative balance.
    await shop.buy(owner)
    expect(await balance()).toBe(999)
  })

  it.each([
    ['won', 1000, 'paid'],
    ['lost', 0, 'disputed'],
  ] as const)(
    'remove the credits when a dispute opens; %s leaves %d',
    async (result, left, status) => {
      const { payment_id, purchase_id } = await shop.buy(owner)
      const dispute = shop.stripe.dispute(payment_id)
      await shop.notifyAll()
      expect(await balance()).toBe(0)
      expect(await shop.world.core.billing.purchase(owner.id, purchase_id)).toMatchObject({
        status: 'disputed',
      })
      shop.stripe.closeDispute(dispute.id, result)
      await shop.notifyAll()
      expect(await balance()).toBe(left)
      expect(await shop.world.core.billing.purchase(owner.id, purchase_id)).toMatchObject({
        status,
      })
    },
  )

  it('remove no credits for an inquiry, which moves no money', async () => {
    const { payment_id } = await shop.buy(owner)
    shop.stripe.dispute(payment_id, { inquiry: true })
    await shop.notifyAll()
    expect(await shop.ledger(owner)).toEqual([['purchase', 1000]])
  })

  it('have the same result in any order of notifications', async () => {
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
