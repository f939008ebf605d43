import type { Units } from '../contract/fields/units.ts'
import type {
  BroadcastRow,
  BulkRejectionRow,
  BulkRow,
  HoldRow,
  MessageFileRow,
  MessageRow,
  TestUsageRow,
  VerificationCountRow,
  VerificationRow,
  VerificationSpendingRow,
} from '../rows/rows.ts'
import { type CountChange, countNew } from './count-changes.ts'
import { type Account, decide, type Entry, type Operation, type Refusal } from './decide.ts'
import { addressesOf, suppressedAddress, suppressionKey } from './recipients.ts'

import { addTestUse, type TestQuotaExceeded, type TestUse } from './test-usage.ts'

import {
  addedCount,
  applyCode,
  type CodePlan,
  type CodeRefusal,
  type CodeRequest,
  type CodeState,
  decideCode,
  sourceOf,
} from './verify.ts'

/** One priced send or bulk request: it is committed completely or not at all. */
export interface AcceptRequest {
  workspace_id: string
  /** The payment; null for a request of a test key, which costs nothing. */
  debit: Operation | null
  messages: MessageRow[]
  /** The stored files of the messages; absent without such files. */
  files?: readonly MessageFileRow[] | undefined
  /** The row of a bulk, committed with its messages; null for a single send. */
  bulk: BulkRow | null
  /** The recipients of the bulk that get no message; empty for a single send. */
  rejections: BulkRejectionRow[]
  /** The daily limit of the key; null for a key without a limit. */
  spending: SpendingLimit | null
  /** The use of the test quotas; null for a live key. */
  test_use: TestUse | null
  idempotency: IdempotencyRecord | null
  /** The step of a broadcast whose messages these are; absent for other messages. */
  broadcast?: BroadcastStep | undefined
  /** The verification whose code the only message carries; absent for other messages. */
  code?: CodeRequest | undefined
}

/** What a step of a broadcast changes in its row. */
export const STEP_COLUMNS = [
  'cursor',
  'next_at',
  'last_bulk_id',
  'contacts',
  'accepted',
  'suppressed',
  'no_address',
  'rejected',
  'credits_used',
  'departures',
  'updated_at',
] as const satisfies (keyof BroadcastRow)[]

/**
 * A step of a broadcast. It is committed with its messages, and only if the broadcast runs and its last contact is the one
 * that the step was planned after: so each contact gets one message, also after a crash and with several servers.
 */
export interface BroadcastStep {
  id: string
  /** The last contact before the step. */
  cursor: string
  next: Pick<BroadcastRow, (typeof STEP_COLUMNS)[number]>
}

/** The sum of a key's debits on one day (UTC), with this debit, is at most `limit`. Refunds do not reduce the sum. */
export interface SpendingLimit {
  api_key_id: string
  /** The date, such as `2026-05-04`. */
  day: string
  limit: Units
}

/** The answer to a request with an `Idempotency-Key`: a repeated request gets the same answer. */
export interface IdempotencyRecord {
  route: string
  key: string
  request_hash: string
  /** The answer's `data`, as JSON text. */
  response: string
}

export type AcceptResult =
  /** `verification`: what a request for a code began or continued; `canceled`: the one that it ended. */
  | { outcome: 'accepted'; verification?: VerificationRow; canceled?: VerificationRow }
  | CodeRefusal
  | { outcome: 'replayed'; response: string }
  | { outcome: 'key_reused' }
  /** The suppressed recipients of live messages. Each is spelled as in the request and listed once. */
  | { outcome: 'suppressed'; recipients: string[] }
  | { outcome: 'insufficient_credits'; required: Units; available: Units }
  | {
      outcome: 'daily_limit'
      of: 'api_key' | 'workspace'
      required: Units
      limit: Units
      spent: Units
    }
  | { outcome: 'account_frozen' }
  /** The broadcast does not run, or another step of it was committed. */
  | { outcome: 'broadcast_moved' }
  /** A stored file of a message was removed meanwhile. */
  | { outcome: 'file_gone' }
  | TestQuotaExceeded

