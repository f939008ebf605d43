import { backoffMs } from '../backoff.ts'
import type { Channel } from '../contract/messages.ts'
import type { Units } from '../contract/units.ts'
import { type Account, decide, type Entry } from '../credits/decide.ts'
import type { LookupResult, Outcome, Receipt, Reply } from '../providers/provider.ts'
import type {
  MessageAttemptRow,
  MessageEventRow,
  MessageQueueRow,
  MessageRow,
} from '../storage/storage.ts'
import { type FanOut, fanOut, type Subscriber, statusData } from '../webhooks/fan-out.ts'
import { advance, type Reported, STATUS_EVENTS } from './status.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Past this age a message is no longer worth sending; `expires_in` of the request sets its own. */
const MAX_AGE_MS: Record<Channel, number> = {
  sms: 4 * HOUR_MS,
  whatsapp: 4 * HOUR_MS,
  voice: 4 * HOUR_MS,
  email: 48 * HOUR_MS,
}

const RETRY = { base_ms: 1_000, cap_ms: 5 * MINUTE_MS }
const LOOKUP = { base_ms: 2_000, cap_ms: 5 * MINUTE_MS }

/** A provider's own wish for a pause is honoured between these. */
const DELAY_MIN_MS = 1_000
const DELAY_MAX_MS = 24 * HOUR_MS

/** How long an unknown outcome may stay unknown before the message fails as `outcome_unknown`. */
const UNKNOWN_MAX_MS = 10 * MINUTE_MS

/** One thing learned about a message: what an attempt gave, what a look-up found, or what a provider called back. */
export interface Settlement {
  workspace_id: string
  message_id: string
  /** The token of the claim this came from; null for a provider's callback, which holds none. */
  token: string | null
  provider: string
  /** What the provider can do, where the outcome is unknown. */
  abilities: { idempotent: boolean; lookup: boolean }
  result:
    | { task: 'send'; attempt: number; outcome: Outcome }
    | { task: 'lookup'; found: LookupResult }
    | { task: 'callback'; receipts: Receipt[] }
  at: Date
}

export type SettledMessage = Omit<MessageRow, 'content'>

/** What the storage looked up, under its locks. */
export interface SettleState {
  messages: Map<string, SettledMessage>
  queue: Map<string, MessageQueueRow>
  /** Active webhooks by workspace. */
  subscribers: Map<string, Subscriber[]>
  accounts: Map<string, Account>
}

/** What the storage shall write, all in the transaction that looked the state up. */
export interface SettlePlan extends FanOut {
  /** For each settlement, whether it still counted; one from a claim that was lost meanwhile does not. */
  counted: boolean[]
  messages: SettledMessage[]
  attempts: Omit<MessageAttemptRow, 'provider' | 'started_at'>[]
  message_events: MessageEventRow[]
  requeue: MessageQueueRow[]
  /** Ids of messages that need nothing more. */
  dequeue: string[]
  accounts: Account[]
  entries: Entry[]
}

export interface SettleContext {
  newId: () => string
  random: () => number
}

/**
 * Turns what was learned into what is written: statuses forward only, one refund at most and only where no provider
 * can have the message, one event for each change, the next step of each queue row.
 */
export function planSettle(
  settlements: readonly Settlement[],
  state: SettleState,
  context: SettleContext,
): SettlePlan {
  const plan: SettlePlan = {
    counted: [],
    messages: [],
    attempts: [],
    message_events: [],
    requeue: [],
    dequeue: [],
    accounts: [],
    entries: [],
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
    const step: Step = { settlement, message, queued, state, accounts, plan, context }
    plan.counted.push(settle(step))
  }
  plan.messages = [...messages.values()]
  plan.accounts = [...accounts.values()]
  return plan
}

/** One settlement on its way through the plan. `message` is a copy that the step may change. */
interface Step {
  settlement: Settlement
  message: SettledMessage
  queued: MessageQueueRow | null
  state: SettleState
  accounts: Map<string, Account>
  plan: SettlePlan
  context: SettleContext
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
      for (const receipt of result.receipts) applyReceipt(step, receipt)
      // The callback answers the question that the queue row stands for. A claimed row is left to its claimant.
      if (queued?.unknown_since && !queued.token && step.message.status !== 'queued') dequeue(step)
      return true
  }
}

