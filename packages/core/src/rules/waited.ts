import type { MessageRow } from '../storage/ports/storage.ts'
import { isReply } from './is-reply.ts'

/** What is sent sooner is as good as sent when it was accepted. */
const SOON_MS = 60_000

/**
 * Whether a message waited for so long that its recipient may have opted out since it was accepted: it was scheduled,
 * is tried again, or there was a backlog. Only these are held against the suppressions a second time; what answers a
 * STOP is not, which suppressed recipients get too; nor is a test message, which reaches no recipient.
 */
export function hasWaited(
  message: Pick<
    MessageRow,
    'scheduled_at' | 'created_at' | 'api_key_id' | 'credits_used' | 'livemode'
  >,
  now: Date,
): boolean {
  const { scheduled_at, created_at, livemode } = message
  if (!livemode || isReply(message)) return false
  return scheduled_at !== null || now.getTime() - created_at.getTime() > SOON_MS
}
