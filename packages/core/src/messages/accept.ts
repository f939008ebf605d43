import type { Units } from '../contract/units.ts'
import { type Account, decide, type Entry, type Operation } from '../credits/decide.ts'
import type { MessageRow } from '../storage/storage.ts'

/** One send or bulk request, priced and complete: all of it is committed, or none. */
export interface AcceptRequest {
  workspace_id: string
  /** The debit; null where nothing is charged (test keys). */
  debit: Operation | null
  messages: MessageRow[]
  idempotency: Answer | null
}

/** What a request with an `Idempotency-Key` was answered, so that its repetition gets the same. */
export interface Answer {
  route: string
  key: string
  request_hash: string
  /** The answer's `data`, as JSON text. */
  response: string
}

export type AcceptResult =
  | { outcome: 'accepted' }
  | { outcome: 'replayed'; response: string }
  | { outcome: 'key_reused' }
  | { outcome: 'insufficient_credits'; required: Units; available: Units }
  | { outcome: 'account_frozen' }

/** What the storage looked up, under its locks, for a batch of requests. */
export interface AcceptState {
  accounts: Map<string, Account>
  /** By `answerKey`. */
  answers: Map<string, { request_hash: string; response: string }>
}

/** What the storage shall write, all in the transaction that looked the state up. */
export interface AcceptPlan {
  results: AcceptResult[]
  accounts: Account[]
  entries: Entry[]
  messages: MessageRow[]
  answers: (Answer & { workspace_id: string; created_at: Date })[]
}

export function answerKey(workspaceId: string, answer: { route: string; key: string }): string {
  return `${workspaceId}\n${answer.route}\n${answer.key}`
}

/**
 * Answers a batch of requests in their order, each as if it were alone after those before it: a refused one changes
 * nothing, and two with one idempotency key get one answer.
 */
export function planAccept(requests: readonly AcceptRequest[], state: AcceptState): AcceptPlan {
  const plan: AcceptPlan = { results: [], accounts: [], entries: [], messages: [], answers: [] }
  const touched = new Map<string, Account>()
  for (const request of requests) {
    plan.results.push(planOne(request, state, plan, touched))
  }
  plan.accounts = [...touched.values()]
  return plan
}

function planOne(
  request: AcceptRequest,
  state: AcceptState,
  plan: AcceptPlan,
  touched: Map<string, Account>,
): AcceptResult {
  const { workspace_id, debit, idempotency } = request
  const answerAt = idempotency && answerKey(workspace_id, idempotency)
  if (idempotency && answerAt) {
    const known = state.answers.get(answerAt)
    if (known?.request_hash === idempotency.request_hash) {
      return { outcome: 'replayed', response: known.response }
    }
    if (known) return { outcome: 'key_reused' }
  }
  if (debit) {
    const account = state.accounts.get(workspace_id)
    if (!account) throw new Error(`workspace ${workspace_id} has no credit account`)
    const decision = decide(account, debit)
    if (!decision.ok) {
      return decision.reason === 'account_frozen'
        ? { outcome: 'account_frozen' }
        : { ...decision, outcome: 'insufficient_credits' }
    }
    state.accounts.set(workspace_id, decision.account)
    touched.set(workspace_id, decision.account)
    plan.entries.push(decision.entry)
  }
  for (const message of request.messages) plan.messages.push(message)
  if (idempotency && answerAt) {
    state.answers.set(answerAt, idempotency)
    const created_at = request.messages[0]?.created_at
    if (!created_at) throw new Error('a request without messages')
    plan.answers.push({ ...idempotency, workspace_id, created_at })
  }
  return { outcome: 'accepted' }
}
