import { createHmac, timingSafeEqual } from 'node:crypto'
import { LIMITS } from '../contract/limits.ts'

/**
 * The value of `Stripe-Signature` for a body, in Stripe's scheme: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`.
 */
export function signNotification(secret: string, body: string | Uint8Array, at: Date): string {
  const t = String(Math.floor(at.getTime() / 1000))
  return `t=${t},v1=${digestOf(secret, t, body)}`
}

/** Whether a `v1` signature of the header matches secret and body, and the header's time is within 5 minutes of `now`. */
export function isSignedBy(
  secret: string,
  { body, signature = '' }: { body: Uint8Array; signature: string | undefined },
  now: Date,
): boolean {
  const parts = signature.split(',').map((part) => part.trim())
  const [t, ...more] = parts.flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? [])
  if (t === undefined || more.length > 0) return false
  const digests = parts.flatMap((part) => /^v1=([0-9a-f]{64})$/.exec(part)?.[1] ?? [])
  const expected = Buffer.from(digestOf(secret, t, body))
  const isSigned = digests.some((digest) => timingSafeEqual(Buffer.from(digest), expected))
  return isSigned && Math.abs(now.getTime() / 1000 - Number(t)) <= LIMITS.signature_tolerance_s
}

function digestOf(secret: string, t: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
}
