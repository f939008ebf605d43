import type { Outcome } from '../contract/outside/provider.ts'
import type { Runtime } from '../runtime/runtime.ts'

/** What a provider answered lately to the calls of this process. */
export interface RecentOutcomes {
  /** The length of the period, at most 15 minutes: shorter after a start. */
  period_s: number
  accepted: number
  rejected: number
  /** Calls that are tried again. */
  retried: number
  /** Calls after which it is unknown whether the provider has the message. */
  unknown: number
  /** The last answer that was no acceptance, also before the period; null for none. */
  last_error: { code: string; message: string; at: Date } | null
}

/** Counts the outcomes of the calls of this process by minute. */
export interface ProviderRecord {
  note(provider: string, outcomes: readonly Outcome[]): void
  of(provider: string): RecentOutcomes
}

const MINUTE_MS = 60_000
const MINUTES = 15

type Counts = Record<Outcome['type'], number>

interface Kept {
  /** Each minute with outcomes, the oldest first. */
  minutes: Map<number, Counts>
  last_error: RecentOutcomes['last_error']
}

export function createProviderRecord(runtime: Pick<Runtime, 'now' | 'elapsed'>): ProviderRecord {
  const began_ms = runtime.elapsed()
  const providers = new Map<string, Kept>()
  const minuteNow = () => Math.floor(runtime.elapsed() / MINUTE_MS)

  return {
    note(provider, outcomes) {
      const kept = providers.get(provider) ?? { minutes: new Map(), last_error: null }
      providers.set(provider, kept)
      const { minutes } = kept
      const minute = minuteNow()
      const counts = minutes.get(minute) ?? none()
      minutes.set(minute, counts)
      const [oldest] = minutes.keys()
      if (oldest !== undefined && oldest <= minute - MINUTES) minutes.delete(oldest)
      for (const outcome of outcomes) {
        counts[outcome.type] += 1
        if (outcome.type === 'accepted') continue
        const { error_code: code, error_message: message } = outcome
        kept.last_error = { code, message, at: runtime.now() }
      }
    },
    of(provider) {
      const kept = providers.get(provider)
      const sum = none()
      const minute = minuteNow()
      for (const [at, counts] of kept?.minutes ?? []) {
        if (at <= minute - MINUTES) continue
        for (const type of Object.keys(sum) as Outcome['type'][]) sum[type] += counts[type]
      }
      const { accepted, rejected, retry: retried, ambiguous: unknown } = sum
      const period_s = Math.round(
        Math.min(runtime.elapsed() - began_ms, MINUTES * MINUTE_MS) / 1000,
      )
      return {
        period_s,
        accepted,
        rejected,
        retried,
        unknown,
        last_error: kept?.last_error ?? null,
      }
    },
  }
}

function none(): Counts {
  return { accepted: 0, rejected: 0, retry: 0, ambiguous: 0 }
}
