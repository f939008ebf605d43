import { and, asc, eq, gt, isNotNull, isNull, ne, or, sql } from 'drizzle-orm'
import type { Units } from '../../contract/fields/units.ts'
import type { Db } from '../../rows/dialect.ts'
import type { Tables } from '../../rows/tables.ts'
import { type Account, availableOf } from '../../rules/decide.ts'

/** The balance of a workspace when it fell below the threshold. */
export interface LowBalance {
  workspace_id: string
  available: Units
  threshold: Units
}

export function lowBalanceStore(
  db: Db,
  { credit_accounts: t }: Tables,
  { locked }: { locked: <Q>(query: Q) => Q },
) {
  const { workspace_id, balance, held, low_balance } = t
  // The condition is a literal: with a parameter, no engine uses the partial index.
  const isDue = sql`${t.low_state} = 'due'`
  const isOther = (threshold: Units | null) =>
    threshold === null
      ? isNotNull(low_balance)
      : or(isNull(low_balance), ne(low_balance, threshold))
  /** An account above the new threshold is no longer low, whatever the old threshold was. */
  const under = (threshold: Units | null, at: Date) => ({
    low_balance: threshold,
    low_state:
      threshold === null
        ? ('no' as const)
        : sql<
            Account['low_state']
          >`case when ${balance} - ${held} >= ${threshold} then 'no' else ${t.low_state} end`,
    updated_at: at,
  })
  return {
    reads: {
      /** At most `limit` workspaces whose owners must be notified, sorted by id, with ids above `after`. */
      async due(limit: number, after?: string): Promise<string[]> {
        const behind = after === undefined ? undefined : gt(workspace_id, after)
        const found = db.select({ workspace_id }).from(t).where(and(isDue, behind))
        return (await found.orderBy(asc(workspace_id)).limit(limit)).map((row) => row.workspace_id)
      },
    },
    writes: {
      /** Records that the owner is notified. Returns each fall below the threshold to one caller; others get null. */
      async claimNotice(workspaceId: string): Promise<LowBalance | null> {
        const [row] = await db
          .update(t)
          .set({ low_state: 'told' })
          .where(and(eq(workspace_id, workspaceId), isDue))
          .returning({ balance, held, threshold: low_balance })
        if (!row || row.threshold === null) return null
        return { workspace_id: workspaceId, available: availableOf(row), threshold: row.threshold }
      },
      /**
       * Gives a workspace its own threshold; null for none. If the value is the current one, nothing changes: a default
       * stays a default. A threshold above the current balance does not notify the owner: only a later fall below the
       * threshold does.
       */
      async set(workspaceId: string, threshold: Units | null, at: Date): Promise<void> {
        await db
          .update(t)
          .set({ ...under(threshold, at), low_balance_default: false })
          .where(and(eq(workspace_id, workspaceId), isOther(threshold)))
      },
      /** Gives every workspace without its own threshold the service's default. */
      async setDefault(threshold: Units | null, at: Date): Promise<void> {
        const others = and(eq(t.low_balance_default, true), isOther(threshold))
        // Locks accounts in the same order as all transactions, which prevents deadlocks.
        await locked(db.select({ workspace_id }).from(t).where(others).orderBy(asc(workspace_id)))
        await db.update(t).set(under(threshold, at)).where(others)
      },
    },
  }
}
