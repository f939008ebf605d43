import * as z from 'zod'
import { LIMITS } from '../../contract/limits.ts'
import { CHANNELS } from '../../contract/resources/content.ts'
import { CONNECTIONS, commonSettings, handlesStop, senders } from '../common-settings.ts'
import { field, pointer } from './fields.ts'
import { depthOf, type Json, type Placeholder, placeholdersOf } from './template.ts'
import { carriesContent, HEADER_NAMES, isName } from './values.ts'

const secret = z.string().min(1).max(1_024)
/** A value of a header. A line break, such as the one at the end of a file, would make every request fail. */
const headerSecret = secret.regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be a header name')
const word = z.string().max(100)

/** A text with placeholders for the values of a message. */
const textTemplate = z.string().max(4_096).superRefine(checkPlaceholders)

const headerTemplate = z
  .string()
  .max(4_096)
  .regex(/^[\t\x20-\x7e]*$/, 'must be printable ASCII')
  .refine((text) => placeholdersOf(text).every(({ name }) => HEADER_NAMES.includes(name)), {
    error: `may only have the placeholders ${HEADER_NAMES.join(', ')}`,
  })

const DEPTH = 16

const bodyTemplate = z
  .json()
  .superRefine(checkPlaceholders)
  .refine((body) => depthOf(body as Json, DEPTH + 1) <= DEPTH, `must have at most ${DEPTH} levels`)

const urlTemplate = textTemplate.superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    return context.addIssue('must be an http or https address')
  }
  if (url.username || url.password) context.addIssue('must not have a user: see "auth"')
  if (url.hash) context.addIssue('must not have a "#"')
  if (!/^https?:\/\/[^/?{}\\]+(?:[/?]|$)/i.test(text)) {
    context.addIssue('may only have placeholders after the host')
  }
})

function checkPlaceholders(template: unknown, context: z.core.$RefinementCtx): void {
  for (const { name, is_alone } of placeholdersOf(template as Json)) {
    if (!isName(name)) context.addIssue(`has an unknown placeholder: {{${name}}}`)
    else if (name === 'content' && !is_alone) context.addIssue('{{content}} must stand alone')
  }
}

/** How a keyed hash of the request is written into a header. */
const signatureSettings = {
  header: headerName,
  secret,
  algorithm: z.enum(['sha1', 'sha256', 'sha512']).default('sha256'),
  encoding: z.enum(['hex', 'base64']).default('hex'),
  /** The text before the hash, such as `sha256=`. */
  prefix: z.string().max(32).default(''),
}

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('bearer'), token: headerSecret }),
  z.strictObject({ type: z.literal('basic'), user: z.string().max(256), password: secret }),
  z.strictObject({ type: z.literal('header'), name: headerName, value: headerSecret }),
  /** Adds parameters to the form if there is one, otherwise to the query. */
  z.strictObject({ type: z.literal('parameters'), parameters: z.record(word, secret) }),
  /** Adds a hash of the body; if there is no body, of the path with its query. */
  z.strictObject({ type: z.literal('hmac'), ...signatureSettings }),
])

const requestSettings = z
  .strictObject({
    method: z.enum(['GET', 'POST', 'PUT']).default('POST'),
    url: urlTemplate,
    headers: z.record(headerName, headerTemplate).default({}),
    query: z.record(word, textTemplate).default({}),
    /** The body as JSON. */
    body: bodyTemplate.optional(),
    /** The body as a form. */
    form: z.record(word, textTemplate).optional(),
  })
  .refine(({ body, form }) => body === undefined || form === undefined, {
    error: 'must have at most one of: body, form',
  })
  .refine(({ method, body, form }) => method !== 'GET' || (body ?? form) === undefined, {
    error: 'has no body with GET: use "query"',
  })

const VERDICTS = ['accepted', 'rejected', 'retry', 'misconfigured'] as const
const STATUSES = ['sent', 'delivered', 'read', 'failed'] as const

/** Maps words of the gateway to our words: see `translated`. */
function dictionary<const T extends readonly [string, ...string[]]>(words: T) {
  return z
    .record(word, z.enum(words))
    .refine((map) => Object.keys(map).length <= 200, { error: 'must have at most 200 words' })
}

const answerSettings = z
  .strictObject({
    /** The place of the gateway's id. An accepting answer without an id makes the outcome ambiguous. */
    id: pointer.optional(),
    status: pointer.optional(),
    statuses: dictionary(VERDICTS).optional(),
    error_code: pointer.optional(),
    error_message: pointer.optional(),
  })
  .refine(({ status, statuses }) => (status === undefined) === (statuses === undefined), {
    error: 'must have both of: status, statuses, or none',
  })

const callbackAuth = z.discriminatedUnion('type', [
  /** Checks the signature in the message's `{{callback_url}}`. */
  z.strictObject({ type: z.literal('url') }),
  /** Checks a hash of the body. */
  z.strictObject({ type: z.literal('hmac'), ...signatureSettings }),
  z.strictObject({
    type: z.literal('token'),
    in: z.enum(['query', 'header']).default('query'),
    name: headerName.default('token'),
    token: z.string().min(16).max(1_024),
  }),
])

const receiptSettings = z.strictObject({
  /** The place of the list if a callback reports several messages; the fields are then relative to an item. */
  list: pointer.optional(),
  reference: field.optional(),
  provider_message_id: field.optional(),
  status: field,
  statuses: dictionary(STATUSES),
  error_code: field.optional(),
  error_message: field.optional(),
})

