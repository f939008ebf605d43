import { UNITS_MAX, type Units } from '../contract/fields/units.ts'
import type { EntryKind } from '../rows/credits.ts'

/** A workspace's credits. `available = balance - held`. */
export interface Account {
  workspace_id: string
  balance: Units
  held: Units
  /** The largest debt: `available` may fall to minus this amount. Zero for prepaid workspaces. */
  credit_limit: Units
  /** The number of entries; the next entry is `seq + 1`. */
  seq: number
  status: 'active' | 'frozen'
  /** The maximum that may be spent on a day (UTC); null for no limit. Refunds do not reduce `spent`. */
  daily_limit: Units | null
  /** The day to which `spent` belongs, in days since 1970. */
  spent_on: number
  spent: Units
  /** The owner is notified when `available` falls below this value; null for no notification. */
  low_balance: Units | null
  /** After `available` fell below `low_balance`: `due` until the owner is notified, then `told`. */
  low_state: 'no' | 'due' | 'told'
}

/** The business fact that an entry books. It is unique for its workspace and kind, so no fact is booked twice. */
export interface Reference {
  type: string
  id: string
  /** Distinguishes entries of one kind with the same `type` and `id`; 0 when there is only one entry. */
  n: number
}

/** A proposed movement of credits, for `decide`. */
export interface Operation {
  id: string
  kind: EntryKind
  /** The signed change of the balance. */
  amount: Units
  /** The signed change of the held credits. */
  held_delta: Units
  /** The other side of the movement, such as `revenue:sms` or `promo:signup`; both sides sum to zero. */
  counter_account: string
  reference: Reference
  channel: string | null
  /** The number of priced units and the unit price at that time, so the history stays correct when prices change. */
  quantity: number | null
  unit_price: Units | null
  /** The id of the entry whose hold this operation ends. */
  resolves: string | null
  actor: string | null
  description: string | null
  at: Date
}

/** The fields of an operation that holds nothing and has no priced units. */
export const UNPRICED = {
  held_delta: 0 as Units,
  channel: null,
  quantity: null,
  unit_price: null,
  resolves: null,
} as const

/** One append-only row of the ledger: the operation and the account's sums after it. */
export interface Entry {
  id: string
  workspace_id: string
  seq: number
  kind: EntryKind
  amount: Units
  held_delta: Units
  balance_after: Units
  held_after: Units
  counter_account: string
  ref_type: string
  ref_id: string
  ref_n: number
  channel: string | null
  quantity: number | null
  unit_price: Units | null
  resolves: string | null
  actor: string | null
  description: string | null
  created_at: Date
}

export type Decision = { ok: true; account: Account; entry: Entry } | Refusal

/** Why an operation on an account was refused. */
export type Refusal =
  | { ok: false; reason: 'insufficient_credits'; required: Units; available: Units }
  | { ok: false; reason: 'account_frozen' }
  | { ok: false; reason: 'daily_limit'; required: Units; limit: Units; spent: Units }

export function newAccount(workspaceId: string): Account {
  return {
    workspace_id: workspaceId,
    balance: 0 as Units,
    held: 0 as Units,
    credit_limit: 0 as Units,
    seq: 0,
    status: 'active',
    daily_limit: null,
    spent_on: 0,
    spent: 0 as Units,
    low_balance: null,
    low_state: 'no',
  }
}

/** The kinds that spend: they are refused without enough credits. All other kinds book past facts. */
const GUARDED: ReadonlySet<EntryKind> = new Set(['send', 'hold'])

const DAY_MS = 86_400_000

const SIGNS: Record<EntryKind, { amount: -1 | 0 | 1 | 'any'; held: -1 | 0 | 1 }> = {
  purchase: { amount: 1, held: 0 },
  purchase_adjust: { amount: 'any', held: 0 },
  grant: { amount: 1, held: 0 },
  send: { amount: -1, held: 0 },
  refund: { amount: 1, held: 0 },
  hold: { amount: 0, held: 1 },
  settle: { amount: -1, held: -1 },
  void: { amount: 0, held: -1 },
  expire: { amount: -1, held: 0 },
  adjustment: { amount: 'any', held: 0 },
}

