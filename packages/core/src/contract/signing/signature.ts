/**
 * Signing and verifying webhook deliveries: the subpath `@svc/core/webhooks`. Needs node:crypto and
 * nothing else, so that a receiver can install it. Source: interface, Webhook signing; contract section 7.
 */
export {
  mintSecret,
  SIGNATURE_HEADERS,
  type SignatureHeader,
  type Signing,
  sign,
  signHex,
} from './sign.ts'
export {
  type HeaderSource,
  type Verification,
  type VerificationFailure,
  type VerificationResult,
  verify,
} from './verify.ts'
