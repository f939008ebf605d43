import type { Carrier, Carriers, Pace, Pauses } from '../carriers/carriers.ts'

import type { Outcome } from '../contract/outside/provider.ts'
import type { ProviderRecord } from '../control/provider-desk.ts'
import type { Route, Routed } from '../rules/claim.ts'
import type { InFlight } from './in-flight.ts'

/** Chooses the provider of each message. */
export interface Routing {
  /**
   * Returns the provider and counts the message for its pace, or returns how long the message waits. A message waits for a
   * provider that `load` reports as busy; if it is slow, the next provider that can carry the message gets it.
   */
  route(message: Routed, load?: RoutedLoad): Route
  /** Whether an operator paused the provider or this sender. */
  isStopped: Pauses['isStopped']
  /** The message's sender with this provider. */
  senderOf(provider: string, message: Pick<Routed, 'channel' | 'sender'>): string | null
  /** The traits of the providers in the settings, and of the sandbox. */
  traits: Carriers['traits']
  /** Counts a provider's outcomes, and starts and ends pauses according to them. */
  noteOutcomes(
    provider: string,
    results: readonly { sender: string | null; outcome: Outcome; by_service?: boolean }[],
  ): Promise<void>
  /** Notes that a provider answered a call late, or knew a message of unknown outcome in a look-up. */
  noteAnswer(provider: string): void
}

/** The load of the providers while the messages of a claim are routed. */
export interface RoutedLoad {
  inFlight: Pick<InFlight, 'busy'>
  /** The number of messages that were routed to each provider and are not in flight yet. */
  routed: ReadonlyMap<string, number>
}

/**
 * How long a message waits for a paused provider before it is claimed again. A pause ends at any time, so few messages wait
 * for a short time; more wait longer, so that they are not claimed more often than `PAUSED_RECLAIMS_PER_S`, up to `most`.
 * Many messages wait longer still: `RECLAIMS_PER_S`.
 */
const PAUSED_WAIT_MS = { least: 1_000, most: 15_000 }
const PAUSED_RECLAIMS_PER_S = 50

/**
 * Maximum rate at which waiting messages are claimed again. Claims take the oldest due messages first, so with a larger
 * rate the messages of other providers would wait behind all waiting messages.
 */
const RECLAIMS_PER_S = 1_000

/**
 * Tries providers as the settings order them. After a transient error the next provider that can carry the message gets it,
 * and after the last provider the first again. If a provider may have the message or a part, no other provider gets it.
 */
export function createRouting({
  carriers,
  pace,
  pauses,
  elapsed,
  record,
}: {
  carriers: Carriers
  pace: Pace
  pauses: Pauses
  elapsed: () => number
  /** Counts the outcomes for operators. */
  record?: Pick<ProviderRecord, 'note' | 'noteAnswer'> | undefined
}): Routing {
  /** The spreads of the waits for each busy provider, and (null) for those that are paused. */
  const spreads = new Map<string | null, ReturnType<typeof createSpread>>()

  function spread(provider: string | null, wait_ms: Wait, at_ms: number): number {
    const known = spreads.get(provider) ?? createSpread()
    spreads.set(provider, known)
    return known(wait_ms, at_ms)
  }

  /** The owner of the message reads this text, so it does not contain an operator's reason for a pause. */
  function waitReason({ channel }: Routed, able: readonly Carrier[]): string {
    if (able.length > 0) return 'The provider is paused'
    if (!carriers.serves(channel)) return 'The provider of this message is not in the settings'
    return 'No available provider can send from this sender'
  }

  return {
    route(message, load) {
      const at_ms = elapsed()
      const { attempt, unknown_since, accepted } = message
      const isFirst = attempt === 0 && unknown_since === null && !accepted
      const carriersOf = carriers.of(message)
      const able = isFirst ? carriersOf : inOrder(carriersOf, message)
      let soonest = Number.POSITIVE_INFINITY
      let busy: { provider: string; wait_ms: number } | null = null
      for (const { provider, sender } of able) {
        if (!pauses.allows(provider, sender)) continue
        const found = load?.inFlight.busy(provider, load.routed.get(provider))
        if (found) {
          if (busy === null || found.wait_ms < busy.wait_ms) {
            busy = { provider, wait_ms: found.wait_ms }
          }
          if (!found.is_slow) break
          continue
        }
        const per_second = carriers.traits.get(provider)?.messages_per_second ?? null
        const isRetry = attempt > 0
        const wait_ms = pace.take({ provider, sender, per_second, isRetry, at_ms })
        if (wait_ms === 0) {
          pauses.noteSend(provider, sender)
          return { provider, sender }
        }
        soonest = Math.min(soonest, wait_ms)
      }
      if (soonest < Number.POSITIVE_INFINITY) {
        return { provider: null, wait_ms: soonest, error_message: 'The rate limit is reached' }
      }
      if (busy) {
        const { provider, wait_ms: least } = busy
        const wait_ms = spread(provider, { least, most: least }, at_ms)
        return { provider: null, wait_ms, error_message: 'The provider is slow' }
      }
      const wait_ms = spread(null, PAUSED_WAIT_MS, at_ms)
      return { provider: null, wait_ms, error_message: waitReason(message, able) }
    },
    isStopped: pauses.isStopped,
    senderOf: carriers.senderOf,
    traits: carriers.traits,
    async noteOutcomes(provider, results) {
      record?.note(
        provider,
        results.filter(({ by_service }) => !by_service).map(({ outcome }) => outcome),
      )
      for (const { sender, outcome } of results) {
        if (outcome.type === 'accepted') await pauses.noteAccepted(provider, sender)
        if (outcome.type !== 'retry' || !outcome.misconfigured) continue
        const paused = outcome.misconfigured === 'sender' ? sender : null
        // Requests can name any number of senders that are not in the settings, so these senders are not paused.
        if (paused !== null && !carriers.isListed(provider, paused)) continue
        await pauses.noteMisconfigured(provider, paused, outcome)
      }
    },
    noteAnswer: (provider) => record?.noteAnswer(provider),
  }
}

/** The shortest wait, and the longest for fewer messages than `RECLAIMS_PER_S` can claim in it. */
type Wait = typeof PAUSED_WAIT_MS

/** Returns waits such that at most `RECLAIMS_PER_S` messages fall due in any second, and fewer while they wait less than `most`. */
function createSpread(): (wait_ms: Wait, at_ms: number) => number {
  let full_until_ms = 0
  return ({ least, most }, at_ms) => {
    const soon_ms = Math.min(full_until_ms + 1_000 / PAUSED_RECLAIMS_PER_S, at_ms + most)
    full_until_ms = Math.max(full_until_ms + 1_000 / RECLAIMS_PER_S, at_ms + least, soon_ms)
    return Math.ceil(full_until_ms - at_ms)
  }
}

/** The providers to try after the first attempt, in this order. */
function inOrder(
  able: readonly Carrier[],
  {
    provider: last,
    unknown_since,
    accepted,
  }: Pick<Routed, 'provider' | 'unknown_since' | 'accepted'>,
): Carrier[] {
  if (unknown_since !== null || accepted) return able.filter(({ provider }) => provider === last)
  const at = able.findIndex(({ provider }) => provider === last)
  return [...able.slice(at + 1), ...able.slice(0, at + 1)]
}
