import type { MessageRef } from '../../contract/outside/provider.ts'
import { readMessageToken } from '../../contract/signing/mail-address-token.ts'

/** The domain of the addresses for reports, and the secret of their tokens. */
export interface Recipients {
  bounce_domain: string
  secret: string
}

/**
 * The recipient of a mail to the service: a message, which its token identifies, or the address for complaints. A
 * complaint must contain a proof, because any person may write to that address.
 */
export type Recipient = { type: 'message'; ref: MessageRef } | { type: 'complaints' }

/** The address for feedback reports of mailbox providers, which the operator registers with them. */
const COMPLAINTS = 'fbl'

const TOKENS_MAX = 20

/** Returns null for an address that is not ours. Upper and lower case are equal. */
export function recipientOf(
  { bounce_domain, secret }: Recipients,
  address: string,
): Recipient | null {
  const at = address.lastIndexOf('@')
  if (address.slice(at + 1).toLowerCase() !== bounce_domain.toLowerCase()) return null
  const local = address.slice(0, Math.max(at, 0)).toLowerCase()
  if (local === COMPLAINTS) return { type: 'complaints' }
  const ref = local.startsWith('b+') ? readMessageToken(secret, 'bounce', local.slice(2)) : null
  return ref ? { type: 'message', ref } : null
}

/**
 * Finds the message whose token is in the returned part of a report: in our envelope sender or unsubscribe link. Null
 * if there is no token. An id without a token proves nothing: a reader of one mail could guess the ids of others.
 */
export function provenIn({ secret }: Recipients, evidence: string): MessageRef | null {
  const found = evidence.matchAll(/(?<![0-9a-z])[0-9a-z]{62}(?![0-9a-z])/gi)
  let checked = 0
  for (const [token] of found) {
    const ref =
      readMessageToken(secret, 'bounce', token) ?? readMessageToken(secret, 'unsubscribe', token)
    if (ref) return ref
    checked += 1
    if (checked === TOKENS_MAX) break
  }
  return null
}
