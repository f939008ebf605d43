import { createHmac } from 'node:crypto'
import type { Channel } from '../resources/content.ts'

/**
 * The prefixes of Twilio's ids (SIDs), by what they name: a workspace, an API key, a message, a call, a received file, a
 * sender, a verification and a message with its code. A SID is the prefix and the 32 hex digits of the UUID, so that it needs
 * no column of its own.
 * Source: https://www.twilio.com/docs/glossary/what-is-a-sid
 */
export const SID_PREFIXES = {
  account: 'AC',
  api_key: 'SK',
  message: 'SM',
  call: 'CA',
  media: 'ME',
  phone_number: 'PN',
  verification: 'VE',
  verification_message: 'VL',
} as const

/** What a SID names. */
export type SidKind = keyof typeof SID_PREFIXES

/** The SID of a UUID. */
export function sidOf(kind: SidKind, id: string): string {
  // Slices take a third of the time of a replacement, and each request of Twilio's door makes several SIDs.
  return `${SID_PREFIXES[kind]}${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`
}

const FORM = /^([A-Z]{2})([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/

/** The UUID of a SID, in lower case; null if the text is not a SID of that kind. */
export function idOfSid(kind: SidKind, sid: string): string | null {
  const [, prefix, ...groups] = FORM.exec(sid.slice(0, 2) + sid.slice(2).toLowerCase()) ?? []
  return prefix === SID_PREFIXES[kind] ? groups.join('-') : null
}

/** Whether a SID names that UUID. A SID in the form of `sidOf` is only compared, because each request has two. */
export function isSidOf(kind: SidKind, sid: string, id: string): boolean {
  return sid === sidOf(kind, id) || idOfSid(kind, sid) === id
}

/**
 * Reads the user name of Basic credentials for Twilio's API: an account SID, or the SID of an API key. Null if the text is
 * neither.
 */
export function readBasicUser(
  user: string,
): { workspace_id: string } | { api_key_id: string } | null {
  const workspace_id = idOfSid('account', user)
  if (workspace_id !== null) return { workspace_id }
  const api_key_id = idOfSid('api_key', user)
  return api_key_id === null ? null : { api_key_id }
}

/** Twilio's form of an instant: RFC 2822, in UTC. */
export function twilioDate(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000')
}

const WHATSAPP = 'whatsapp:'

/** A number as people write it: digits after a plus, in groups. Names of senders have letters, so none of them matches. */
const GROUPED = /^\+[\d\s().-]{1,40}$/

/**
 * The channel and the number of an address of Twilio: `+14155550100` or `whatsapp:+14155550100`. As at Twilio, a number after
 * a plus may have spaces, hyphens, dots and parentheses.
 */
export function readTwilioAddress(text: string): { channel: 'sms' | 'whatsapp'; address: string } {
  const isWhatsapp = text.slice(0, WHATSAPP.length).toLowerCase() === WHATSAPP
  return isWhatsapp
    ? { channel: 'whatsapp', address: withoutGroups(text.slice(WHATSAPP.length)) }
    : { channel: 'sms', address: withoutGroups(text) }
}

function withoutGroups(text: string): string {
  const address = text.trim()
  return GROUPED.test(address) ? address.replace(/[^\d+]/g, '') : address
}

/** An address at Twilio: with the prefix `whatsapp:` on that channel. */
export function twilioAddress<Address extends string | null>(
  channel: Channel,
  address: Address,
): Address | string {
  return channel === 'whatsapp' && address !== null ? WHATSAPP + address : address
}

type MediaType = 'image' | 'video' | 'audio' | 'document'

const TYPES: Readonly<Record<string, MediaType>> = {
  jpg: 'image',
  jpeg: 'image',
  png: 'image',
  webp: 'image',
  mp4: 'video',
  '3gp': 'video',
  aac: 'audio',
  amr: 'audio',
  mp3: 'audio',
  ogg: 'audio',
}

/** The type of a file by the end of its URL. Twilio reads the type from the file itself. */
export function mediaTypeOf(url: string): MediaType {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  const end = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  return (Object.hasOwn(TYPES, end) ? TYPES[end] : undefined) ?? 'document'
}

/** The header of a request's signature. */
export const TWILIO_SIGNATURE_HEADER = 'x-twilio-signature'

/**
 * Twilio's signature of a POST with a form: base64 of HMAC-SHA1 over the URL, followed by each field's name and value,
 * sorted by name. The URL is signed in its normal form, which is the form of the request that the receiver gets.
 * Source: https://www.twilio.com/docs/usage/webhooks/webhooks-security
 */
export function signTwilio(
  authToken: string,
  url: string,
  form: Readonly<Record<string, string>>,
): string {
  const names = Object.keys(form).sort()
  const signed = names.reduce((text, name) => text + name + form[name], new URL(url).href)
  return createHmac('sha1', authToken).update(signed, 'utf8').digest('base64')
}
