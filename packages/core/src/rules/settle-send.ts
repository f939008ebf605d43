import { E164 } from '../contract/fields/e164.ts'
import { emailKey } from '../contract/fields/email-address.ts'
import type { Outcome, RecipientOutcome } from '../contract/outside/provider.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import { backoffMs } from '../runtime/backoff.ts'
import {
  isDue,
  resultsByAddress,
  suppressedAddress,
  withAcceptance,
  withRejections,
} from './recipients.ts'
import type { Step } from './settlement.ts'
import { advance } from './settlement.ts'
import {
  addParts,
  apply,
  assign,
  conclude,
  DELAY_MAX_MS,
  DELAY_MIN_MS,
  deadlineMs,
  dequeue,
  fail,
  failKnown,
  failUnknown,
  isErased,
  journal,
  LOOKUP,
  RETRY,
  requeue,
  suppress,
  UNKNOWN_MAX_MS,
  unknownMaxMs,
  unknownSince,
  wasRefunded,
} from './step.ts'

/** Applies the outcome of an attempt. `holds`: whether the claim that made the attempt still holds the row. */
export function settleSend(step: Step, attempt: number, outcome: Outcome, holds: boolean): boolean {
  const { message, queued, settlement } = step
  const isPartial = outcome.type === 'retry' && outcome.partial === true
  const { result } = settlement
  if (!holds && result.task === 'send' && result.never_accepted && outcome.type === 'retry') {
    return withdrawDoubt(step, attempt, outcome)
  }
  // The outcome of a lost claim counts only if a provider accepted the message or a part of it.
  if (!holds && outcome.type !== 'accepted') {
    if (isPartial && message.status === 'queued') message.accepted = true
    return false
  }
  journal(step, attempt, outcome)
  if (outcome.type === 'accepted') {
    if (!wasRefunded(message)) message.accepted = true
    assign(message, settlement.provider)
    if (!isErased(message)) message.provider_message_id ??= outcome.provider_message_id
    const isOvertaken = !holds && queued !== null && queued.attempt > attempt
    const deferred = reach(step, isOvertaken ? withoutRejections(outcome) : outcome)
    converse(step, outcome.identities)
    addParts(step, attempt, outcome.part_ids ?? [])
    if (holds || queued?.token === null) {
      if (deferred) retry(step, attempt, { ...deferred, delay_ms: null })
      else if (outcome.lookup_after_ms === null) dequeue(step)
      else requeue(step, 'lookup', outcome.lookup_after_ms, null)
    }
    return true
  }
  if (message.status !== 'queued') {
    // A callback or an earlier claim has reported meanwhile that the provider has the message.
    if (outcome.type === 'ambiguous') converse(step)
    follow(step)
    return true
  }
  const isByService = result.task === 'send' && result.by_service === true
  // A provider that was not called is still the next one.
  if (!isByService || outcome.type !== 'retry') assign(message, settlement.provider)
  if (reject(step, outcome)) return true
  if (outcome.type === 'rejected') {
    if (outcome.suppress) suppress(step, outcome.suppress)
    // A provider that recognises repetitions answers the repetition of a message that it has with its acceptance.
    const end = settlement.abilities.idempotent && !isByService ? failKnown : fail
    end(step, outcome.error_code, outcome.error_message)
  }
  if (isPartial) {
    message.accepted = true
    converse(step)
  }
  if (outcome.type === 'retry') retry(step, attempt, outcome)
  if (outcome.type === 'ambiguous') {
    // A recipient that got the message may answer it, for example with STOP.
    converse(step)
    doubt(step, attempt, outcome)
  }
  return true
}

/**
 * Applies an acceptance. For a message with several recipients, returns the reason why the provider did not accept it for
 * some of them now; they keep the message in the queue.
 */
function reach(
  step: Step,
  outcome: Extract<Outcome, { type: 'accepted' }>,
): RecipientOutcome | undefined {
  const { message } = step
  if (message.recipients === null) {
    for (const reached of reachedBy(outcome)) {
      for (const status of advance(message, reached)) apply(step, status, null, null)
    }
    return undefined
  }
  const { recipients, results } = rejectListed(step, message.recipients, outcome)
  message.recipients = withAcceptance(recipients, outcome.status ?? 'sent', results)
  conclude(step, message.recipients)
  const due = message.recipients.find(isDue)
  return due && results.get(emailKey(due.address))
}

/**
 * An acceptance that comes late: a newer attempt sends, or sent, the mail to all recipients that had no result. So only that
 * attempt can say that one of them does not get it.
 */
function withoutRejections(
  outcome: Extract<Outcome, { type: 'accepted' }>,
): Extract<Outcome, { type: 'accepted' }> {
  if (!outcome.recipients) return outcome
  const recipients = outcome.recipients.map(({ address, error_code, error_message }) => {
    return { type: 'retry' as const, address, error_code, error_message }
  })
  return { ...outcome, recipients }
}

/** Applies the rejections of some of several recipients. Returns whether no recipient waits for a result any more. */
function reject(step: Step, outcome: Outcome): boolean {
  const { message } = step
  if (message.recipients === null) return false
  const { recipients } = rejectListed(step, message.recipients, outcome)
  if (recipients.some(isDue)) return false
  conclude(step, recipients)
  dequeue(step)
  return true
}

