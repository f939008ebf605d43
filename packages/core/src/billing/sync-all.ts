import { invalid } from '../contract/errors.ts'
import { type Units, units } from '../contract/fields/units.ts'
import type { PurchaseRow } from '../rows/rows.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { PurchaseStatus } from '../storage/ports/stores.ts'
import type { CheckoutParts } from './checkout.ts'
import { createSyncPurchase, type Synced } from './sync-purchase.ts'

/** Selects the purchases to compare. */
export interface SyncOptions {
  /** Compares purchases that began at this time or later. Default: the purchases of the last 30 days. */
  since?: Date | undefined
  /** Compares the purchases of this workspace. Default: every workspace. */
  workspaceId?: string | undefined
  onProgress?: ((progress: SyncProgress) => void) | undefined
}

/** The progress of a run. */
export interface SyncProgress {
  done: number
  /** The number of purchases at the start. */
  total: number
}

/** A purchase that differed from its payment. */
export interface SyncChange {
  workspace_id: string
  purchase_id: string
  was: PurchaseStatus
  status: PurchaseStatus
  /** The booked credits; negative when credits were taken. */
  credits: Units
  /** The reason why an operator must review the purchase, or null. */
  review_reason: string | null
}

/** The result of a run. */
export interface SyncReport {
  /** The number of purchases that were compared with their payments, or that expired without a session. */
  looked: number
  changed: SyncChange[]
  /** Purchases that did not change, because the query to the provider failed or the provider does not know the payment. */
  failed: { workspace_id: string; purchase_id: string; error: string }[]
}

const DAY_MS = 24 * 60 * 60_000
const SINCE_MS = 30 * DAY_MS
/** The number of concurrent requests to the provider, far below the limits of payment providers. */
const AT_ONCE = 4
const PAGE = 100

/**
 * Compares purchases with their payments, unpaid purchases first, and repairs differences that no notification reported.
 * Purchases without a session expire.
 * @throws SvcError `validation_error` when no payment provider is configured.
 */
export function createSyncAll({
  storage,
  runtime,
  payments,
}: Omit<CheckoutParts, 'packages'>): (options?: SyncOptions) => Promise<SyncReport> {
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
        // A pending purchase that was settled meanwhile is read again with the purchases that are not pending.
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

/**
 * Expires a purchase whose process died before it stored a session, so that no payer could pay. Returns null if the
 * purchase is not pending or has a session, if it can still be paid, or if it changed since it was read.
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

/** Calls `perform` for each item, for at most four items at the same time. */
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
