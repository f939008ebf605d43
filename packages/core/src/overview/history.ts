import type { Channel } from '../contract/resources/content.ts'
import type { Overview } from './overview.ts'

/**
 * The counted messages. `sent` messages were handed to a provider; `dequeued` messages left the queue, but not by a
 * cancellation. Canceled messages are not `failed`.
 */
export const SERIES = ['accepted', 'sent', 'delivered', 'failed'] as const
/** The name of one counted kind of work. */
export type Series = (typeof SERIES)[number] | 'dequeued'

/** Messages per second. */
export type Rates = Record<(typeof SERIES)[number], number>

/** Counts since the start of the service, by kind of work. */
export type Totals = Record<Series, number>

/** Counts since the start of the service, as read at one moment. */
export interface Sample {
  at_ms: number
  all: Totals
  byChannel: ReadonlyMap<Channel, Totals>
}

/** The period that the samples cover. */
export const HISTORY_MS = 5 * 60_000

/** The period over which a rate is computed, so that the rate is steady. */
const RATE_MS = 5_000

/** Keeps the totals of some minutes and computes rates. A null `channel` means all channels. */
export interface History {
  add(overview: Overview): void
  total(series: Series, channel: Channel | null): number
  /** The growth in the last `period_ms`, or since the first sample if that is later; null before the second sample. */
  growth(series: Series, channel: Channel | null, period_ms: number): number | null
  /** The current rates; null before the second sample. */
  rates(channel: Channel | null): Rates | null
  /** The rates of `count` equal parts of `HISTORY_MS`, oldest first; null for parts before the first sample. */
  parts(series: Series, channel: Channel | null, count: number): (number | null)[]
  /** A copy that does not change when samples are added. */
  copy(): History
}

/** Keeps samples of the last `HISTORY_MS`, and computes rates between them. `earlier`: samples to begin with. */
export function createHistory(earlier: readonly Sample[] = []): History {
  const samples = [...earlier]
  const newest = () => samples.at(-1)

  /** The total at a time, interpolated between two samples; null before the first sample. */
  function totalAt(at_ms: number, read: (sample: Sample) => number): number | null {
    const after = samples.findIndex((sample) => sample.at_ms >= at_ms)
    const [before, next] = [samples[after - 1], samples[after]]
    if (!next) return samples.length === 0 ? null : read(samples.at(-1) as Sample)
    if (!before) return next.at_ms === at_ms ? read(next) : null
    const share = (at_ms - before.at_ms) / (next.at_ms - before.at_ms)
    return read(before) + share * (read(next) - read(before))
  }

  function growth(series: Series, channel: Channel | null, period_ms: number) {
    const [first, last] = [samples[0], newest()]
    if (!first || !last || first === last) return null
    const read = valueIn(series, channel)
    const from_ms = Math.max(first.at_ms, last.at_ms - period_ms)
    // An erasure makes a total smaller, but a rate must not be negative.
    return Math.max(0, read(last) - (totalAt(from_ms, read) ?? 0))
  }

  function rate(series: Series, channel: Channel | null): number | null {
    const grown = growth(series, channel, RATE_MS)
    const [first, last] = [samples[0], newest()]
    if (grown === null || !first || !last) return null
    return (grown * 1000) / Math.min(RATE_MS, last.at_ms - first.at_ms)
  }

  return {
    add(overview) {
      const at_ms = overview.at.getTime()
      // If the clock was set back, the earlier samples would give wrong rates.
      if (at_ms <= (newest()?.at_ms ?? 0)) samples.length = 0
      samples.push(sampleOf(overview))
      while ((samples[1]?.at_ms ?? at_ms) < at_ms - HISTORY_MS) samples.shift()
    },
    total(series, channel) {
      const last = newest()
      return last ? valueIn(series, channel)(last) : 0
    },
    growth,
    copy: () => createHistory(samples),
    rates(channel) {
      const all = SERIES.map((series) => [series, rate(series, channel)] as const)
      return all.some(([, value]) => value === null) ? null : (Object.fromEntries(all) as Rates)
    },
    parts(series, channel, count) {
      const end_ms = newest()?.at_ms ?? 0
      const part_ms = HISTORY_MS / count
      const read = valueIn(series, channel)
      // The ends of the parts are fixed, so that the bars move left step by step and do not flicker.
      const last_ms = Math.floor(end_ms / part_ms) * part_ms
      return Array.from({ length: count }, (_, i) => {
        const to_ms = last_ms - (count - 1 - i) * part_ms
        const [from, to] = [totalAt(to_ms - part_ms, read), totalAt(to_ms, read)]
        return from === null || to === null ? null : (Math.max(0, to - from) * 1000) / part_ms
      })
    },
  }
}

function valueIn(series: Series, channel: Channel | null): (sample: Sample) => number {
  return ({ all, byChannel }) =>
    channel === null ? all[series] : (byChannel.get(channel)?.[series] ?? 0)
}

function sampleOf({ at, messages }: Overview): Sample {
  const all = none()
  const byChannel = new Map<Channel, Totals>()
  for (const { channel, status, count } of messages) {
    const ofChannel = byChannel.get(channel) ?? none()
    byChannel.set(channel, ofChannel)
    for (const totals of [all, ofChannel]) {
      totals.accepted += count
      if (status !== 'queued' && status !== 'canceled') totals.dequeued += count
      const hasEnded = status === 'failed' || status === 'canceled'
      if (status !== 'queued' && !hasEnded) totals.sent += count
      if (status === 'delivered' || status === 'read') totals.delivered += count
      if (status === 'failed') totals.failed += count
    }
  }
  return { at_ms: at.getTime(), all, byChannel }
}

function none(): Totals {
  return { accepted: 0, sent: 0, delivered: 0, failed: 0, dequeued: 0 }
}