function settleSend(step: Step, attempt: number, outcome: Outcome, holds: boolean): boolean {
  const { message, queued, settlement } = step
  // A claim that was lost says nothing, unless a provider took the message: that is true whoever learned it.
  if (!holds && outcome.type !== 'accepted') return false
  journal(step, attempt, outcome)
  if (outcome.type === 'accepted') {
    if (!wasRefunded(message)) message.accepted = true
    message.provider = settlement.provider
    message.provider_message_id ??= outcome.provider_message_id
    for (const status of advance(message, 'sent')) apply(step, status, null, null)
    if (holds || queued?.token === null) {
      if (outcome.lookup_after_ms === null) dequeue(step)
      else requeue(step, 'lookup', outcome.lookup_after_ms, null)
    }
    return true
  }
  if (message.status !== 'queued') {
    // A callback told meanwhile that an earlier attempt had arrived.
    dequeue(step)
    return true
  }
  message.provider = settlement.provider
  if (outcome.type === 'rejected') fail(step, outcome.error_code, outcome.error_message)
  else if (outcome.type === 'retry') retry(step, attempt, outcome)
  else doubt(step, attempt, outcome)
  return true
}

function retry(step: Step, attempt: number, outcome: Extract<Outcome, { type: 'retry' }>): void {
  const wait =
    outcome.delay_ms === null
      ? backoffMs(attempt, RETRY, step.context.random)
      : Math.min(Math.max(outcome.delay_ms, DELAY_MIN_MS), DELAY_MAX_MS)
  if (step.settlement.at.getTime() + wait > deadlineMs(step.message)) {
    fail(
      step,
      step.message.expires_at ? 'expired' : 'retries_exhausted',
      `Gave up after attempt ${attempt}: ${outcome.error_message}`,
    )
  } else requeue(step, 'send', wait, step.queued?.unknown_since ?? null)
}

/** It is unknown whether the provider has the message: never sent again blindly. */
function doubt(step: Step, attempt: number, outcome: { error_message: string }): void {
  const { settlement, queued, context } = step
  const since = queued?.unknown_since ?? settlement.at
  if (settlement.at.getTime() - since.getTime() > UNKNOWN_MAX_MS) {
    failUnknown(step, outcome.error_message)
  } else if (settlement.abilities.lookup) {
    // Certainty first: a repetition may reach the recipient once and still leave open whether this one did.
    requeue(step, 'lookup', LOOKUP.base_ms, since)
  } else if (settlement.abilities.idempotent) {
    requeue(step, 'send', backoffMs(attempt, RETRY, context.random), since)
  } else {
    // Only a callback can tell now; the row wakes once more to give up.
    requeue(step, 'lookup', UNKNOWN_MAX_MS, since)
  }
}

function settleLookup(step: Step, found: LookupResult, holds: boolean): boolean {
  const { message, queued, settlement } = step
  if (found.type === 'found') {
    if (!wasRefunded(message)) message.accepted = true
    message.provider ??= settlement.provider
    message.provider_message_id ??= found.receipts[0]?.provider_message_id ?? null
    // Who knows a message has taken it, whatever else it tells.
    if (message.status === 'queued') {
      for (const status of advance(message, 'sent')) apply(step, status, null, null)
    }
    for (const receipt of found.receipts) applyReceipt(step, receipt)
    // A look-up that was lost is repeated, and would announce the reply again.
    if (holds) for (const reply of found.replies) receive(step, reply)
    if (holds) {
      if (found.lookup_after_ms === null) dequeue(step)
      else requeue(step, 'lookup', found.lookup_after_ms, null)
    }
    return true
  }
  if (!holds || !queued) return false
  if (message.status !== 'queued') {
    const wait = pollWait(message.sent_at ?? message.created_at, settlement.at)
    if (found.type === 'unavailable' && settlement.at.getTime() < deadlineMs(message)) {
      requeue(step, 'lookup', wait, null)
    } else dequeue(step)
    return true
  }
  if (found.type === 'not_found') {
    requeue(step, 'send', 0, null)
    return true
  }
  const since = queued.unknown_since ?? settlement.at
  if (settlement.at.getTime() - since.getTime() >= UNKNOWN_MAX_MS) {
    failUnknown(step, 'No answer to the question whether the provider has it')
  } else requeue(step, 'lookup', pollWait(since, settlement.at), since)
  return true
}

/** Waiting as long as has been waited already doubles the distance each time. */
function pollWait(since: Date, at: Date): number {
  return Math.min(Math.max(at.getTime() - since.getTime(), LOOKUP.base_ms), LOOKUP.cap_ms)
}

/** Failed before any provider had it, its credits given back: nothing learned later revives it. */
function wasRefunded({ status, accepted }: SettledMessage): boolean {
  return status === 'failed' && !accepted
}

function applyReceipt(step: Step, receipt: Receipt): void {
  const { message, settlement } = step
  if (!wasRefunded(message)) message.accepted = true
  message.provider ??= settlement.provider
  message.provider_message_id ??= receipt.provider_message_id
  const statuses = advance(message, receipt.status)
  if (statuses.length === 0) note(step, receipt.status, false, receipt)
  for (const status of statuses) apply(step, status, receipt.error_code, receipt.error_message)
}

