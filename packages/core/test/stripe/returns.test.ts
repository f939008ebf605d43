import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CREDITS, leftAfter, openStage, type Stage } from './stage.ts'

let stage: Stage
let stripe: Stage['stripe']
let shop: Stage['shop']
beforeEach(async () => {
  stage = await openStage('stripe returns')
  stripe = stage.stripe
  shop = stage.shop
})
afterEach(() => stage.close())

it('a refund whose event arrives before the payment: found by the metadata of the payment', async () => {
  const { session_id, purchase_id } = await shop.buy()
  stripe.pay(session_id)
  const [completed] = stripe.takeEvents()
  stripe.refund(shop.paymentOf(session_id), { amount: 1_000 })
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(leftAfter(1_000))
  if (completed) await shop.notify(stripe.sign(completed))
  expect(await shop.balance()).toBe(leftAfter(1_000))
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'paid' })
})

it('three partial refunds: each takes its share, and together all credits', async () => {
  const { payment, purchase_id } = await stage.paid()
  let back = 0
  for (const amount of [1, 999, 2_000]) {
    stripe.refund(payment, { amount })
    await shop.deliverEvents()
    back += amount
    expect(await shop.balance()).toBe(leftAfter(back))
  }
  expect(await shop.balance()).toBe(0)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'refunded' })
})

it.each(['failed', 'canceled'] as const)(
  'a pending refund takes the credits, and returns them when it is %s',
  async (end) => {
    const { payment, purchase_id } = await stage.paid()
    const refund = stripe.refund(payment, { status: 'pending' })
    await shop.deliverEvents()
    expect(await shop.balance()).toBe(0)
    stripe.endRefund(refund?.id ?? '', end)
    await shop.deliverEvents()
    expect(await shop.balance()).toBe(CREDITS)
    expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'paid' })
  },
)

it('a dispute: takes the credits when it opens, returns them when it is won, and a later refund takes all', async () => {
  const { payment, purchase_id } = await stage.paid()
  const dispute = stripe.dispute(payment)
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(0)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'disputed' })
  stripe.respond(dispute.id)
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(0)
  stripe.closeDispute(dispute.id, 'won')
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(CREDITS)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'paid' })
  stripe.refund(payment)
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(0)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'refunded' })
})

it('a dispute that is lost: the credits stay taken', async () => {
  const { payment, purchase_id } = await stage.paid()
  const dispute = stripe.dispute(payment)
  stripe.closeDispute(dispute.id, 'lost')
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(0)
  expect(await shop.purchase(purchase_id)).toMatchObject({ status: 'disputed' })
})

it('a dispute after a partial refund: takes at most the granted credits', async () => {
  const { payment } = await stage.paid()
  stripe.refund(payment, { amount: 2_000 })
  const dispute = stripe.dispute(payment)
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(0)
  stripe.closeDispute(dispute.id, 'won')
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(leftAfter(2_000))
})

it('an inquiry: takes nothing until it becomes a dispute', async () => {
  const { payment } = await stage.paid()
  const inquiry = stripe.dispute(payment, { inquiry: true })
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(CREDITS)
  stripe.escalate(inquiry.id)
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(0)
  const closed = stripe.dispute(payment, { inquiry: true })
  stripe.closeDispute(closed.id, 'lost')
  stripe.closeDispute(inquiry.id, 'won')
  await shop.deliverEvents()
  expect(await shop.balance()).toBe(CREDITS)
})

it('more refunds than a page of Stripe: all of them count', async () => {
  const { payment } = await stage.paid()
  for (let i = 0; i < 101; i++) stripe.refund(payment, { amount: 10 })
  const [event] = stripe.takeEvents()
  if (event) await shop.notify(stripe.sign(event))
  expect(await shop.balance()).toBe(leftAfter(1_010))
})

