import type { DkimKey } from '../../contract/outside/provider.ts'

/** The fields to sign if a mail has them. RFC 8058 section 4 requires both fields for unsubscribing. */
const SIGNED =
  'from:reply-to:to:cc:subject:date:message-id:in-reply-to:references:mime-version:content-type:' +
  'content-transfer-encoding:auto-submitted:list-id:list-unsubscribe:list-unsubscribe-post'

/** The library's options for signing (RFC 6376). */
export function dkimOptions({ domain, selector, private_key }: DkimKey) {
  return {
    domainName: domain,
    keySelector: selector,
    privateKey: private_key,
    headerFieldNames: SIGNED,
  }
}