/**
 * Applies or refuses an operation on an account, for all storages. Pure; the caller holds the account's lock.
 * @throws RangeError for a wrong sign or a balance past the cap: a bug, not a client's error.
 */
export function decide(account: Account, operation: Operation): Decision {
  assertShape(operation)
  const spends = GUARDED.has(operation.kind)
  const refused = spends && mayNotSpend(account, requiredBy(operation), operation.at)
  if (refused) return refused
  const after: Account = {
    ...account,
    balance: (account.balance + operation.amount) as Units,
    held: (account.held + operation.held_delta) as Units,
    seq: account.seq + 1,
  }
  if (spends) {
    after.spent_on = spendingDay(account, operation.at)
    after.spent = (spentOn(account, after.spent_on) + requiredBy(operation)) as Units
  }
  after.low_state = lowState(account, after)
  if (Math.abs(after.balance) > UNITS_MAX)
    throw new RangeError(`balance past the cap: ${after.balance}`)
  if (after.held < 0) throw new RangeError(`more released than held: ${after.held}`)
  return { ok: true, account: after, entry: entryOf(after, operation) }
}

/** The reason to refuse spending `required` at that time, or null. Bookings and estimates share this rule. */
export function mayNotSpend(account: Account, required: Units, at: Date): Refusal | null {
  if (account.status !== 'active') return { ok: false, reason: 'account_frozen' }
  const available = availableOf(account)
  if (available - required < -account.credit_limit) {
    return { ok: false, reason: 'insufficient_credits', required, available }
  }
  const { daily_limit: limit } = account
  if (limit === null) return null
  const spent = spentOn(account, spendingDay(account, at))
  return spent + required > limit
    ? { ok: false, reason: 'daily_limit', required, limit, spent }
    : null
}

function requiredBy({ amount, held_delta }: Operation): Units {
  return (held_delta - amount) as Units
}

export function availableOf({ balance, held }: Pick<Account, 'balance' | 'held'>): Units {
  return (balance - held) as Units
}

/** The day (UTC) of a time, in days since 1970. */
export function dayOf(at: Date): number {
  return Math.floor(at.getTime() / DAY_MS)
}

/**
 * The day (UTC) on which spending counts, in days since 1970. The account keeps the sum of one day only. A request from
 * just before midnight, or from a server whose clock is behind, counts on the next day if `spent_on` is that day.
 */
export function spendingDay({ spent_on }: Pick<Account, 'spent_on'>, at: Date): number {
  const day = dayOf(at)
  return spent_on === day + 1 ? spent_on : day
}

export function spentOn({ spent_on, spent }: Account, day: number): Units {
  return spent_on === day ? spent : (0 as Units)
}

/** The owner is notified once each time `available` falls below the threshold. */
function lowState(before: Account, after: Account): Account['low_state'] {
  const { low_balance } = before
  if (low_balance === null || availableOf(after) >= low_balance) return 'no'
  return availableOf(before) >= low_balance ? 'due' : before.low_state
}

/** Whether the operation repeats the entry that has its reference: both move the same credits. */
export function isRepetition(entry: Entry, operation: Operation): boolean {
  return entry.amount === operation.amount && entry.held_delta === operation.held_delta
}

