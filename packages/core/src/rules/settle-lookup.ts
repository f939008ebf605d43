import type { LookupResult } from '../contract/outside/provider.ts'
import { applyReceipt } from './settle-receipts.ts'
import type { Step } from './settlement.ts'
import { advance } from './status.ts'
import { apply, assign, dequeue, failUnknown, requeue, unknownSince, wasRefunded } from './step.ts'
import {
  deadlineMs,
  FOLLOW_MAX_MS,
  LOOKUP,
  NOT_FOUND_MIN_MS,
  UNKNOWN_MAX_MS,
  unknownMaxMs,
} from './waits.ts'

/** What the question gave that a queue row stands for. `holds`: whether the claim that asked it still stands. */
export function settleLookup(step: Step, found: LookupResult, holds: boolean): boolean {
  const { message, queued, settlement } = step
  if (found.type === 'found') {
    if (!wasRefunded(message)) message.accepted = true
    if (message.status === 'queued') assign(message, settlement.provider)
    message.provider ??= settlement.provider
    message.provider_message_id ??= found.receipts[0]?.provider_message_id ?? null
    // Who knows a message has taken it, whatever else it tells.
    if (message.status === 'queued') {
      for (const status of advance(message, 'sent')) apply(step, status, null, null)
    }
    for (const receipt of found.receipts) applyReceipt(step, receipt)
    if (holds) {
      const followed_ms = settlement.at.getTime() - (message.sent_at ?? settlement.at).getTime()
      if (found.lookup_after_ms === null || followed_ms >= FOLLOW_MAX_MS) dequeue(step)
      else requeue(step, 'lookup', found.lookup_after_ms, null)
    }
    return true
  }
  if (!holds || !queued) return false
  if (message.status !== 'queued') {
    const wait = pollWait(message.sent_at ?? message.created_at, settlement.at)
    if (found.type === 'unavailable' && settlement.at.getTime() < deadlineMs(message)) {
      requeue(step, 'lookup', wait, null)
    } else dequeue(step)
    return true
  }
  const since = unknownSince(step)
  const waited = settlement.at.getTime() - since.getTime()
  if (found.type === 'not_found' && (found.certain || waited >= NOT_FOUND_MIN_MS)) {
    requeue(step, 'send', 0, null)
    return true
  }
  // Without a look-up the row only waits for a callback.
  const max_ms = settlement.abilities.lookup ? unknownMaxMs(message, since) : UNKNOWN_MAX_MS
  if (waited >= max_ms) {
    failUnknown(step, 'No answer to the question whether the provider has it')
  } else requeue(step, 'lookup', pollWait(since, settlement.at), since)
  return true
}

/**
 * Waiting as long as has been waited already doubles the distance each time. A time to come was noted while the clock was
 * ahead: how long it is since then is not known, and it is not asked all the time until then.
 */
function pollWait(since: Date, at: Date): number {
  const waited_ms = Math.abs(at.getTime() - since.getTime())
  return Math.min(Math.max(waited_ms, LOOKUP.base_ms), LOOKUP.cap_ms)
}
