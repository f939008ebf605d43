import type { Channel } from '../contract/resources/messages.ts'
import type { SettledMessage } from './settlement.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Past this age a message is no longer worth sending; `expires_in` of the request sets its own. */
const MAX_AGE_MS: Record<Channel, number> = {
  sms: 4 * HOUR_MS,
  whatsapp: 4 * HOUR_MS,
  voice: 4 * HOUR_MS,
  email: 48 * HOUR_MS,
}

/** How the pauses between tries grow. */
export const RETRY = { base_ms: 1_000, cap_ms: 5 * MINUTE_MS }

/** How the pauses between questions grow. */
export const LOOKUP = { base_ms: 2_000, cap_ms: 5 * MINUTE_MS }

/** A provider's own wish for a pause is honoured between these. */
export const DELAY_MIN_MS = 1_000
export const DELAY_MAX_MS = 24 * HOUR_MS

/**
 * Until then, that a provider does not know a message says nothing: it may not have come round to the request whose
 * answer was lost, or not list it yet.
 */
export const NOT_FOUND_MIN_MS = MINUTE_MS

/** How long an unknown outcome may stay unknown before the message fails as `outcome_unknown`; at the least. */
export const UNKNOWN_MAX_MS = 10 * MINUTE_MS

/**
 * The same where the provider can still tell, by a look-up or by how it takes a repetition: for as long as the message is
 * worth sending. An outage of the provider is no reason to give it up.
 */
export function unknownMaxMs(message: SettledMessage, since: Date): number {
  return Math.max(UNKNOWN_MAX_MS, deadlineMs(message) - since.getTime())
}

/** How long after a message was sent its provider is asked what became of it: then `sent` stands, unless a receipt comes. */
export const FOLLOW_MAX_MS = 72 * HOUR_MS

/** Past this moment, in milliseconds, the message is no longer worth sending. */
export function deadlineMs(message: SettledMessage): number {
  if (message.expires_at) return message.expires_at.getTime()
  const since = message.scheduled_at ?? message.created_at
  return since.getTime() + MAX_AGE_MS[message.channel]
}
