import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { testRuntime } from '../fixtures.ts'
import { createLocalStripe } from './local-stripe.ts'
import { openShop } from './shop.ts'

/** A shop on a SQLite file of its own, and the Stripe that it asks over HTTP. */
export type Stage = Awaited<ReturnType<typeof openStage>>

export async function openStage(seed: string) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-stripe-'))
  const errors: object[] = []
  const clock = testRuntime(seed)
  const error = (fields: object) => {
    errors.push(fields)
  }
  const runtime = { ...clock, log: { ...clock.log, error } }
  const storage = openSqlite(join(folder, 'svc.db'), runtime)
  const stripe = createLocalStripe({ now: runtime.now })
  const api_url = await stripe.listen()
  const shop = await openShop(stripe, storage, { runtime, api_url })
  return {
    runtime,
    /** What was logged as an error. */
    errors,
    storage,
    stripe,
    shop,
    async close() {
      await stripe.close()
      await storage.close()
      await rm(folder, { recursive: true })
    },
    /** A purchase that was paid, and what Stripe told of it was heard. */
    async paid() {
      const { session_id, purchase_id } = await shop.buy()
      stripe.pay(session_id)
      await shop.hear()
      return { session_id, purchase_id, payment: shop.paymentOf(session_id) }
    },
  }
}

/** What a starter package brings in micro-credits, bonus included, and what it costs in cents. */
export const CREDITS = 1_000_000_001
export const PRICE = 3_000

/** What is left when so many cents went back: a share of them, rounded in the workspace's favour. */
export function leftAfter(cents: number): number {
  return CREDITS - Math.floor((CREDITS * cents) / PRICE)
}
