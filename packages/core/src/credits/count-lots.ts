import type { LotRow } from '../rows/rows.ts'
import type { Entry } from '../rules/decide.ts'
import { burn, CONSUMING } from '../rules/lots.ts'
import type { Writes } from '../storage/ports/storage.ts'

/**
 * Counts what was consumed up to the account's last entry, `seq`, off the open lots, and answers them in burn order.
 * The caller holds the account's lock.
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

/** Opens the lot of a grant that was posted just now. The caller holds the account's lock. */
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
