/**
 * What a verifier of deliveries decides without a digest. It imports nothing, because `npm run docs` also copies it into
 * the client, whose digests are asynchronous.
 */

const TOLERANCE_S = 300
const HEX_DIGEST = /^(?:sha256=)?([0-9a-f]{64})$/
const STANDARD_DIGEST = /^v1,([A-Za-z0-9+/]{43}=)$/
const UNIX_SECONDS = /^\d{1,12}$/

/** Headers of Node, Fetch or a plain object. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** A received delivery, without its secrets. */
export interface UncheckedDelivery {
  /** The raw body: the received bytes, not parsed and printed again. */
  body: string | Uint8Array
  headers?: HeaderSource | undefined
  /** The value of `X-Svc-Signature`, for callers that do not pass `headers`. */
  signature?: string | undefined
  /** The maximum difference of `webhook-timestamp` from `now` in seconds; default 300; `false`: no limit. */
  tolerance_s?: number | false | undefined
  now?: Date | undefined
}

/** Why a delivery is not authentic. */
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
  | 'event_mismatch'

/** Whether a delivery is authentic. If yes: scheme and secret; if no: the reason and a hint for the developer. */
export type VerificationResult =
  | {
      ok: true
      /** `hex` proves the sender. `standard` proves the sender and the time, so it also detects replays. */
      scheme: 'standard' | 'hex'
      /** The position of the secret that signed the delivery. */
      secret_index: number
      /** The event in the signed body; if the body is not an event, the value of `X-Svc-Event`, which is not signed. */
      event: string | null
      event_id: string | null
      timestamp: Date | null
    }
  | { ok: false; reason: VerificationFailure; hint: string }

/** The hint for a text that is not a secret. */
export const UNUSABLE_HINT =
  'Give the secret that was shown when the webhook was created (whsec_…).'

const HINTS: Record<VerificationFailure, string> = {
  secret_unusable: UNUSABLE_HINT,
  body_already_parsed: 'Pass the raw body, a string or bytes: read it before any JSON parser does.',
  missing_signature: 'The request has neither webhook-signature nor X-Svc-Signature.',
  missing_id: 'webhook-signature needs the header webhook-id.',
  missing_timestamp: 'webhook-signature needs the header webhook-timestamp.',
  malformed_timestamp: 'webhook-timestamp must be whole seconds since 1970.',
  malformed_signature: 'Expected 64 lowercase hex digits, bare or after sha256=, or v1,<base64>.',
  signature_mismatch:
    'Check the secret of this webhook, and that the body has the exact bytes received.',
  timestamp_too_old: 'The signature is valid but old: a replay, or a wrong clock.',
  timestamp_too_new: 'The signature is valid but from the future: a wrong clock.',
  event_mismatch: 'X-Svc-Event, which is not signed, differs from the event in the signed body.',
}

/** The refusal with a reason, and with its usual hint if there is no better one. */
export function refuse(reason: VerificationFailure, hint = HINTS[reason]): Refusal {
  return { ok: false, reason, hint }
}

type Refusal = Extract<VerificationResult, { ok: false }>

/** What the headers of a delivery claim: one of the digests is that of the body. */
export type Claim =
  | { scheme: 'hex'; digests: readonly string[] }
  | { scheme: 'standard'; digests: readonly string[]; id: string; seconds: string }

/** Reads the claim of a delivery: of `webhook-signature` if it is present, else of `X-Svc-Signature`. */
export function claimOf({ body, headers, signature }: UncheckedDelivery): Claim | Refusal {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    return refuse('body_already_parsed')
  }
  const standard = headerOf(headers, 'webhook-signature')
  if (standard !== null) return standardClaimOf(standard, headers)
  const value =
    signature ?? headerOf(headers, 'X-Svc-Signature') ?? headerOf(headers, 'X-Svc-Signature-256')
  if (value === null) return refuse('missing_signature')
  const digest = HEX_DIGEST.exec(value)?.[1]
  return digest === undefined ? refuse('malformed_signature') : { scheme: 'hex', digests: [digest] }
}

function standardClaimOf(value: string, headers: HeaderSource | undefined): Claim | Refusal {
  const id = headerOf(headers, 'webhook-id')
  const seconds = headerOf(headers, 'webhook-timestamp')
  if (id === null) return refuse('missing_id')
  if (seconds === null) return refuse('missing_timestamp')
  if (!UNIX_SECONDS.test(seconds)) return refuse('malformed_timestamp')
  const digests = value.split(' ').flatMap((each) => STANDARD_DIGEST.exec(each)?.[1] ?? [])
  return digests.length === 0
    ? refuse('malformed_signature')
    : { scheme: 'standard', digests, id, seconds }
}

/**
 * The result for a body that the secret at `secret_index` signed; `text` is the body. Refuses an old body, and a genuine
 * body with another value of `X-Svc-Event`, because the receiver may choose a handler by that header.
 */
export function resultOf(
  claim: Claim,
  secret_index: number,
  text: string,
  { headers, tolerance_s = TOLERANCE_S, now = new Date() }: UncheckedDelivery,
): VerificationResult {
  const { scheme } = claim
  const isDated = scheme === 'standard'
  const timestamp = isDated ? new Date(Number(claim.seconds) * 1000) : null
  if (timestamp && tolerance_s !== false) {
    const age_s = (now.getTime() - timestamp.getTime()) / 1000
    if (age_s > tolerance_s) return refuse('timestamp_too_old')
    if (age_s < -tolerance_s) return refuse('timestamp_too_new')
  }
  const named = headerOf(headers, 'X-Svc-Event')
  const event = eventIn(text) ?? named
  if (named !== null && named !== event) return refuse('event_mismatch')
  return { ok: true, scheme, secret_index, event_id: isDated ? claim.id : null, timestamp, event }
}

/** Frequent mistakes of receivers: secrets or a body that would have been right, and the hint if they are. */
export function mistakesIn(
  secrets: readonly string[],
  body: string | Uint8Array,
  text: string,
): { hint: string; secrets: readonly string[]; body: string | Uint8Array }[] {
  const untrimmed = secrets.filter((secret) => secret.trim() !== secret)
  return [
    {
      hint: 'There is white space around the secret.',
      secrets: untrimmed.map((secret) => secret.trim()),
      body,
    },
    {
      hint: 'The secret is incomplete: whsec_ is part of it.',
      secrets: secrets.map((secret) => `whsec_${secret}`),
      body,
    },
    { hint: 'White space was added to the end of the body.', secrets, body: text.trimEnd() },
    {
      hint: 'The body was parsed and printed again: pass the raw bytes.',
      secrets,
      body: reprinted(text),
    },
  ]
}

function reprinted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text)) ?? text
  } catch {
    return text
  }
}

function eventIn(text: string): string | null {
  try {
    const { event } = JSON.parse(text)
    return typeof event === 'string' ? event : null
  } catch {
    return null
  }
}

function headerOf(headers: HeaderSource | undefined, name: string): string | null {
  const value = valueIn(headers ?? {}, name)
  const first = Array.isArray(value) ? value[0] : value
  return typeof first === 'string' ? first : null
}

function valueIn(headers: HeaderSource, name: string): unknown {
  if (typeof headers.get === 'function') return headers.get(name)
  const key = Object.keys(headers).find((each) => each.toLowerCase() === name.toLowerCase())
  return key === undefined ? undefined : (headers as Record<string, unknown>)[key]
}
