import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createBilling } from '../../src/billing/billing.ts'
import type { SyncProgress } from '../../src/billing/sync-all.ts'
import { expireUnopened } from '../../src/billing/sync-all.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'
import { createLocalStripe, type LocalStripe } from './local-stripe.ts'
import { openShop, PACKAGES, type Shop } from './shop.ts'

const CREDITS = 1_000_000_001
const DAY_MS = 24 * 60 * 60_000

let folder: string
let storage: Storage
let runtime: TestRuntime
let stripe: LocalStripe
let shop: Shop
beforeEach(async () => {
  folder = await migratedFolder('svc-stripe-')
  runtime = testRuntime('stripe sync')
  storage = openSqlite(join(folder, 'svc.db'), runtime)
  stripe = createLocalStripe({ now: runtime.now })
  shop = await openShop(stripe, storage, { runtime })
})
afterEach(async () => {
  await storage.close()
  await rm(folder, { recursive: true })
})

const NOTHING = { looked: 0, changed: [], failed: [] }

it('grants and takes credits without notifications, and changes nothing the second time', async () => {
  const bought = [await shop.buy(), await shop.buy(), await shop.buy(), await shop.buy()]
  const [paid, refunded, expired, open] = bought.map(({ session_id }) => session_id)
  if (!paid || !refunded || !expired || !open) throw new Error('a purchase is missing')
  stripe.pay(refunded)
  await shop.deliverEvents()
  stripe.pay(paid)
  stripe.refund(shop.paymentOf(refunded))
  stripe.expire(expired)
  const { workspaceId: workspace_id } = shop
  const rest = { workspace_id, review_reason: null }
  const ids = bought.map(({ purchase_id }) => purchase_id)
  const progress: SyncProgress[] = []
  const report = await shop.billing.sync({ onProgress: (at) => progress.push(at) })
  // Unpaid purchases come first.
  expect({ ...report, changed: new Set(report.changed) }).toEqual({
    looked: 4,
    failed: [],
    changed: new Set([
      { ...rest, purchase_id: ids[0], was: 'pending', status: 'paid', credits: CREDITS },
      { ...rest, purchase_id: ids[2], was: 'pending', status: 'expired', credits: 0 },
      { ...rest, purchase_id: ids[1], was: 'paid', status: 'refunded', credits: -CREDITS },
    ]),
  })
  expect(report.changed.at(-1)?.purchase_id).toBe(ids[1])
  expect(progress).toEqual([0, 1, 2, 3, 4].map((done) => ({ done, total: 4 })))
  expect(await shop.balance()).toBe(CREDITS)
  expect(await shop.billing.sync()).toEqual({ ...NOTHING, looked: 4 })
})

it('compares thirty days or a given time, of one workspace or all', async () => {
  const old = await shop.buy()
  stripe.pay(old.session_id)
  const since = runtime.now()
  runtime.advance(31 * DAY_MS)
  const other = await openShop(stripe, storage, { runtime })
  const recent = await other.buy()
  stripe.pay(recent.session_id)
  const { sync } = shop.billing
  expect(await sync({ workspaceId: shop.workspaceId })).toEqual(NOTHING)
  expect(await sync()).toMatchObject({ looked: 1, changed: [{ purchase_id: recent.purchase_id }] })
  const { workspaceId } = shop
  expect(await sync({ since, workspaceId })).toMatchObject({
    looked: 1,
    changed: [{ purchase_id: old.purchase_id }],
  })
  expect(await sync({ since })).toEqual({ ...NOTHING, looked: 2 })
  expect(await sync({ since: new Date(since.getTime() + 1) })).toEqual({ ...NOTHING, looked: 1 })
})

it('reports purchases for which Stripe does not answer, and continues', async () => {
  const bought = [await shop.buy(), await shop.buy(), await shop.buy()]
  for (const { session_id } of bought) stripe.pay(session_id)
  const [first, second] = bought.map(({ session_id }) => session_id)
  stripe.faultOf = ({ path }) => (path.includes(`${first}`) ? { status: 500 } : null)
  stripe.sessions.delete(`${second}`)
  const { looked, failed, changed } = await shop.billing.sync()
  const { workspaceId: workspace_id } = shop
  expect([looked, changed.length]).toEqual([1, 1])
  expect(new Set(failed)).toEqual(
    new Set([
      { workspace_id, purchase_id: bought[0]?.purchase_id, error: 'a fault of the test' },
      {
        workspace_id,
        purchase_id: bought[1]?.purchase_id,
        error: 'the payment provider knows nothing of it',
      },
    ]),
  )
  expect(await shop.balance()).toBe(CREDITS)
})

