import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { testRuntime } from '../fixtures.ts'
import { makeMigratedFile } from '../migrated-file.ts'
import { createLocalStripe } from './local-stripe.ts'
import { openShop } from './shop.ts'

/** A shop with its own SQLite file, and its simulated Stripe over HTTP. */
export type Stage = Awaited<ReturnType<typeof openStage>>

export async function openStage(seed: string) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-stripe-'))
  const errors: object[] = []
  const clock = testRuntime(seed)
  const error = (fields: object) => {
    errors.push(fields)
  }
  const runtime = { ...clock, log: { ...clock.log, error } }
  const file = join(folder, 'svc.db')
  await makeMigratedFile(file)
  const storage = openSqlite(file, runtime)
  const stripe = createLocalStripe({ now: runtime.now })
  const api_url = await stripe.listen()
  const shop = await openShop(stripe, storage, { runtime, api_url })
  return {
    runtime,
    /** The logged errors. */
    errors,
    storage,
    stripe,
    shop,
    async close() {
      await stripe.close()
      await storage.close()
      await rm(folder, { recursive: true })
    },
    /** A paid purchase whose events were delivered. */
    async paid() {
      const { session_id, purchase_id } = await shop.buy()
      stripe.pay(session_id)
      await shop.deliverEvents()
      return { session_id, purchase_id, payment: shop.paymentOf(session_id) }
    },
  }
}

/** The credits of a starter package in micro-credits, including the bonus, and its price in cents. */
export const CREDITS = 1_000_000_001
export const PRICE = 3_000

/** The remaining credits after a refund of `cents`, rounded in the workspace's favour. */
export function leftAfter(cents: number): number {
  return CREDITS - Math.floor((CREDITS * cents) / PRICE)
}
