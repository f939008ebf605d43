/** Class, subject and detail of RFC 3463. */
export type EnhancedStatus = readonly [number, number, number]

/** A cause that the words of a server state. */
type Cause = 'full' | 'rate' | 'policy'

/** The result for one recipient. RFC 3464, section 2.3.3. */
export type Action = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** The status of one recipient. */
export interface RecipientStatus {
  action: Action
  /** All statuses that the report has for it: first those of the class that it reports, the one that says most before others. Empty if none is readable. */
  statuses: readonly EnhancedStatus[]
  /** The cause that the words of the refusing server state. */
  cause: Cause | null
  /** Its final and its original address, where the report has them. */
  addresses: string[]
}

/**
 * Whether a permanent status says that the recipient cannot get mail: no such mailbox or domain (5.1.1, 5.1.2, 5.1.10), no
 * valid address (5.1.3), moved (5.1.6), disabled (5.2.1). Other details of the subject 1 are unclear (5.1.0), about the sender
 * (5.1.7 to 5.1.9), or a server's own. Source: RFC 3463, section 3.2; RFC 7505; IANA, SMTP Enhanced Status Codes.
 */
export function isGone([kind, subject, detail]: EnhancedStatus): boolean {
  if (kind !== 5) return false
  return subject === 1 ? [1, 2, 3, 6, 10].includes(detail) : subject === 2 && detail === 1
}

/**
 * Words of well-known servers for a full mailbox, a limit, and a policy or a sender that is not accepted. Many servers send
 * them with a status for a missing mailbox. The first that matches counts.
 */
const WORDS: readonly (readonly [Cause, RegExp])[] = [
  [
    'full',
    /\b(?:over ?quota|quota|(?:mail|in)[ -]?box[ -](?:is )?full|full (?:mail|in)[ -]?box|insufficient (?:system |disk )?(?:storage|space)|(?:exceeded|out of) storage|disk full)\b/i,
  ],
  [
    'rate',
    /\b(?:at a rate|rate limit\w*|too (?:many|much|fast|quickly|frequently)|limit(?:s|ed)?|exceed\w*|throttl\w*)\b/i,
  ],
  [
    'policy',
    /\b(?:spam\w*|block(?:ed|list\w*)?|black ?list\w*|gr[ae]y ?list\w*|reputation|polic(?:y|ies)|spf|dkim|dmarc|not allowed|not permitted|denied|refused|virus|listed|banned|unauthori[sz]ed|not authori[sz]ed|authenticat\w*|preferences|sender|mail ?from|reverse dns|ptr)\b/i,
  ],
]

/**
 * The cause that a server's text states; null for none. It skips the addresses and domains in the text,
 * which callers choose.
 */
export function causeIn(text: string): Cause | null {
  const words = text
    .replace(/<[^<>]*>/g, ' ')
    .split(/\s+/)
    .filter((word) => !word.includes('@') && !/^[\w-]+(?:\.[\w-]+)+$/.test(word))
    .join(' ')
  return WORDS.find(([, pattern]) => pattern.test(words))?.[0] ?? null
}
