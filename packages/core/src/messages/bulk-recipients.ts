import * as z from 'zod'
import type { KeyIdentity } from '../api-keys/api-keys.ts'
import type { CountryFault } from '../channels/country-rule.ts'
import type { Price, PriceOf } from '../channels/price.ts'
import type { Addressee, Contacts } from '../contacts/contacts.ts'
import { decode } from '../contract/endpoints/decode.ts'
import { invalid, SvcError } from '../contract/errors.ts'
import { EMAIL_TEXT, emailAddress, emailKey } from '../contract/fields/email-address.ts'
import { type Metadata, metadata, PHONE_TEXT, phone } from '../contract/fields/fields.ts'
import { LIMITS } from '../contract/limits.ts'
import type { BulkRecipient, BulkRequest } from '../contract/resources/bulk-request.ts'
import { type Content, contents } from '../contract/resources/content.ts'
import { inTurns } from '../runtime/in-turns.ts'
import { isRefused, type Refused, readRecipients } from './bulk-reading.ts'
import { lookUpFor } from './bulk-values.ts'
import { type ContentTemplate, contentTemplate } from './template.ts'

/** A recipient who gets a message. */
export interface Reached {
  /** Which of the recipients, counted from 0. */
  index: number
  to: string
  content: Content
  price: Price
  metadata: Metadata
}

/** Each recipient of a bulk looked at by itself. */
export interface Recipients {
  reached: Reached[]
  refused: Refused[]
  /** Where an address came again, which is written to already. */
  duplicates: { index: number; to: string }[]
}

/**
 * A bulk's recipients, each looked at by itself, with what is known of contacts; test keys know none.
 * @throws SvcError `validation_error` for what is wrong whoever the recipient.
 */
export async function recipientsOf(
  parts: {
    contacts: Pick<Contacts, 'forSending'>
    priceOf: PriceOf
    countryFault: CountryFault
    recipients_max: number
  },
  { workspace_id, mode }: Pick<KeyIdentity, 'workspace_id' | 'mode'>,
  request: BulkRequest,
): Promise<Recipients> {
  const { contacts, recipients_max } = parts
  if (request.recipients.length > recipients_max) throw tooMany(recipients_max)
  const recipients = await readRecipients(request.recipients)
  const ids = mode === 'live' ? contactIdsOf(recipients) : []
  const known = ids.length > 0 ? await contacts.forSending(workspace_id, ids) : new Map()
  const noContact = mode === 'live' ? 'Contact not found' : CONTACTS_ARE_LIVE
  const length_max = LIMITS[mode === 'live' ? 'bulk_stored_length' : 'test_bulk_stored_length']
  return lookAtRecipients(recipients, { ...parts, request, contacts: known, noContact, length_max })
}

/** The same whether or not there is such a contact. */
const CONTACTS_ARE_LIVE =
  'Contact not found: test keys reach no contacts. Name the recipient in to.'

function contactIdsOf(recipients: readonly (BulkRecipient | Refused)[]): string[] {
  return recipients.flatMap((to) =>
    typeof to === 'object' && 'contact_id' in to && to.contact_id ? [to.contact_id] : [],
  )
}

/** Fills a bulk's content in for every recipient, in order. What is wrong with one is told of that one. */
async function lookAtRecipients(
  recipients: readonly (BulkRecipient | Refused)[],
  of: Pick<Bulk, 'request' | 'contacts' | 'noContact' | 'priceOf' | 'countryFault'> & {
    /** How much the messages may come to, in UTF-16 code units. */
    length_max: number
  },
): Promise<Recipients> {
  const found: Recipients = { reached: [], refused: [], duplicates: [] }
  const bulk = { ...of, ...preparedFrom(of.request, of.priceOf) }
  if (bulk.template.placeholders * recipients.length > LIMITS.bulk_fillings) throw tooMuch()
  const seen = new Set<string>()
  const { length_max } = of
  let length = 0
  await inTurns(recipients, (given, index) => {
    if (isRefused(given)) {
      found.refused.push(given)
      return
    }
    const recipient = typeof given === 'string' ? { to: given } : given
    const addressed = addressOf(recipient, bulk)
    if (typeof addressed === 'object') {
      // A recipient that is but a text has no fields.
      const field = typeof given === 'string' ? '' : addressed.field
      found.refused.push({ ...addressed, index, field })
      return
    }
    const to = addressed
    const key = of.request.channel === 'email' ? emailKey(to) : to
    if (seen.has(key)) {
      found.duplicates.push({ index, to })
      return
    }
    const message = messageFor(recipient, to, bulk)
    // A refused message costs as much as one that is sent.
    length += message.length
    if (length > length_max) throw tooLong(length_max)
    if ('error' in message) {
      const { error, message: text } = message
      found.refused.push({ index, field: '', to, error, message: text })
      return
    }
    seen.add(key)
    const { content, price, metadata } = message
    found.reached.push({ index, to, content, price, metadata })
  })
  return found
}

