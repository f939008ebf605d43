import type { KeyIdentity } from '../api-keys/api-keys.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import type { Content } from '../contract/resources/content.ts'
import type { MessageRow } from '../rows/rows.ts'
import { dayOf } from '../rules/decide.ts'
import type { TestQuotaExceeded, TestQuotas, TestUse } from '../rules/test-usage.ts'
import { inTurns } from '../runtime/in-turns.ts'
import type { RejectedRecipient } from './bulk-recipients.ts'
import { attachmentsOf } from './stored-files.ts'

/**
 * The use of the test quotas by a request; null for a live key. Other work runs while a large request is measured. The
 * rejected recipients of a bulk count too, because they are stored.
 */
export async function testUseOf(
  { mode }: KeyIdentity,
  messages: readonly Pick<MessageRow, 'content' | 'metadata'>[],
  {
    quotas,
    at,
    rejected = [],
  }: {
    quotas: TestQuotas
    at: Date
    rejected?: readonly Pick<RejectedRecipient, 'to' | 'message'>[]
  },
): Promise<TestUse | null> {
  if (mode === 'live') return null
  const { test_messages_per_day, test_bytes_per_day } = quotas
  const sizes = await inTurns(
    messages,
    ({ content, metadata }) => sizeOf(content) + sizeOfFiles(content) + sizeOf(metadata),
  )
  const named = await inTurns(rejected, ({ to, message }) => sizeOf(to) + sizeOf(message))
  const bytes = [...sizes, ...named].reduce((sum, size) => sum + size, 0)
  const day = dayOf(at)
  return { day, messages: messages.length, bytes, test_messages_per_day, test_bytes_per_day }
}

/** The base64 of the files that are stored apart. */
function sizeOfFiles(content: Content): number {
  return attachmentsOf(content).reduce(
    (sum, { size_bytes = 0 }) => sum + 4 * Math.ceil(size_bytes / 3),
    0,
  )
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}

const DAY_S = 86_400

/** The error for a request that exceeds a quota. If the request alone is within the quota, it may be retried tomorrow. */
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
