import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import type { Units } from '../contract/fields/units.ts'
import type { Channel } from '../contract/resources/content.ts'
import { idFloor, type Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { PeriodCount, PlaceCount } from '../storage/ports/stores.ts'
import { FAILURES_EXAMINED, ID_SKEW_MS } from './search.ts'
import { add, type HistoryUnit, historyStart, none, type Outcomes } from './timeline.ts'

/** The newest messages whose places and credits are counted: a reader thread takes about 20 ms for them. */
export const PLACES_EXAMINED = 5_000

/** The messages to numbers with one calling code; e-mails have neither code nor country. */
export interface PlaceOutcomes extends Outcomes {
  channel: Channel
  /** The calling code without `+`; null if none is assigned. */
  code: string | null
  /** The largest country of the code (ISO 3166-1); null for none. */
  country: string | null
  /** Whether other countries have the code too. */
  is_shared: boolean
  /** The credits that they cost, without what was returned. */
  credits: Units
}

/** The messages of a period by channel, by the reason of their failure, and by place. */
export interface Breakdown {
  /** The start of the period. */
  since: Date
  channels: (Outcomes & { channel: Channel })[]
  /** The errors of the newest failed messages, most frequent first. */
  reasons: { error_code: string | null; count: number }[]
  /** The maximum of each channel for `reasons`, canceled messages included. */
  reasons_examined: number
  /** The places of the newest messages, most messages first. */
  places: PlaceOutcomes[]
  /** The maximum of messages for `places`. */
  places_examined: number
}

/**
 * How the messages of the last 30 days or 48 hours ended. `channels` has all messages; `reasons` and `places` have the newest
 * ones, so that their cost does not grow with the history. Test keys see test messages, all other viewers live messages.
 */
export async function breakdownOf(
  { storage: { read }, runtime }: { storage: Pick<Storage, 'read'>; runtime: Pick<Runtime, 'now'> },
  viewer: Viewer,
  unit: HistoryUnit,
): Promise<Breakdown> {
  const { workspace_id, livemode } = viewOf(viewer)
  const since = historyStart(unit, runtime.now())
  const first_id = idFloor(new Date(since.getTime() - ID_SKEW_MS))
  const [counts, failures, places] = await Promise.all([
    read.messages.countsSince(workspace_id, { unit, from: since }),
    read.messages.errorsSince(workspace_id, {
      ...{ status: 'failed', since, first_id, livemode },
      examine: FAILURES_EXAMINED,
    }),
    read.messages.newestByPlace(workspace_id, {
      ...{ since, first_id, livemode: livemode !== false },
      examine: PLACES_EXAMINED,
    }),
  ])
  return {
    since,
    channels: channelsOf(counts, livemode),
    reasons: failures.filter(({ error_code }) => error_code !== 'canceled'),
    reasons_examined: FAILURES_EXAMINED,
    places: await placesOf(places),
    places_examined: PLACES_EXAMINED,
  }
}

function channelsOf(counts: readonly PeriodCount[], livemode: false | undefined) {
  const channels = new Map<Channel, Outcomes>()
  for (const { channel, status, count, test_count } of counts) {
    const outcomes = channels.get(channel) ?? none()
    channels.set(channel, outcomes)
    add(outcomes, status, livemode === false ? test_count : count - test_count)
  }
  return [...channels]
    .map(([channel, outcomes]) => ({ channel, ...outcomes }))
    .filter(({ accepted }) => accepted > 0)
    .sort((a, b) => b.accepted - a.accepted)
}

async function placesOf(counts: readonly PlaceCount[]): Promise<PlaceOutcomes[]> {
  const { callingCodeOf, COUNTRIES_OF_CODE } = await import('../prices/calling-codes.ts')
  const places = new Map<string, PlaceOutcomes>()
  for (const { channel, place, status, count, credits_used, credits_refunded } of counts) {
    const code = callingCodeOf(place)
    const [country = null, ...others] = COUNTRIES_OF_CODE.get(code ?? '') ?? []
    const key = `${channel} ${code}`
    const found = places.get(key) ?? {
      ...{ channel, code, country: country === '001' ? null : country },
      ...{ is_shared: others.length > 0, ...none(), credits: 0 as Units },
    }
    places.set(key, found)
    add(found, status, count)
    found.credits = (found.credits + credits_used - credits_refunded) as Units
  }
  return [...places.values()].sort((a, b) => b.accepted - a.accepted)
}
