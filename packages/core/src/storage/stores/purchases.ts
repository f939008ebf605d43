import { and, count, desc, eq, gte, isNotNull, ne, or } from 'drizzle-orm'
import type { Slice } from '../../contract/endpoints/paging.ts'
import type { Db } from '../../rows/dialect.ts'
import type { PurchaseRow } from '../../rows/rows.ts'
import type { Tables } from '../../rows/tables.ts'

import { isAfter } from './queries.ts'

/** The last known status of a purchase. */
export type PurchaseStatus = 'pending' | 'paid' | 'failed' | 'expired' | 'refunded' | 'disputed'

/** Selects purchases; an absent field does not restrict the list. */
export interface WhichPurchases {
  workspace_id?: string | undefined
  status?: PurchaseStatus | undefined
  /** Only purchases that an operator must review. */
  in_review?: boolean | undefined
  /** The id of a purchase, or that of its session or payment at the payment provider. */
  named?: string | undefined
}

/** Selects a provider's purchases since a time: with a session, or pending without a session. */
export interface BegunPurchases {
  provider: string
  since: Date
  workspace_id?: string | undefined
}

/** The columns that change after a purchase is made. */
export type PurchaseChange = Partial<
  Pick<
    PurchaseRow,
    'status' | 'session_id' | 'payment_id' | 'checkout_url' | 'review_reason' | 'paid_at'
  >
> &
  Pick<PurchaseRow, 'updated_at'>

export function purchaseStore(db: Db, { purchases: t }: Tables) {
  const begunIn = ({ provider, since, workspace_id }: BegunPurchases) =>
    and(
      eq(t.provider, provider),
      or(isNotNull(t.session_id), eq(t.status, 'pending')),
      gte(t.created_at, since),
      workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id),
    )

  return {
    reads: {
      async byId(workspaceId: string, purchaseId: string): Promise<PurchaseRow | null> {
        const mine = and(eq(t.workspace_id, workspaceId), eq(t.id, purchaseId))
        const [row] = await db.select().from(t).where(mine)
        return row ?? null
      },
      /** Searches all workspaces: a payment provider names only its own session. */
      async bySession(sessionId: string): Promise<PurchaseRow | null> {
        const [row] = await db.select().from(t).where(eq(t.session_id, sessionId))
        return row ?? null
      },
      /** Searches all workspaces: a payment provider names only its own payment. */
      async byPayment(paymentId: string): Promise<PurchaseRow | null> {
        const [row] = await db.select().from(t).where(eq(t.payment_id, paymentId))
        return row ?? null
      },
      /** Returns the oldest first: either the pending purchases or all others. `after`: only later purchases. */
      async begun(
        which: BegunPurchases,
        {
          is_pending,
          after,
          limit,
        }: {
          is_pending: boolean
          after: Pick<PurchaseRow, 'created_at' | 'id'> | null
          limit: number
        },
      ): Promise<PurchaseRow[]> {
        const isLater = isAfter([t.created_at, t.id], after && [after.created_at, after.id])
        const status = is_pending ? eq(t.status, 'pending') : ne(t.status, 'pending')
        return db
          .select()
          .from(t)
          .where(and(begunIn(which), status, isLater))
          .orderBy(t.created_at, t.id)
          .limit(limit)
      },
      /** The number of these purchases, on all pages. */
      async countBegun(which: BegunPurchases): Promise<number> {
        const [row] = await db.select({ count: count() }).from(t).where(begunIn(which))
        return row?.count ?? 0
      },
      /** Returns the newest first, from every workspace by default. */
      async list(
        { workspace_id, status, in_review, named }: WhichPurchases,
        { limit, offset }: Slice,
      ): Promise<PurchaseRow[]> {
        const which = and(
          workspace_id === undefined ? undefined : eq(t.workspace_id, workspace_id),
          status === undefined ? undefined : eq(t.status, status),
          in_review ? isNotNull(t.review_reason) : undefined,
          named === undefined
            ? undefined
            : or(eq(t.id, named), eq(t.session_id, named), eq(t.payment_id, named)),
        )
        const newestFirst = [desc(t.created_at), desc(t.id)]
        return db
          .select()
          .from(t)
          .where(which)
          .orderBy(...newestFirst)
          .limit(limit)
          .offset(offset)
      },
    },
    writes: {
      async insert(purchase: PurchaseRow): Promise<void> {
        await db.insert(t).values(purchase)
      },
      /**
       * Changes the purchase and raises its version, if the version is still `read.version`. Returns false, and writes
       * nothing, if the purchase changed meanwhile.
       */
      async change(
        { workspace_id, id, version }: Pick<PurchaseRow, 'workspace_id' | 'id' | 'version'>,
        change: PurchaseChange,
      ): Promise<boolean> {
        const changed = await db
          .update(t)
          .set({ ...change, version: version + 1 })
          .where(and(eq(t.workspace_id, workspace_id), eq(t.id, id), eq(t.version, version)))
          .returning({ id: t.id })
        return changed.length === 1
      },
    },
  }
}
