import type { Quotas } from '../contract/limits.ts'

/** The limits of the deliveries about a workspace's test messages, which cost nothing. */
export type TestDeliveryQuotas = Pick<
  Quotas,
  'test_deliveries_per_day' | 'test_deliveries_per_second'
>

/** The `error` of a discarded delivery about a test message: the workspace used up its attempts of the day. */
export const TEST_LIMIT = 'test_limit'

/** The seconds of the pace that may begin at once. */
const BURST_S = 20
const WORKSPACES_MAX = 10_000

/**
 * Says when a new delivery about a test message is due: at once for the first ones of a workspace, then at the pace. The pace
 * counts by `elapsed` (`Runtime.elapsed`), because the clock may be set back.
 */
export type TestPace = (workspaceId: string, at: Date) => Date

export function createTestPace(per_second: number, elapsed: () => number): TestPace {
  const step_ms = 1_000 / per_second
  /** When the deliveries of each workspace until now would have ended at the pace. */
  const ends = new Map<string, number>()
  return (workspaceId, at) => {
    const now_ms = elapsed()
    const end = Math.max(ends.get(workspaceId) ?? 0, now_ms) + step_ms
    ends.delete(workspaceId)
    ends.set(workspaceId, end)
    const [oldest] = ends.keys()
    if (ends.size > WORKSPACES_MAX && oldest !== undefined) ends.delete(oldest)
    return new Date(at.getTime() + Math.max(0, Math.round(end - BURST_S * 1_000 - now_ms)))
  }
}
