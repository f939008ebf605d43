import type { MessageRow } from '../rows/rows.ts'
import type { BulkDraft, BulkParts } from './bulk-accept.ts'
import type { Refused } from './bulk-reading.ts'
import type { Reached } from './bulk-recipients.ts'

/** The part of a draft that says to whom messages go again, each as it was, and priced as it is now. */
export function againOf(
  { priceOf, countryFault }: Pick<BulkParts, 'priceOf' | 'countryFault'>,
  messages: readonly MessageRow[],
  at: Date,
): Pick<BulkDraft, 'total' | 'reached' | 'sendingOf' | 'refused' | 'duplicates' | 'isStrict'> {
  const reached: Reached[] = []
  const refused: Refused[] = []
  for (const [index, { recipient: to, channel, content, metadata }] of messages.entries()) {
    const message = countryFault(channel, to)
    if (message === null) {
      reached.push({ index, to, content, metadata, price: priceOf(channel, content)(to) })
    } else {
      refused.push({ index, field: '', to, error: 'country_not_allowed', message })
    }
  }
  return {
    total: messages.length,
    reached,
    refused,
    sendingOf: ({ index }) => sendingAgain(messages[index] as MessageRow, at),
    duplicates: 0,
    isStrict: false,
  }
}

/** Whoever may have got it, or was to get it no more, is not written to again; nor whoever was erased. */
export function canGoAgain({ accepted, error_code, erased_at }: MessageRow): boolean {
  return !accepted && error_code !== 'canceled' && erased_at === null
}

/** At once, and worth as long as it was the first time. */
function sendingAgain(
  { sender, scheduled_at, created_at, expires_at }: MessageRow,
  at: Date,
): ReturnType<BulkDraft['sendingOf']> {
  const worth_ms = expires_at && expires_at.getTime() - (scheduled_at ?? created_at).getTime()
  const schedule = {
    scheduled_at: null,
    expires_at: worth_ms === null ? null : new Date(at.getTime() + worth_ms),
  }
  return { schedule, sender }
}
