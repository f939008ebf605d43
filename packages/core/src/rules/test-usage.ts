import type { Quotas } from '../contract/limits.ts'
import type { TestUsageRow } from '../rows/rows.ts'

/** The daily quotas (UTC) of a workspace's test keys. */
export type TestQuotas = Pick<Quotas, 'test_messages_per_day' | 'test_bytes_per_day'>

/** The use of the quotas by one request. */
export interface TestUse extends TestQuotas {
  /** The day (UTC), in days since 1970. */
  day: number
  messages: number
  bytes: number
}

/** The quota that a request exceeds; `used`: the use before the request. */
export interface TestQuotaExceeded {
  outcome: 'test_quota'
  of: 'messages' | 'bytes'
  required: number
  limit: number
  used: number
}

/** The day's use with the request, or the quota that the request exceeds. A request counts completely or not at all. */
export function addTestUse(
  workspace_id: string,
  before: TestUsageRow | undefined,
  use: TestUse,
): TestUsageRow | TestQuotaExceeded {
  const used = usedOn(before, use.day)
  const messages = used.messages + use.messages
  const bytes = used.bytes + use.bytes
  const outcome = 'test_quota'
  if (messages > use.test_messages_per_day) {
    const limit = use.test_messages_per_day
    return { outcome, of: 'messages', required: use.messages, limit, used: used.messages }
  }
  if (bytes > use.test_bytes_per_day) {
    const limit = use.test_bytes_per_day
    return { outcome, of: 'bytes', required: use.bytes, limit, used: used.bytes }
  }
  return { workspace_id, day: used.day, messages, bytes }
}

/** A server whose clock is behind counts on the next day if another server has begun it. */
function usedOn(before: TestUsageRow | undefined, day: number): Omit<TestUsageRow, 'workspace_id'> {
  return before && (before.day === day || before.day === day + 1)
    ? before
    : { day, messages: 0, bytes: 0 }
}
