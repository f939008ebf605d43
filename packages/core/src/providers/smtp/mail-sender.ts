import { createHash } from 'node:crypto'
import { LIMITS } from '../../contract/limits.ts'
import type { SmtpSettings } from './settings.ts'

/** Who a mail comes from, as two things: a name is never pasted into an address. */
export interface MailSender {
  name: string
  address: string
}

const SLUG_LENGTH_MAX = 24
const FALLBACK = 'mail'

/**
 * What stands for whoever runs a domain (RFC 2142), for its machines, or for somebody who asks for secrets. Not given
 * out, though a workspace's mark follows.
 */
const RESERVED = new Set(
  (
    'abuse account accounts admin administrator billing bounce bounces daemon dmarc dns ftp help helpdesk hostmaster ' +
    'info it list mailer marketing news no noc noreply owner payment payments postmaster root sales security ' +
    'service ssl ssladmin staff support sysadmin system team tls trust unsubscribe usenet uucp verify webmaster www'
  ).split(' '),
)

// Controls would end the line, marks of direction turn the shown order round, and the rest looks like an address.
const UNSHOWN = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069<>@"\\]/gu

/** The display name, made fit to be shown: one line that cannot pass for an address. */
export function displayName(text: string | null): string {
  const cleaned = (text ?? '').toWellFormed().replace(UNSHOWN, ' ').replace(/\s+/g, ' ').trim()
  return cleaned.slice(0, LIMITS.sender_name_length).toWellFormed()
}

/**
 * The sender of a workspace's mail: `<name>-<mark>@<mail_domain>`. The name is a slug of the display name; the mark is
 * the workspace's alone, so whatever name somebody chooses, the address of another workspace is out of his reach, and
 * filters and blocks that receivers set hit the one they mean. Source: interface, Overview; the form of the name is
 * ours.
 */
export function mailSender(
  { mail_domain, from_local_part }: Pick<SmtpSettings, 'mail_domain' | 'from_local_part'>,
  { workspace_id, sender }: { workspace_id: string; sender: string | null },
): MailSender {
  const name = displayName(sender)
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

/** 32 bits: workspaces cannot choose their ids, and to hit one mark by chance takes two thousand million signups. */
function markOf(workspace_id: string): string {
  return createHash('sha256').update(`sender ${workspace_id}`).digest('hex').slice(0, 8)
}
