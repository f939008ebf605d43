import { isRecord } from '../contract/fields/fields.ts'
import { creditsOf } from '../contract/fields/units.ts'
import { type CsvValue, csvLine } from '../tables/csv-line.ts'
import type { ShortMessage } from './search.ts'

/** The columns of exported messages, in order. */
const COLUMNS = [
  'id',
  'created_at',
  'channel',
  'status',
  'recipient',
  'sender',
  'subject',
  'text',
  'segments',
  'credits_used',
  'credits_refunded',
  'error_code',
  'error_message',
  'provider',
  'provider_message_id',
  'bulk_id',
  'template',
  'metadata',
  'livemode',
  'scheduled_at',
  'sent_at',
  'delivered_at',
  'read_at',
  'failed_at',
] as const

/** The first line of exported messages. */
export const MESSAGES_CSV_HEADER = `${COLUMNS.join(',')}\r\n`

/** Messages as lines of CSV. A text that is too long for a list is empty. */
export function writeMessagesCsv(messages: readonly ShortMessage[]): string {
  return messages.map((message) => csvLine(valuesOf(message))).join('')
}

function valuesOf(message: ShortMessage): CsvValue[] {
  const { content, credits_used, credits_refunded, metadata, template, ...plain } = message
  const values: Record<(typeof COLUMNS)[number], CsvValue> = {
    ...plain,
    subject: textOf(content, 'subject'),
    text: textOf(content, 'text'),
    credits_used: creditsOf(credits_used),
    credits_refunded: creditsOf(credits_refunded),
    template: template?.name ?? null,
    metadata: Object.keys(metadata).length === 0 ? null : JSON.stringify(metadata),
  }
  return COLUMNS.map((column) => values[column])
}

function textOf(content: ShortMessage['content'], field: string): string | null {
  const value = isRecord(content) ? (content as Record<string, unknown>)[field] : null
  return typeof value === 'string' ? value : null
}
