import { base64Of, bytesOf, concat, fromBase64, hexOf, hmacOf, textOf } from './bytes.ts'

const PREFIX = 'whsec_'
const TOLERANCE_S = 300
const HEX_DIGEST = /^(?:sha256=)?([0-9a-f]{64})$/
const STANDARD_DIGEST = /^v1,([A-Za-z0-9+/]{43}=)$/
const UNIX_SECONDS = /^\d{1,12}$/

/** Headers of Node, Fetch or a plain object. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** The secret of a webhook; during a rotation, both secrets. */
export type Secrets = string | readonly string[]

/** A received delivery, and the secrets of the receiver. */
export interface Verification {
  /** The secret of the webhook; several secrets during a rotation. */
  secret: Secrets | undefined
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

/**
 * Whether the service sent the delivery and its body is unchanged. Never rejects; compares in constant time. Checks only
 * `webhook-signature` if that header is present. Otherwise checks `X-Svc-Signature`, bare or after `sha256=`, which cannot
 * detect a replay.
 */
export async function verifyWebhook(input: Verification): Promise<VerificationResult> {
  const { secret, body, headers, signature } = input
  const secrets = [secret].flat()
  if (secrets.length === 0 || !secrets.every(isUsableSecret)) return refuse('secret_unusable')
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    return refuse('body_already_parsed')
  }
  const read = (name: string) => headerOf(headers, name)
  const standard = read('webhook-signature')
  if (standard !== null) return verifyStandard(standard, secrets, input, read)
  const value = signature ?? read('X-Svc-Signature') ?? read('X-Svc-Signature-256')
  if (value === null) return refuse('missing_signature')
  const digest = HEX_DIGEST.exec(value)?.[1]
  if (digest === undefined) return refuse('malformed_signature')
  const signs: Signs = async (each, bytes) => isSame(await signHex(each, bytes), digest)
  const secret_index = await indexOfSigner(secrets, body, signs)
  if (secret_index === -1) {
    return refuse('signature_mismatch', await mismatchHint(secrets, body, signs))
  }
  return accept({ scheme: 'hex', secret_index, event_id: null, timestamp: null }, body, read)
}

async function verifyStandard(
  value: string,
  secrets: readonly string[],
  { body, tolerance_s = TOLERANCE_S, now = new Date() }: Verification,
  read: (name: string) => string | null,
): Promise<VerificationResult> {
  const id = read('webhook-id')
  const seconds = read('webhook-timestamp')
  if (id === null) return refuse('missing_id')
  if (seconds === null) return refuse('missing_timestamp')
  if (!UNIX_SECONDS.test(seconds)) return refuse('malformed_timestamp')
  const digests = value.split(' ').flatMap((each) => STANDARD_DIGEST.exec(each)?.[1] ?? [])
  if (digests.length === 0) return refuse('malformed_signature')
  const signs: Signs = async (secret, bytes) => {
    const expected = await signStandard(secret, id, seconds, bytes)
    return digests.some((digest) => isSame(expected, digest))
  }
  const secret_index = await indexOfSigner(secrets, body, signs)
  if (secret_index === -1) {
    return refuse('signature_mismatch', await mismatchHint(secrets, body, signs))
  }
  const timestamp = new Date(Number(seconds) * 1000)
  const age_s = (now.getTime() - timestamp.getTime()) / 1000
  if (tolerance_s !== false && age_s > tolerance_s) return refuse('timestamp_too_old')
  if (tolerance_s !== false && age_s < -tolerance_s) return refuse('timestamp_too_new')
  return accept({ scheme: 'standard', secret_index, event_id: id, timestamp }, body, read)
}

type Accepted = Extract<VerificationResult, { ok: true }>

/** Refuses a genuine body with another value of `X-Svc-Event`, because the receiver may choose a handler by that header. */
function accept(
  proven: Omit<Accepted, 'ok' | 'event'>,
  body: string | Uint8Array,
  read: (name: string) => string | null,
): VerificationResult {
  const named = read('X-Svc-Event')
  const event = eventIn(body) ?? named
  if (named !== null && named !== event) return refuse('event_mismatch')
  return { ok: true, ...proven, event }
}

function eventIn(body: string | Uint8Array): string | null {
  try {
    const { event } = JSON.parse(textOf(body))
    return typeof event === 'string' ? event : null
  } catch {
    return null
  }
}

/** Compares digests of one length in constant time. */
function isSame(expected: string, actual: string): boolean {
  let difference = expected.length ^ actual.length
  for (let at = 0; at < expected.length; at++) {
    difference |= expected.charCodeAt(at) ^ actual.charCodeAt(at)
  }
  return difference === 0
}

function refuse(reason: VerificationFailure, hint = HINTS[reason]): VerificationResult {
  return { ok: false, reason, hint }
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

/** Whether the secret gives the received signature for these bytes. */
type Signs = (secret: string, body: string | Uint8Array) => Promise<boolean>

/** The position of the secret that signed the body; -1 if none did. */
async function indexOfSigner(
  secrets: readonly string[],
  body: string | Uint8Array,
  signs: Signs,
): Promise<number> {
  for (const [index, secret] of secrets.entries()) if (await signs(secret, body)) return index
  return -1
}

/** Checks for frequent mistakes of receivers. Runs only on refused deliveries. */
async function mismatchHint(
  secrets: readonly string[],
  body: string | Uint8Array,
  signs: Signs,
): Promise<string> {
  const text = textOf(body)
  const found = async (all: readonly string[], altered: string | Uint8Array) =>
    (await indexOfSigner(all, altered, signs)) !== -1
  const trimmed = secrets.filter((secret) => secret.trim() !== secret).map((each) => each.trim())
  if (await found(trimmed, body)) return 'There is white space around the secret.'
  const whole = secrets.map((secret) => `${PREFIX}${secret}`)
  if (await found(whole, body)) return 'The secret is incomplete: whsec_ is part of it.'
  if (await found(secrets, text.trimEnd())) return 'White space was added to the end of the body.'
  if (await found(secrets, reprinted(text))) {
    return 'The body was parsed and printed again: pass the raw bytes.'
  }
  return HINTS.signature_mismatch
}

function reprinted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text)) ?? text
  } catch {
    return text
  }
}

async function signHex(secret: string, body: string | Uint8Array): Promise<string> {
  return hexOf(await hmacOf(bytesOf(secret), bytesOf(body)))
}

async function signStandard(
  secret: string,
  id: string,
  timestamp: string,
  body: string | Uint8Array,
): Promise<string> {
  const message = concat([bytesOf(`${id}.${timestamp}.`), bytesOf(body)])
  return base64Of(await hmacOf(standardKey(secret), message))
}

function standardKey(secret: string): Uint8Array<ArrayBuffer> {
  return fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret)
}

/** An empty key is refused, because every client knows it. */
export function isUsableSecret(secret: unknown): secret is string {
  return typeof secret === 'string' && secret !== '' && standardKey(secret.trim()).length > 0
}
