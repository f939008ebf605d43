import type { Outcome } from '../contract/outside/provider.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import type { Settlement } from '../rules/settlement.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Link, Stretch, Tracing } from '../runtime/tracing.ts'

/** Tells of a call to a provider, before what it gave is on disk. Answers what a span can be linked to it by. */
export function reportAttempts(
  { runtime: { telemetry }, tracing }: { runtime: Runtime; tracing: Tracing | null },
  provider: string,
  messages: readonly ClaimedMessage[],
  results: readonly { outcome: Outcome }[],
  took: Stretch,
): Link[] | undefined {
  const outcomes = results.map(({ outcome }) => outcome)
  for (const [i, { channel }] of messages.entries()) {
    const { type } = outcomes[i] as Outcome
    telemetry?.attempted(provider, channel, type, took.duration_ms)
  }
  return tracing?.sent(provider, messages, outcomes, took)
}

/** One line for each attempt, with everything but what was sent and to whom. */
export function logAttempt(
  runtime: Runtime,
  message: ClaimedMessage,
  result: Settlement['result'] | undefined,
): void {
  if (result?.task !== 'send') return
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
