import { emailKey } from '../contract/fields/email-address.ts'
import { units } from '../contract/fields/units.ts'
import { countChanges, countedAs, type StatusChange } from './count-changes.ts'
import type { Account } from './decide.ts'
import { SUPPRESSED_TEXT } from './recipients.ts'
import { settleCallback, settleLookup, settleRefused } from './settle-reports.ts'
import { settleSend } from './settle-send.ts'
import type {
  CodeCountChange,
  FailedCode,
  SettleContext,
  SettledMessage,
  Settlement,
  SettlePlan,
  SettleState,
  Step,
} from './settlement.ts'
import {
  announceFailedRecipients,
  deadlineMs,
  fail,
  failUnknown,
  requeue,
  UNKNOWN_MAX_MS,
  unknownMaxMs,
} from './step.ts'

/**
 * Plans the rows for settlements. Statuses only go forward. A message is refunded at most once, and only if no provider
 * can have it. Each change of status makes one event.
 */
export function planSettle(
  settlements: readonly Settlement[],
  state: SettleState,
  context: SettleContext,
): SettlePlan {
  const plan: SettlePlan = {
    counted: [],
    messages: [],
    counts: [],
    attempts: [],
    message_events: [],
    code_counts: [],
    failed_codes: [],
    reached: [],
    parts: [],
    part_changes: [],
    conversations: [],
    suppressions: [],
    requeue: [],
    dequeue: [],
    accounts: [],
    entries: [],
    ended_holds: [],
    events: [],
    deliveries: [],
    delivery_queue: [],
  }
  const messages = new Map<string, SettledMessage>()
  const accounts = new Map<string, Account>()
  for (const settlement of settlements) {
    const found = messages.get(settlement.message_id) ?? state.messages.get(settlement.message_id)
    if (!found || found.workspace_id !== settlement.workspace_id) {
      plan.counted.push(false)
      continue
    }
    const message = { ...found }
    messages.set(message.id, message)
    const queued = state.queue.get(message.id) ?? null
    const step: Step = {
      settlement,
      before: found,
      message,
      queued,
      state,
      accounts,
      plan,
      context,
    }
    plan.counted.push(settle(step))
    announceFailedRecipients(step)
  }
  plan.messages = [...messages.values()].filter((message) => isChanged(message, state))
  plan.accounts = [...accounts.values()]
  // One statement writes the rows of a kind, so each attempt is there once.
  plan.attempts = lastAttempts(plan.attempts)
  plan.conversations = lastOf(plan.conversations)
  plan.suppressions = lastOf(plan.suppressions)
  plan.code_counts = plan.messages.flatMap((message) => recounted(message, state))
  plan.failed_codes = plan.messages.flatMap((message) => failedCode(message, state))
  plan.counts = countChanges(plan.messages.map((message) => moved(message, state)))
  return plan
}

function settle(step: Step): boolean {
  const { settlement, queued } = step
  const holds = queued !== null && settlement.token !== null && queued.token === settlement.token
  const { result } = settlement
  switch (result.task) {
    case 'send':
      return settleSend(step, result.attempt, result.outcome, holds)
    case 'lookup':
      return settleLookup(step, result.found, holds)
    case 'callback':
      return settleCallback(step, result)
    case 'refused':
      return settleRefused(step, result.receipt)
    case 'cancel':
      return settleCancel(step)
    case 'suppressed':
      return settleSuppressed(step)
    case 'postponed':
      return settlePostponed(step, result)
  }
}

/** Cancels only while no provider can have the message or a part of it: a worker with a claim may be sending it. */
function settleCancel(step: Step): boolean {
  const { message, queued } = step
  const isWaiting = queued !== null && queued.token === null && queued.unknown_since === null
  if (message.status !== 'queued' || message.accepted || !isWaiting) return false
  fail(step, 'canceled', 'Canceled before it was sent')
  return true
}

/** Fails a message whose recipient opted out while it waited. The outcome of an earlier attempt may be unknown. */
function settleSuppressed(step: Step): boolean {
  const { message, queued } = step
  if (message.status !== 'queued' || queued === null || queued.token !== null) return false
  fail(step, 'suppressed', SUPPRESSED_TEXT)
  return true
}