/** Fails the recipients that the outcome lists as rejected. Returns all recipients, and the listed results by address. */
function rejectListed(
  step: Step,
  before: readonly StoredRecipient[],
  { recipients: listed = [] }: Outcome,
): { recipients: StoredRecipient[]; results: ReturnType<typeof resultsByAddress> } {
  const { message } = step
  const kept = isErased(message) ? listed.map((one) => ({ ...one, error_message: '' })) : listed
  const results = resultsByAddress(kept)
  for (const { address, status } of before) {
    const result = status === 'queued' ? results.get(emailKey(address)) : undefined
    if (result?.type === 'rejected' && result.suppress) suppress(step, result.suppress, address)
  }
  const recipients = withRejections(before, results)
  message.recipients = recipients
  if (recipients.some(({ accepted }) => accepted)) message.accepted = true
  return { recipients, results }
}

/**
 * Handles an attempt that no provider accepted and whose claim is lost. The server that took over the claim found no outcome:
 * it set `unknown_since`, or its claim still holds the row and calls no provider, because each call has an attempt of its own.
 * Either way the attempt is now known, so the message is sent again and the other claim ends.
 */
function withdrawDoubt(
  step: Step,
  attempt: number,
  outcome: Extract<Outcome, { type: 'retry' }>,
): boolean {
  const { message, queued, context } = step
  if (message.status !== 'queued' || message.accepted || queued?.attempt !== attempt) return false
  if (queued.token === null && queued.unknown_since === null) return false
  journal(step, attempt, outcome)
  const { delay_ms } = outcome
  requeue(step, 'send', delay_ms === 0 ? 0 : waitMs(attempt, delay_ms, context), null)
  return true
}

function reachedBy({ status }: Extract<Outcome, { type: 'accepted' }>): ('sent' | 'delivered')[] {
  return status === 'delivered' ? ['sent', 'delivered'] : ['sent']
}

/**
 * Records sender and recipient, because an answer goes to the workspace that wrote last. Test messages are not
 * recorded: with a free message from a shared number, a workspace could get the answers to other workspaces' messages.
 */
function converse({ settlement, message, plan }: Step, identities: readonly string[] = []): void {
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
    other_number: identities.find((one) => E164.test(one) && one !== address) ?? null,
    user_id: identities.find((one) => !E164.test(one)) ?? null,
  })
}

/** Continues the look-ups of a message that its provider has, if this provider supports look-ups. */
function follow(step: Step): void {
  const { message, settlement } = step
  if (settlement.abilities.lookup && message.status !== 'failed') {
    requeue(step, 'lookup', LOOKUP.base_ms, null)
  } else dequeue(step)
}

function retry(
  step: Step,
  attempt: number,
  outcome: Pick<Extract<Outcome, { type: 'retry' }>, 'delay_ms' | 'error_message'>,
): void {
  const wait = waitMs(attempt, outcome.delay_ms, step.context)
  if (step.settlement.at.getTime() + wait > deadlineMs(step.message)) {
    fail(
      step,
      step.message.expires_at ? 'expired' : 'retries_exhausted',
      `Gave up after attempt ${attempt}: ${outcome.error_message}`,
    )
  } else requeue(step, 'send', wait, step.queued?.unknown_since ?? null)
}

/** The provider's delay, limited to the bounds; without a delay, the backoff. */
function waitMs(
  attempt: number,
  delay_ms: number | null,
  { random }: Pick<Step['context'], 'random'>,
): number {
  if (delay_ms === null) return backoffMs(attempt, RETRY, random)
  return Math.min(Math.max(delay_ms, DELAY_MIN_MS), DELAY_MAX_MS)
}

/** Handles an unknown outcome: the provider may have the message, so only an idempotent provider gets it again. */
function doubt(
  step: Step,
  attempt: number,
  { error_message, answered }: Extract<Outcome, { type: 'ambiguous' }>,
): void {
  const { message, settlement, context } = step
  const { lookup, idempotent } = settlement.abilities
  const since = unknownSince(step)
  // A provider that is wrongly declared idempotent delivers each repetition, so unanswered repetitions must end soon.
  const isAnswering = lookup || (idempotent && answered !== undefined)
  const max_ms = isAnswering ? unknownMaxMs(message, since) : UNKNOWN_MAX_MS
  if (settlement.at.getTime() - since.getTime() > max_ms) {
    failUnknown(step, error_message)
  } else if (lookup) {
    // The look-up comes first, because the outcome of a repetition may be unknown too.
    requeue(step, 'lookup', LOOKUP.base_ms, since)
  } else if (idempotent) {
    const wait = waitMs(attempt, answered?.delay_ms ?? null, context)
    // If the provider's delay ends after the message's deadline, the last try is made at the deadline.
    const left_ms = since.getTime() + max_ms - settlement.at.getTime()
    requeue(step, 'send', Math.max(DELAY_MIN_MS, Math.min(wait, left_ms)), since)
  } else {
    // Only a callback can report the outcome; the row becomes due once more to fail the message.
    requeue(step, 'lookup', UNKNOWN_MAX_MS, since)
  }
}
