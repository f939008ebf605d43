import type { z } from 'zod'
import type { Contact, contact } from '../contract/resources/contacts.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import { CSV_COLUMNS, type CsvColumn, guarded } from '../tables/csv-cells.ts'

/** A contact in JSON. */
export type WireContact = z.input<typeof contact>

/** The first line of an exported file. */
export const CSV_HEADER = `${CSV_COLUMNS.join(',')}\r\n`

/** Contacts as lines of CSV (RFC 4180), which `readContacts` reads. */
export function writeContactsCsv(contacts: readonly (Contact | WireContact)[]): string {
  return contacts.map((contact) => `${cellsOf(contact).map(quoted).join(',')}\r\n`).join('')
}

function cellsOf(contact: Contact | WireContact): string[] {
  const { tags, attributes, subscriptions, created_at, updated_at, ...texts } = contact
  const cells: Record<CsvColumn, string | null> = {
    ...texts,
    tags: tags.join(';'),
    attributes: Object.keys(attributes).length === 0 ? null : JSON.stringify(attributes),
    unsubscribed: CHANNELS.filter((channel) => subscriptions[channel] === 'unsubscribed').join(';'),
    created_at: new Date(created_at).toISOString(),
    updated_at: new Date(updated_at).toISOString(),
  }
  return CSV_COLUMNS.map((column) => guarded(cells[column] ?? ''))
}

/** Also quotes cells with semicolons, because some programs read semicolons as separators. */
function quoted(cell: string): string {
  return /[",;\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
