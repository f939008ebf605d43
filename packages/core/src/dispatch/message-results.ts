import type {
  JobRecipient,
  LookupJob,
  LookupResult,
  Outcome,
  RecipientOutcome,
  Reply,
  SendJob,
} from '../contract/outside/provider.ts'
import type { VoiceContent } from '../contract/resources/content.ts'
import type { Incoming } from '../inbound/inbound.ts'
import { SANDBOX } from '../providers/installed.ts'
import type { StoredRecipient } from '../rows/messages.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import { heldMinutes } from '../rules/money.ts'
import { isDue, SUPPRESSED_TEXT } from '../rules/recipients.ts'
import type { Settlement } from '../rules/settlement.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Link, Stretch, Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { InFlight } from './in-flight.ts'
import { persist } from './lane.ts'
import type { Routing } from './routing.ts'
import { UNVERIFIED } from './signed-jobs.ts'

export type Result = Settlement['result']
export type SendResult = Extract<Result, { task: 'send' }> & { sender: string | null }

export const UNANSWERED: Outcome = {
  type: 'ambiguous',
  error_code: 'no_answer',
  error_message: 'The provider did not answer',
}
export const NOT_CALLED: Outcome = {
  type: 'retry',
  error_code: 'not_called',
  error_message:
    'The provider was not called: sending was paused, or the service stood still for too long',
  delay_ms: 0,
}
/** The outcome of a message whose provider began no request: it was paused meanwhile, or had no free connection in time. */
export const NOT_BEGUN: Outcome = {
  type: 'retry',
  error_code: 'not_called',
  error_message: 'The provider was not called: it was paused, or its connections were in use',
  delay_ms: 1_000,
}
export const FILE_MISSING: Outcome = {
  type: 'rejected',
  error_code: 'invalid_content',
  error_message: 'A file of the message is missing',
}
const INTERRUPTED: Outcome = {
  type: 'ambiguous',
  error_code: 'interrupted',
  error_message: 'The service stopped while the provider was being called',
}
const EXPIRED: Outcome = {
  type: 'rejected',
  error_code: 'expired',
  error_message: 'The message was not sent before it expired',
}
export const UNAVAILABLE: LookupResult = { type: 'unavailable' }
const NOTHING_MORE: LookupResult = {
  type: 'found',
  receipts: [],
  replies: [],
  lookup_after_ms: null,
}

/** For a send, the provider that the claim chose; for a look-up, the provider that has the message. */
export function providerOf({ task, route, provider }: ClaimedMessage): string {
  return (task === 'send' ? route?.provider : null) ?? provider ?? SANDBOX.name
}

function senderOf(routing: Routing, message: ClaimedMessage): string | null {
  return routing.senderOf(providerOf(message), message)
}

export function sendJob(routing: Routing, message: ClaimedMessage): SendJob {
  const { workspace_id, message_id, channel, recipient, content, attempt } = message
  return {
    workspace_id,
    message_id,
    channel,
    sender: senderOf(routing, message),
    recipient,
    ...(message.recipients && { recipients: message.recipients.map(jobRecipient(message)) }),
    content,
    attempt,
    created_at_ms: message.created_at.getTime(),
    // A call must not cost more than the credits held for it.
    max_duration_s: channel === 'voice' ? heldMinutes(content as VoiceContent) * 60 : null,
  }
}

function jobRecipient({ left_out }: ClaimedMessage): (one: StoredRecipient) => JobRecipient {
  return (one) => {
    const { address, role } = one
    return { address, role, is_due: isDue(one) && !left_out.includes(address) }
  }
}

export function lookupJob(
  routing: Routing,
  message: ClaimedMessage,
  { now, lease_ms }: { now: Date; lease_ms: number },
): LookupJob {
  const { provider_message_id, unknown_since } = message
  return {
    ...sendJob(routing, message),
    provider_message_id,
    attempted_at_ms: attemptedAtMs(message, lease_ms),
    ...(unknown_since && { unknown_since_ms: unknown_since.getTime() }),
    now_ms: now.getTime(),
  }
}

/** The start of the attempt, or up to one lease earlier: with an unknown outcome, the exact start is not recorded. */
function attemptedAtMs(
  { sent_at, unknown_since, created_at }: ClaimedMessage,
  lease_ms: number,
): number {
  if (sent_at) return sent_at.getTime()
  return unknown_since ? unknown_since.getTime() - lease_ms : created_at.getTime()
}

export function sendResult(routing: Routing, message: ClaimedMessage, given: Outcome): SendResult {
  const outcome = isNotBegun(given) ? NOT_BEGUN : given
  const { attempt, unknown_since } = message
  const sender = senderOf(routing, message)
  if (outcome === UNVERIFIED) return { task: 'send', attempt, outcome, sender, by_service: true }
  const by_service = outcome === NOT_CALLED || outcome === NOT_BEGUN
  if (message.recipients !== null && !by_service) {
    const recipients = [...(outcome.recipients ?? []), ...message.left_out.map(optedOut)]
    return { task: 'send', attempt, outcome: { ...outcome, recipients }, sender }
  }
  // The outcome of a message stays unknown if the outcome of an earlier attempt is unknown.
  const never_accepted = isNotAccepted(outcome) && unknown_since === null
  return {
    task: 'send',
    attempt,
    outcome,
    sender,
    ...(never_accepted && { never_accepted }),
    ...(by_service && { by_service }),
  }
}

