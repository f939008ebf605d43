import type { ClaimedMessage } from '../rules/claim.ts'
import type { Settlement } from '../rules/settlement.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Link, Stretch, Tracing } from '../runtime/tracing.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { providerOf, type Result, type SendResult } from './message-results.ts'
import { persist } from './persist.ts'
import type { Routing } from './routing.ts'

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
