import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import { HOUR_MS, hourOf, startOfDay } from '../rules/count-changes.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** The messages that were created in one period, by their status now. */
export interface HistoryPoint {
  /** The start of the period (UTC). */
  since: Date
  /** All messages of the period. */
  accepted: number
  /** Those of them that are delivered or read. */
  delivered: number
  failed: number
}

const UNITS = {
  day: { startOf: startOfDay, length_ms: 24 * HOUR_MS, periods: 30 },
  hour: { startOf: hourOf, length_ms: HOUR_MS, periods: 48 },
}

/** The history of the last days or hours, with a point for each period, also for those without messages. */
export async function historyOf(
  storage: Pick<Storage, 'read'>,
  viewer: Viewer,
  { unit, now }: { unit: 'day' | 'hour'; now: Date },
): Promise<HistoryPoint[]> {
  const { workspace_id, livemode } = viewOf(viewer)
  const { startOf, length_ms, periods } = UNITS[unit]
  const from = new Date(startOf(now).getTime() - (periods - 1) * length_ms)
  const points = new Map(
    Array.from({ length: periods }, (_, i): [number, HistoryPoint] => {
      const since = new Date(from.getTime() + i * length_ms)
      return [since.getTime(), { since, accepted: 0, delivered: 0, failed: 0 }]
    }),
  )
  for (const row of await storage.read.messages.countsSince(workspace_id, { unit, from })) {
    const point = points.get(row.since.getTime())
    if (!point) continue
    const n = livemode === false ? row.test_count : row.count - row.test_count
    point.accepted += n
    if (row.status === 'delivered' || row.status === 'read') point.delivered += n
    if (row.status === 'failed') point.failed += n
  }
  return [...points.values()]
}
