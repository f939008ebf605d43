import { units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { Synced } from './sync-purchase.ts'

/**
 * Ends a purchase that came to no session before its time was over: its process died, and nobody was told where to pay.
 * Null where it is none of those, not over yet, or changed since it was read.
 */
export async function expireUnopened(
  { storage, runtime }: { storage: Storage; runtime: Pick<Runtime, 'now'> },
  purchase: PurchaseRow,
): Promise<Synced | null> {
  const { status, session_id, expires_at, version } = purchase
  const updated_at = runtime.now()
  if (status !== 'pending' || session_id !== null) return null
  if (expires_at === null || expires_at > updated_at) return null
  const change = { status: 'expired', updated_at } as const
  const isOurs = await storage.write(({ purchases }) => purchases.change(purchase, change))
  if (!isOurs) return null
  return {
    before: purchase,
    after: { ...purchase, ...change, version: version + 1 },
    credits: units(0),
  }
}