it('compares each purchase once, a few at a time, over many pages', async () => {
  const count = 205
  for (let i = 0; i < count; i++) stripe.pay((await shop.buy()).session_id)
  let [asking, most] = [0, 0]
  const { payments } = shop
  const counting: typeof payments = {
    ...payments,
    async look(payment) {
      asking += 1
      most = Math.max(most, asking)
      const state = await payments.look(payment)
      asking -= 1
      return state
    },
  }
  const { sync } = createBilling({ storage, runtime, packages: PACKAGES, payments: counting })
  const { looked, changed } = await sync()
  expect([looked, changed.length, most]).toEqual([count, count, 4])
  expect(await shop.balance()).toBe(count * CREDITS)
})

it('makes no request for purchases without a session or of another provider', async () => {
  stripe.fail({ status: 500 })
  await expect(shop.buy()).rejects.toThrow('Credit purchase failed')
  await shop.buy()
  const payments = { ...shop.payments, name: 'other' }
  const { sync } = createBilling({ storage, runtime, packages: PACKAGES, payments })
  expect(await sync()).toEqual(NOTHING)
  expect(await shop.billing.sync()).toEqual({ ...NOTHING, looked: 1 })
})

it('expires a purchase without a session when its time is over, unless it gets one meanwhile', async () => {
  stripe.fail({ status: 500 }, { status: 500 })
  await expect(shop.buy('starter', 'lost')).rejects.toThrow('Credit purchase failed')
  await expect(shop.buy('starter', 'kept')).rejects.toThrow('Credit purchase failed')
  const kept = await shop.buy('starter', 'kept')
  const [lost] = await shop.billing
    .purchases({ status: 'pending' }, { limit: 2, offset: 0 })
    .then((pending) => pending.filter(({ session_id }) => session_id === null))
  const ends = lost?.expires_at
  if (!lost || !ends) throw new Error('one has no session')
  runtime.advance(ends.getTime() - runtime.now().getTime() - 1)
  expect(await shop.billing.sync()).toEqual({ ...NOTHING, looked: 1 })
  runtime.advance(1)
  expect(await expireUnopened({ storage, runtime }, { ...lost, version: -1 })).toBeNull()
  expect(await shop.billing.sync()).toEqual({
    looked: 2,
    failed: [],
    changed: [
      {
        workspace_id: shop.workspaceId,
        purchase_id: lost.id,
        was: 'pending',
        status: 'expired',
        credits: 0,
        review_reason: null,
      },
    ],
  })
  expect(await shop.purchase(lost.id)).toMatchObject({ status: 'expired', version: 1 })
  expect(await shop.purchase(kept.purchase_id)).toMatchObject({ status: 'pending' })
  expect(await shop.billing.sync()).toEqual({ ...NOTHING, looked: 1 })
})

it('throws without a payment provider, also for one purchase', async () => {
  const { purchase_id } = await shop.buy()
  const { sync, check } = createBilling({ storage, runtime, packages: PACKAGES, payments: null })
  const fault = { code: 'validation_error', message: 'No payment provider is configured' }
  await expect(sync()).rejects.toMatchObject(fault)
  await expect(check(shop.workspaceId, purchase_id)).rejects.toMatchObject(fault)
  await expect(check(shop.workspaceId, 'unknown')).rejects.toMatchObject({ code: 'not_found' })
})

it('checks no purchase whose payment the provider does not know', async () => {
  stripe.fail({ status: 500 })
  await expect(shop.buy()).rejects.toThrow('Credit purchase failed')
  const [unopened] = await shop.billing.purchases({}, { limit: 1, offset: 0 })
  const { check } = shop.billing
  await expect(check(shop.workspaceId, unopened?.id ?? '')).rejects.toMatchObject({
    code: 'validation_error',
    message: 'The payment provider does not know the payment',
  })
  expect(await storage.read.audit.count(shop.workspaceId, {})).toBe(0)
})
