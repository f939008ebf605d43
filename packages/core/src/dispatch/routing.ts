import type { Carrier, Carriers } from '../channels/carriers.ts'
import type { Pace } from '../channels/pace.ts'
import type { Pauses } from '../channels/pauses.ts'
import type { Settlement } from '../messages/settlement.ts'
import type { Outcome } from '../providers/provider.ts'
import type { Route, Routed } from '../storage/storage.ts'

/** Who carries what, just now. */
export interface Routing {
  /** Chooses who carries a message, and counts it; or says for how long it should wait. */
  route(message: Routed): Route
  /** The sender that the message has with this provider. */
  senderOf(provider: string, message: Pick<Routed, 'channel' | 'sender'>): string | null
  abilitiesOf(provider: string): Settlement['abilities']
  /** Learns from what a provider said, for what comes after. */
  learn(
    provider: string,
    answers: readonly { sender: string | null; outcome: Outcome }[],
  ): Promise<void>
}

/** How long a message waits whose provider is paused, before it is looked at again. */
const PAUSED_WAIT_MS = 15_000

/**
 * Routes in the order of the settings. After a transient error the next provider that can carry the message is asked,
 * and after the last the first again; what may have arrived is never handed to another, but waits for the one that may
 * have it.
 */
export function createRouting({
  carriers,
  pace,
  pauses,
  now,
}: {
  carriers: Carriers
  pace: Pace
  pauses: Pauses
  now: () => Date
}): Routing {
  return {
    route(message) {
      const now_ms = now().getTime()
      const able = inTurn(carriers.of(message), message)
      let soonest = Number.POSITIVE_INFINITY
      for (const { provider, sender } of able) {
        if (!pauses.lets(provider, sender, now_ms)) continue
        const per_second = carriers.traits(provider)?.messages_per_second ?? null
        const isRepetition = message.attempt > 0
        const wait_ms = pace.take({ provider, sender, per_second, isRepetition, now_ms })
        if (wait_ms === 0) {
          pauses.tried(provider, sender, now_ms)
          return { provider, sender }
        }
        soonest = Math.min(soonest, wait_ms)
      }
      if (soonest < Number.POSITIVE_INFINITY) {
        return { provider: null, wait_ms: soonest, error_message: 'It waits for its turn' }
      }
      return { provider: null, wait_ms: PAUSED_WAIT_MS, error_message: whyNot(able[0], pauses) }
    },
    senderOf: carriers.senderOf,
    abilitiesOf(provider) {
      const { idempotent = false, lookup = false } = carriers.traits(provider) ?? {}
      return { idempotent, lookup }
    },
    async learn(provider, answers) {
      for (const { sender, outcome } of answers) {
        if (outcome.type === 'accepted') await pauses.worked(provider, sender)
        if (outcome.type !== 'retry' || !outcome.misconfigured) continue
        const whose = outcome.misconfigured === 'sender' ? sender : null
        await pauses.misconfigured(provider, whose, outcome)
      }
    },
  }
}

/** Who is asked, in this order. */
function inTurn(
  able: readonly Carrier[],
  {
    attempt,
    provider: last,
    unknown_since,
  }: Pick<Routed, 'attempt' | 'provider' | 'unknown_since'>,
): Carrier[] {
  if (unknown_since !== null) return able.filter(({ provider }) => provider === last)
  const at = attempt === 0 ? -1 : able.findIndex(({ provider }) => provider === last)
  return [...able.slice(at + 1), ...able.slice(0, at + 1)]
}

function whyNot(
  first: { provider: string; sender: string | null } | undefined,
  pauses: Pauses,
): string {
  if (!first) return 'No provider that may be asked can send from this sender'
  const reason = pauses.reasonOf(first.provider, first.sender)
  return reason ? `The provider is paused: ${reason}` : 'The provider is paused'
}