function isNotBegun(outcome: Outcome): boolean {
  return outcome.type === 'retry' && outcome.not_begun === true && !outcome.partial
}

/** Whether it is certain that no provider has any part of the message. */
export function isNotAccepted(outcome: Outcome): boolean {
  return outcome.type === 'retry' && !outcome.partial
}

function optedOut(address: string): RecipientOutcome {
  return {
    address,
    type: 'rejected',
    error_code: 'suppressed',
    error_message: SUPPRESSED_TEXT,
  }
}

/** The result of a message for which no provider is called now; null if a provider must be called. */
export function resultWithoutCall(
  { routing, inFlight, runtime }: { routing: Routing; inFlight: InFlight; runtime: Runtime },
  message: ClaimedMessage,
): Result | null {
  const { task, attempt, route, expires_at } = message
  if (task !== 'send') {
    const isFull = inFlight.isFull(providerOf(message))
    return isFull ? { task: 'lookup', found: UNAVAILABLE } : null
  }
  if (message.interrupted) {
    return { task: 'send', attempt, outcome: INTERRUPTED, sender: senderOf(routing, message) }
  }
  if (message.status !== 'queued') return { task: 'lookup', found: NOTHING_MORE }
  if (message.suppressed) return { task: 'suppressed' }
  if (route?.provider === null) {
    return { task: 'postponed', wait_ms: route.wait_ms, error_message: route.error_message }
  }
  if (expires_at && expires_at <= runtime.now()) {
    return { task: 'send', attempt, outcome: EXPIRED, by_service: true }
  }
  return null
}

/** The replies of recipients that the look-ups found. */
export function repliesIn(
  routing: Routing,
  messages: readonly ClaimedMessage[],
  found: readonly LookupResult[],
): Incoming[] {
  return messages.flatMap((message, i): Incoming[] => {
    const result = found[i]
    if (result?.type !== 'found') return []
    return result.replies.map((reply) => incomingReply(routing, message, reply))
  })
}

function incomingReply(
  routing: Routing,
  message: ClaimedMessage,
  { provider_message_id, text }: Reply,
): Incoming {
  const { workspace_id, livemode, channel } = message
  return {
    type: 'received',
    channel,
    provider_message_id,
    sender: message.recipient,
    recipient: senderOf(routing, message) ?? providerOf(message),
    content: { text, media: [] },
    about: { workspace_id, livemode },
  }
}

export interface SettleParts {
  storage: Storage
  runtime: Runtime
  routing: Routing
  tracing: Tracing | null
}

/** Stores the results, one for each message, linked to the spans of the calls that returned them. */
export async function settleMessages(
  { storage, runtime, routing, tracing }: SettleParts,
  messages: readonly ClaimedMessage[],
  results: readonly Result[],
  links: Link[] = [],
): Promise<void> {
  const at = runtime.now()
  const settlements = messages.map((message, i): Settlement => {
    const provider = providerOf(message)
    return {
      workspace_id: message.workspace_id,
      message_id: message.message_id,
      token: hasNoLease(message) ? null : message.token,
      provider,
      abilities: routing.abilitiesOf(provider),
      result: results[i] as Result,
      at,
    }
  })
  const store = () => persist(settlements, storage.hot.settle, runtime.log)
  await (tracing ? tracing.settle(settlements.length, links, store) : store())
  for (const [i, message] of messages.entries()) logAttempt(runtime, message, results[i] as Result)
}

/** The claim writes no lease token into the row of a message that is not sent now. */
function hasNoLease({ suppressed, route }: ClaimedMessage): boolean {
  return suppressed || route?.provider === null
}

/** Counts the attempts of one call before the attempts are stored, and returns links to their spans. */
export function reportAttempts(
  { runtime: { telemetry }, tracing }: { runtime: Runtime; tracing: Tracing | null },
  provider: string,
  messages: readonly ClaimedMessage[],
  results: readonly SendResult[],
  took: Stretch,
): Link[] | undefined {
  const outcomes = results.map(({ outcome }) => outcome)
  for (const [i, { channel }] of messages.entries()) {
    const type = outcomes[i]?.type
    if (type) telemetry?.attempted(provider, channel, type, took.duration_ms)
  }
  return tracing?.sent(provider, messages, outcomes, took)
}

/** Logs one line for each attempt, without the recipient and the content. */
function logAttempt(runtime: Runtime, message: ClaimedMessage, result: Result): void {
  if (result.task !== 'send') return
  const { outcome, attempt } = result
  const { message_id, workspace_id, channel } = message
  runtime.log.debug(
    {
      message_id,
      workspace_id,
      channel,
      attempt,
      outcome: outcome.type,
      ...(outcome.type !== 'accepted' && { error_code: outcome.error_code }),
    },
    'message.attempted',
  )
}
