import { type Units, withUnit } from '../contract/fields/units.ts'
import type { Entry, Operation } from './decide.ts'

/** An entry that ends a hold, or that books consumption after the hold was released. */
export interface Resolution {
  kind: 'settle' | 'void'
  amount: Units
  held_delta: Units
  /** The number of the hold within its message. */
  n: number
  /** The id of the hold's entry; null if the hold was released before. */
  resolves: string | null
  counter_account: string
  channel: string | null
  /** The number of priced units; null when the amount is not a multiple of the price. */
  quantity: number | null
  unit_price: Units | null
  description: string | null
}

export type HoldEnd =
  | { outcome: 'post'; resolutions: Resolution[] }
  /** The holds were ended in the same way before, by these entries. */
  | { outcome: 'repeated'; entries: Entry[] }
  /** The message was settled before, for another amount. */
  | { outcome: 'conflict'; standing: Entry }
  /** The message never had a hold. */
  | { outcome: 'not_held' }

/**
 * Settles `amount` (0 or more) against the open holds of a message, oldest first. Each hold gets one entry: `settle` if
 * it is consumed, `void` if not. The remaining credits become available. The last entry adds the excess over the holds:
 * a call cannot be undone. An amount of 0 is a `settle` of 0 on the last hold, not a `void`. Without an open hold, one
 * `settle` books the amount.
 *
 * Pure. `about` has all entries of the message, read under the account's lock. Source: ledger study, section 2.8.
 */
export function planHoldSettle(about: readonly Entry[], amount: Units): HoldEnd {
  if (!(amount >= 0)) throw new RangeError(`settle: nothing costs ${amount}`)
  const { holds, open, ended } = stateOf(about)
  const last = holds.at(-1)
  if (!last) return { outcome: 'not_held' }
  const settled = ended.filter(({ kind }) => kind === 'settle')
  const [standing] = settled
  if (standing) {
    const before = settled.reduce((sum, entry) => sum - entry.amount, 0)
    return before === amount
      ? { outcome: 'repeated', entries: ended }
      : { outcome: 'conflict', standing }
  }
  if (open.length === 0) {
    return amount === 0
      ? { outcome: 'repeated', entries: ended }
      : { outcome: 'post', resolutions: [lateSettle(last, amount)] }
  }
  return { outcome: 'post', resolutions: walk(open, amount) }
}

/** Releases all open holds of a message. Pure, like `planHoldSettle`. */
export function planHoldVoid(about: readonly Entry[]): HoldEnd {
  const { holds, open, ended } = stateOf(about)
  if (holds.length === 0) return { outcome: 'not_held' }
  if (open.length === 0) return { outcome: 'repeated', entries: ended }
  return { outcome: 'post', resolutions: open.map((hold) => voidOf(hold, null)) }
}

/** Releases the expired holds with these entry ids, if they are still open. Pure, like `planHoldSettle`. */
export function planHoldRelease(about: readonly Entry[], ids: ReadonlySet<string>): Resolution[] {
  const { open } = stateOf(about)
  return open.filter(({ id }) => ids.has(id)).map((hold) => voidOf(hold, 'hold expired'))
}

/** Whether all holds of the message are released without consumption after the holds of `ending` have ended. */
export function isReleased(about: readonly Entry[], ending: readonly Resolution[]): boolean {
  const { open, ended } = stateOf(about)
  const ids = new Set(ending.map(({ resolves }) => resolves))
  return open.every(({ id }) => ids.has(id)) && ended.every(({ kind }) => kind === 'void')
}

/** Whether the message was settled. A settled message has no open hold. */
export function isSettled(about: readonly Entry[]): boolean {
  return stateOf(about).ended.some(({ kind }) => kind === 'settle')
}

export function resolutionOperation(
  { n, ...resolution }: Resolution,
  { message_id, ...rest }: Pick<Operation, 'id' | 'actor' | 'at'> & { message_id: string },
): Operation {
  return { ...resolution, ...rest, reference: { type: 'message', id: message_id, n } }
}

/** The holds of the message, oldest first; the open holds; the entries that ended the other holds. */
function stateOf(about: readonly Entry[]): { holds: Entry[]; open: Entry[]; ended: Entry[] } {
  const own = about.filter(({ ref_type }) => ref_type === 'message').sort((a, b) => a.seq - b.seq)
  const holds = own.filter(({ kind }) => kind === 'hold')
  const ended = own.filter(({ kind }) => kind === 'settle' || kind === 'void')
  const resolved = new Set(ended.map(({ resolves }) => resolves))
  return { holds, open: holds.filter(({ id }) => !resolved.has(id)), ended }
}

function walk(open: readonly Entry[], amount: Units): Resolution[] {
  let left: number = amount
  return open.map((hold, i) => {
    const isLast = i === open.length - 1
    const share = (isLast ? left : Math.min(left, hold.held_delta)) as Units
    left -= share
    if (share === 0 && !(isLast && amount === 0)) return voidOf(hold, null)
    const over = (share - hold.held_delta) as Units
    const description = over > 0 ? `overage of ${withUnit(over)}` : null
    return settleOf(hold, share, description)
  })
}

function settleOf(hold: Entry, share: Units, description: string | null): Resolution {
  const { unit_price } = hold
  const isWhole = unit_price !== null && unit_price > 0 && share % unit_price === 0
  return {
    ...voidOf(hold, description),
    kind: 'settle',
    // `0 - share` prevents a negative zero.
    amount: (0 - share) as Units,
    quantity: isWhole ? share / unit_price : null,
    unit_price,
  }
}

function lateSettle(hold: Entry, amount: Units): Resolution {
  const late = settleOf(hold, amount, 'settled after its hold was released')
  return { ...late, held_delta: 0 as Units, resolves: null }
}

function voidOf(hold: Entry, description: string | null): Resolution {
  return {
    kind: 'void',
    amount: 0 as Units,
    held_delta: -hold.held_delta as Units,
    n: hold.ref_n,
    resolves: hold.id,
    counter_account: hold.counter_account,
    channel: hold.channel,
    quantity: null,
    unit_price: null,
    description,
  }
}
