import { createHmac } from 'node:crypto'

/** The headers of a delivery. Source: interface, Webhook signing; contract section 7. */
export const SIGNATURE_HEADERS = {
  /** The kind of event. */
  event: 'X-Svc-Event',
  /** Bare lowercase hex HMAC-SHA256 of the body, keyed with the UTF-8 bytes of the whole secret. */
  signature: 'X-Svc-Signature',
  /** The same digest after `sha256=`. */
  signature_256: 'X-Svc-Signature-256',
  /** One event to one webhook: the same on every attempt. */
  delivery: 'X-Svc-Delivery',
  /** Counted from 1. */
  attempt: 'X-Svc-Attempt',
  /** The event: the same on every attempt and for every webhook. */
  webhook_id: 'webhook-id',
  /** Whole seconds since 1970 of this attempt. */
  webhook_timestamp: 'webhook-timestamp',
  /** Standard Webhooks: `v1,<base64>`, several with a space between while a rotation overlaps. */
  webhook_signature: 'webhook-signature',
} as const

/** The names of a delivery's signature headers. */
export type SignatureHeader = (typeof SIGNATURE_HEADERS)[keyof typeof SIGNATURE_HEADERS]

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** Mints a webhook's secret from `random(n)`, which gives n random bytes. ASCII, so that every receiver's library reads the same key. */
export function mintSecret(random: (bytes: number) => Buffer): string {
  return SECRET_PREFIX + random(SECRET_BYTES).toString('base64')
}

/** The bare lowercase hex HMAC-SHA256 of the body's exact bytes, keyed with the UTF-8 bytes of the secret. */
export function signHex(secret: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/** One attempt at a delivery, as it is to be signed. */
export interface Signing {
  /** Signs the single-value headers, and `webhook-signature` too. */
  secret: string
  /** While a rotation overlaps: the other secret, by which `webhook-signature` is signed as well. */
  previous_secret?: string | null | undefined
  body: string | Uint8Array
  event: string
  event_id: string
  delivery_id: string
  attempt: number
  at: Date
}

/** The headers that go with one attempt. Throws when a secret is empty. */
export function sign(signing: Signing): Record<SignatureHeader, string> {
  const { secret, previous_secret, body, event, event_id, delivery_id, attempt, at } = signing
  const secrets = previous_secret ? [secret, previous_secret] : [secret]
  if (!secrets.every(isUsableSecret)) throw new Error('A webhook secret is empty')
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const digest = signHex(secret, body)
  return {
    'X-Svc-Event': event,
    'X-Svc-Signature': digest,
    'X-Svc-Signature-256': `sha256=${digest}`,
    'X-Svc-Delivery': delivery_id,
    'X-Svc-Attempt': String(attempt),
    'webhook-id': event_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets
      .map((each) => `v1,${signStandard(each, event_id, timestamp, body)}`)
      .join(' '),
  }
}

/** The base64 signature of Standard Webhooks: of id, timestamp and body, keyed with the bytes that the secret encodes. */
export function signStandard(
  secret: string,
  id: string,
  timestamp: string,
  body: string | Uint8Array,
): string {
  const hmac = createHmac('sha256', standardKey(secret))
  return hmac.update(`${id}.${timestamp}.`).update(body).digest('base64')
}

function standardKey(secret: string): Buffer {
  const encoded = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret
  return Buffer.from(encoded, 'base64')
}

/** Whether both schemes get a key out of the secret: an empty one is a key that everybody has. */
export function isUsableSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret !== '' && standardKey(secret).length > 0
}
