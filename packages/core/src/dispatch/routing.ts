import type { Carrier, Carriers } from '../channels/carriers.ts'
import type { Pace } from '../channels/pace.ts'
import type { Pauses } from '../channels/pauses.ts'
import type { Outcome } from '../contract/outside/provider.ts'
import type { Route, Routed } from '../rules/claim.ts'
import type { Settlement } from '../rules/settlement.ts'

/** Who carries what, just now. */
export interface Routing {
  /**
   * Chooses who carries a message, and counts it; or says for how long it should wait. Whoever `isBusy` is not asked now.
   */
  route(message: Routed, isBusy?: (provider: string) => boolean): Route
  /** The sender that the message has with this provider. */
  senderOf(provider: string, message: Pick<Routed, 'channel' | 'sender'>): string | null
  abilitiesOf(provider: string): Settlement['abilities']
  /** Learns from what a provider said, for what comes after. */
  learn(
    provider: string,
    answers: readonly { sender: string | null; outcome: Outcome }[],
  ): Promise<void>
}

/** How long a message waits whose provider is paused, before it is looked at again: or longer, see `LOOKS_PER_S`. */
const PAUSED_WAIT_MS = 15_000

/** The same where its provider has as much under way as a slow one may. */
const BUSY_WAIT_MS = 1_000

/**
 * So many of those that wait for a provider are looked at again each second, however many there are: what is due first
 * is claimed first, and whatever goes another way would stand behind all of them each time.
 */
const LOOKS_PER_S = 1_000

/**
 * Routes in the order of the settings. After a transient error the next provider that can carry the message is asked,
 * and after the last the first again; what may have arrived, whole or in part, is never handed to another, but waits for
 * the one that may have it.
 */
export function createRouting({
  carriers,
  pace,
  pauses,
  elapsed,
}: {
  carriers: Carriers
  pace: Pace
  pauses: Pauses
  elapsed: () => number
}): Routing {
  const spread = createSpread()

  /** For whoever sent the message: why an operator paused a provider is not theirs to know. */
  function whyNot({ channel }: Routed, able: readonly Carrier[]): string {
    if (able.length > 0) return 'The provider is paused'
    if (!carriers.serves(channel)) return 'Its provider is not in the settings'
    return 'No provider that may be asked can send from this sender'
  }

  return {
    route(message, isBusy = () => false) {
      const at_ms = elapsed()
      const able = inTurn(carriers.of(message), message)
      let soonest = Number.POSITIVE_INFINITY
      let busy = false
      for (const { provider, sender } of able) {
        if (!pauses.lets(provider, sender)) continue
        if (isBusy(provider)) {
          busy = true
          continue
        }
        const per_second = carriers.traits(provider)?.messages_per_second ?? null
        const isRepetition = message.attempt > 0
        const wait_ms = pace.take({ provider, sender, per_second, isRepetition, at_ms })
        if (wait_ms === 0) {
          pauses.tried(provider, sender)
          return { provider, sender }
        }
        soonest = Math.min(soonest, wait_ms)
      }
      if (soonest < Number.POSITIVE_INFINITY) {
        return { provider: null, wait_ms: soonest, error_message: 'It waits for its turn' }
      }
      if (busy) {
        const wait_ms = spread(BUSY_WAIT_MS, at_ms)
        return { provider: null, wait_ms, error_message: 'The provider is slow' }
      }
      const wait_ms = spread(PAUSED_WAIT_MS, at_ms)
      return { provider: null, wait_ms, error_message: whyNot(message, able) }
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
        // Senders that are not in the settings are what requests name: there is no end of them.
        if (whose !== null && !carriers.isListed(provider, whose)) continue
        await pauses.misconfigured(provider, whose, outcome)
      }
    },
  }
}

/** How long each should wait, this long at the least, so that no more than `LOOKS_PER_S` are due in any second. */
function createSpread(): (least_ms: number, at_ms: number) => number {
  let full_until_ms = 0
  return (least_ms, at_ms) => {
    full_until_ms = Math.max(full_until_ms + 1_000 / LOOKS_PER_S, at_ms + least_ms)
    return Math.ceil(full_until_ms - at_ms)
  }
}

/** Who is asked, in this order. */
function inTurn(
  able: readonly Carrier[],
  {
    attempt,
    provider: last,
    unknown_since,
    accepted,
  }: Pick<Routed, 'attempt' | 'provider' | 'unknown_since' | 'accepted'>,
): Carrier[] {
  if (unknown_since !== null || accepted) return able.filter(({ provider }) => provider === last)
  const at = attempt === 0 ? -1 : able.findIndex(({ provider }) => provider === last)
  return [...able.slice(at + 1), ...able.slice(0, at + 1)]
}
