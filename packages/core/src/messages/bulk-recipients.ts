import * as z from 'zod'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { Addressee, Contacts } from '../contacts/contacts.ts'
import { decode } from '../contract/endpoints/decode.ts'
import { type ErrorDetail, invalid, SvcError } from '../contract/errors.ts'
import { E164 } from '../contract/fields/e164.ts'
import { EMAIL_TEXT, emailAddress, emailKey } from '../contract/fields/email-address.ts'
import { isRecord, type Metadata, metadata, PHONE_TEXT } from '../contract/fields/fields.ts'

import { LIMITS } from '../contract/limits.ts'
import type { RecipientFault } from '../contract/resources/bulk.ts'
import {
  type BulkRecipient,
  type BulkRequest,
  type BulkVariable,
  type BulkVariables,
  bulkRecipient,
} from '../contract/resources/bulk-request.ts'
import { type Channel, type Content, contents } from '../contract/resources/content.ts'
import type { Addressed } from '../contract/resources/mail-recipients.ts'
import { isPlainRecipient, isPlainText } from '../contract/resources/plain-send.ts'
import { unsubscribeValue } from '../contract/signing/unsubscribe-url.ts'
import type { CountryFault, Price, PriceOf } from '../prices/price.ts'

import { type ContentTemplate, contentTemplate, type LookUp, namesOf } from '../rules/template.ts'
import { inTurns } from '../runtime/in-turns.ts'
import type { TemplateSource } from '../templates/use-template.ts'
import type { FileUse } from './stored-files.ts'

/** The message to one recipient, or the e-mail to several. */
export interface RecipientDraft {
  /** The position in `recipients`, counted from 0. */
  index: number
  to: string
  /** All recipients of an e-mail that has several; absent for one recipient. */
  recipients?: readonly Addressed[] | undefined
  content: Content
  /** The stored files of the content. */
  files?: readonly FileUse[] | undefined
  price: Price
  metadata: Metadata
}

/** The recipients of a bulk after their checks. */
export interface Recipients {
  drafts: RecipientDraft[]
  rejected: RejectedRecipient[]
  /** Recipients with an address that an earlier recipient has. */
  duplicates: { index: number; to: string }[]
}

/**
 * Checks each recipient of a bulk and fills in its message. A test key cannot send to contacts. `source`: the stored
 * template of the content.
 * @throws SvcError `validation_error` for faults of the request that no single recipient causes.
 */
export async function recipientsOf(
  parts: {
    contacts: Pick<Contacts, 'forSending'>
    priceOf: PriceOf
    countryFault: CountryFault | null
    recipients_max: number
  },
  { workspace_id, mode }: Pick<KeyIdentity, 'workspace_id' | 'mode'>,
  request: BulkRequest,
  source: TemplateSource | null = null,
): Promise<Recipients> {
  const { contacts, recipients_max } = parts
  if (request.recipients.length > recipients_max) throw tooMany(recipients_max)
  const recipients = await readRecipients(request.recipients)
  const ids = mode === 'live' ? contactIdsOf(recipients) : []
  const known = ids.length > 0 ? await contacts.forSending(workspace_id, ids) : new Map()
  const noContact = mode === 'live' ? 'Contact not found' : CONTACTS_ARE_LIVE
  const length_max = LIMITS[mode === 'live' ? 'bulk_stored_length' : 'test_bulk_stored_length']
  const options = { ...parts, request, source, contacts: known, noContact, length_max }
  return checkRecipients(recipients, options)
}

/** The text does not depend on whether the contact exists. */
const CONTACTS_ARE_LIVE =
  'Contact not found: test keys reach no contacts. Set the address in to instead.'

function contactIdsOf(recipients: readonly (BulkRecipient | RejectedRecipient)[]): string[] {
  return recipients.flatMap((to) =>
    typeof to === 'object' && 'contact_id' in to && to.contact_id ? [to.contact_id] : [],
  )
}

