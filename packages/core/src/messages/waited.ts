import type { MessageRow } from '../storage/storage.ts'

/** What is sent sooner is as good as sent when it was accepted. */
const SOON_MS = 60_000

/**
 * Whether a message waited for so long that its recipient may have opted out since it was accepted: it was scheduled,
 * is tried again, or there was a backlog. Only these are held against the suppressions a second time.
 */
export function hasWaited(
  { scheduled_at, created_at }: Pick<MessageRow, 'scheduled_at' | 'created_at'>,
  now: Date,
): boolean {
  return scheduled_at !== null || now.getTime() - created_at.getTime() > SOON_MS
}
