import * as z from 'zod'
import { headerValue, textMap } from '../fields/text-map.ts'
import { LIMITS } from '../limits.ts'

/** The headers of an e-mail that a request may set, besides `X-…` headers; the service writes all others. */
export const EMAIL_HEADERS = [
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Id',
  'Auto-Submitted',
  'Precedence',
  'In-Reply-To',
  'References',
  'Importance',
  'X-Entity-Ref-ID',
] as const

const BY_LOWER_NAME = new Map<string, string>(
  EMAIL_HEADERS.map((name) => [name.toLowerCase(), name]),
)

/** A header of the caller's own: letters, digits and hyphens, so that no name can end the header. */
const OWN = /^x-[a-z0-9](?:[a-z0-9-]{0,72}[a-z0-9])?$/i

/**
 * `X-…` headers that servers write or that programs trust: about the transport, the envelope, authentication and spam
 * checks, and our own.
 */
const RESERVED =
  /^x-(?:svc|arc|auth|authenticated|authentication|authority|amz|apparently|delivered|dkim|dmarc|domainkeys?|env|envelope|failed|feedback|forefront|forwarded|forwarding|gm|google|hmailserver|loop|mailer|ms|microsoft|mozilla|original|originating|received|report|return|rspamd|sender|smtp|source|spam|spf|virus)(?:-|$)/i

/** Whether a request may set the `X-…` header with this name. */
function isOwn(name: string): boolean {
  return OWN.test(name) && !RESERVED.test(name)
}

/** Returns the message of a fault in the name of a header; null for a name that a request may set. */
function nameFault(name: string): string | null {
  if (headerName(name) !== null) return null
  return `Header ${name} is not allowed. Must be one of: ${EMAIL_HEADERS.join(', ')}, or another X-… header that is not reserved`
}

/** The headers that a request may add to an e-mail. */
export const emailHeaders = textMap({
  entries_max: LIMITS.email_headers,
  name: nameFault,
  value: headerValue(LIMITS.email_header_length),
})

/**
 * The spelling in which a header is written: the standard one, or the caller's own for `X-…`. Null for a header that a
 * request may not set.
 */
export function headerName(name: string): string | null {
  return BY_LOWER_NAME.get(name.toLowerCase()) ?? (isOwn(name) ? name : null)
}

const WORD = new RegExp(`^[A-Za-z0-9_-]{1,${LIMITS.email_tag_length}}$`)

const word = z
  .string()
  .regex(
    WORD,
    `Names and values of tags must be 1 to ${LIMITS.email_tag_length} letters, digits, "_" or "-"`,
  )

/** A label of an e-mail, for its events; the recipients do not see it. */
const emailTag = z.strictObject({
  name: word.meta({ example: 'campaign' }),
  value: word.meta({ example: 'may' }),
})

/** The labels of an e-mail. */
export const emailTags = z.array(emailTag).max(LIMITS.email_tags)

/** A label of an e-mail. */
export type EmailTag = z.output<typeof emailTag>