/** Fills in the content for each recipient, in order. */
async function checkRecipients(
  recipients: readonly (BulkRecipient | RejectedRecipient)[],
  options: Pick<
    Bulk,
    'request' | 'source' | 'contacts' | 'noContact' | 'priceOf' | 'countryFault'
  > & {
    /** The maximum length of all messages together, in UTF-16 code units. */
    length_max: number
  },
): Promise<Recipients> {
  const found: Recipients = { drafts: [], rejected: [], duplicates: [] }
  const missing = new Set<string>()
  const spent = { steps: 0 }
  const bulk = { ...options, ...prepare(options), missing, spent }
  if (bulk.template.placeholders * recipients.length > LIMITS.bulk_fillings) throw tooMuch()
  const seen = new Set<string>()
  const { length_max } = options
  let length = 0
  await inTurns(recipients, (item, index) => {
    if (isRejected(item)) {
      found.rejected.push(item)
      return
    }
    const recipient = typeof item === 'string' ? { to: item } : item
    const to = addressFor(recipient, bulk)
    if (typeof to === 'object') {
      // A recipient that is only a text has no fields.
      const field = typeof item === 'string' ? '' : to.field
      found.rejected.push({ ...to, index, field })
      return
    }
    const key = options.request.channel === 'email' ? emailKey(to) : to
    if (seen.has(key)) {
      found.duplicates.push({ index, to })
      return
    }
    const message = messageFor(recipient, to, bulk)
    // A rejected message costs as much work as a sent one.
    length += message.length
    if (length > length_max) throw tooLong(length_max)
    if (spent.steps > LIMITS.bulk_fillings) throw tooMuch()
    if ('error' in message) {
      const { error, message: text } = message
      found.rejected.push({ index, field: '', to, error, message: text })
      return
    }
    seen.add(key)
    const { content, price, metadata } = message
    found.drafts.push({ index, to, content, price, metadata })
  })
  return found
}

interface Bulk {
  request: BulkRequest
  /** The stored template of the content; null for a content of the request. */
  source: TemplateSource | null
  /** The work of all fillings. */
  spent: { steps: number }
  contacts: ReadonlyMap<string, Addressee>
  /** The error text for an unknown contact. */
  noContact: string
  priceOf: PriceOf
  countryFault: CountryFault | null
  template: ContentTemplate
  /** Returns the price for a recipient; null if the content has placeholders. */
  price: ReturnType<PriceOf> | null
  schema: z.ZodType
  /** The variables that have no value for one recipient; empty between recipients. */
  missing: Set<string>
}

function prepare({
  request: { channel, content },
  source,
  priceOf,
}: Pick<Bulk, 'request' | 'source' | 'priceOf'>): Pick<Bulk, 'template' | 'price' | 'schema'> {
  const template = contentTemplate(content, { has_blocks: source !== null })
  const schema = z.object({ content: contents[channel] })
  if (template.placeholders > 0) return { template, price: null, schema }
  // The limits of the request leave room for placeholders. Without placeholders, the limits of a message apply.
  decode(schema, { content })
  return { template, price: priceOf(channel, content), schema }
}

/** The address of a recipient, or the reason why there is none. */
function addressFor(
  recipient: Exclude<BulkRecipient, string>,
  { request, contacts, noContact }: Bulk,
): string | Omit<RejectedRecipient, 'index'> {
  const isMail = request.channel === 'email'
  const { to, contact_id } = recipient
  if (contact_id !== undefined) {
    const contact = contacts.get(contact_id)
    const field = 'contact_id'
    if (!contact) {
      return { error: 'contact_not_found', message: noContact, field, to: null }
    }
    const address = isMail ? contact.email : contact.phone
    if (address) return address
    const message = `The contact has no ${isMail ? 'email' : 'phone'}`
    return { error: 'invalid_recipient', message, field, to: null }
  }
  const address = to ?? ''
  const isGood = isMail ? emailAddress(address) !== null : E164.test(address)
  if (isGood) return address
  const message = isMail ? EMAIL_TEXT : PHONE_TEXT
  return { error: 'invalid_recipient', message, field: 'to', to: address }
}

