import { UNITS_MAX } from '../../src/contract/fields/units.ts'
import type { Operation } from '../../src/rules/decide.ts'

/**
 * The ledger as contract section 4 describes it, in memory and one step after the other: what a storage's answers and rows
 * are held against. It shares nothing with the service but the shapes of what goes in and out.
 */
export interface LedgerModel {
  accounts: Map<string, ModelAccount>
  messages: Map<string, ModelMessage>
  /** By workspace and key. */
  answers: Map<string, { hash: string; response: string }>
  /** What an API key has spent, by workspace, key and day. */
  spending: Map<string, number>
}

export interface ModelAccount {
  balance: number
  held: number
  limit: number
  frozen: boolean
  /** The most that may be spent on a day, what was on the last one, and which that was. */
  daily_limit: number | null
  day: number
  spent: number
  /** The threshold for a notice to the owner, and whether it is due. */
  low_balance: number | null
  low_state: 'no' | 'due' | 'told'
  entries: ModelEntry[]
  /** Up to which entry what was consumed is taken off credits that expire. */
  counted_seq: number
}

export interface ModelEntry {
  seq: number
  kind: string
  amount: number
  held_delta: number
  balance_after: number
  held_after: number
  fact: string
  /** How low a debit could bring what was available then. */
  floor: number
}

export interface ModelMessage {
  workspace_id: string
  bulk_id: string | null
  cost: number
  refunded: number
  /** `open` until a provider may have it, or it failed: only an open one is ever refunded. */
  state: 'open' | 'taken' | 'failed'
  /** The claim that may settle it. */
  token: string | null
  deadline_ms: number
  /** Since when a provider may have it, without a report. */
  doubtful_since_ms: number | null
}

/** What the other verbs returned, without the rows. */
export type ModelPosted =
  | 'booked'
  | 'repeated'
  | 'ref_conflict'
  | 'account_frozen'
  | 'impossible'
  | { required: number; available: number }
  | { required: number; limit: number; spent: number }

const DAY_MS = 86_400_000

export function newModel(workspaceIds: readonly string[]): LedgerModel {
  return {
    accounts: new Map(workspaceIds.map((id) => [id, emptyAccount()])),
    messages: new Map(),
    answers: new Map(),
    spending: new Map(),
  }
}

function emptyAccount(): ModelAccount {
  return {
    balance: 0,
    held: 0,
    limit: 0,
    frozen: false,
    daily_limit: null,
    day: 0,
    spent: 0,
    low_balance: null,
    low_state: 'no',
    entries: [],
    counted_seq: 0,
  }
}

/** A copy of an account that the original's next entries do not change. */
export function copyOfAccount(account: ModelAccount): ModelAccount {
  return { ...account, entries: [...account.entries] }
}

/** What the account of `workspaceId` looks like. */
export function accountOf(model: LedgerModel, workspaceId: string): ModelAccount {
  const account = model.accounts.get(workspaceId)
  if (!account) throw new Error(`the model does not know ${workspaceId}`)
  return account
}

export function factOf(kind: string, reference: Operation['reference']): string {
  return `${kind} ${reference.type} ${reference.id} ${reference.n}`
}

/** Which signs of amount and hold each kind of entry may have: the table of the ledger's kinds. */
const SHAPES: Record<Operation['kind'], RegExp> = {
  purchase: /^\+0$/,
  purchase_adjust: /^[+-]0$/,
  grant: /^\+0$/,
  send: /^-0$/,
  refund: /^\+0$/,
  hold: /^0\+$/,
  settle: /^(--|-0|0-)$/,
  void: /^0-$/,
  expire: /^-0$/,
  adjustment: /^[+-]0$/,
}

/** Moves credits for a fact that is reported for the first time, or returns the reason why not. */
export function post(model: LedgerModel, workspaceId: string, operation: Operation): ModelPosted {
  const { amount, held_delta } = operation
  const account = accountOf(model, workspaceId)
  const standing = standingOf(account, operation)
  if (!standing) return move(account, operation)
  const same = standing.amount === amount && standing.held_delta === held_delta
  return same ? 'repeated' : 'ref_conflict'
}

/** The entry under the reference of an operation. */
export function standingOf({ entries }: ModelAccount, { kind, reference }: Operation) {
  const fact = factOf(kind, reference)
  return entries.find((entry) => entry.fact === fact)
}

/** Moves credits whatever stands under the reference. */
export function move(
  account: ModelAccount,
  operation: Operation,
): Exclude<ModelPosted, 'repeated'> {
  const { kind, amount, held_delta } = operation
  const shape = [amount, held_delta].map((n) => (n === 0 ? '0' : n > 0 ? '+' : '-')).join('')
  const isWhole = Number.isInteger(amount) && Number.isInteger(held_delta)
  if (!isWhole || !SHAPES[kind].test(shape)) return 'impossible'
  if (kind === 'send' || kind === 'hold') {
    const required = held_delta - amount
    const available = account.balance - account.held
    if (account.frozen) return 'account_frozen'
    if (available + account.limit < required) return { required, available }
    const { daily_limit: limit } = account
    const spent = spentOn(account, operation.at)
    if (limit !== null && spent + required > limit) return { required, limit, spent }
  }
  const balance_after = account.balance + amount
  const held_after = account.held + held_delta
  if (held_after < 0 || Math.abs(balance_after) > UNITS_MAX) return 'impossible'
  if (kind === 'send' || kind === 'hold') {
    account.spent = spentOn(account, operation.at) + held_delta - amount
    account.day = dayOf(operation.at)
  }
  const was = account.balance - account.held
  account.balance = balance_after
  account.held = held_after
  account.low_state = lowStateAfter(account, was)
  const seq = account.entries.length + 1
  const fact = factOf(kind, operation.reference)
  const floor = -account.limit
  account.entries.push({ seq, kind, amount, held_delta, balance_after, held_after, fact, floor })
  return 'booked'
}

function dayOf(at: Date): number {
  return Math.floor(at.getTime() / DAY_MS)
}

function spentOn({ day, spent }: ModelAccount, at: Date): number {
  return day === dayOf(at) ? spent : 0
}

/** The owner is to be notified when the available credits fall below the threshold, and again after they were above. */
function lowStateAfter(account: ModelAccount, was: number): ModelAccount['low_state'] {
  const { low_balance: threshold, balance, held, low_state } = account
  if (threshold === null || balance - held >= threshold) return 'no'
  return was >= threshold ? 'due' : low_state
}
