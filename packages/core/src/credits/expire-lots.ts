import type { Units } from '../contract/fields/units.ts'
import type { LotRow } from '../rows/rows.ts'
import { availableOf, type Operation } from '../rules/decide.ts'
import { expiring } from '../rules/lots.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Overdue } from '../storage/ports/credits.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import { countLots } from './count-lots.ts'
import { eachPage, eachWorkspace } from './overdue.ts'

/**
 * Ends the lots that have expired by `now`, each with an `expire` of what is left of it and available, or with no entry
 * where that is nothing; says how many. At most `limit` at a time, one transaction a workspace.
 */
export async function expireLots(
  { storage, runtime }: { storage: Storage; runtime: Runtime },
  now: Date,
  limit: number,
  isStopping = () => false,
): Promise<number> {
  const read = (page: { after: Overdue | null; limit: number }) =>
    storage.write(({ creditLots }) => creditLots.due(now, page))
  return eachPage({ read, limit, isStopping }, (due) =>
    eachWorkspace(due, runtime.log, (workspaceId, lots) =>
      storage.write((stores) => expireOf(stores, workspaceId, { runtime, now, lots })),
    ),
  )
}

async function expireOf(
  stores: Writes,
  workspaceId: string,
  { runtime, now, lots }: { runtime: Pick<Runtime, 'id'>; now: Date; lots: readonly LotRow[] },
): Promise<number> {
  const { credits, creditLots } = stores
  const account = await credits.lock(workspaceId)
  if (!account) throw new Error(`workspace ${workspaceId} has no credit account`)
  let available = availableOf(account)
  const open = await countLots(stores, workspaceId, account.seq)
  const ids = new Set(lots.map(({ id }) => id))
  const ended = open.filter(({ id }) => ids.has(id))
  for (const lot of ended) {
    const amount = expiring(lot, available)
    if (amount > 0) {
      const posted = await credits.post(
        workspaceId,
        expireOperation(runtime.id(), lot, amount, now),
      )
      if (!posted.ok || 'repeated' in posted) throw new Error(`lot ${lot.id} expired before`)
      available = availableOf(posted.account)
    }
    await creditLots.end(workspaceId, lot.id, now)
  }
  return ended.length
}

function expireOperation(id: string, lot: LotRow, amount: Units, at: Date): Operation {
  return {
    id,
    kind: 'expire',
    amount: -amount as Units,
    held_delta: 0 as Units,
    counter_account: 'breakage',
    reference: { type: 'lot', id: lot.id, n: 0 },
    channel: null,
    quantity: null,
    unit_price: null,
    resolves: null,
    actor: null,
    description: null,
    at,
  }
}
