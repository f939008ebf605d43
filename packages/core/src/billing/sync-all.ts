import { invalid } from '../contract/errors.ts'
import type { Units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { PurchaseStatus } from '../storage/ports/billing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { expireUnopened } from './expire-unopened.ts'
import type { PaymentProvider } from './payment.ts'
import { createSyncPurchase, type Synced } from './sync-purchase.ts'

/** Which purchases are looked at again, and who is told how far that is. */
export interface SyncOptions {
  /** The oldest purchases that are looked at; those of the last 30 days unless told. */
  since?: Date | undefined
  /** Only those of this workspace. */
  workspaceId?: string | undefined
  onProgress?: ((progress: SyncProgress) => void) | undefined
}

/** How far a run is. */
export interface SyncProgress {
  done: number
  /** How many purchases there were when it began. */
  total: number
}

/** A purchase that was not what its payment is worth. */
export interface SyncChange {
  workspace_id: string
  purchase_id: string
  was: PurchaseStatus
  status: PurchaseStatus
  /** What was booked: below zero where credits were taken. */
  credits: Units
  /** Why an operator should look at it, if he should. */
  review_reason: string | null
}

/** What a run found. */
export interface SyncReport {
  /** How many purchases were compared with their payments, or had come to none and are over. */
  looked: number
  changed: SyncChange[]
  /** Those about which the provider could not be asked, or knows nothing: they are as they were. */
  failed: { workspace_id: string; purchase_id: string; error: string }[]
}

const DAY_MS = 24 * 60 * 60_000
const SINCE_MS = 30 * DAY_MS
/** Payment providers allow far more; a repair is in no hurry. */
const AT_ONCE = 4
const PAGE = 100

/**
 * Looks at every purchase of a time once more, those first that nobody has paid yet, and repairs what notifications did
 * not tell us; those that never came to a session expire.
 * @throws SvcError `validation_error` where no payment is taken.
 */
export function createSyncAll({
  storage,
  runtime,
  payments,
}: {
  storage: Storage
  runtime: Runtime
  payments: PaymentProvider | null
}): (options?: SyncOptions) => Promise<SyncReport> {
  return async ({ since, workspaceId, onProgress = () => {} } = {}) => {
    if (!payments) throw invalid('payments', 'No payment provider is configured')
    const syncPurchase = createSyncPurchase({ storage, runtime, payments })
    const window = {
      provider: payments.name,
      since: since ?? new Date(runtime.now().getTime() - SINCE_MS),
      workspace_id: workspaceId,
    }
    const report: SyncReport = { looked: 0, changed: [], failed: [] }
    const { purchases } = storage.read
    const total = await purchases.countBegun(window)
    let done = 0

    async function look(purchase: PurchaseRow): Promise<void> {
      const named = { workspace_id: purchase.workspace_id, purchase_id: purchase.id }
      try {
        const isOpened = purchase.session_id !== null
        const synced = isOpened
          ? await syncPurchase(purchase)
          : await expireUnopened({ storage, runtime }, purchase)
        if (!synced && isOpened) throw new Error('the payment provider knows nothing of it')
        if (synced) report.looked += 1
        const change = synced && changeOf(synced)
        if (change) report.changed.push(change)
      } catch (error) {
        report.failed.push({ ...named, error: messageOf(error) })
        runtime.log.warn(
          { err: error, ...named },
          'a purchase could not be compared with its payment',
        )
      }
      done += 1
      onProgress({ done, total: Math.max(done, total) })
    }

    onProgress({ done, total })
    const seen = new Set<string>()
    for (const is_pending of [true, false]) {
      let after: PurchaseRow | null = null
      do {
        const page: PurchaseRow[] = await purchases.begun(window, {
          is_pending,
          after,
          limit: PAGE,
        })
        after = page.length === PAGE ? (page.at(-1) ?? null) : null
        // A pending one that was settled on the way would come again among the others.
        await eachOf(
          page.filter(({ id }) => !seen.has(id)),
          look,
        )
        if (is_pending) for (const { id } of page) seen.add(id)
      } while (after)
    }
    return report
  }
}

/** Does it for all, a few at a time. */
async function eachOf<T>(all: readonly T[], perform: (one: T) => Promise<void>): Promise<void> {
  const waiting = all.values()
  const worker = async () => {
    for (const one of waiting) await perform(one)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

function changeOf({ before, after, credits }: Synced): SyncChange | null {
  const { status, review_reason } = after
  const isSame = status === before.status && review_reason === before.review_reason
  if (isSame && credits === 0) return null
  const { workspace_id, id: purchase_id } = before
  return { workspace_id, purchase_id, was: before.status, status, credits, review_reason }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
