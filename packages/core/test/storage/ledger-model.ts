import { UNITS_MAX } from '../../src/contract/units.ts'
import type { Operation } from '../../src/credits/decide.ts'
import type { AcceptRequest, AcceptResult } from '../../src/messages/accept.ts'

/**
 * The ledger as contract section 4 tells it, in memory and one step after the other: what a storage's answers and rows
 * are held against. It shares nothing with the service but the shapes of what goes in and out.
 */
export interface LedgerModel {
  accounts: Map<string, ModelAccount>
  messages: Map<string, ModelMessage>
  /** By workspace and key. */
  answers: Map<string, { hash: string; response: string }>
}

export interface ModelAccount {
  balance: number
  held: number
  limit: number
  frozen: boolean
  entries: ModelEntry[]
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
  cost: number
  refunded: number
  /** `open` until somebody may have taken it, or it failed: only an open one is ever refunded. */
  state: 'open' | 'taken' | 'failed'
  /** The claim that may settle it. */
  token: string | null
  deadline_ms: number
  /** Since when a provider may have it although nobody knows. */
  doubtful_since_ms: number | null
}

/** How the cold door answered, without the rows. */
export type ModelPosted =
  | 'booked'
  | 'repeated'
  | 'ref_conflict'
  | 'account_frozen'
  | 'daily_limit'
  | 'impossible'
  | { required: number; available: number }

const HOUR_MS = 3_600_000
const SMS_AGE_MAX_MS = 4 * HOUR_MS
const DOUBT_MAX_MS = 600_000

export function newModel(workspaceIds: readonly string[]): LedgerModel {
  const empty = () => ({ balance: 0, held: 0, limit: 0, frozen: false, entries: [] })
  return {
    accounts: new Map(workspaceIds.map((id) => [id, empty()])),
    messages: new Map(),
    answers: new Map(),
  }
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

/** Moves credits for a fact that is told for the first time, or says why not. */
export function post(model: LedgerModel, workspaceId: string, operation: Operation): ModelPosted {
  const { amount, held_delta } = operation
  const account = accountOf(model, workspaceId)
  const standing = standingOf(account, operation)
  if (!standing) return move(account, operation)
  const same = standing.amount === amount && standing.held_delta === held_delta
  return same ? 'repeated' : 'ref_conflict'
}

function standingOf({ entries }: ModelAccount, { kind, reference }: Operation) {
  const fact = factOf(kind, reference)
  return entries.find((entry) => entry.fact === fact)
}

function move(account: ModelAccount, operation: Operation): Exclude<ModelPosted, 'repeated'> {
  const { kind, amount, held_delta } = operation
  const shape = [amount, held_delta].map((n) => (n === 0 ? '0' : n > 0 ? '+' : '-')).join('')
  if (!SHAPES[kind].test(shape)) return 'impossible'
  if (kind === 'send' || kind === 'hold') {
    const required = held_delta - amount
    const available = account.balance - account.held
    if (account.frozen) return 'account_frozen'
    if (available + account.limit < required) return { required, available }
  }
  const balance_after = account.balance + amount
  const held_after = account.held + held_delta
  if (held_after < 0 || Math.abs(balance_after) > UNITS_MAX) return 'impossible'
  account.balance = balance_after
  account.held = held_after
  const seq = account.entries.length + 1
  const fact = factOf(kind, operation.reference)
  const floor = -account.limit
  account.entries.push({ seq, kind, amount, held_delta, balance_after, held_after, fact, floor })
  return 'booked'
}

/** Answers one call: its requests in their order, or `impossible` where one of them cannot be written at all. */
export function accept(
  model: LedgerModel,
  requests: readonly AcceptRequest[],
): AcceptResult[] | 'impossible' {
  const before = structuredClone(model)
  const results: AcceptResult[] = []
  for (const request of requests) {
    const result = acceptOne(model, request)
    if (result === 'impossible') {
      Object.assign(model, before)
      return 'impossible'
    }
    results.push(result)
  }
  return results
}

function acceptOne(model: LedgerModel, request: AcceptRequest): AcceptResult | 'impossible' {
  const { workspace_id, debit, idempotency, messages } = request
  const key = idempotency && `${workspace_id} ${idempotency.route} ${idempotency.key}`
  const known = key ? model.answers.get(key) : undefined
  if (known) {
    return known.hash === idempotency?.request_hash
      ? { outcome: 'replayed', response: known.response }
      : { outcome: 'key_reused' }
  }
  if (debit) {
    const account = accountOf(model, workspace_id)
    const standing = standingOf(account, debit)
    const moved = move(account, debit)
    if (moved === 'account_frozen') return { outcome: moved }
    if (typeof moved === 'object') {
      return { outcome: 'insufficient_credits', ...moved } as AcceptResult
    }
    if (standing || moved !== 'booked') return 'impossible'
  }
  for (const { id, credits_used, created_at, expires_at } of messages) {
    if (model.messages.has(id)) return 'impossible'
    model.messages.set(id, {
      workspace_id,
      cost: credits_used,
      refunded: 0,
      state: 'open',
      token: null,
      deadline_ms: expires_at?.getTime() ?? created_at.getTime() + SMS_AGE_MAX_MS,
      doubtful_since_ms: null,
    })
  }
  if (key && idempotency) {
    model.answers.set(key, { hash: idempotency.request_hash, response: idempotency.response })
  }
  return { outcome: 'accepted' }
}

/** What was learned about a message, as far as money goes. A `retry` waits for a second. */
export type Learned =
  | 'accepted'
  | 'found'
  | 'called_back'
  | 'rejected'
  | 'retry'
  | 'ambiguous'
  | 'not_found'
  | 'unavailable'

/** Settles what a claim gave (token null: a callback, which holds none); answers whether it counted. */
export function settle(
  model: LedgerModel,
  messageId: string,
  token: string | null,
  learned: Learned,
  now_ms: number,
): boolean {
  const message = model.messages.get(messageId)
  if (!message) throw new Error(`the model does not know ${messageId}`)
  const holds = token !== null && message.token === token
  const certain = learned === 'accepted' || learned === 'found' || learned === 'called_back'
  if (holds) message.token = null
  // That somebody has the message is true whoever tells it.
  if (!holds && !certain) return false
  if (message.state !== 'open') return true
  const doubted_ms = now_ms - (message.doubtful_since_ms ?? now_ms)
  if (certain) message.state = 'taken'
  else if (learned === 'not_found') message.doubtful_since_ms = null
  else if (learned === 'rejected') fail(model, messageId, message)
  else if (learned === 'retry') {
    if (now_ms + 1_000 > message.deadline_ms) fail(model, messageId, message)
  } else if (learned === 'ambiguous' ? doubted_ms > DOUBT_MAX_MS : doubted_ms >= DOUBT_MAX_MS) {
    message.state = 'failed'
  } else message.doubtful_since_ms ??= now_ms
  return true
}

/** Gives back what it cost, unless a provider may have it. */
function fail(model: LedgerModel, id: string, message: ModelMessage): void {
  message.state = 'failed'
  if (message.doubtful_since_ms !== null || message.cost === 0) return
  const refund = { kind: 'refund', amount: message.cost, held_delta: 0 } as Operation
  const reference = { type: 'message', id, n: 0 }
  if (post(model, message.workspace_id, { ...refund, reference }) !== 'booked') {
    throw new Error(`the model cannot refund ${id}`)
  }
  message.refunded = message.cost
}
