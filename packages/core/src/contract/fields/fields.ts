import * as z from 'zod'
import { LIMITS } from '../limits.ts'
import { E164 } from './e164.ts'
import { EMAIL_TEXT, emailAddress } from './email-address.ts'
import { creditsOf, isUnits, UNITS_PER_CREDIT, type Units } from './units.ts'

/** The message for a recipient that is not a phone number. Source: interface, Errors. */
export const PHONE_TEXT = 'Phone number must be in E.164 format'

/** A UUID in upper or lower case, read as lower case. The service creates version 7, in lower case (RFC 9562). */
export const uuid = z.guid().overwrite((id) => id.toLowerCase())

/** An instant: a Date, or in JSON an ISO 8601 text with milliseconds and `Z`. */
export const timestamp = instant({})

/** A date or date-time in a query or a body: see `parseDateTime`. */
export const dateTime = instant({
  description: 'ISO 8601. A date alone is its first instant; without an offset it is UTC.',
})

/** A `dateTime` of a query. An unescaped `+` of its offset arrives as a space; this turns the space back into `+`. */
export const queryDateTime = instant({
  description: 'ISO 8601. A date alone is its first instant; without an offset it is UTC.',
  decode: (text, ctx) => readDate(withPlus(text), ctx),
})

const SPACED_OFFSET = /(T[\d:.,]{5,21}) (\d{2}(?::?\d{2})?)$/

/** The text of a date-time in a query, whose unescaped `+` arrived as a space. */
export function withPlus(text: string): string {
  return text.replace(SPACED_OFFSET, '$1+$2')
}

function instant({
  decode = readDate,
  ...meta
}: {
  description?: string
  decode?: typeof readDate
}) {
  return z.codec(z.string().meta({ format: 'date-time', ...meta }), z.date(), {
    decode,
    encode: (date) => date.toISOString(),
  })
}

function readDate(text: string, ctx: z.core.ParsePayload<string>): Date {
  const date = parseDateTime(text)
  if (date) return date
  ctx.issues.push({ code: 'custom', message: DATE_TEXT, input: text })
  return z.NEVER
}

/** An amount: exact `Units`, or in JSON a number of credits. */
export const credits = z.codec(
  z.number(),
  z.custom<Units>(isUnits, 'must be a whole number of micro-credits'),
  {
    decode: (amount, ctx) => {
      const rounded = Math.round(amount * UNITS_PER_CREDIT)
      if (isUnits(rounded) && creditsOf(rounded) === amount) return rounded
      ctx.issues.push({
        code: 'custom',
        message: 'Credits must have at most six decimals and be below 1000000000',
        input: amount,
      })
      return z.NEVER
    },
    encode: creditsOf,
  },
)

/** A text of 1 to `max` UTF-16 code units. */
export function text(max: number) {
  return z.string().min(1).check(lengthWithin(max)).meta({ maxLength: max })
}

// The `max` of zod counts code points, so 1600 emoji (3200 code units) would pass as an SMS.
function lengthWithin(maximum: number): z.core.CheckFn<string> {
  return ({ value: input, issues }) => {
    if (input.length > maximum) issues.push({ code: 'too_big', origin: 'string', maximum, input })
  }
}

/** A phone number that matches the pattern of the specification. */
export const phone = z
  .string()
  .regex(E164, { error: ({ input }) => PHONE_TEXT + invisibleIn(`${input}`) })
  .meta({ example: '+14155552671' })

/** A longer text is no phone number with a mark or two. */
const INVISIBLE_SOUGHT = 40

