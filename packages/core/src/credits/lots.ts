import type { Units } from '../contract/fields/units.ts'
import type { LotRow } from '../rows/rows.ts'
import { availableOf, type Entry, type Operation, UNPRICED } from '../rules/decide.ts'
import { burn, CONSUMING, expiring } from '../rules/lots.ts'
import type { Log, Runtime } from '../runtime/runtime.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'
import type { Overdue } from '../storage/ports/stores.ts'

/**
 * Subtracts the credits consumed up to the entry `seq` from the open lots. Returns the lots in the order in which they are
 * consumed. The caller holds the account's lock. `seq` is the account's last entry, or an older one whose message has ended.
 */
export async function countLots(
  { creditLots }: Pick<Writes, 'creditLots'>,
  workspaceId: string,
  seq: number,
): Promise<LotRow[]> {
  const lots = await creditLots.open(workspaceId)
  const [first] = lots
  if (!first) return []
  const span = { after: first.counted_seq, up_to: seq, kinds: CONSUMING }
  const counted = burn(lots, await creditLots.consumed(workspaceId, span))
  const changed = counted.filter((lot) => !lots.includes(lot))
  await creditLots.recount(workspaceId, seq, changed)
  return counted
}

/** Opens the lot of a grant that is the account's last entry. The caller holds the account's lock. */
export async function openLot(
  stores: Pick<Writes, 'creditLots'>,
  { workspace_id, id, amount, seq, created_at }: Entry,
  expires_at: Date,
): Promise<void> {
  await countLots(stores, workspace_id, seq)
  await stores.creditLots.insert({
    workspace_id,
    id,
    amount,
    remaining: amount,
    granted_seq: seq,
    counted_seq: seq,
    expires_at,
    ended_at: null,
    created_at,
  })
}

/**
 * Ends the lots that expired by `now` and returns their number. If remaining credits of a lot are available, books an
 * `expire` entry for them. Reads `limit` lots at a time, and uses one transaction for each workspace.
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
    ...UNPRICED,
    id,
    kind: 'expire',
    amount: -amount as Units,
    counter_account: 'breakage',
    reference: { type: 'lot', id: lot.id, n: 0 },
    actor: null,
    description: null,
    at,
  }
}

/**
 * Calls `work` with pages of at most `limit` overdue rows until no row is left or `isStopping` returns true, and returns the
 * sum of the results. Each page starts after the last row of the previous page, so that failing rows do not block the others.
 */
export async function eachPage<T extends Overdue>(
  {
    read,
    limit,
    isStopping,
  }: {
    read: (page: { after: Overdue | null; limit: number }) => Promise<T[]>
    limit: number
    isStopping: () => boolean
  },
  work: (rows: T[]) => Promise<number>,
): Promise<number> {
  let done = 0
  let after: Overdue | null = null
  while (!isStopping()) {
    const rows: T[] = await read({ after, limit })
    done += await work(rows)
    after = rows.at(-1) ?? null
    if (rows.length < limit) break
  }
  return done
}

/**
 * Calls `work` with the rows of each workspace and returns the sum of its results. An error of one workspace is logged
 * and does not stop the others; the next call retries the rows of that workspace.
 */
export async function eachWorkspace<T extends { workspace_id: string }>(
  rows: readonly T[],
  log: Log,
  work: (workspaceId: string, rows: T[]) => Promise<number>,
): Promise<number> {
  let done = 0
  for (const workspaceId of new Set(rows.map(({ workspace_id }) => workspace_id))) {
    const own = rows.filter(({ workspace_id }) => workspace_id === workspaceId)
    try {
      done += await work(workspaceId, own)
    } catch (error) {
      log.error({ err: error, workspace_id: workspaceId }, 'overdue credits could not be booked')
    }
  }
  return done
}