function assertShape({ kind, amount, held_delta }: Operation): void {
  if (!Number.isSafeInteger(amount) || !Number.isSafeInteger(held_delta)) {
    throw new RangeError(
      `${kind}: credits are whole micro-credits, got ${amount} and ${held_delta}`,
    )
  }
  const signs = SIGNS[kind]
  const amountFits =
    signs.amount === 'any'
      ? amount !== 0
      : // A settled call may have cost nothing.
        Math.sign(amount) === signs.amount || (kind === 'settle' && amount === 0)
  const heldFits =
    Math.sign(held_delta) === signs.held ||
    // A call that settles after its hold expired releases nothing.
    (kind === 'settle' && held_delta === 0)
  const movesNothing = amount === 0 && held_delta === 0
  if (!amountFits || !heldFits || movesNothing) {
    throw new RangeError(`${kind}: wrong sign, amount ${amount}, held ${held_delta}`)
  }
}

function entryOf(after: Account, operation: Operation): Entry {
  return {
    id: operation.id,
    workspace_id: after.workspace_id,
    seq: after.seq,
    kind: operation.kind,
    amount: operation.amount,
    held_delta: operation.held_delta,
    balance_after: after.balance,
    held_after: after.held,
    counter_account: operation.counter_account,
    ref_type: operation.reference.type,
    ref_id: operation.reference.id,
    ref_n: operation.reference.n,
    channel: operation.channel,
    quantity: operation.quantity,
    unit_price: operation.unit_price,
    resolves: operation.resolves,
    actor: operation.actor,
    description: operation.description,
    created_at: operation.at,
  }
}

/**
 * The accounts on which the same requests get the same decisions: those that differ from the planned account only in
 * `balance`, `held`, `seq` and `spent`, and are within these limits.
 */
export interface Tolerance {
  /** The number of entries; null if it may differ. */
  seq: number | null
  /** The least available credits; null if `seq` is not null. */
  available_min: Units | null
  /** The maximum of `spent`; null for no maximum. */
  spent_max: Units | null
}

/**
 * The tolerance of a plan that left the account `before` as `after`. `isRefused`: the plan refused a request of the
 * account. A plan that refused, changed the day of `spent`, or reached `low_balance` holds for no other account. In all
 * other plans each decision spends, so that the last state is the poorest: if it is allowed, so are those before it.
 */
export function toleranceOf(before: Account, after: Account, isRefused: boolean): Tolerance {
  if (isRefused || after.spent_on !== before.spent_on || after.low_state !== 'no') {
    return { seq: before.seq, available_min: null, spent_max: null }
  }
  const { credit_limit, low_balance, daily_limit } = before
  const least = Math.max(-credit_limit, low_balance ?? Number.NEGATIVE_INFINITY)
  const required = availableOf(before) - availableOf(after)
  return {
    seq: null,
    available_min: (least + required) as Units,
    spent_max:
      daily_limit === null ? null : ((daily_limit - (after.spent - before.spent)) as Units),
  }
}

/** The change of an account; `spent` is the change of the sum of the day `spent_on`. */
export function accountChange(before: Account, after: Account): Account {
  return {
    ...after,
    balance: (after.balance - before.balance) as Units,
    held: (after.held - before.held) as Units,
    seq: after.seq - before.seq,
    spent: (after.spent - spentOn(before, after.spent_on)) as Units,
  }
}

/** An entry whose `seq` and sums are relative to the account before the plan. */
export function relativeEntry(before: Account, entry: Entry): Entry {
  return {
    ...entry,
    seq: entry.seq - before.seq,
    balance_after: (entry.balance_after - before.balance) as Units,
    held_after: (entry.held_after - before.held) as Units,
  }
}

/** The columns of an account that `decide` reads. */
export const ACCOUNT_COLUMNS = [
  'workspace_id',
  'balance',
  'held',
  'credit_limit',
  'seq',
  'status',
  'daily_limit',
  'spent_on',
  'spent',
  'low_balance',
  'low_state',
] as const satisfies (keyof Account)[]

/** The columns of an account that `decide` changes. */
export const ACCOUNT_CHANGES = [
  'balance',
  'held',
  'seq',
  'spent_on',
  'spent',
  'low_state',
] as const satisfies (keyof Account)[]
