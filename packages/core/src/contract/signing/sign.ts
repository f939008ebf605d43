import { createHmac } from 'node:crypto'

/** The headers of a delivery. Source: interface, Webhook signing; contract section 7. */
export const SIGNATURE_HEADERS = {
  /** The kind of event. */
  event: 'X-Svc-Event',
  /** Bare lowercase hex HMAC-SHA256 of the body, keyed with the UTF-8 bytes of the whole secret. */
  signature: 'X-Svc-Signature',
  /** The same digest after `sha256=`. */
  signature_256: 'X-Svc-Signature-256',
  /** The id of the delivery (one event to one webhook); the same on every attempt. */
  delivery: 'X-Svc-Delivery',
  /** The number of the attempt, from 1. */
  attempt: 'X-Svc-Attempt',
  /** The id of the event; the same on every attempt and for every webhook. */
  webhook_id: 'webhook-id',
  /** The time of this attempt in whole seconds since 1970. */
  webhook_timestamp: 'webhook-timestamp',
  /** The signature of Standard Webhooks: `v1,<base64>`. During a rotation: two signatures, separated by a space. */
  webhook_signature: 'webhook-signature',
} as const

/** The name of a header of a delivery. */
export type SignatureHeader = (typeof SIGNATURE_HEADERS)[keyof typeof SIGNATURE_HEADERS]

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

/** A new secret of a webhook, in ASCII, so that every library reads the same key. `random(n)` returns n random bytes. */
export function mintSecret(random: (bytes: number) => Buffer): string {
  return SECRET_PREFIX + random(SECRET_BYTES).toString('base64')
}

/** The lowercase hex HMAC-SHA256 of the exact bytes of the body, keyed with the UTF-8 bytes of the secret. */
export function signHex(secret: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/** One attempt of a delivery, to be signed. */
export interface Signing {
  /** The secret that signs the single-value headers and `webhook-signature`. */
  secret: string
  /** The other secret during a rotation; it signs `webhook-signature` too. */
  previous_secret?: string | null | undefined
  body: string | Uint8Array
  event: string
  event_id: string
  delivery_id: string
  attempt: number
  at: Date
}

/** The headers of one attempt. @throws Error if a secret is empty. */
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

/** The base64 signature of Standard Webhooks over id, timestamp and body, keyed with the decoded bytes of the secret. */
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

/** Whether both schemes get a key from the secret. An empty key is refused, because every client knows it. */
export function isUsableSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret !== '' && standardKey(secret).length > 0
}
