import { createHash } from 'node:crypto'
import { emailAddress } from '../../contract/fields/email-address.ts'
import { LIMITS } from '../../contract/limits.ts'
import type { SmtpSettings } from './settings.ts'

/** The sender of a mail. Name and address are separate, so that no name becomes part of an address. */
export interface MailSender {
  name: string
  address: string
}

const SLUG_LENGTH_MAX = 24
const FALLBACK = 'mail'

/**
 * Names that belong to the operators of a domain (RFC 2142), to its machines, or to roles that ask for secrets. No
 * workspace gets such a name, not even with the mark of the workspace.
 */
const RESERVED = new Set(
  (
    'abuse account accounts admin administrator billing bounce bounces daemon dmarc dns ftp help helpdesk hostmaster ' +
    'info it list mailer marketing news no noc noreply owner payment payments postmaster root sales security ' +
    'service ssl ssladmin staff support sysadmin system team tls trust unsubscribe usenet uucp verify webmaster www'
  ).split(' '),
)

// Control characters end a line, direction marks change the shown order, and the others look like an address.
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069<>@]/gu

/** The display name as it is shown: one line that does not look like an address. The mail library writes quotes and backslashes in it. */
export function displayName(text: string | null): string {
  const cleaned = (text ?? '').toWellFormed().replace(UNSHOWN, ' ').replace(/\s+/g, ' ').trim()
  return cleaned.slice(0, LIMITS.sender_name_length).toWellFormed()
}

/**
 * The sender of a workspace's mail: `address`, which was checked when the mail was accepted, or `<name>-<mark>@<mail_domain>`. The name is a slug of the display name. The mark belongs
 * to the workspace, so no name leads to the address of another workspace, and a receiver's filter or block affects one
 * workspace only. Source: interface, Overview; the form of the name is ours.
 */
export function mailSender(
  { mail_domain, from_local_part }: Pick<SmtpSettings, 'mail_domain' | 'from_local_part'>,
  { workspace_id, sender }: { workspace_id: string; sender: string | null },
  address?: string | undefined,
): MailSender {
  const name = displayName(sender)
  const own = address === undefined ? null : emailAddress(address)
  if (own !== null) return { name, address: own.address }
  const local = from_local_part ?? `${slugOf(name)}-${markOf(workspace_id)}`
  return { name, address: `${local}@${mail_domain}` }
}

function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
  const [first] = words
  if (first === undefined || RESERVED.has(first) || RESERVED.has(words.join(''))) return FALLBACK
  return words.join('-').slice(0, SLUG_LENGTH_MAX).replace(/-$/, '')
}

/** 32 bits are enough: a workspace cannot choose its id, and a given mark takes about 2,000 million signups. */
function markOf(workspace_id: string): string {
  return createHash('sha256').update(`sender ${workspace_id}`).digest('hex').slice(0, 8)
}
