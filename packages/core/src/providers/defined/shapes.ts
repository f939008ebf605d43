import * as z from 'zod'
import { LIMITS } from '../../contract/limits.ts'
import type {
  CallbackReading,
  LookupResult,
  Outcome,
  Report,
} from '../../contract/outside/provider.ts'
import { CHANNELS } from '../../contract/resources/content.ts'
import { MESSAGE_STATUSES } from '../../contract/resources/message.ts'
import { storedCode } from '../parse.ts'

/** A day: providers with longer delays are asked earlier. */
const DELAY_MAX_MS = 86_400_000
const CODE_LENGTH = 100
const TEXT_LENGTH = 500
/** The length of a received text in UTF-16 code units; more is cut. */
const RECEIVED_LENGTH = 65_536
const URL_LENGTH = 2_048
const MEDIA_MAX = 100
const PARTS_MAX = 255
const RECEIPTS_MAX = 1_000
/** A check of 2,000 receipts takes about 10 ms, and 30 ms the first time. */
const REPORTS_MAX = 2_000
/** Addresses of one recipient in a report. */
const ADDRESSES_MAX = 10
const ANSWER_LENGTH = 65_536
const ADDRESS_LENGTH = 255

/** Removes what a log, a database or a header cannot hold, and cuts the rest. */
function cleaned(text: string, length: number): string {
  return text
    .slice(0, length * 2)
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, length)
    .toWellFormed()
}

const errorCode = z
  .string()
  .min(1)
  .transform((code) => storedCode(code.slice(0, CODE_LENGTH).replace(/[^\x21-\x7e]/g, '_')))
const errorText = z
  .string()
  .min(1)
  .transform((text) => cleaned(text, TEXT_LENGTH))
const orNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null)
/** Optional, also as an explicit `undefined`, which compilers without `exactOptionalPropertyTypes` allow. */
const maybe = <Schema extends z.ZodType>(schema: Schema) =>
  schema.optional() as unknown as z.ZodExactOptional<Schema>
const delay = z
  .number()
  .min(0)
  .transform((ms) => Math.min(ms, DELAY_MAX_MS))
const providerId = z.string().regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 visible ASCII')
const partIds = z.array(providerId).min(1).max(PARTS_MAX)
/** Other names of one person at the provider. */
const identities = z.array(z.string().min(1).max(ADDRESS_LENGTH)).max(8)
const suppression = z.enum(['opt_out', 'bounce', 'complaint'])
const ref = z.object({ workspace_id: z.guid(), message_id: z.guid() })

const addressText = z.string().min(1).max(TEXT_LENGTH)
const recipientOutcomes = maybe(
  z
    .array(
      z.object({
        address: addressText,
        type: z.enum(['rejected', 'retry']),
        error_code: errorCode,
        error_message: errorText,
        suppress: maybe(suppression),
      }),
    )
    .max(LIMITS.email_recipients),
)
const recipientReceipts = maybe(
  z
    .array(
      z.object({
        addresses: z.array(addressText).max(ADDRESSES_MAX),
        status: z.enum(MESSAGE_STATUSES).exclude(['queued']),
        error_code: orNull(errorCode),
        error_message: orNull(errorText),
        suppress: maybe(suppression),
      }),
    )
    .max(RECEIPTS_MAX),
)

export const outcomeShape: z.ZodType<Outcome> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('accepted'),
    provider_message_id: orNull(providerId),
    lookup_after_ms: orNull(delay),
    part_ids: maybe(partIds),
    identities: maybe(identities),
    status: maybe(z.enum(['sent', 'delivered'])),
    recipients: recipientOutcomes,
  }),
  z.object({
    type: z.literal('rejected'),
    error_code: errorCode,
    error_message: errorText,
    suppress: maybe(suppression),
    recipients: recipientOutcomes,
  }),
  z.object({
    type: z.literal('retry'),
    error_code: errorCode,
    error_message: errorText,
    delay_ms: orNull(delay),
    misconfigured: maybe(z.enum(['provider', 'sender'])),
    not_begun: maybe(z.literal(true)),
    partial: maybe(z.literal(true)),
    recipients: recipientOutcomes,
  }),
  z.object({
    type: z.literal('ambiguous'),
    error_code: errorCode,
    error_message: errorText,
    answered: maybe(z.object({ delay_ms: orNull(delay) })),
    recipients: recipientOutcomes,
  }),
])