const inboundSettings = z.strictObject({
  channel: z.enum(['sms', 'whatsapp']).default('sms'),
  list: pointer.optional(),
  id: field.optional(),
  from: field,
  to: field,
  text: field,
})

const callbackSettings = z
  .strictObject({
    auth: callbackAuth.default({ type: 'url' }),
    receipts: receiptSettings.optional(),
    /** Messages of recipients: callbacks to `<callback_url>?inbound`. */
    inbound: inboundSettings.optional(),
    /** The maximum size of a callback's body; gateways send batches of receipts. */
    max_bytes: z
      .int()
      .min(1)
      .max(LIMITS.callback_body_bytes_max)
      .default(LIMITS.callback_body_bytes_max),
    /** The answer that the gateway expects; default: an empty 200. */
    answer: z
      .strictObject({ content_type: z.string().max(100), body: z.string().max(1_024) })
      .optional(),
  })
  .refine(({ receipts, inbound }) => receipts !== undefined || inbound !== undefined, {
    error: 'must have at least one of: receipts, inbound',
  })
  .refine(({ auth, inbound }) => auth.type !== 'url' || inbound === undefined, {
    path: ['auth'],
    error: 'must be "hmac" or "token" for "inbound": its address is not signed for a message',
  })
  .refine(
    ({ auth, receipts }) =>
      auth.type !== 'url' || (receipts?.list ?? receipts?.reference) === undefined,
    {
      path: ['auth'],
      error:
        'must be "hmac" or "token" for "list" and "reference": an address is signed for one message',
    },
  )
  .refine(
    ({ auth, receipts, inbound }) =>
      auth.type !== 'hmac' ||
      ![receipts, inbound].some((layout) =>
        Object.values(layout ?? {}).some((at) => typeof at === 'string' && at.startsWith('?')),
      ),
    {
      path: ['auth'],
      error: 'must be "token" for fields of the query: "hmac" covers the body only',
    },
  )

const lookupSettings = z.strictObject({
  request: requestSettings,
  answer: z.strictObject({
    id: pointer.optional(),
    status: pointer,
    /** `not_found` only if the gateway certainly never received the message, because the message is sent again. */
    statuses: dictionary([...STATUSES, 'not_found']),
    error_code: pointer.optional(),
    error_message: pointer.optional(),
  }),
  /** HTTP statuses that mean `not_found`. */
  not_found: z.array(z.int().min(400).max(499)).max(10).default([404]),
  /** The time between two look-ups. */
  every_s: z.int().min(1).max(86_400).default(60),
})

/** The settings of a gateway. */
export const settings = z
  .strictObject({
    type: z.literal('http'),
    ...commonSettings,
    channels: z.array(z.enum(CHANNELS)).min(1),
    senders: z.partialRecord(z.enum(CHANNELS), senders).default({}),
    handles_stop: handlesStop.default(false),
    /** Whether the gateway accepts each `Idempotency-Key` only once. */
    idempotent: z.boolean().default(false),
    /** The timeout of an answer, from the first byte of the request. The wait for a connection has the rest of 20 s. */
    deadline_s: z.number().min(0.1).max(18).default(15),
    /** The maximum number of simultaneous connections of each thread. */
    connections: z.int().min(1).max(500).default(CONNECTIONS),
    auth: auth.optional(),
    send: requestSettings,
    answer: answerSettings.default({}),
    callback: callbackSettings.optional(),
    lookup: lookupSettings.optional(),
  })
  .refine(
    ({ channels, senders }) =>
      Object.keys(senders).every((each) => channels.includes(each as never)),
    { path: ['senders'], error: 'must only have the channels of "channels"' },
  )
  .refine(({ send }) => carriesContent(placeholdersIn(send)), {
    path: ['send'],
    error: 'must have a placeholder for the content of a message, such as {{text}}',
  })
  .refine(
    ({ answer, lookup }) => answer.id !== undefined || lookup === undefined || !needsId(lookup),
    { path: ['lookup'], error: 'needs "answer.id", the only source of {{provider_message_id}}' },
  )

/** Whether the gateway can look up a message without its own id. */
export function findsUnanswered({ lookup }: Pick<HttpSettings, 'lookup'>): boolean {
  return lookup !== undefined && !needsId(lookup)
}

/** Whether a look-up needs the gateway's own id. */
export function needsId({ request }: LookupSettings): boolean {
  return placeholdersIn(request).some(({ name }) => name === 'provider_message_id')
}

/** The placeholders of a request without its headers: headers may contain only our own ids. */
export function placeholdersIn({ url, query, body, form }: RequestSettings): Placeholder[] {
  return placeholdersOf([url, query, body ?? null, form ?? null] as Json)
}

export type HttpSettings = z.output<typeof settings>
export type AuthSettings = z.output<typeof auth>
export type RequestSettings = z.output<typeof requestSettings>
export type CallbackSettings = z.output<typeof callbackSettings>
export type LookupSettings = z.output<typeof lookupSettings>
export type Verdict = (typeof VERDICTS)[number]

/** Our word for a word of the gateway: "" matches a missing word, "*" every other word. */
export function translated<T extends string>(
  words: Readonly<Record<string, T>>,
  word: string | undefined,
): T | undefined {
  if (word === undefined) return Object.hasOwn(words, '') ? words[''] : undefined
  if (Object.hasOwn(words, word)) return words[word]
  return Object.hasOwn(words, '*') ? words['*'] : undefined
}