interface Bulk {
  request: BulkRequest
  contacts: ReadonlyMap<string, Addressee>
  /** What is said of a contact that is not there. */
  noContact: string
  priceOf: PriceOf
  countryFault: CountryFault
  template: ContentTemplate
  /** What a content in which nothing is filled in costs for whom. */
  price: ReturnType<PriceOf> | null
  schema: z.ZodType
}

function preparedFrom(
  { channel, content }: BulkRequest,
  priceOf: Bulk['priceOf'],
): Pick<Bulk, 'template' | 'price' | 'schema'> {
  const template = contentTemplate(content)
  const schema = z.object({ content: contents[channel] })
  if (template.placeholders > 0) return { template, price: null, schema }
  // Room was left for placeholders; without them, what was given is what is sent.
  decode(schema, { content })
  return { template, price: priceOf(channel, content), schema }
}

/** Where a recipient is written to, or why it cannot be. */
function addressOf(
  recipient: Exclude<BulkRecipient, string>,
  { request, contacts, noContact }: Bulk,
): string | Omit<Refused, 'index'> {
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
  const isGood = isMail ? emailAddress(address) !== null : isPhone(address)
  if (isGood) return address
  const message = isMail ? EMAIL_TEXT : PHONE_TEXT
  return { error: 'invalid_recipient', message, field: 'to', to: address }
}

function isPhone(value: string): boolean {
  return phone.safeParse(value).success
}

type Fault = Pick<Refused, 'error' | 'message'>

/** What a recipient gets, or why not; with the length of what was made for it, in UTF-16 code units. */
function messageFor(
  recipient: Exclude<BulkRecipient, string>,
  to: string,
  bulk: Bulk,
): (Pick<Reached, 'content' | 'price' | 'metadata'> | Fault) & { length: number } {
  const { request, contacts, template, schema, price, priceOf, countryFault } = bulk
  const refusal = countryFault(request.channel, to)
  if (refusal !== null) return { error: 'country_not_allowed', message: refusal, length: 0 }
  const merged = metadataOf(recipient.metadata, request.metadata)
  if (!merged) return { error: 'invalid_metadata', message: METADATA_TEXT, length: 0 }
  const { contact_id } = recipient
  const contact = contact_id === undefined ? undefined : contacts.get(contact_id)
  const missing = new Set<string>()
  const content = template.fill(lookUpFor(recipient, contact, request.defaults), missing)
  const length = lengthOf(content) + lengthOf(merged)
  if (missing.size > 0) {
    const message = `No value for ${named(missing)}`
    return { error: 'missing_variable', message, length: length + message.length }
  }
  if (price) return { content, price: price(to), metadata: merged, length }
  const fault = faultOf(schema, content)
  if (fault) return { ...fault, length }
  return { content, price: priceOf(request.channel, content)(to), metadata: merged, length }
}

/** So many missing variables are named for one recipient. */
const NAMED_MAX = 20

function named(missing: ReadonlySet<string>): string {
  const names = [...missing].slice(0, NAMED_MAX).map((name) => `{{${name}}}`)
  const more = missing.size - names.length
  return names.join(', ') + (more > 0 ? ` and ${more} more` : '')
}

function faultOf(schema: z.ZodType, content: Content): Fault | null {
  // Asked like this first, because the texts of `decode` are needed by hardly any.
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

/** The recipient's keys win; null where both together are too much. */
function metadataOf(ours: Metadata | undefined, common: Metadata | undefined): Metadata | null {
  if (!ours || !common) return ours ?? common ?? {}
  const merged = { ...common, ...ours }
  return metadata.safeParse(merged).success ? merged : null
}

/** The names and texts of a value together. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  let length = 0
  for (const [name, inner] of Object.entries(value)) length += name.length + lengthOf(inner)
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