/** The rows that a batch of requests needs, read under the storage's locks. */
export interface AcceptState {
  accounts: Map<string, Account>
  /** The stored answers; `idempotencyKeyOf` makes the keys of this map. */
  answers: Map<string, { request_hash: string; response: string }>
  /** The suppressed recipients, as keys of `suppressionKey`. */
  suppressed: Set<string>
  /** The amounts spent so far; `spendingKey` makes the keys of this map. */
  spent: Map<string, Units>
  /** The use of the test quotas; the keys of this map are workspace ids. */
  test_usage: Map<string, TestUsageRow>
  /** The whole files that the storage holds for the requests, as keys of `fileKey`. */
  files: Set<string>
  codes: CodeState
  /** The broadcasts of the requests; `broadcastKey` makes the keys of this map. */
  broadcasts: Map<string, Pick<BroadcastRow, 'status' | 'cursor'>>
}

export function broadcastKey(of: { workspace_id: string; id: string }): string {
  return `${of.workspace_id}\n${of.id}`
}

export function fileKey(of: { workspace_id: string; sha256: string }): string {
  return `${of.workspace_id}\n${of.sha256}`
}

/** The amount that a key has spent on a day: one row of `api_key_spending`. */
export interface Spending {
  workspace_id: string
  api_key_id: string
  day: string
  spent: Units
}

/** The rows that the storage writes, in the transaction that read the state. */
export interface AcceptPlan {
  results: AcceptResult[]
  accounts: Account[]
  entries: Entry[]
  holds: HoldRow[]
  bulks: BulkRow[]
  rejections: BulkRejectionRow[]
  messages: MessageRow[]
  files: MessageFileRow[]
  counts: CountChange[]
  spending: Spending[]
  test_usage: TestUsageRow[]
  answers: (IdempotencyRecord & { workspace_id: string; created_at: Date })[]
  /** Verifications that are new, or replace the row with their id. */
  verifications: VerificationRow[]
  verification_counts: VerificationCountRow[]
  verification_spending: VerificationSpendingRow[]
  /** The steps of broadcasts. */
  broadcasts: (Pick<BroadcastRow, 'workspace_id' | 'id'> & BroadcastStep['next'])[]
}

export function idempotencyKeyOf(
  workspaceId: string,
  answer: { route: string; key: string },
): string {
  return `${workspaceId}\n${answer.route}\n${answer.key}`
}

export function spendingKey(workspaceId: string, of: { api_key_id: string; day: string }): string {
  return `${workspaceId}\n${of.api_key_id}\n${of.day}`
}

/** A call is tried for at most 4 h; its end may be reported up to 24 h later. */
const HOLD_MS = (4 + 24) * 3_600_000

/** Decides the requests in order; each sees the effects of earlier requests. A refused request changes nothing. */
export function planAccept(requests: readonly AcceptRequest[], state: AcceptState): AcceptPlan {
  const batch: Batch = {
    state,
    accounts: new Map(),
    spending: new Map(),
    test_usage: new Map(),
    results: [],
    entries: [],
    holds: [],
    bulks: [],
    rejections: [],
    messages: [],
    files: [],
    answers: [],
    verifications: new Map(),
    verification_counts: new Map(),
    verification_spending: new Map(),
    broadcasts: [],
  }
  for (const request of requests) batch.results.push(acceptRequest(request, batch))
  const { results, entries, holds, bulks, rejections, messages, files, answers } = batch
  return {
    results,
    accounts: [...batch.accounts.values()],
    entries,
    holds,
    bulks,
    rejections,
    messages,
    files,
    counts: countNew(messages),
    spending: [...batch.spending.values()],
    test_usage: [...batch.test_usage.values()],
    answers,
    verifications: [...batch.verifications.values()],
    verification_counts: [...batch.verification_counts.values()],
    verification_spending: [...batch.verification_spending.values()],
    broadcasts: batch.broadcasts,
  }
}

/** A plan in progress. `state` includes the effects of the earlier requests. */
interface Batch
  extends Pick<
    AcceptPlan,
    | 'results'
    | 'entries'
    | 'holds'
    | 'bulks'
    | 'rejections'
    | 'messages'
    | 'files'
    | 'answers'
    | 'broadcasts'
  > {
  state: AcceptState
  accounts: Map<string, Account>
  spending: Map<string, Spending>
  test_usage: Map<string, TestUsageRow>
  verifications: Map<string, VerificationRow>
  verification_counts: Map<string, VerificationCountRow>
  verification_spending: Map<string, VerificationSpendingRow>
}

