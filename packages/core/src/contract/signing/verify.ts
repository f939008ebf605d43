import { timingSafeEqual } from 'node:crypto'
import { isUsableSecret, signHex, signStandard } from './sign.ts'
import {
  type Claim,
  claimOf,
  mistakesIn,
  refuse,
  resultOf,
  type UncheckedDelivery,
  type VerificationResult,
} from './verdict.ts'

/** A received delivery, and the secrets of the receiver. */
export interface Verification extends UncheckedDelivery {
  /** The secret of the webhook; several secrets during a rotation. */
  secret: string | readonly string[]
}

/**
 * Whether the service sent the delivery and its body is unchanged. Never throws; compares in constant time. Checks only
 * `webhook-signature` if that header is present. Otherwise checks `X-Svc-Signature`, bare or after `sha256=`, which cannot
 * detect a replay.
 */
export function verify(input: Verification): VerificationResult {
  const { secret, body } = input
  const secrets = [secret].flat()
  if (secrets.length === 0 || !secrets.every(isUsableSecret)) return refuse('secret_unusable')
  const claim = claimOf(input)
  if ('ok' in claim) return claim
  const text = textOf(body)
  const secret_index = secrets.findIndex((each) => signs(each, body, claim))
  if (secret_index !== -1) return resultOf(claim, secret_index, text, input)
  const mistake = mistakesIn(secrets, body, text).find((one) =>
    one.secrets.some((each) => signs(each, one.body, claim)),
  )
  return refuse('signature_mismatch', mistake?.hint)
}

/** Whether the secret gives a claimed digest for these bytes. */
function signs(secret: string, body: string | Uint8Array, claim: Claim): boolean {
  const expected =
    claim.scheme === 'hex'
      ? signHex(secret, body)
      : signStandard(secret, claim.id, claim.seconds, body)
  return claim.digests.some((digest) => isSame(expected, digest))
}

function isSame(expected: string, actual: string): boolean {
  const a = Buffer.from(expected)
  const b = Buffer.from(actual)
  return a.length === b.length && timingSafeEqual(a, b)
}

function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
}
