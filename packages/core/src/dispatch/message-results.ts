import type {
  LookupResult,
  Outcome,
  RecipientOutcome,
  Reply,
  Traits,
} from '../contract/outside/provider.ts'
import type { Incoming } from '../inbound/inbound.ts'
import { SANDBOX } from '../providers/installed.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import { SUPPRESSED_TEXT } from '../rules/recipients.ts'
import type { LookupAnswer, Settlement } from '../rules/settlement.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Link, Stretch, Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { persist } from './lane.ts'
import type { Routing } from './routing.ts'

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
/** The domain of the sender is not verified: no provider was called. */
export const UNVERIFIED: Outcome = {
  type: 'rejected',
  error_code: 'sender_not_verified',
  error_message: 'The domain of from_address is not a verified sending domain of this workspace',
}
export const UNAVAILABLE: LookupResult = { type: 'unavailable' }

/** For a send, the provider that the claim chose; for a look-up, the provider that has the message. */
export function providerOf({ task, route, provider }: ClaimedMessage): string {
  return (task === 'send' ? route?.provider : null) ?? provider ?? SANDBOX.name
}

/** The message's sender with its provider: for a send, the claim chose the sender with the provider. */
export function senderOf(routing: Routing, message: ClaimedMessage): string | null {
  const { task, route, interrupted } = message
  if (task === 'send' && route && route.provider !== null && !interrupted) return route.sender
  return routing.senderOf(providerOf(message), message)
}

export function sendResult(routing: Routing, message: ClaimedMessage, given: Outcome): SendResult {
  const outcome = isNotBegun(given) ? NOT_BEGUN : given
  const { attempt, unknown_since } = message
  const sender = senderOf(routing, message)
  if (outcome === UNVERIFIED) return { task: 'send', attempt, outcome, sender, by_service: true }
  const by_service = outcome === NOT_CALLED || outcome === NOT_BEGUN
  if (message.recipients !== null && !by_service) {
    const leftOut = message.left_out.map((address) => optedOut(address, unknown_since !== null))
    const recipients = [...(outcome.recipients ?? []), ...leftOut]
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

/** `mayHaveIt`: an earlier attempt may have reached the recipient. */
function optedOut(address: string, mayHaveIt: boolean): RecipientOutcome {
  return {
    address,
    type: 'rejected',
    error_code: mayHaveIt ? 'outcome_unknown' : 'suppressed',
    error_message: SUPPRESSED_TEXT,
  }
}

/** The replies of recipients that the look-ups found. */
export function repliesIn(
  routing: Routing,
  messages: readonly ClaimedMessage[],
  found: readonly LookupAnswer[],
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
      abilities: abilitiesOf(routing.traits.get(provider)),
      result: results[i] as Result,
      at,
    }
  })
  const store = () => persist(settlements, storage.hot.settle, runtime.log)
  await (tracing ? tracing.settle(settlements.length, links, store) : store())
  for (const [i, message] of messages.entries()) logAttempt(runtime, message, results[i] as Result)
}

/** The abilities of a provider with these traits; a provider that is not in the settings has none. */
export function abilitiesOf({ idempotent = false, lookup = false }: Partial<Traits> = {}) {
  return { idempotent, lookup }
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
