import { emailAddress } from './email-address.ts'

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
