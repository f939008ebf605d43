import { email, emailAddress, LIMITS, senderName } from '@svc/core/contract'
import * as z from 'zod'

/** A name and an address, or an address alone: `Acme <shop@acme.example>`. */
export interface Mailbox {
  name: string | null
  address: string
}

/** The longest display name with the longest address. */
const MAILBOX_LENGTH = LIMITS.sender_name_length + LIMITS.email_length + 5

const MAILBOX_TEXT =
  'The email address needs to follow the `email@example.com` or `Name <email@example.com>` format.'

/** Reads `Name <address>`, `"Name" <address>` or `address`; null for any other text. */
function readMailbox(text: string): Mailbox | null {
  if (text.length > MAILBOX_LENGTH) return null
  const trimmed = text.trim()
  const open = trimmed.endsWith('>') ? trimmed.lastIndexOf('<') : -1
  const address = open < 0 ? trimmed : trimmed.slice(open + 1, -1).trim()
  if (emailAddress(address) === null) return null
  const name = open < 0 ? '' : unquoted(trimmed.slice(0, open).trim())
  return { name: name === '' ? null : name, address }
}

function unquoted(name: string): string {
  const isQuoted = name.length > 1 && name.startsWith('"') && name.endsWith('"')
  return isQuoted ? name.slice(1, -1).replace(/\\(.)/g, '$1').trim() : name
}

/** A mailbox in a request. */
function mailbox(field: string) {
  return z.string().transform((text, ctx): Mailbox => {
    const read = readMailbox(text)
    if (read) return read
    ctx.issues.push({
      code: 'custom',
      message: `Invalid \`${field}\` field. ${MAILBOX_TEXT}`,
      input: text,
    })
    return z.NEVER
  })
}

/** The sender: its display name must be one that the service can send. */
export const from = mailbox('from').refine(
  ({ name }) => name === null || senderName.safeParse(name).success,
  'Invalid `from` field. The name must be one line of at most 100 characters without "<", ">" or "@".',
)

/** One address, several, or several in one text with commas. Names are read and not used. */
export function addresses(field: string, max: number = LIMITS.email_recipients) {
  const one = mailbox(field)
  const several = z
    .array(one)
    .min(1)
    .max(max, `The \`${field}\` field must have at most ${max} addresses.`)
  return z
    .union([
      z.string(),
      z.array(z.string()).max(max, `The \`${field}\` field must have at most ${max} addresses.`),
    ])
    .transform((given) => (typeof given === 'string' ? [given] : given))
    .pipe(several)
    .transform((mailboxes) => mailboxes.map(({ address }) => address))
}

/** Null counts as absent. */
export function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish().transform((value) => value ?? undefined)
}

/** An id or an e-mail address in a path. */
export const idOrEmail = z.union([z.guid(), email])

export function withoutAbsent(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
}
