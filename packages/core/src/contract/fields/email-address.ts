import { domainToASCII } from 'node:url'
import { LIMITS } from '../limits.ts'

/** The message for a text that is not one e-mail address. Source: interface, Errors. */
export const EMAIL_TEXT = 'Invalid email address format'

/** An e-mail address for the envelope of a mail. */
export interface EmailAddress {
  /** The whole address: the local part is unchanged, the domain is written as A-labels. */
  address: string
  /** The domain as lower-case A-labels. */
  domain: string
}

const LOCAL_ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/
const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/
const LABEL_LENGTH = 63
const DOMAIN_LENGTH = 253
// UTS-46 drops ignorable characters silently, so two different texts would reach one domain.
const UNWRITABLE = /[\p{Cc}\p{Z}\p{Default_Ignorable_Code_Point}]/u

/**
 * Reads one plain address (no display name, comment, quotes or IP literal); null for any other text. The local part is a
 * dot-string of at most 64 ASCII characters. The domain has two or more labels. The address has at most 254 characters.
 * International domains become A-labels. Takes linear time.
 */
export function emailAddress(text: string): EmailAddress | null {
  if (text.length > LIMITS.email_length) return null
  const at = text.indexOf('@')
  if (at < 1) return null
  const local = text.slice(0, at)
  if (local.length > LIMITS.email_local_length || !local.split('.').every(isAtom)) return null
  const domain = asciiDomain(text.slice(at + 1))
  if (domain === null || !isDomain(domain)) return null
  const address = `${local}@${domain}`
  return address.length > LIMITS.email_length ? null : { address, domain }
}

/** Returns the same text for all spellings of one mailbox. Addresses are unique, suppressed and counted by this text. */
export function emailKey(text: string): string {
  return (emailAddress(text)?.address ?? text).toLowerCase()
}

function isAtom(atom: string): boolean {
  return LOCAL_ATOM.test(atom)
}

function asciiDomain(domain: string): string | null {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the whole ASCII range is meant.
  if (/^[\u0000-\u007f]*$/.test(domain)) return domain.toLowerCase()
  if (UNWRITABLE.test(domain)) return null
  return domainToASCII(domain)
}

function isDomain(domain: string): boolean {
  if (domain.length > DOMAIN_LENGTH) return false
  const labels = domain.split('.')
  const last = labels.at(-1) ?? ''
  if (labels.length < 2 || /^\d+$/.test(last)) return false
  return labels.every((label) => label.length <= LABEL_LENGTH && DOMAIN_LABEL.test(label))
}

/** The message for a text that cannot be a sending domain. */
export const DOMAIN_TEXT =
  'domain must be a public domain name, such as mail.example.com: no address, no IP address, no name of a local network'

/** Names that the public DNS does not have: RFC 6761, RFC 6762, RFC 7686, RFC 8375 and ICANN's `internal`. */
const NOT_PUBLIC =
  /(?:^|\.)(?:localhost|local|localdomain|invalid|onion|internal|intranet|lan|home\.arpa|arpa)$/

/**
 * Suffixes under which registries sell names: a known second level below a country code. This refuses the usual mistake
 * early; the records in DNS are the proof of control for all other names.
 */
const REGISTRY = /^(?:ac|co|com|edu|gov|net|org)\.[a-z]{2}$/

const TEXT_LENGTH = 253

/**
 * Reads the name of a domain that can send mail, as lower-case A-labels; null for any other text. One dot at the end is
 * ignored. Takes linear time.
 */
export function domainName(text: string): string | null {
  if (text.length > TEXT_LENGTH + 1) return null
  const name = emailAddress(`a@${text.endsWith('.') ? text.slice(0, -1) : text}`)?.domain ?? null
  if (name === null || NOT_PUBLIC.test(name) || REGISTRY.test(name)) return null
  return name
}
