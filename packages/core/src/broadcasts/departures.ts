import { LIMITS } from '../contract/limits.ts'
import type { BroadcastTimeZone, Departure } from '../contract/resources/broadcasts.ts'
import type { Schedule } from '../messages/acceptance.ts'
import type { RecipientDraft } from '../messages/bulk-recipients.ts'
import type { QuietHoursOf } from '../quiet-hours/quiet-hours.ts'
import type { StoredDeparture } from '../rows/broadcasts.ts'
import type { BroadcastRow, ContactRow, MessageRow } from '../rows/rows.ts'
import { instantOf, ZONE_AHEAD_MS } from '../rules/quiet-hours.ts'

/** When the message to a contact goes, and the zone that decides it. */
export type DepartureOf = (contact: Pick<ContactRow, 'phone' | 'attributes'>) => {
  at: Date
  zone: string
}

/** The time of a broadcast. With `time_zone`, `scheduled_at` is the local time of recipients, as if it were UTC. */
export interface BroadcastTime {
  scheduled_at: Date | null
  time_zone: BroadcastTimeZone | null
}

/** When a broadcast begins: at its time, or when the clocks of the first zone show it; null: at once. */
export function beginOf({ scheduled_at, time_zone }: BroadcastTime): Date | null {
  if (scheduled_at === null || time_zone === null) return scheduled_at
  return new Date(scheduled_at.getTime() - ZONE_AHEAD_MS)
}

/** Null for a broadcast whose messages all go when they are accepted. */
export async function openDepartures(
  quietHours: Pick<QuietHoursOf, 'zonesFor'>,
  { workspace_id, scheduled_at, time_zone }: BroadcastTime & { workspace_id: string },
): Promise<DepartureOf | null> {
  if (scheduled_at === null || time_zone === null) return null
  const zoneOf = await quietHours.zonesFor(workspace_id)
  const times = new Map<string, Date>()
  return (contact) => {
    const zone = zoneOf(contact)
    const at = times.get(zone) ?? instantOf(scheduled_at, zone)
    times.set(zone, at)
    return { at, zone }
  }
}

/** Counts messages by the time at which they go. `stored`: the counts of earlier ones. */
export function countDepartures(stored: readonly StoredDeparture[] | null) {
  const counts = new Map<number, { messages: number; zones: Set<string> }>()
  for (const { at, messages, time_zones } of stored ?? []) {
    counts.set(Date.parse(at), { messages, zones: new Set(time_zones) })
  }
  return {
    /** Counts one message. Returns the number of those before it that go at the same time. */
    add({ at, zone }: ReturnType<DepartureOf>): number {
      const known = counts.get(at.getTime()) ?? { messages: 0, zones: new Set() }
      counts.set(at.getTime(), known)
      if (known.zones.size < LIMITS.broadcast_zones) known.zones.add(zone)
      known.messages += 1
      return known.messages - 1
    },
    /** The earliest first. There are as many as offsets of clocks: some forty. */
    list(): Departure[] {
      return [...counts]
        .toSorted(([a], [b]) => a - b)
        .map(([at_ms, { messages, zones }]) => ({
          at: new Date(at_ms),
          messages,
          time_zones: [...zones],
        }))
    },
  }
}

/** The departures of a stored broadcast; null if it has none. */
export function departuresOf({ departures }: Pick<BroadcastRow, 'departures'>): Departure[] | null {
  return departures && countDepartures(departures).list()
}

/**
 * The messages of one departure that go in a second, if the broadcast has no rate. Without this bound, those of others wait behind a
 * whole zone that is due at one moment: 500,000 take 83 minutes. A provider that is slower needs a rate.
 */
const SECOND_MAX = 100

const AT_ONCE: Schedule = { scheduled_at: null, expires_at: null, deferred_until: null }

/** The times of the messages of one step. */
export async function planDepartures(
  quietHours: Pick<QuietHoursOf, 'zonesFor'>,
  row: BroadcastRow,
  contacts: readonly ContactRow[],
  now: Date,
) {
  const departureOf = await openDepartures(quietHours, row)
  const planned = new Map<string, ReturnType<DepartureOf>>()
  const positions = countDepartures(row.departures)
  const begun_ms = row.started_at?.getTime() ?? 0
  return {
    /** Messages that go together are spread, by the rate or else by the second. */
    scheduleOf({ to, index }: Pick<RecipientDraft, 'to' | 'index'>): Schedule {
      if (!departureOf) return AT_ONCE
      const departure = departureOf(contacts[index] as ContactRow)
      planned.set(to, departure)
      const before = positions.add(departure)
      const spread_ms =
        row.rate === null
          ? Math.floor(before / SECOND_MAX) * 1_000
          : Math.ceil((before * 60_000) / row.rate)
      const at = new Date(Math.max(departure.at.getTime(), begun_ms) + spread_ms)
      return at > now ? { ...AT_ONCE, scheduled_at: at } : AT_ONCE
    },
    /** The departures of the broadcast with these messages of the step. */
    withMessages(messages: readonly Pick<MessageRow, 'recipient'>[]): BroadcastRow['departures'] {
      if (!departureOf) return row.departures
      const counts = countDepartures(row.departures)
      for (const { recipient } of messages) {
        const departure = planned.get(recipient)
        if (departure) counts.add(departure)
      }
      return counts.list().map(({ at, ...one }) => ({ at: at.toISOString(), ...one }))
    },
  }
}