function acceptRequest(request: AcceptRequest, batch: Batch): AcceptResult {
  const known = knownAnswer(request, batch.state)
  if (known) return known
  if (request.broadcast && !isNext(request.workspace_id, request.broadcast, batch.state)) {
    return { outcome: 'broadcast_moved' }
  }
  const recipients = suppressedOf(request, batch.state)
  if (recipients.length > 0) return { outcome: 'suppressed', recipients }
  const { files = [] } = request
  if (!files.every((file) => batch.state.files.has(fileKey(file)))) return { outcome: 'file_gone' }
  const [first] = request.messages
  const code = request.code && first ? decideCode(request.code, first, batch.state.codes) : null
  if (code?.outcome === 'code_pending') rememberCode(request, code.verification, null, batch)
  if (code && code.outcome !== 'planned') return code
  const refused = request.debit && charge(request, request.debit, batch)
  if (refused) return refused
  const exceeded = request.test_use && countUse(request.workspace_id, request.test_use, batch)
  if (exceeded) return exceeded
  if (code && first) return acceptCode(request, code, first, batch)
  for (const message of request.messages) batch.messages.push(message)
  for (const file of files) batch.files.push(file)
  if (request.bulk) batch.bulks.push(request.bulk)
  for (const rejection of request.rejections) batch.rejections.push(rejection)
  if (request.broadcast) advance(request.workspace_id, request.broadcast, batch)
  remember(request, batch)
  return { outcome: 'accepted' }
}

function isNext(
  workspace_id: string,
  { id, cursor }: BroadcastStep,
  { broadcasts }: AcceptState,
): boolean {
  const known = broadcasts.get(broadcastKey({ workspace_id, id }))
  return known?.status === 'running' && known.cursor === cursor
}

function advance(workspace_id: string, { id, next }: BroadcastStep, batch: Batch): void {
  const key = broadcastKey({ workspace_id, id })
  batch.state.broadcasts.set(key, { status: 'running', cursor: next.cursor })
  batch.broadcasts.push({ workspace_id, id, ...next })
}

/** Accepts the message with a code: its code is that of the verification, which may have begun earlier. */
function acceptCode(
  request: AcceptRequest,
  plan: CodePlan,
  first: MessageRow,
  batch: Batch,
): AcceptResult {
  const { verification, canceled, count, spending } = plan
  const content = { ...first.content, code: request.code?.source ?? sourceOf(verification) }
  // A code that is not valid any more is not sent.
  const message = { ...first, content, expires_at: verification.expires_at }
  batch.messages.push(message)
  applyCode(plan, batch.state.codes)
  for (const row of [canceled, verification]) if (row) batch.verifications.set(row.id, row)
  if (count) {
    const key = `${count.workspace_id}\n${count.country}\n${count.hour.getTime()}`
    batch.verification_counts.set(key, addedCount(batch.verification_counts.get(key), count))
  }
  if (spending) batch.verification_spending.set(spending.workspace_id, spending)
  rememberCode(request, verification, message, batch)
  return { outcome: 'accepted', verification, ...(canceled && { canceled }) }
}

function rememberCode(
  request: AcceptRequest,
  verification: VerificationRow,
  message: MessageRow | null,
  batch: Batch,
): void {
  const { idempotency, code } = request
  if (!idempotency || !code) return
  const response = code.response({ verification, message })
  remember({ ...request, idempotency: { ...idempotency, response } }, batch)
}

function knownAnswer(request: AcceptRequest, { answers }: AcceptState): AcceptResult | null {
  const { workspace_id, idempotency } = request
  const known = idempotency && answers.get(idempotencyKeyOf(workspace_id, idempotency))
  if (!known) return null
  return known.request_hash === idempotency.request_hash
    ? { outcome: 'replayed', response: known.response }
    : { outcome: 'key_reused' }
}

function suppressedOf({ messages }: AcceptRequest, { suppressed }: AcceptState): string[] {
  if (suppressed.size === 0) return []
  const found = messages.flatMap((message) => {
    const { workspace_id, channel, livemode } = message
    if (!livemode) return []
    return addressesOf(message).filter((recipient) => {
      const address = suppressedAddress({ channel, recipient })
      return suppressed.has(suppressionKey({ workspace_id, channel, address }))
    })
  })
  return [...new Set(found)]
}

