import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { exportNext, exportQuery, listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { email, jsonObject, phone, phoneOrText, text, timestamp, uuid } from '../fields/fields.ts'
import { jsonShape } from '../fields/json-text.ts'
import { LIMITS } from '../limits.ts'
import type { Channel } from './content.ts'

/** Whether a contact wants messages on a channel. */
export const SUBSCRIPTION_STATES = ['subscribed', 'unsubscribed'] as const

/** The subscriptions of a contact, indexed by channel; default `subscribed`. */
export type Subscriptions = Partial<Record<Channel, (typeof SUBSCRIPTION_STATES)[number]>>

const state = z.enum(SUBSCRIPTION_STATES).optional()
const channels = { sms: state, whatsapp: state, email: state, voice: state }

/** The record of a contact. Source: contract section 10. */
export const contact = z
  .object({
    id: uuid,
    name: z.string().nullable(),
    phone: z.string().nullable(),
    email: z.string().nullable(),
    external_id: z.string().nullable(),
    tags: z.array(z.string()),
    attributes: jsonObject,
    /** A channel is `unsubscribed` if the address is suppressed on this channel, for any reason. */
    subscriptions: z.object(channels),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Contact' })

/** The record of a contact. */
export type Contact = z.output<typeof contact>

/** The message for a contact without an address. Source: contract section 10. */
export const UNREACHABLE_TEXT = 'Missing required field: phone or email'

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u

/** A text of one line, 1 to `max` UTF-16 code units. */
function line(max: number) {
  return text(max).refine((value) => !CONTROL.test(value), 'Text must be one line')
}

const tag = line(LIMITS.contact_tag_length)
  .refine((value) => !/[,;]/.test(value), 'Tags must not contain commas or semicolons')
  .refine((value) => value.trim() === value, 'Tags must not begin or end with a space')

/** The key-value pairs of a contact, within their limits. */
export const attributes = jsonObject
  .refine(
    (value) => Object.keys(value).length <= LIMITS.metadata_keys,
    `Attributes must have at most ${LIMITS.metadata_keys} keys`,
  )
  .refine((value) => {
    const json = JSON.stringify(value)
    return (
      Buffer.byteLength(json) <= LIMITS.metadata_bytes &&
      jsonShape(json).depth <= LIMITS.contact_attributes_depth
    )
  }, `Attributes must be at most ${LIMITS.metadata_bytes} bytes of JSON, ${LIMITS.contact_attributes_depth} levels deep`)
  .meta({
    type: 'object',
    additionalProperties: true,
    maxProperties: LIMITS.metadata_keys,
    example: { city: 'Dar es Salaam' },
  })

/** The fields of a contact in a request. A missing field stays, null clears a field, and read-only fields are ignored. */
export const contactFields = z.object({
  name: line(LIMITS.contact_name_length).nullish().meta({ example: 'Asha' }),
  phone: phone.nullish(),
  email: email.nullish(),
  external_id: line(LIMITS.contact_external_id_length).nullish().meta({
    description: 'The id of the contact in your own system.',
  }),
  tags: z.array(tag).max(LIMITS.contact_tags).nullish(),
  attributes: attributes.nullish(),
  subscriptions: z.strictObject(channels).nullish().meta({
    description:
      '`unsubscribed` suppresses the address on that channel as `opt_out`, `subscribed` lifts that; other channels do not change.',
  }),
})

/** The fields of a contact in a request. */
export type ContactFields = z.output<typeof contactFields>

// Contacts are validated one by one, so that one faulty contact does not cause the refusal of the others.
const importedContact = z
  .custom<unknown>(() => true)
  .meta({
    type: 'object',
    additionalProperties: true,
    description: 'The fields of a new contact.',
  })

const dryRun = 'Whether the import only reports what it would do.'

/** The body of an import in JSON. */
export const importBody = z.object({
  contacts: z.array(importedContact).min(1).max(LIMITS.contact_import_rows),
  dry_run: z.boolean().optional().meta({ description: dryRun }),
})

/** A country of phone numbers: ISO 3166-1 alpha-2. */
export const importCountry = z
  .string()
  .regex(/^[A-Za-z]{2}$/, 'default_country must be an ISO 3166-1 code of two letters, such as DE')
  .transform((code) => code.toUpperCase())

/** The fields of columns, as the JSON text of an object. */
const columnsOfFile = z
  .string()
  .max(LIMITS.contact_import_choices_length)
  .transform((text, ctx): Record<string, string> => {
    const given = z.record(z.string(), z.string()).safeParse(jsonOf(text))
    if (given.success) return given.data
    const message =
      'columns must be a JSON object of headings and fields, such as {"Kontakt":"phone"}'
    ctx.issues.push({ code: 'custom', message, input: text })
    return z.NEVER
  })

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The query of an import from a file. */
export const importQuery = z.object({
  dry_run: z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .optional()
    .meta({ description: dryRun }),
  default_country: importCountry.optional().meta({
    description: 'The country of phone numbers without a country code: ISO 3166-1 alpha-2.',
    example: 'DE',
  }),
  columns: columnsOfFile.optional().meta({
    description:
      'What columns with unknown headings are: a JSON object of headings and fields. The fields are name, first_name, middle_name, last_name, phone, email, external_id, tags, attributes, unsubscribed, attribute and ignored.',
    example: '{"Kontakt":"phone"}',
  }),
})

const filters = {
  search: phoneOrText(line(LIMITS.contact_search_length)).optional().meta({
    description: 'A part of name, phone, email or external_id; case is ignored.',
  }),
  tag: line(LIMITS.contact_tag_length).optional(),
}

const count = z.int().min(0)
const access = { auth: 'jwt_or_api_key', scope: 'manage_contacts', rate: 'general' } as const
const oneContact = { params: z.object({ id: uuid }), not_found: 'Contact not found' } as const

/** Contacts. Source: interface, Contacts; contract sections 3, 10 and 12. */
export const contacts = {
  create: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/contacts',
    status: 201,
    body: contactFields.refine(({ phone, email }) => phone != null || email != null, {
      error: UNREACHABLE_TEXT,
    }),
    data: z.object({ contact }),
    summary: 'Create a contact',
    description:
      'A contact needs a phone number or an e-mail address; each is unique in the workspace.',
  }),
  list: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/contacts',
    status: 200,
    query: listQuery(filters),
    data: z.object({ contacts: z.array(contact), pagination, next_after: nextAfter }),
    summary: 'List contacts, newest first',
  }),
  import: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/contacts/import',
    status: 200,
    takes_csv: importQuery,
    body_limit: LIMITS.contact_import_body_bytes,
    body: importBody,
    data: z.object({
      created: count,
      updated: count,
      unchanged: count,
      rejected: count,
      errors: z
        .array(
          z.object({
            index: count,
            path: z.string(),
            message: z.string(),
            line: z.int().min(1).optional().meta({ description: 'The line of a file, from 1.' }),
          }),
        )
        .meta({ description: 'The first fault of each rejected contact.' }),
      warnings: z.array(z.string()).optional().meta({
        description: 'Columns of a file whose use may be a mistake; missing without a warning.',
      }),
      file: z
        .object({
          encoding: z.string(),
          separator: z.string(),
          columns: z.array(
            z.object({ name: z.string(), field: z.string(), examples: z.array(z.string()) }),
          ),
        })
        .optional()
        .meta({ description: 'How the file was read; only with `dry_run`.' }),
    }),
    summary: 'Create and update many contacts',
    description:
      'Finds a contact by external_id, else by phone, else by email, and updates it, or creates it. A contact that is not valid is rejected without the others. CSV needs a header row, and may be any export of a spreadsheet or an address book.',
  }),
  export: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/contacts/export',
    status: 200,
    gives_csv: true,
    query: z.object({ ...filters, ...exportQuery }),
    data: z.object({ contacts: z.array(contact), next_after: exportNext }),
    summary: 'Export all contacts, newest first',
    description:
      'The answer is streamed while it is read. A workspace may have 2 exports in flight.',
  }),
  get: endpoint({
    ...access,
    ...oneContact,
    method: 'GET',
    path: '/api/v1/contacts/:id',
    status: 200,
    data: z.object({ contact }),
    summary: 'Get one contact',
  }),
  update: endpoint({
    ...access,
    ...oneContact,
    method: 'PUT',
    path: '/api/v1/contacts/:id',
    status: 200,
    body: contactFields,
    data: z.object({ contact }),
    summary: 'Change a contact',
    description: 'Changes the fields in the body and keeps the others; null clears a field.',
  }),
  delete: endpoint({
    ...access,
    ...oneContact,
    method: 'DELETE',
    path: '/api/v1/contacts/:id',
    status: 200,
    data: z.object({ message: z.string() }),
    summary: 'Delete a contact',
    description: 'Suppressions of its addresses stay.',
  }),
} as const
