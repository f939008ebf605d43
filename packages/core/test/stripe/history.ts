import { expect } from 'vitest'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { testRuntime } from '../fixtures.ts'
import { type Chance, chanceOf } from './chance.ts'
import { createCourier } from './courier.ts'
import { createLocalStripe, type LocalStripe } from './local-stripe.ts'
import { openShop, PACKAGES, type Shop } from './shop.ts'
import { happen } from './world.ts'

const STEPS_MAX = 8
const SENT_AT_ONCE_MAX = 3
/** Few faults, so that a history has successful steps too. */
const CALL_FAULTS_PERCENT = 4
const CRASH_PERCENT = 6
/** The library pauses for half a second after a broken connection. */
const BROKEN_LINE_PERCENT = 2

/**
 * One history of up to two purchases. Steps happen at Stripe, and its events arrive late, twice, in another order, at the
 * same time or never, while calls fail and the process dies before and after writes. At the end every event has arrived
 * at least once, or everything was compared: then the credits match the payments, and they never exceeded the purchases.
 * @throws Error with the seed and the steps.
 */
export async function playHistory(seed: number, storage: Storage): Promise<void> {
  const trace: string[] = []
  try {
    await play(seed, storage, trace)
  } catch (error) {
    throw new Error(`SVC_FUZZ_SEED=${seed}: ${error}\n${trace.join('\n')}`, { cause: error })
  }
}

async function play(seed: number, storage: Storage, trace: string[]): Promise<void> {
  const chance = chanceOf(seed)
  const runtime = testRuntime(`history ${seed}`)
  const stripe = createLocalStripe({ now: runtime.now, name: `${seed}x` })
  let isRough = true
  stripe.travel = async () => {
    for (let i = chance.below(4); i > 0; i--) await turn()
  }
  stripe.faultOf = () => {
    if (!isRough || !chance.percent(CALL_FAULTS_PERCENT)) return null
    if (!chance.percent(BROKEN_LINE_PERCENT)) return { status: chance.pick([429, 500, 503]) }
    return chance.pick(['drop_before', 'drop_after'] as const)
  }
  const dying = mortal(storage, () => isRough && chance.percent(CRASH_PERCENT), chance)
  const shop = await openShop(stripe, storage, { runtime })
  const rough = { ...shop, billing: shop.billingOn(dying) }

  const bought: Bought[] = []
  for (let i = chance.percent(25) ? 2 : 1; i > 0; i--) {
    const { id } = chance.pick(PACKAGES)
    const { session_id } = await retry(() => buy(rough, id, `key ${i}`))
    bought.push({ session_id, package_id: id })
  }

  const losesSome = chance.percent(40)
  const courier = createCourier(stripe, chance, { lost_percent: losesSome ? 40 : 0 })
  const inFlight: Promise<unknown>[] = []
  for (let i = 1 + chance.below(STEPS_MAX); i > 0; i--) {
    const { session_id } = chance.pick(bought)
    trace.push(`${session_id}: ${happen(stripe, session_id, chance) ?? 'nothing'}`)
    inFlight.push(...courier.some(rough.billing.notify, { max: SENT_AT_ONCE_MAX }))
    if (chance.percent(5)) inFlight.push(syncOf(rough).catch(ignore))
    if (chance.percent(30)) await Promise.all(inFlight.splice(0))
    else await stripe.travel()
  }
  isRough = false
  const last = losesSome ? compareAll(shop) : courier.rest(shop.billing.notify)
  await Promise.all([...inFlight, last])
  // Notifications that failed before are sent again.
  if (!losesSome) await courier.rest(shop.billing.notify)
  await expectBalance(shop, bought)
}

/** A purchase of this history. */
interface Bought {
  session_id: string
  package_id: string
}

async function buy({ billing, workspaceId }: Shop, package_id: string, idempotency_key: string) {
  return (await billing.checkout(workspaceId, { package_id }, { idempotency_key })).data
}

/** Compares all purchases with Stripe. Each workspace has its own Stripe. */
function syncOf({ billing, workspaceId }: Shop) {
  return billing.sync({ workspaceId })
}

async function compareAll(shop: Shop): Promise<void> {
  expect((await syncOf(shop)).failed).toEqual([])
}

/** The credits match the movements at Stripe, and the balance was never above the bought credits nor below 0. */
async function expectBalance(shop: Shop, bought: readonly Bought[]): Promise<void> {
  const { stripe, billing } = shop
  let left = 0
  let most = 0
  for (const { session_id, package_id } of bought) {
    const { credits, kept } = worthOf(stripe, session_id, package_id)
    left += kept
    most += credits
    const purchase = await billing.bySession(session_id)
    expect(purchase?.review_reason).toBeNull()
    expect(purchase?.paid_at !== null).toBe(
      stripe.sessions.get(session_id)?.payment_status === 'paid',
    )
    const about = (await shop.entries()).filter(({ ref_id }) => ref_id === purchase?.id)
    expect(about.reduce((sum, { amount }) => sum + amount, 0)).toBe(kept)
    expect(about.filter(({ kind }) => kind === 'purchase').length).toBeLessThanOrEqual(1)
  }
  expect(await shop.balance()).toBe(left)
  for (const { balance_after } of await shop.entries()) {
    expect(balance_after).toBeGreaterThanOrEqual(0)
    expect(balance_after).toBeLessThanOrEqual(most)
  }
}

/** The credits of a purchase, computed only from the movements at Stripe. */
function worthOf(stripe: LocalStripe, sessionId: string, packageId: string) {
  const bought = PACKAGES.find(({ id }) => id === packageId)
  if (!bought) throw new Error(`there is no package ${packageId}`)
  const credits = bought.credits + bought.bonus_credits
  const { amount } = bought.price
  const back = BigInt(amount - Math.max(0, stripe.kept(sessionId)))
  return { credits, kept: credits - Number((BigInt(credits) * back) / BigInt(amount)) }
}

/** A storage whose process dies at random, before or after a write is stored. */
function mortal(storage: Storage, dies: () => boolean, chance: Chance): Storage {
  return {
    ...storage,
    async write(work) {
      if (!dies()) return storage.write(work)
      if (chance.percent(50)) await storage.write(work)
      throw new Error('the process died')
    },
  }
}

/** Repeats the request until it succeeds, as a client with an idempotency key does. */
async function retry<T>(request: () => Promise<T>): Promise<T> {
  for (let i = 0; i < 50; i++) {
    try {
      return await request()
    } catch {
      await turn()
    }
  }
  throw new Error('the request failed 50 times')
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const ignore = () => {}