const receipt = z.object({
  status: z.enum(MESSAGE_STATUSES).exclude(['queued']),
  provider_message_id: orNull(providerId),
  error_code: orNull(errorCode),
  error_message: orNull(errorText),
  suppress: maybe(suppression),
  never_accepted: maybe(z.literal(true)),
  part_ids: maybe(partIds),
  recipients: recipientReceipts,
  duration_s: maybe(
    z
      .int()
      .min(0)
      .max(DELAY_MAX_MS / 1_000),
  ),
})

const receivedText = z.string().transform((text) => text.slice(0, RECEIVED_LENGTH).toWellFormed())

export const lookupShape: z.ZodType<LookupResult> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('found'),
    receipts: z.array(receipt).max(RECEIPTS_MAX),
    replies: z
      .array(z.object({ provider_message_id: providerId, text: receivedText }))
      .max(RECEIPTS_MAX),
    lookup_after_ms: orNull(delay),
  }),
  z.object({ type: z.literal('not_found'), certain: maybe(z.literal(true)) }),
  z.object({ type: z.literal('unavailable') }),
])

const report: z.ZodType<Report> = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('receipt'),
    about: orNull(ref),
    provider_message_id: orNull(providerId),
    receipt,
  }),
  z.object({
    type: z.literal('suppress'),
    about: ref,
    reason: suppression,
    addresses: maybe(z.array(addressText).max(ADDRESSES_MAX)),
  }),
  z.object({
    type: z.literal('received'),
    channel: z.enum(CHANNELS),
    provider_message_id: orNull(providerId),
    sender: z.string().min(1).max(TEXT_LENGTH),
    identities: maybe(identities),
    answers: maybe(providerId),
    recipient: z.string().min(1).max(TEXT_LENGTH),
    content: z.object({
      text: orNull(receivedText),
      media: z
        .array(
          z.object({
            url: z.string().max(URL_LENGTH),
            content_type: orNull(z.string().max(TEXT_LENGTH)),
          }),
        )
        .max(MEDIA_MAX),
    }),
    part: maybe(
      z.object({
        reference: z.int(),
        total: z.int(),
        number: z.int(),
        units: z.string().max(RECEIVED_LENGTH),
      }),
    ),
    keyword: maybe(z.enum(['stop', 'start', 'help'])),
  }),
])

export const reportsShape = z.array(report).max(REPORTS_MAX)

export const readingShape: z.ZodType<CallbackReading> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('forged') }),
  z.object({ type: z.literal('unreadable'), reason: errorText }),
  z.object({
    type: z.literal('read'),
    reports: reportsShape,
    answer: maybe(
      z.object({
        content_type: z.string().regex(/^[\x20-\x7e]{1,256}$/, 'must be 1 to 256 printable ASCII'),
        body: z.string().max(ANSWER_LENGTH),
      }),
    ),
  }),
])

export const checkShape: z.ZodType<string | null> = orNull(errorText)

export const statesShape = z
  .array(
    z.object({
      name: z.string().transform((name) => cleaned(name, CODE_LENGTH)),
      state: z.enum(['up', 'connecting', 'down']),
      detail: z.string().transform((detail) => cleaned(detail, TEXT_LENGTH)),
    }),
  )
  .max(RECEIPTS_MAX)

/** A line for the log: the text, and the fields as plain data. */
export const noteShape = z.tuple([
  z.enum(['info', 'warn', 'error']),
  z.string().transform((text) => cleaned(text, TEXT_LENGTH)),
  z.record(
    z.string().max(CODE_LENGTH),
    z.union([z.string().max(TEXT_LENGTH), z.number(), z.boolean(), z.null()]),
  ),
])
