import type { Outcome } from '../contract/outside/provider.ts'
import { backoffMs } from '../runtime/backoff.ts'
import type { Step } from './settlement.ts'
import { advance } from './status.ts'
import {
  addParts,
  apply,
  assign,
  DELAY_MAX_MS,
  DELAY_MIN_MS,
  deadlineMs,
  dequeue,
  fail,
  failUnknown,
  isErased,
  LOOKUP,
  RETRY,
  requeue,
  suppress,
  UNKNOWN_MAX_MS,
  unknownMaxMs,
  unknownSince,
  wasRefunded,
} from './step.ts'
import { suppressedAddress } from './suppression.ts'

/** What an attempt gave. `holds`: whether the claim that made it still stands. */
export function settleSend(step: Step, attempt: number, outcome: Outcome, holds: boolean): boolean {
  const { message, queued, settlement } = step
  const isPartial = outcome.type === 'retry' && outcome.partial === true
  const { result } = settlement
  if (!holds && result.task === 'send' && result.never_called) {
    return withdrawDoubt(step, attempt, outcome)
  }
  // A claim that was lost says nothing, unless a provider took the message, or a part of it: that is true whoever
  // learned it.
  if (!holds && outcome.type !== 'accepted') {
    if (isPartial && message.status === 'queued') message.accepted = true
    return false
  }
  journal(step, attempt, outcome)
  if (outcome.type === 'accepted') {
    if (!wasRefunded(message)) message.accepted = true
    assign(message, settlement.provider)
    if (!isErased(message)) message.provider_message_id ??= outcome.provider_message_id
    for (const reached of reachedBy(outcome)) {
      for (const status of advance(message, reached)) apply(step, status, null, null)
    }
    addParts(step, attempt, outcome.part_ids ?? [])
    converse(step)
    if (holds || queued?.token === null) {
      if (outcome.lookup_after_ms === null) dequeue(step)
      else requeue(step, 'lookup', outcome.lookup_after_ms, null)
    }
    return true
  }
  if (message.status !== 'queued') {
    // It was told meanwhile that the provider has it, by a callback or by whoever had the claim before.
    follow(step)
    return true
  }
  assign(message, settlement.provider)
  if (outcome.type === 'rejected') {
    if (outcome.suppress) suppress(step, outcome.suppress)
    fail(step, outcome.error_code, outcome.error_message)
  }
  if (isPartial) {
    message.accepted = true
    converse(step)
  }
  if (outcome.type === 'retry') retry(step, attempt, outcome)
  if (outcome.type === 'ambiguous') {
    // Whoever may have got it may answer it, with STOP for example.
    converse(step)
    doubt(step, attempt, outcome)
  }
  return true
}

/**
 * An attempt was not made, and its claim is lost. The server that took the claim over found no outcome and put the message
 * in doubt. The message is sent again, unless another claim holds it now.
 */
function withdrawDoubt(step: Step, attempt: number, outcome: Outcome): boolean {
  const { message, queued } = step
  const isWaiting = queued?.token === null && queued.unknown_since !== null
  if (message.status !== 'queued' || message.accepted || !isWaiting) return false
  if (queued.attempt !== attempt) return false
  journal(step, attempt, outcome)
  requeue(step, 'send', 0, null)
  return true
}

function reachedBy({ status }: Extract<Outcome, { type: 'accepted' }>): ('sent' | 'delivered')[] {
  return status === 'delivered' ? ['sent', 'delivered'] : ['sent']
}

/**
 * Notes who wrote to whom: tells whose an answer is. Not of test keys, whose messages reach nobody: a free message from
 * any number would else bring in the answers to what others wrote from there.
 */
function converse({ settlement, message, plan }: Step): void {
  const sender = settlement.result.task === 'send' ? settlement.result.sender : null
  if (!sender || !message.livemode || isErased(message)) return
  const { workspace_id, channel } = message
  const address = suppressedAddress(message)
  plan.conversations.push({
    workspace_id,
    channel,
    sender,
    address,
    last_sent_at: settlement.at,
  })
}

/** Asks on what becomes of a message that its provider has, where asking is how it tells. */
function follow(step: Step): void {
  const { message, settlement } = step
  if (settlement.abilities.lookup && message.status !== 'failed') {
    requeue(step, 'lookup', LOOKUP.base_ms, null)
  } else dequeue(step)
}

function retry(step: Step, attempt: number, outcome: Extract<Outcome, { type: 'retry' }>): void {
  const wait = waitMs(attempt, outcome.delay_ms, step.context)
  if (step.settlement.at.getTime() + wait > deadlineMs(step.message)) {
    fail(
      step,
      step.message.expires_at ? 'expired' : 'retries_exhausted',
      `Gave up after attempt ${attempt}: ${outcome.error_message}`,
    )
  } else requeue(step, 'send', wait, step.queued?.unknown_since ?? null)
}

/** As long as the provider wants, within bounds, or ever longer. */
function waitMs(
  attempt: number,
  delay_ms: number | null,
  { random }: Pick<Step['context'], 'random'>,
): number {
  if (delay_ms === null) return backoffMs(attempt, RETRY, random)
  return Math.min(Math.max(delay_ms, DELAY_MIN_MS), DELAY_MAX_MS)
}

/** It is unknown whether the provider has the message: never sent again blindly. */
function doubt(
  step: Step,
  attempt: number,
  { error_message, answered }: Extract<Outcome, { type: 'ambiguous' }>,
): void {
  const { message, settlement, context } = step
  const { lookup, idempotent } = settlement.abilities
  const since = unknownSince(step)
  // A provider that does not keep its promise delivers each repetition, so unanswered ones must end soon.
  const can_tell = lookup || (idempotent && answered !== undefined)
  const max_ms = can_tell ? unknownMaxMs(message, since) : UNKNOWN_MAX_MS
  if (settlement.at.getTime() - since.getTime() > max_ms) {
    failUnknown(step, error_message)
  } else if (lookup) {
    // Certainty first: a repetition may reach the recipient once and still leave open whether this one did.
    requeue(step, 'lookup', LOOKUP.base_ms, since)
  } else if (idempotent) {
    const wait = waitMs(attempt, answered?.delay_ms ?? null, context)
    // A provider may ask for a longer wait than the message is worth: the last try is made before that.
    const left = since.getTime() + max_ms - settlement.at.getTime()
    requeue(step, 'send', Math.max(DELAY_MIN_MS, Math.min(wait, left)), since)
  } else {
    // Only a callback can tell now; the row wakes once more to give up.
    requeue(step, 'lookup', UNKNOWN_MAX_MS, since)
  }
}

function journal({ message, settlement, plan }: Step, number: number, outcome: Outcome): void {
  const accepted = outcome.type === 'accepted'
  const isKept = !isErased(message)
  plan.attempts.push({
    workspace_id: message.workspace_id,
    message_id: message.id,
    number,
    outcome: outcome.type,
    provider_message_id: accepted && isKept ? outcome.provider_message_id : null,
    error_code: accepted ? null : outcome.error_code,
    error_message: accepted || !isKept ? null : outcome.error_message,
    finished_at: settlement.at,
  })
}
