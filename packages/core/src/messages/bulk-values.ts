import type { Addressee } from '../contacts/contacts.ts'
import type { BulkRecipient, BulkVariables } from '../contract/resources/bulk-request.ts'
import type { LookUp } from './template.ts'

/**
 * What a bulk's placeholders stand for with one recipient. Looked up in its variables, its name, its contact and the
 * request's defaults, in that order. Source: contract section 6, Bulk.
 */
export function lookUpFor(
  { variables, name }: Exclude<BulkRecipient, string>,
  contact: Addressee | undefined,
  defaults: BulkVariables | undefined,
): LookUp {
  return (wanted) =>
    own(variables, wanted) ??
    (wanted === 'name' && name !== undefined ? name : null) ??
    (contact ? fieldOf(contact, wanted) : null) ??
    own(defaults, wanted)
}

function own(values: BulkVariables | undefined, name: string): string | null {
  if (!values || !Object.hasOwn(values, name)) return null
  return textOf(values[name])
}

const CONTACT_FIELDS = ['name', 'phone', 'email', 'external_id'] as const
const ATTRIBUTE = 'attributes.'

/** `{{city}}` and `{{attributes.city}}` are the same, save for what is a field of every contact. */
function fieldOf(contact: Addressee, name: string): string | null {
  const field = CONTACT_FIELDS.find((known) => known === name)
  if (field) return textOf(contact[field])
  const { attributes } = contact
  const key = name.startsWith(ATTRIBUTE) ? name.slice(ATTRIBUTE.length) : name
  return Object.hasOwn(attributes, key) ? textOf(attributes[key]) : null
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}
