import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { LedgerOpeningRow } from '../rows/rows.ts'
import type { Entry } from '../rules/decide.ts'

/** An opening without its signature. */
export type UnsignedOpening = Omit<LedgerOpeningRow, 'signature'>

/** The hash of the chain of a workspace before its first entry: lowercase hex of a SHA-256. */
export function startOfChain(workspaceId: string): string {
  return sha256(`svc ledger\n${workspaceId}`)
}

/** The hash of a chain with one more entry: the SHA-256 of the hash before, a line break, and the entry as JSON. */
export function nextOfChain(hash: string, entry: Entry): string {
  return sha256(`${hash}\n${canonicalOf(entry)}`)
}

/** An entry as a JSON array of its columns, in this order; amounts in micro-credits, the time in ISO 8601. */
function canonicalOf(entry: Entry): string {
  return JSON.stringify([
    entry.workspace_id,
    entry.seq,
    entry.id,
    entry.kind,
    entry.amount,
    entry.held_delta,
    entry.balance_after,
    entry.held_after,
    entry.counter_account,
    entry.ref_type,
    entry.ref_id,
    entry.ref_n,
    entry.channel,
    entry.quantity,
    entry.unit_price,
    entry.resolves,
    entry.actor,
    entry.description,
    entry.created_at.toISOString(),
  ])
}

/** The signature of an opening: HMAC-SHA-256 of all its columns, as lowercase hex. */
export function signatureOf(key: string, opening: UnsignedOpening): string {
  const sums = opening.sums.map((sum) => [
    ...[sum.kind, sum.ref_type, sum.counter_account],
    ...[sum.entries, sum.amount, sum.held_delta],
  ])
  const text = JSON.stringify([
    'svc ledger opening',
    opening.workspace_id,
    opening.id,
    opening.seq,
    opening.balance,
    opening.held,
    opening.entries,
    opening.amount,
    opening.held_delta,
    opening.charged,
    opening.refunded,
    opening.charged_bulks,
    sums,
    opening.hash,
    opening.kept,
    opening.kept_hash,
    opening.last_at.toISOString(),
    opening.folded_at.toISOString(),
  ])
  return createHmac('sha256', key).update(text).digest('hex')
}

/** Whether the signature of an opening is valid under a key. */
export function isSigned(key: string, { signature, ...opening }: LedgerOpeningRow): boolean {
  const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(key, opening))]
  return given.length === right.length && timingSafeEqual(given, right)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