function apply(step: Step, status: Reported, code: string | null, text: string | null): void {
  const { message, settlement, state, plan, context } = step
  const { at } = settlement
  message.status = status
  message.sequence += 1
  message.updated_at = at
  // Where a provider reports in one breath what happened one after the other, the earlier times are this one.
  if (status === 'sent') message.sent_at = at
  if (status === 'delivered') message.delivered_at = at
  if (status === 'read') message.read_at = at
  if (status === 'failed') message.failed_at = at
  message.error_code = status === 'failed' ? code : null
  message.error_message = status === 'failed' ? text : null
  note(step, status, true, { error_code: code, error_message: text })
  const { workspace_id, id: message_id } = message
  fanOut(
    plan,
    { event: STATUS_EVENTS[status], data: statusData(message, at), workspace_id, message_id },
    state.subscribers.get(workspace_id) ?? [],
    { at, newId: context.newId },
  )
}

/** Announces what the recipient wrote back. */
function receive({ message, settlement, state, plan, context }: Step, reply: Reply): void {
  const { at } = settlement
  const { workspace_id } = message
  const message_id = context.newId()
  const data = {
    message_id,
    channel: message.channel,
    sender: message.recipient,
    recipient: message.sender ?? message.provider ?? 'unknown',
    content: { text: reply.text },
    provider_message_id: null,
    occurred_at: at,
  }
  fanOut(
    plan,
    { event: 'message.received', data, workspace_id, message_id },
    state.subscribers.get(workspace_id) ?? [],
    { at, newId: context.newId },
  )
}

function note(
  { message, settlement, plan, context }: Step,
  status: Reported,
  applied: boolean,
  error: { error_code: string | null; error_message: string | null },
): void {
  plan.message_events.push({
    workspace_id: message.workspace_id,
    message_id: message.id,
    id: context.newId(),
    status,
    applied,
    error_code: error.error_code,
    error_message: error.error_message,
    at: settlement.at,
  })
}

/** Fails a message that no provider has, and gives its credits back. */
function fail(step: Step, code: string, text: string): void {
  const { message, queued } = step
  // The refusal of a repetition does not say that the attempt before it did not arrive.
  if (queued?.unknown_since) {
    failUnknown(step, text)
    return
  }
  refund(step)
  for (const status of advance(message, 'failed')) apply(step, status, code, text)
  dequeue(step)
}

/** Fails a message that a provider may have: whoever may have delivered it is paid, so nothing is given back. */
function failUnknown(step: Step, text: string): void {
  step.message.accepted = true
  for (const status of advance(step.message, 'failed')) apply(step, status, 'outcome_unknown', text)
  dequeue(step)
}

function refund(step: Step): void {
  const { message, settlement, state, accounts, plan, context } = step
  const amount = (message.credits_used - message.credits_refunded) as Units
  if (amount <= 0) return
  const account = accounts.get(message.workspace_id) ?? state.accounts.get(message.workspace_id)
  if (!account) throw new Error(`workspace ${message.workspace_id} has no credit account`)
  const decision = decide(account, {
    id: context.newId(),
    kind: 'refund',
    amount,
    held_delta: 0 as Units,
    counter_account: `revenue:${message.channel}`,
    reference: { type: 'message', id: message.id, n: 0 },
    channel: message.channel,
    quantity: null,
    unit_price: null,
    actor: null,
    description: 'Failed before any provider accepted it',
    at: settlement.at,
  })
  if (!decision.ok) throw new Error(`a refund was refused: ${decision.reason}`)
  accounts.set(message.workspace_id, decision.account)
  plan.entries.push(decision.entry)
  message.credits_refunded = message.credits_used
}

function journal({ message, settlement, plan }: Step, number: number, outcome: Outcome): void {
  const accepted = outcome.type === 'accepted'
  plan.attempts.push({
    workspace_id: message.workspace_id,
    message_id: message.id,
    number,
    outcome: outcome.type,
    provider_message_id: accepted ? outcome.provider_message_id : null,
    error_code: accepted ? null : outcome.error_code,
    error_message: accepted ? null : outcome.error_message,
    finished_at: settlement.at,
  })
}

function requeue(
  step: Step,
  task: 'send' | 'lookup',
  waitMs: number,
  unknownSince: Date | null,
): void {
  const { queued, settlement, plan, message } = step
  if (!queued) return
  step.state.queue.delete(message.id)
  plan.requeue.push({
    ...queued,
    task,
    due_at: new Date(settlement.at.getTime() + waitMs),
    token: null,
    unknown_since: unknownSince,
  })
}

function dequeue({ message, plan, state }: Step): void {
  if (state.queue.delete(message.id)) plan.dequeue.push(message.id)
}

function deadlineMs(message: SettledMessage): number {
  if (message.expires_at) return message.expires_at.getTime()
  const since = message.scheduled_at ?? message.created_at
  return since.getTime() + MAX_AGE_MS[message.channel]
}
