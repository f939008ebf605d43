import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createStripePayments } from '../../src/billing/stripe.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'
import { readForm } from './form.ts'
import { createLocalStripe, type LocalStripe } from './local-stripe.ts'
import { openShop, type Shop } from './shop.ts'

const REFUSED = { code: 'insufficient_credits', message: 'Credit purchase failed' }

let folder: string
let storage: Storage
let runtime: TestRuntime
let stripe: LocalStripe
let api_url: string
let shop: Shop
beforeEach(async () => {
  folder = await migratedFolder('svc-stripe-')
  runtime = testRuntime('stripe checkout')
  storage = openSqlite(join(folder, 'svc.db'), runtime)
  stripe = createLocalStripe({ now: runtime.now })
  api_url = await stripe.listen()
  shop = await openShop(stripe, storage, { runtime, api_url })
})
afterEach(async () => {
  await stripe.close()
  await storage.close()
  await rm(folder, { recursive: true })
})

describe('opening a session', () => {
  it('sends the price of our row, and our ids for the session and its payment', async () => {
    const { purchase_id, session_id, checkout_url, expires_at } = await shop.buy()
    expect(checkout_url).toBe(`https://checkout.stripe.example/c/pay/${session_id}`)
    const { workspaceId: workspace_id } = shop
    const [call] = stripe.calls
    expect(call).toMatchObject({ method: 'POST', path: '/v1/checkout/sessions' })
    expect(call?.headers).toMatchObject({
      authorization: 'Bearer sk_test_local',
      'idempotency-key': `checkout:${purchase_id}`,
      'stripe-version': '2026-10-28.endive',
    })
    expect(call?.headers).not.toHaveProperty('x-stripe-client-telemetry')
    expect(readForm(call?.body ?? '')).toEqual({
      mode: 'payment',
      client_reference_id: purchase_id,
      metadata: { purchase_id, workspace_id },
      payment_intent_data: { metadata: { purchase_id, workspace_id } },
      line_items: {
        0: {
          quantity: '1',
          price_data: {
            currency: 'usd',
            unit_amount: '3000',
            product_data: { name: 'The starter one: 1000.000001 credits' },
          },
        },
      },
      success_url: 'http://127.0.0.1:3000/pay/{CHECKOUT_SESSION_ID}',
      expires_at: String(expires_at.getTime() / 1000),
      allow_promotion_codes: 'false',
      adaptive_pricing: { enabled: 'false' },
    })
  })

  it('uses the URLs of the request, otherwise our page', async () => {
    const public_url = () => 'https://svc.example'
    const { billing, workspaceId } = await openShop(stripe, storage, { runtime, public_url })
    const success_url = 'https://shop.example/paid'
    const cancel_url = 'https://shop.example/cart'
    const urls = { success_url, cancel_url }
    for (const request of [{}, urls]) {
      await billing.checkout(workspaceId, { package_id: 'starter', ...request })
    }
    expect([...stripe.sessions.values()]).toMatchObject([
      { success_url: 'https://svc.example/pay/{CHECKOUT_SESSION_ID}', cancel_url: null },
      urls,
    ])
  })

  it.each([
    ['yen', 'jpy', 999],
    ['dinar', 'kwd', 12_340],
  ])('does not convert the price in %s', async (package_id, currency, amount_total) => {
    const { session_id } = await shop.buy(package_id)
    expect(stripe.sessions.get(session_id)).toMatchObject({ currency, amount_total })
  })

  it('returns the session that was opened before the connection broke', async () => {
    stripe.fail('drop_after', 'drop_after')
    await expect(shop.buy('starter', 'key')).rejects.toMatchObject(REFUSED)
    const { session_id } = await shop.buy('starter', 'key')
    expect([...stripe.sessions.keys()]).toEqual([session_id])
  })

  it.each([{ status: 500 }, { status: 503 }, { status: 429 }, { status: 409 }])(
    'is tried again under its key after %j, which says nothing of what was done',
    async (fault) => {
      stripe.fail(fault)
      await expect(shop.buy('starter', 'key')).rejects.toMatchObject(REFUSED)
      const { purchase_id } = await shop.buy('starter', 'key')
      const keys = stripe.calls.map(({ headers }) => headers['idempotency-key'])
      expect(keys).toEqual([`checkout:${purchase_id}`, `checkout:${purchase_id}`])
    },
  )

  it.each([
    { status: 402, code: 'card_declined' },
    { status: 400 },
    { status: 401 },
    { status: 403 },
  ])('fails the purchase and frees its key when Stripe refuses with %j', async (fault) => {
    stripe.fail(fault)
    await expect(shop.buy('starter', 'key')).rejects.toMatchObject(REFUSED)
    const { purchase_id } = await shop.buy('starter', 'key')
    const all = await storage.read.purchases.list({}, { limit: 10, offset: 0 })
    expect(all.map(({ id, status }) => [id, status])).toEqual([
      [purchase_id, 'pending'],
      [expect.any(String), 'failed'],
    ])
  })

  it('fails when Stripe does not answer in time', async () => {
    await stripe.close()
    await expect(shop.buy()).rejects.toMatchObject(REFUSED)
  })
})

describe('keys and secrets', () => {
  const parts = { secret_key: 'sk_test_1', webhook_secrets: ['whsec_1'], now: () => new Date() }

  it.each(['', 'pk_test_1', 'sk_prod_1', 'sk_test_', 'whsec_1'])(
    'refuses the key %j',
    async (secret_key) => {
      await expect(createStripePayments({ ...parts, secret_key })).rejects.toThrow(
        'a secret key of Stripe begins with sk_test_, sk_live_, rk_test_ or rk_live_',
      )
    },
  )

  it.each([[[]], [['']], [['whsec_1', ' ']]])(
    'refuses the signing secrets %j',
    async (webhook_secrets) => {
      await expect(createStripePayments({ ...parts, webhook_secrets })).rejects.toThrow(
        'Stripe needs at least one signing secret, and none may be empty',
      )
    },
  )
})
