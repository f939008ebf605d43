import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Quotas } from '../contract/limits.ts'
import { dayOf } from '../rules/decide.ts'
import { inTurns } from '../runtime/in-turns.ts'
import type { MessageRow, TestUsageRow } from '../storage/ports/storage.ts'

/** What the test keys of a workspace may use on a day (UTC). */
export type TestQuotas = Pick<Quotas, 'test_messages_per_day' | 'test_bytes_per_day'>

/** What a request with a test key uses of its workspace's quotas. */
export interface TestUse extends TestQuotas {
  /** In days since 1970. */
  day: number
  messages: number
  bytes: number
}

/** A quota that a request with a test key exceeds, and what was used of it before. */
export interface TestQuotaExceeded {
  outcome: 'test_quota'
  of: 'messages' | 'bytes'
  required: number
  limit: number
  used: number
}

/** What a request uses; null for a live key, whose messages are paid for. Large requests are looked at in turns. */
export async function testUseOf(
  { mode }: KeyIdentity,
  messages: readonly Pick<MessageRow, 'content' | 'metadata'>[],
  { quotas, at }: { quotas: TestQuotas; at: Date },
): Promise<TestUse | null> {
  if (mode === 'live') return null
  const { test_messages_per_day, test_bytes_per_day } = quotas
  const sizes = await inTurns(
    messages,
    ({ content, metadata }) => sizeOf(content) + sizeOf(metadata),
  )
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  const day = dayOf(at)
  return { day, messages: messages.length, bytes, test_messages_per_day, test_bytes_per_day }
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

/** What a day's use comes to with a request, or the quota that it exceeds: the request counts whole or not at all. */
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

/** A server whose clock is behind counts in the day that another one has begun. */
function usedOn(before: TestUsageRow | undefined, day: number): Omit<TestUsageRow, 'workspace_id'> {
  return before && (before.day === day || before.day === day + 1)
    ? before
    : { day, messages: 0, bytes: 0 }
}

const DAY_S = 86_400

/** The refusal of a request that exceeds a quota; tomorrow it may pass, unless it exceeds the quota by itself. */
export function testQuotaExceeded(exceeded: TestQuotaExceeded, at: Date): SvcError {
  const { of, required, limit, used } = exceeded
  const allowed =
    of === 'messages'
      ? `The test keys of a workspace may send ${limit} messages a day (UTC)`
      : `The messages of a workspace's test keys may come to ${limit} bytes a day (UTC)`
  if (required > limit) {
    return invalid('', `${allowed}, and this request comes to ${required} by itself`)
  }
  const seconds = DAY_S - Math.floor((at.getTime() / 1000) % DAY_S)
  return new SvcError(
    'rate_limit_exceeded',
    `Rate limit exceeded. Try again in ${seconds} seconds. ${allowed}: ${used} are used, and this request needs ${required}.`,
    { retry_after_s: seconds },
  )
}