type Fault = Pick<RejectedRecipient, 'error' | 'message'>

/** The message to a recipient, or its fault. `length`: the length of the text that was made, in UTF-16 code units. */
function messageFor(
  recipient: Exclude<BulkRecipient, string>,
  to: string,
  bulk: Bulk,
): (Pick<RecipientDraft, 'content' | 'price' | 'metadata'> | Fault) & { length: number } {
  const { request, source, contacts, template, schema, missing, price, priceOf, countryFault } =
    bulk
  const refusal = countryFault?.(request.channel, to)
  if (refusal) return { error: 'country_not_allowed', message: refusal, length: 0 }
  const merged = metadataOf(recipient.metadata, request.metadata)
  if (!merged) return { error: 'invalid_metadata', message: METADATA_TEXT, length: 0 }
  const { contact_id } = recipient
  const contact = contact_id === undefined ? undefined : contacts.get(contact_id)
  const lookUp = lookUpFor(recipient, contact, request.defaults)
  const content = template.fill(
    (name, field) =>
      lookUp(name, field) ??
      source?.lookUp(name, field) ??
      unsubscribeValue(request.channel, name, field),
    missing,
    bulk.spent,
  )
  const length = lengthOf(content) + lengthOf(merged)
  if (missing.size > 0) {
    const message = `No value for ${namesOf(missing)}`
    missing.clear()
    return { error: 'missing_variable', message, length: length + message.length }
  }
  if (price) return { content, price: price(to), metadata: merged, length }
  const fault = faultOf(schema, request.channel, content)
  if (fault) return { ...fault, length }
  return { content, price: priceOf(request.channel, content)(to), metadata: merged, length }
}

function faultOf(schema: z.ZodType, channel: Channel, content: Content): Fault | null {
  // The cheaper checks come first, because few contents need the error texts of `decode`.
  if (channel === 'sms' && isPlainText(content)) return null
  if (schema.safeParse({ content }).success) return null
  try {
    decode(schema, { content })
    return null
  } catch (error) {
    if (error instanceof SvcError) return { error: 'invalid_content', message: error.message }
    throw error
  }
}

const METADATA_TEXT = `The recipient's metadata and that of the request have more than ${LIMITS.metadata_keys} keys or ${LIMITS.metadata_bytes} bytes together`

/** One object for all messages, so that the storage encodes it once. */
const NO_METADATA: Metadata = Object.freeze({})

/** A key of the recipient replaces the same key of the request. Null if both together exceed a limit. */
function metadataOf(ours: Metadata | undefined, common: Metadata | undefined): Metadata | null {
  if (!ours || !common) return ours ?? common ?? NO_METADATA
  const merged = { ...common, ...ours }
  return metadata.safeParse(merged).success ? merged : null
}

/** The length of all names and texts in a value. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const name in value) length += name.length + lengthOf((value as Metadata)[name])
  return length
}

function tooLong(max: number): SvcError {
  return invalid(
    'recipients',
    `The messages of a bulk may have at most ${max / 2 ** 20} million characters together, metadata included: send to fewer recipients at a time`,
  )
}

function tooMuch(): SvcError {
  return invalid(
    'recipients',
    'The messages are too large together: send to fewer recipients at a time',
  )
}

function tooMany(max: number): SvcError {
  return invalid(
    'recipients',
    `recipients must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
  )
}

/**
 * Looks up placeholders for one recipient: in its variables, its name, its contact and the request's defaults, in that
 * order. Source: contract section 6, Bulk.
 */
function lookUpFor(
  { variables, name }: Exclude<BulkRecipient, string>,
  contact: Addressee | undefined,
  defaults: BulkVariables | undefined,
): LookUp {
  return (key) =>
    own(variables, key) ??
    (key === 'name' && name !== undefined ? name : null) ??
    (contact ? fieldOf(contact, key) : null) ??
    own(defaults, key)
}