/** The invisible character of a text that would else be a phone number: a person sees nothing wrong. */
function invisibleIn(text: string): string {
  if (text.length > INVISIBLE_SOUGHT) return ''
  const [found] = /\p{Cf}/u.exec(text) ?? []
  if (found === undefined || !E164.test(text.replace(/\p{Cf}/gu, ''))) return ''
  return `, without the invisible character U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
}

const SPACED_PHONE = /^ (?=[1-9]\d{1,14}$)/

/** A text of a query that may be a phone number. An unescaped `+` arrives as a space; this turns the space back into `+`. */
export function phoneOrText(schema: z.ZodString) {
  return schema.overwrite((value) => value.replace(SPACED_PHONE, '+'))
}

/** One e-mail address, unchanged; `emailAddress` reads it for sending. */
export const email = z
  .string()
  .refine((value) => emailAddress(value) !== null, EMAIL_TEXT)
  .meta({ format: 'email', maxLength: LIMITS.email_length, example: 'asha@example.com' })

const LINE_OR_CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u
const ADDRESS_OR_BIDI = /[<>@\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/

/** The display name of a sender: one line that cannot be mistaken for an address. */
export const senderName = text(LIMITS.sender_name_length).refine(
  (name) => !LINE_OR_CONTROL.test(name) && !ADDRESS_OR_BIDI.test(name),
  'Sender name must be one line without "<", ">", "@" or direction marks',
)

/** A URL that the service or a provider requests: http or https, without user name, password or fragment. */
export const httpUrl = text(LIMITS.url_length)
  .refine(
    (value) => isHttpUrl(value) && !value.includes('#'),
    'URL must be http or https, without user name, password or fragment',
  )
  .meta({ format: 'uri' })

/** A URL for a browser: http or https, without user name or password. */
export const pageUrl = text(LIMITS.url_length)
  .refine(isHttpUrl, 'URL must be http or https, without user name or password')
  .meta({ format: 'uri' })

function isHttpUrl(value: string): boolean {
  // The URL parser removes white space silently.
  if (/[\s\p{Cc}]/u.test(value) || !URL.canParse(value)) return false
  const url = new URL(value)
  const isHttp = url.protocol === 'https:' || url.protocol === 'http:'
  return isHttp && url.username === '' && url.password === '' && url.hostname !== ''
}

/** Key-value pairs of the caller. The values are any JSON and are stored unchanged. */
export type Metadata = Record<string, unknown>

/** Whether `value` is an object and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object with any JSON. It is not copied: a copy would lose a key named `__proto__`. */
export const jsonObject = z
  .custom<Metadata>(isRecord, {
    error: (issue) => `${(issue.path ?? []).join('.')} must be an object`,
  })
  .meta({ type: 'object', additionalProperties: true })

/** Metadata of the caller, within its limits. */
export const metadata = jsonObject
  .refine(
    (value) => Object.keys(value).length <= LIMITS.metadata_keys,
    `Metadata must have at most ${LIMITS.metadata_keys} keys`,
  )
  .refine(
    (value) => Buffer.byteLength(JSON.stringify(value)) <= LIMITS.metadata_bytes,
    `Metadata must be at most ${LIMITS.metadata_bytes} bytes of JSON`,
  )
  .meta({
    type: 'object',
    additionalProperties: true,
    maxProperties: LIMITS.metadata_keys,
    description: `At most ${LIMITS.metadata_keys} keys and ${LIMITS.metadata_bytes} bytes of JSON.`,
    example: { order_id: 'A1' },
  })

/** The value of an `Idempotency-Key` header. */
export const idempotencyKey = z
  .string()
  .regex(
    new RegExp(
      `^[\\x21-\\x7e](?:[\\x20-\\x7e]{0,${LIMITS.idempotency_key_length - 2}}[\\x21-\\x7e])?$`,
    ),
    `Idempotency-Key must be 1 to ${LIMITS.idempotency_key_length} printable ASCII characters`,
  )

/** The message for a text that is not an ISO 8601 date. Source: interface, Errors. */
export const DATE_TEXT = 'Invalid date format. Use ISO 8601 format.'

const ISO_8601 =
  /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/

/**
 * Reads an ISO 8601 date or date-time; null for any other text and for a date or time that does not exist (2026-02-30, 24:00,
 * a leap second). A date alone means its first instant. A text without an offset is UTC. Digits below 1 ms are dropped.
 */
export function parseDateTime(text: string): Date | null {
  const match = ISO_8601.exec(text)
  if (!match) return null
  const [, day, minutes = '00:00', seconds = '00', fraction = '', offset = 'Z'] = match
  const local = `${day}T${minutes}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}Z`
  const localMs = Date.parse(local)
  const offsetMs = offsetMsOf(offset)
  // `Date.parse` reads 02-30 as a day of March; the printed date then differs.
  if (Number.isNaN(localMs) || offsetMs === null) return null
  if (new Date(localMs).toISOString() !== local) return null
  const date = new Date(localMs - offsetMs)
  // An offset can move an instant out of the years 0001 to 9999.
  return /^(?!0000)\d{4}-/.test(date.toISOString()) ? date : null
}

function offsetMsOf(offset: string): number | null {
  if (offset === 'Z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(3).replace(':', '') || '0')
  if (hours > 23 || minutes > 59) return null
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
