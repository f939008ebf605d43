import type { MessageRef } from '../../contract/outside/provider.ts'
import { readMessageToken } from '../../contract/signing/mail-address-token.ts'

/** To whom reports may come, and the secret that their tokens are made with. */
export interface Recipients {
  bounce_domain: string
  secret: string
}

/**
 * Whom a mail to us is for: a message by its token, or whoever hears complaints; for complaints alone it takes a proof
 * inside the mail, because anybody may write there.
 */
export type Recipient = { type: 'message'; ref: MessageRef } | { type: 'complaints' }

/** Where mailbox providers send their feedback reports to, once it is registered with them. */
const COMPLAINTS = 'fbl'

const TOKENS_LOOKED_AT = 20

/** Null for an address that is none of ours. No case matters in it. */
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
 * The message whose token stands in what came back with a report: in our envelope sender, or in our link to unsubscribe.
 * Null where there is none; an id without a token proves nothing, because whoever reads one mail could guess at others.
 */
export function provenIn({ secret }: Recipients, evidence: string): MessageRef | null {
  const found = evidence.matchAll(/(?<![0-9a-z])[0-9a-z]{62}(?![0-9a-z])/gi)
  let looked = 0
  for (const [token] of found) {
    const ref =
      readMessageToken(secret, 'bounce', token) ?? readMessageToken(secret, 'unsubscribe', token)
    if (ref) return ref
    looked += 1
    if (looked === TOKENS_LOOKED_AT) break
  }
  return null
}
