import type { Units } from '../contract/fields/units.ts'
import type { EntrySum } from '../rows/credits.ts'
import type { LedgerOpeningRow } from '../rows/rows.ts'
import type { Entry } from './decide.ts'

/** The name of the service's secret that signs openings. */
export const LEDGER_SECRET = 'ledger'

type Opening = Omit<LedgerOpeningRow, 'signature'>

/** An opening that replaces nothing. `hash` is that of an empty chain. */
export function newOpening(workspace_id: string, id: string, hash: string): Opening {
  return {
    ...{ workspace_id, id, seq: 0, balance: 0 as Units, held: 0 as Units },
    ...{ entries: 0, amount: 0, held_delta: 0, charged: 0, refunded: 0, charged_bulks: 0 },
    ...{ sums: [], hash, kept: 0, kept_hash: hash, last_at: new Date(0), folded_at: new Date(0) },
  }
}

/** What decides which entries an opening replaces. */
export interface Folding {
  /** The highest id of a removed message or bulk. */
  last_id: string
  /** The messages and bulks of these entries that exist. */
  there: { message: ReadonlySet<unknown>; bulk: ReadonlySet<unknown> }
  /** The hash of a chain with one more entry. */
  chain: (hash: string, entry: Entry) => string
  at: Date
}

/** Whether an entry follows from the one before it, or from the opening, in number, balance and held credits. */
export function isNextEntry(
  before: Pick<Entry, 'seq' | 'balance_after' | 'held_after'> | null,
  { seq, amount, held_delta, balance_after, held_after }: Entry,
  opening: { seq: number; balance: number; held: number },
): boolean {
  const {
    seq: last,
    balance_after: balance,
    held_after: held,
  } = before ?? {
    ...{ seq: opening.seq, balance_after: opening.balance, held_after: opening.held },
  }
  return seq === last + 1 && balance_after === balance + amount && held_after === held + held_delta
}

/**
 * The opening with further entries, and the numbers of the entries that it replaces. An entry of a purchase, a grant, an
 * adjustment or an expiry is kept, because repetitions, refunds and disputes refer to it; so is an entry whose message or
 * bulk exists.
 */
export function extended(
  opening: Opening,
  entries: readonly Entry[],
  { last_id, there, chain, at }: Folding,
): { opening: Opening; gone: number[] } {
  const next = { ...opening, sums: opening.sums.map((sum) => ({ ...sum })), folded_at: at }
  const gone: number[] = []
  for (const entry of entries) {
    next.seq = entry.seq
    next.balance = entry.balance_after
    next.held = entry.held_after
    next.last_at = entry.created_at
    next.hash = chain(next.hash, entry)
    if (!isReplaced(entry, last_id, there)) {
      next.kept += 1
      next.kept_hash = chain(next.kept_hash, entry)
      continue
    }
    gone.push(entry.seq)
    next.entries += 1
    next.amount += entry.amount
    next.held_delta += entry.held_delta
    if (entry.kind === 'refund') next.refunded += entry.amount
    if (entry.kind === 'send' && entry.ref_type === 'message') next.charged -= entry.amount
    if (entry.kind === 'send' && entry.ref_type === 'bulk') next.charged_bulks -= entry.amount
    add(next.sums, entry)
  }
  return { opening: next, gone }
}

const OF_MESSAGES: ReadonlySet<string> = new Set(['send', 'refund', 'hold', 'settle', 'void'])

function isReplaced(
  { kind, ref_type, ref_id }: Entry,
  last_id: string,
  there: Folding['there'],
): boolean {
  const isAbout = ref_type === 'message' || ref_type === 'bulk'
  return (
    OF_MESSAGES.has(kind) && isAbout && ref_id <= last_id && !isThere({ ref_type, ref_id }, there)
  )
}

/** Whether the message or the bulk of an entry exists. */
export function isThere(
  { ref_type, ref_id }: Pick<Entry, 'ref_type' | 'ref_id'>,
  there: Folding['there'],
): boolean {
  return (
    (ref_type === 'message' && there.message.has(ref_id)) ||
    (ref_type === 'bulk' && there.bulk.has(ref_id))
  )
}

function add(sums: EntrySum[], { kind, ref_type, counter_account, amount, held_delta }: Entry) {
  let sum = sums.find(
    (one) =>
      one.kind === kind && one.ref_type === ref_type && one.counter_account === counter_account,
  )
  if (!sum) {
    sum = { kind, ref_type, counter_account, entries: 0, amount: 0, held_delta: 0 }
    sums.push(sum)
  }
  sum.entries += 1
  sum.amount += amount
  sum.held_delta += held_delta
}
