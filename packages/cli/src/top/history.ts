import type { Channel } from '@svc/core/contract'
import type { Overview } from '@svc/core/operate'

/** What is counted: messages accepted, handed to a provider, delivered, failed; `left` is no longer queued. */
export const SERIES = ['accepted', 'sent', 'delivered', 'failed'] as const
export type Series = (typeof SERIES)[number] | 'left'

/** Messages a second. */
export type Rates = Record<(typeof SERIES)[number], number>

type Totals = Record<Series, number>

interface Sample {
  at_ms: number
  all: Totals
  byChannel: ReadonlyMap<Channel, Totals>
}

/** How far back samples are kept. */
export const HISTORY_MS = 5 * 60_000

/** A rate is that of the last seconds, so that it is steady enough to be read. */
const RATE_MS = 5_000

/** Remembers totals for some minutes, and tells how fast they grew. `channel` null is all of them. */
export interface History {
  add(overview: Overview): void
  total(series: Series, channel: Channel | null): number
  /** By how much it grew in the last `span_ms`, or since the first sample; null before there are two. */
  growth(series: Series, channel: Channel | null, span_ms: number): number | null
  /** Null before there are two samples. */
  rates(channel: Channel | null): Rates | null
  /** The rates of so many equal parts of the last minutes, oldest first; null where nothing was seen yet. */
  parts(series: Series, channel: Channel | null, count: number): (number | null)[]
  /** As it is now, whatever is added later. */
  copy(): History
}

export function createHistory(earlier: readonly Sample[] = []): History {
  const samples = [...earlier]
  const newest = () => samples.at(-1)

  /** The total as it was then, between two samples in proportion; null before the first. */
  function totalAt(at_ms: number, read: (sample: Sample) => number): number | null {
    const after = samples.findIndex((sample) => sample.at_ms >= at_ms)
    const [before, next] = [samples[after - 1], samples[after]]
    if (!next) return samples.length === 0 ? null : read(samples.at(-1) as Sample)
    if (!before) return next.at_ms === at_ms ? read(next) : null
    const share = (at_ms - before.at_ms) / (next.at_ms - before.at_ms)
    return read(before) + share * (read(next) - read(before))
  }

  function growth(series: Series, channel: Channel | null, span_ms: number) {
    const [first, last] = [samples[0], newest()]
    if (!first || !last || first === last) return null
    const read = valueIn(series, channel)
    const from_ms = Math.max(first.at_ms, last.at_ms - span_ms)
    // What is erased makes a total smaller: that is no rate.
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
      // A clock that was set back would make a rate of nothing.
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
      // Ends that do not move with every sample: bars then wander to the left instead of trembling.
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
    const mine = byChannel.get(channel) ?? none()
    byChannel.set(channel, mine)
    for (const totals of [all, mine]) {
      totals.accepted += count
      if (status !== 'queued') totals.left += count
      if (status !== 'queued' && status !== 'failed') totals.sent += count
      if (status === 'delivered' || status === 'read') totals.delivered += count
      if (status === 'failed') totals.failed += count
    }
  }
  return { at_ms: at.getTime(), all, byChannel }
}

function none(): Totals {
  return { accepted: 0, sent: 0, delivered: 0, failed: 0, left: 0 }
}