it('a refund by the operator: refunds the rest once', async () => {
  const { payment, purchase_id } = await stage.paid()
  stripe.refund(payment, { amount: 1_000 })
  const { billing, workspaceId } = shop
  const refund = () => billing.refund(workspaceId, purchase_id)
  await Promise.all([refund(), refund()])
  expect(await refund()).toMatchObject({ status: 'refunded' })
  expect([...stripe.refunds.values()].map(({ amount }) => amount)).toEqual([1_000, 2_000])
  expect(await shop.balance()).toBe(0)
})

it('a refund that Stripe refuses: reports the reason and changes nothing', async () => {
  const { payment, purchase_id } = await stage.paid()
  stripe.dispute(payment)
  await expect(shop.billing.refund(shop.workspaceId, purchase_id)).rejects.toMatchObject({
    code: 'validation_error',
    message: 'Stripe refuses the refund: The charge has been charged back.',
  })
  expect(await shop.balance()).toBe(CREDITS)
})

it('a refund that Stripe refused for lack of money: succeeds when it is requested again', async () => {
  const { purchase_id, session_id } = await stage.paid()
  const refund = () => shop.billing.refund(shop.workspaceId, purchase_id)
  stripe.mayRefund = () => false
  await expect(refund()).rejects.toMatchObject({
    code: 'validation_error',
    message:
      'Stripe refuses the refund: Insufficient funds in your Stripe balance to refund this amount.',
  })
  expect(await shop.balance()).toBe(CREDITS)
  stripe.mayRefund = () => true
  expect(await refund()).toMatchObject({ status: 'refunded' })
  expect(stripe.kept(session_id)).toBe(0)
  // There is no money for a second refund: the first one counts.
  stripe.mayRefund = () => false
  expect(await refund()).toMatchObject({ status: 'refunded' })
  expect(stripe.refunds.size).toBe(1)
})

it('a refund whose answer was lost: the library retries with its own key, and it is refunded once', async () => {
  const { purchase_id, session_id } = await stage.paid()
  stripe.fail(null, 'drop_after')
  const refunded = await shop.billing.refund(shop.workspaceId, purchase_id)
  expect(refunded).toMatchObject({ status: 'refunded' })
  const requests = stripe.calls.filter(
    ({ method, path }) => `${method} ${path}` === 'POST /v1/refunds',
  )
  expect(requests).toHaveLength(2)
  expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  expect(requests[0]?.headers['idempotency-key']).toMatch(/./)
  expect(stripe.kept(session_id)).toBe(0)
  expect(stripe.refunds.size).toBe(1)
})

describe('a payment that differs from its purchase', () => {
  async function inReview() {
    const bought = await shop.buy()
    const session = stripe.sessions.get(bought.session_id)
    if (session) session.amount_total = 2_900
    stripe.pay(bought.session_id)
    await shop.deliverEvents()
    const purchase = () => shop.purchase(bought.purchase_id)
    expect(await purchase()).toMatchObject({ status: 'pending', review_reason: 'amount_mismatch' })
    return { ...bought, purchase, payment: shop.paymentOf(bought.session_id) }
  }
  const closed = { status: 'refunded', review_reason: null, paid_at: expect.any(Date) }

  it('is closed when it is fully refunded at Stripe, and reviewed again when the refund fails', async () => {
    const { payment, purchase } = await inReview()
    stripe.refund(payment, { amount: 2_899 })
    await shop.deliverEvents()
    expect(await purchase()).toMatchObject({ review_reason: 'amount_mismatch', paid_at: null })
    const rest = stripe.refund(payment, { status: 'pending' })
    await shop.billing.sync()
    expect(await purchase()).toMatchObject(closed)
    stripe.endRefund(rest?.id ?? '', 'failed')
    await shop.deliverEvents()
    expect(await purchase()).toMatchObject({ status: 'pending', review_reason: 'amount_mismatch' })
    expect(await shop.entries()).toEqual([])
  })

  it('is refunded by the operator', async () => {
    const { purchase_id, session_id, purchase } = await inReview()
    expect(await shop.billing.refund(shop.workspaceId, purchase_id)).toMatchObject(closed)
    expect(await purchase()).toMatchObject(closed)
    expect(stripe.kept(session_id)).toBe(0)
    expect(await shop.entries()).toEqual([])
  })
})
