import type { AcceptRequest, AcceptResult } from '../../src/rules/accept.ts'
import type { Operation } from '../../src/rules/decide.ts'
import {
  accountOf,
  copyOfAccount,
  type LedgerModel,
  type ModelMessage,
  move,
  post,
  standingOf,
} from './ledger-model.ts'

const SMS_AGE_MAX_MS = 4 * 3_600_000
const DOUBT_MAX_MS = 600_000

/** Until then, that a provider has never seen a message says nothing. */
const NOT_FOUND_MIN_MS = 60_000

/** Answers one call: its requests in their order, or `impossible` where one of them cannot be written at all. */
export function accept(
  model: LedgerModel,
  requests: readonly AcceptRequest[],
): AcceptResult[] | 'impossible' {
  const before = copyOf(model)
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
    const refused = charge(model, request, debit)
    if (refused) return refused
  }
  for (const { id, bulk_id, credits_used, created_at, expires_at } of messages) {
    if (model.messages.has(id)) return 'impossible'
    model.messages.set(id, {
      workspace_id,
      bulk_id,
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

/** Takes the debit of a request, or answers why not. */
function charge(
  model: LedgerModel,
  { workspace_id, spending }: AcceptRequest,
  debit: Operation,
): AcceptResult | 'impossible' | null {
  const account = accountOf(model, workspace_id)
  const standing = standingOf(account, debit)
  const before = copyOfAccount(account)
  const moved = move(account, debit)
  if (moved === 'account_frozen') return { outcome: moved }
  if (typeof moved === 'object') {
    return (
      'limit' in moved
        ? { outcome: 'daily_limit', of: 'workspace', ...moved }
        : { outcome: 'insufficient_credits', ...moved }
    ) as AcceptResult
  }
  if (moved !== 'booked') return 'impossible'
  const written = standing ? 'impossible' : null
  if (!spending) return written
  const key = `${workspace_id} ${spending.api_key_id} ${spending.day}`
  const spent = model.spending.get(key) ?? 0
  const required = debit.held_delta - debit.amount
  if (spent + required > spending.limit) {
    Object.assign(account, before)
    const { limit } = spending
    return { outcome: 'daily_limit', of: 'api_key', required, limit, spent } as AcceptResult
  }
  model.spending.set(key, spent + required)
  return written
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
  // A provider has the message, even if a lost claim reports it.
  if (!holds && !certain) return false
  if (message.state !== 'open') return true
  const doubted_ms = now_ms - (message.doubtful_since_ms ?? now_ms)
  if (certain) message.state = 'taken'
  else if (learned === 'not_found' && doubted_ms >= NOT_FOUND_MIN_MS) {
    message.doubtful_since_ms = null
  } else if (learned === 'rejected') fail(model, messageId, message)
  else if (learned === 'retry') {
    if (now_ms + 1_000 > message.deadline_ms) fail(model, messageId, message)
  } else if (learned === 'ambiguous' ? doubted_ms > DOUBT_MAX_MS : doubted_ms >= DOUBT_MAX_MS) {
    message.state = 'failed'
  } else message.doubtful_since_ms ??= now_ms
  return true
}

/** Refunds the message, unless a provider may have it. */
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

/** A copy for calls that may turn out impossible: they add messages and answers, and change those there are never. */
function copyOf(model: LedgerModel): LedgerModel {
  return {
    accounts: new Map([...model.accounts].map(([id, account]) => [id, copyOfAccount(account)])),
    messages: new Map(model.messages),
    answers: new Map(model.answers),
    spending: new Map(model.spending),
  }
}