function own(values: BulkVariables | undefined, name: string): BulkVariable {
  if (!values || !Object.hasOwn(values, name)) return null
  return scalarOf(values[name])
}

const CONTACT_FIELDS = ['name', 'phone', 'email', 'external_id'] as const
const ATTRIBUTE = 'attributes.'

/** `{{city}}` and `{{attributes.city}}` are the same, except for the names in `CONTACT_FIELDS`. */
function fieldOf(contact: Addressee, name: string): BulkVariable {
  const field = CONTACT_FIELDS.find((known) => known === name)
  if (field) return scalarOf(contact[field])
  const { attributes } = contact
  const key = name.startsWith(ATTRIBUTE) ? name.slice(ATTRIBUTE.length) : name
  return Object.hasOwn(attributes, key) ? scalarOf(attributes[key]) : null
}

function scalarOf(value: unknown): BulkVariable {
  const isScalar = ['string', 'number', 'boolean'].includes(typeof value)
  return isScalar ? (value as BulkVariable) : null
}

/** A recipient that gets no message, and the reason. */
export interface RejectedRecipient {
  index: number
  /** The faulty field of the recipient; empty if the fault is not in one field. */
  field: '' | 'to' | 'contact_id'
  to: string | null
  error: RecipientFault
  message: string
  /** Present if the recipient cannot be read: its faults, each with its path in the request. */
  details?: readonly ErrorDetail[]
}

// Recipients are read together, because reporting each fault alone costs ten times as much.
const recipientList = z.object({ recipients: z.array(bulkRecipient) })

/** The number of recipients of one part. Reading a part takes 0.1 ms, or 25 ms if each has the maximum of members. */
const PART = 10

/** Reads the recipients of a bulk; an unreadable recipient is replaced by its rejection. */
async function readRecipients(
  recipients: readonly unknown[],
): Promise<(BulkRecipient | RejectedRecipient)[]> {
  const starts = Array.from({ length: Math.ceil(recipients.length / PART) }, (_, i) => i * PART)
  const parts = await inTurns(starts, (at) => readPart(recipients.slice(at, at + PART), at))
  return parts.flat()
}

function readPart(
  recipients: readonly unknown[],
  at: number,
): readonly (BulkRecipient | RejectedRecipient)[] {
  if (recipients.every(isPlainRecipient)) return recipients
  try {
    return decode(recipientList, { recipients }).recipients
  } catch (error) {
    if (!(error instanceof SvcError && error.details)) throw error
    const faults = byRecipient(error.details, at)
    return recipients.map((one, i) => {
      const details = faults.get(at + i)
      return details ? unreadable(one, at + i, details) : bulkRecipient.parse(one)
    })
  }
}

function isRejected(read: BulkRecipient | RejectedRecipient): read is RejectedRecipient {
  return typeof read === 'object' && 'error' in read
}

type Faults = [ErrorDetail, ...ErrorDetail[]]

/** Indexes faults by recipient. The paths of the faults, such as `recipients.3.name`, count from the start of the part. */
function byRecipient(details: readonly ErrorDetail[], at: number): Map<number, Faults> {
  const faults = new Map<number, Faults>()
  for (const { path, message } of details) {
    const [list, i, ...rest] = path.split('.')
    const index = Number(i) + at
    const detail = { path: [list, index, ...rest].join('.'), message }
    const known = faults.get(index)
    if (known) known.push(detail)
    else faults.set(index, [detail])
  }
  return faults
}

function unreadable(recipient: unknown, index: number, details: Faults): RejectedRecipient {
  const [{ path, message }] = details
  const to = isRecord(recipient) && typeof recipient.to === 'string' ? recipient.to : null
  const error = ERROR_OF_FIELD.get(path.split('.')[2]) ?? 'invalid_recipient'
  return { index, field: '', to, error, message, details }
}

const ERROR_OF_FIELD = new Map<string | undefined, RecipientFault>([
  ['name', 'invalid_variable'],
  ['variables', 'invalid_variable'],
  ['metadata', 'invalid_metadata'],
])