/** Books the debit, or returns the refusal. */
function charge(request: AcceptRequest, debit: Operation, batch: Batch): AcceptResult | null {
  const { workspace_id, spending } = request
  const { state } = batch
  const account = state.accounts.get(workspace_id)
  if (!account) throw new Error(`workspace ${workspace_id} has no credit account`)
  const decision = decide(account, debit)
  if (!decision.ok) return refusalOf(decision)
  if (spending) {
    const { api_key_id, day, limit } = spending
    const key = spendingKey(workspace_id, spending)
    const before = state.spent.get(key) ?? (0 as Units)
    const required = (debit.held_delta - debit.amount) as Units
    if (before + required > limit) {
      return { outcome: 'daily_limit', of: 'api_key', required, limit, spent: before }
    }
    const spent = (before + required) as Units
    state.spent.set(key, spent)
    batch.spending.set(key, { workspace_id, api_key_id, day, spent })
  }
  state.accounts.set(workspace_id, decision.account)
  batch.accounts.set(workspace_id, decision.account)
  batch.entries.push(decision.entry)
  if (debit.kind === 'hold') batch.holds.push(holdOf(request, decision.entry))
  return null
}

function countUse(workspaceId: string, use: TestUse, batch: Batch): TestQuotaExceeded | null {
  const { test_usage } = batch.state
  const added = addTestUse(workspaceId, test_usage.get(workspaceId), use)
  if ('outcome' in added) return added
  test_usage.set(workspaceId, added)
  batch.test_usage.set(workspaceId, added)
  return null
}

/** A hold expires, so that its credits become available again if the end of the call is never reported. */
function holdOf(
  { messages }: AcceptRequest,
  { id, workspace_id, held_delta, ref_id, ref_n, created_at }: Entry,
): HoldRow {
  const due_at = messages[0]?.scheduled_at ?? created_at
  return {
    workspace_id,
    id,
    message_id: ref_id,
    n: ref_n,
    amount: held_delta,
    expires_at: new Date(due_at.getTime() + HOLD_MS),
    created_at,
  }
}

function refusalOf(refusal: Refusal): AcceptResult {
  switch (refusal.reason) {
    case 'account_frozen':
      return { outcome: 'account_frozen' }
    case 'insufficient_credits':
      return { outcome: refusal.reason, required: refusal.required, available: refusal.available }
    case 'daily_limit':
      return {
        outcome: refusal.reason,
        of: 'workspace',
        required: refusal.required,
        limit: refusal.limit,
        spent: refusal.spent,
      }
  }
}

function remember({ workspace_id, idempotency, messages }: AcceptRequest, batch: Batch): void {
  if (!idempotency) return
  batch.state.answers.set(idempotencyKeyOf(workspace_id, idempotency), idempotency)
  const created_at = messages[0]?.created_at
  if (!created_at) throw new Error('a request without messages')
  batch.answers.push({ ...idempotency, workspace_id, created_at })
}

/** The maximum number of rows that are inserted without a turn for other work: they take about 5 ms. */
const ROWS_MAX = 1_000

/** The same for the length of their contents, in UTF-16 code units: half a million take about 3 ms. */
const LENGTH_MAX = 2 ** 19

type Message = AcceptRequest['messages'][number]

/** Whether the requests together exceed a slice, so that their rows are written in turns of the event loop. */
export function isLarge(requests: readonly AcceptRequest[]): boolean {
  let [rows, length] = [0, 0]
  for (const { messages, rejections } of requests) {
    rows += messages.length + rejections.length
    for (let i = 0; i < messages.length; i++) length += weightOf(messages[i] as Message)
    if (rows > ROWS_MAX || length > LENGTH_MAX) return true
  }
  return false
}

/** Divides rows into slices, in order, each with at least one row. */
export function slicesOf<Row>(
  rows: readonly Row[],
  weigh: (row: Row) => number = () => 0,
): Row[][] {
  const slices: Row[][] = []
  let length = 0
  for (const row of rows) {
    const weight = weigh(row)
    const last = slices.at(-1)
    if (last && last.length < ROWS_MAX && length + weight <= LENGTH_MAX) {
      last.push(row)
      length += weight
    } else {
      slices.push([row])
      length = weight
    }
  }
  return slices
}

/** The length of a message's content and metadata. */
export function weightOf({ content, metadata }: Message): number {
  return textLength(content) + textLength(metadata)
}

/** The length of all texts in a value, in UTF-16 code units. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const name in value) length += textLength((value as Record<string, unknown>)[name])
  return length
}
