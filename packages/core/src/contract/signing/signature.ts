/** Signs and verifies webhook deliveries; loads only node:crypto. Source: interface, Webhook signing; contract section 7. */
export {
  mintSecret,
  SIGNATURE_HEADERS,
  type SignatureHeader,
  type Signing,
  sign,
  signHex,
} from './sign.ts'
export type {
  HeaderSource,
  UncheckedDelivery,
  VerificationFailure,
  VerificationResult,
} from './verdict.ts'
export { type Verification, verify } from './verify.ts'
