import { createHmac, timingSafeEqual } from 'node:crypto'

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
const TOLERANCE_S = 300
const HEX_DIGEST = /^(?:sha256=)?([0-9a-f]{64})$/
const STANDARD_DIGEST = /^v1,([A-Za-z0-9+/]{43}=)$/
const UNIX_SECONDS = /^\d{1,12}$/

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
  if (!secrets.every(isUsable)) throw new Error('A webhook secret is empty')
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

function signStandard(
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

// An empty key is one that everybody has.
function isUsable(secret: unknown): secret is string {
  return typeof secret === 'string' && secret !== '' && standardKey(secret).length > 0
}

/** Headers as Node, Fetch or a plain object have them. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** What a receiver got, and what it knows. */
export interface Verification {
  /** The webhook's secret; several while it is being rotated. */
  secret: string | readonly string[]
  /** The raw body: the bytes as they came, never parsed and printed again. */
  body: string | Uint8Array
  headers?: HeaderSource | undefined
  /** The value of `X-Svc-Signature`, where the headers are not at hand. */
  signature?: string | undefined
  /** How far `webhook-timestamp` may be from now, in seconds; 300 unless told, `false` for any. */
  tolerance_s?: number | false | undefined
  now?: Date | undefined
}

/** Why a delivery was not accepted. */
export type VerificationFailure =
  | 'secret_unusable'
  | 'body_already_parsed'
  | 'missing_signature'
  | 'missing_id'
  | 'missing_timestamp'
  | 'malformed_timestamp'
  | 'malformed_signature'
  | 'signature_mismatch'
  | 'timestamp_too_old'
  | 'timestamp_too_new'

/** Whether a delivery is authentic: by which scheme and secret, or why not, with a hint for people. */
export type VerificationResult =
  | {
      ok: true
      /** `hex` proves who sent it, `standard` also when: only that one stops replays. */
      scheme: 'standard' | 'hex'
      /** Which of the secrets signed it. */
      secret_index: number
      event: string | null
      event_id: string | null
      timestamp: Date | null
    }
  | { ok: false; reason: VerificationFailure; hint: string }

const HINTS: Record<VerificationFailure, string> = {
  secret_unusable: 'Give the secret that was shown when the webhook was created (whsec_…).',
  body_already_parsed: 'Give the raw body, a string or bytes: read it before any JSON parser does.',
  missing_signature: 'There is neither webhook-signature nor X-Svc-Signature: is it a delivery?',
  missing_id: 'webhook-signature needs the header webhook-id beside it.',
  missing_timestamp: 'webhook-signature needs the header webhook-timestamp beside it.',
  malformed_timestamp: 'webhook-timestamp must be whole seconds since 1970.',
  malformed_signature: 'Expected 64 lowercase hex digits, bare or after sha256=, or v1,<base64>.',
  signature_mismatch: 'Is it the secret of this webhook, and the body byte for byte as it came?',
  timestamp_too_old: 'The signature is right but old: a replay, or a clock that is wrong.',
  timestamp_too_new: 'The signature is right but from the future: a clock is wrong.',
}

/**
 * Tells whether a delivery came from the service and arrived as it was sent; never throws. Compares
 * in constant time. `webhook-signature` is looked at first, and alone where it is there; otherwise
 * `X-Svc-Signature`, bare or after `sha256=`, which cannot show a replay.
 */
export function verify(input: Verification): VerificationResult {
  const { secret, body, headers, signature } = input
  const secrets = Array.isArray(secret) ? secret : [secret]
  if (secrets.length === 0 || !secrets.every(isUsable)) return refuse('secret_unusable')
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    return refuse('body_already_parsed')
  }
  const read = (name: SignatureHeader) => headerOf(headers, name)
  const standard = read('webhook-signature')
  if (standard !== null) return verifyStandard(standard, secrets, input, read)
  const given = signature ?? read('X-Svc-Signature') ?? read('X-Svc-Signature-256')
  if (given === null) return refuse('missing_signature')
  const digest = HEX_DIGEST.exec(given)?.[1]
  if (digest === undefined) return refuse('malformed_signature')
  const secret_index = secrets.findIndex((each) => isSame(signHex(each, body), digest))
  if (secret_index === -1) return refuse('signature_mismatch', mismatchHint(secrets, body, digest))
  const event = read('X-Svc-Event')
  return { ok: true, scheme: 'hex', secret_index, event, event_id: null, timestamp: null }
}

function verifyStandard(
  given: string,
  secrets: readonly string[],
  { body, tolerance_s = TOLERANCE_S, now = new Date() }: Verification,
  read: (name: SignatureHeader) => string | null,
): VerificationResult {
  const id = read('webhook-id')
  const seconds = read('webhook-timestamp')
  if (id === null) return refuse('missing_id')
  if (seconds === null) return refuse('missing_timestamp')
  if (!UNIX_SECONDS.test(seconds)) return refuse('malformed_timestamp')
  const digests = given.split(' ').flatMap((each) => STANDARD_DIGEST.exec(each)?.[1] ?? [])
  if (digests.length === 0) return refuse('malformed_signature')
  const secret_index = secrets.findIndex((secret) => {
    const expected = signStandard(secret, id, seconds, body)
    return digests.some((digest) => isSame(expected, digest))
  })
  if (secret_index === -1) return refuse('signature_mismatch')
  const timestamp = new Date(Number(seconds) * 1000)
  const age_s = (now.getTime() - timestamp.getTime()) / 1000
  if (tolerance_s !== false && age_s > tolerance_s) return refuse('timestamp_too_old')
  if (tolerance_s !== false && age_s < -tolerance_s) return refuse('timestamp_too_new')
  const event = read('X-Svc-Event')
  return { ok: true, scheme: 'standard', secret_index, event, event_id: id, timestamp }
}

function isSame(expected: string, given: string): boolean {
  const a = Buffer.from(expected)
  const b = Buffer.from(given)
  return a.length === b.length && timingSafeEqual(a, b)
}