/** Handles a message that no provider can take now: it waits until its deadline or the limit of an unknown outcome. */
function settlePostponed(
  step: Step,
  { wait_ms, error_message }: { wait_ms: number; error_message: string },
): boolean {
  const { message, queued, settlement } = step
  if (message.status !== 'queued' || queued === null || queued.token !== null) return false
  const now_ms = settlement.at.getTime()
  const left_ms = deadlineMs(message) - now_ms
  const since = queued.unknown_since ?? settlement.at
  const { lookup, idempotent } = settlement.abilities
  const max_ms = lookup || idempotent ? unknownMaxMs(message, since) : UNKNOWN_MAX_MS
  if (now_ms - since.getTime() > max_ms) failUnknown(step, error_message)
  else if (left_ms <= 0) fail(step, message.expires_at ? 'expired' : 'unroutable', error_message)
  else requeue(step, 'send', Math.min(wait_ms, left_ms), queued.unknown_since)
  return true
}

function lastAttempts(attempts: SettlePlan['attempts']): SettlePlan['attempts'] {
  const keyed = attempts.map((row) => [`${row.message_id} ${row.number}`, row] as const)
  return [...new Map(keyed).values()]
}

/** The last row of each key, sorted by key, because transactions that lock in one order cannot deadlock. */
function lastOf<
  Row extends { workspace_id: string; channel: string; address: string; sender?: string },
>(rows: readonly Row[]): Row[] {
  if (rows.length < 2) return [...rows]
  const keyed = rows.map((row): [string, Row] => [
    [row.workspace_id, row.channel, row.sender, row.address].join('\n'),
    row,
  ])
  return [...new Map(keyed)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function isChanged(message: SettledMessage, { messages }: SettleState): boolean {
  const before = messages.get(message.id)
  const names = Object.keys(message) as (keyof SettledMessage)[]
  return names.some((name) => message[name] !== before?.[name])
}

function moved(message: SettledMessage, { messages }: SettleState): StatusChange {
  const { id, workspace_id, channel, livemode, created_at } = message
  const before = messages.get(id)
  const from = before ? countedAs(before) : null
  return { id, workspace_id, channel, livemode, created_at, from, to: countedAs(message) }
}

/** Only live messages to numbers with an end are counted as codes; other messages are not looked up. */
function recounted(message: SettledMessage, { messages }: SettleState): CodeCountChange[] {
  const before = messages.get(message.id)
  const { workspace_id, id: message_id, recipient, created_at, channel, livemode } = message
  if (!before || !livemode || message.expires_at === null || channel === 'email') return []
  const about = { workspace_id, message_id, recipient, created_at }
  const wasFree = isFree(before)
  if (wasFree === isFree(message)) return []
  return wasFree
    ? [{ ...about, sent: 1, credits_used: message.credits_used }]
    : [{ ...about, sent: -1, credits_used: units(-before.credits_used) }]
}

/** Only messages with an end have codes; other failures are not looked up. */
function failedCode(message: SettledMessage, { messages }: SettleState): FailedCode[] {
  const { workspace_id, id: message_id, channel, recipient, updated_at: at } = message
  const hasFailed = message.status === 'failed' && messages.get(message_id)?.status !== 'failed'
  if (!hasFailed || message.expires_at === null) return []
  const address = channel === 'email' ? emailKey(recipient) : recipient
  return [{ workspace_id, message_id, address, at }]
}

/** Whether a message failed and cost nothing. A call that failed later may still be charged for its duration. */
function isFree({ status, accepted, channel, credits_used }: SettledMessage): boolean {
  return status === 'failed' && (!accepted || (channel === 'voice' && credits_used === 0))
}

export interface CancelRequest {
  workspace_id: string
  message_ids: readonly string[]
  at: Date
}

/** `not_cancelable`: the message was sent, has failed or was canceled, or a provider may have it. */
export type CancelOutcome = 'canceled' | 'not_cancelable' | 'not_found'

export function cancellations({ workspace_id, message_ids, at }: CancelRequest): Settlement[] {
  return message_ids.map((message_id) => ({
    workspace_id,
    message_id,
    token: null,
    provider: '',
    abilities: { idempotent: false, lookup: false },
    result: { task: 'cancel' },
    at,
  }))
}

/** Cancels messages, if possible: each fails and is refunded once. Outcomes are in the order of `settlements`. */
export function planCancel(
  settlements: readonly Settlement[],
  state: SettleState,
  context: SettleContext,
): { plan: SettlePlan; outcomes: CancelOutcome[] } {
  const known = settlements.map(({ message_id }) => state.messages.has(message_id))
  const plan = planSettle(settlements, state, context)
  const outcomes = plan.counted.map((isCanceled, i): CancelOutcome => {
    if (isCanceled) return 'canceled'
    return known[i] ? 'not_cancelable' : 'not_found'
  })
  return { plan, outcomes }
}
