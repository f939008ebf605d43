import {
  type Claim,
  claimOf,
  mistakesIn,
  refuse,
  resultOf,
  type UncheckedDelivery,
  type VerificationResult,
} from '../generated/verdict.ts'
import { base64Of, bytesOf, concat, fromBase64, hexOf, hmacOf, textOf } from './bytes.ts'

const PREFIX = 'whsec_'

/** The secret of a webhook; during a rotation, both secrets. */
export type Secrets = string | readonly string[]

/** A received delivery, and the secrets of the receiver. */
export interface Verification extends UncheckedDelivery {
  /** The secret of the webhook; several secrets during a rotation. */
  secret: Secrets | undefined
}

/**
 * Whether the service sent the delivery and its body is unchanged. Never rejects; compares in constant time. Checks only
 * `webhook-signature` if that header is present. Otherwise checks `X-Svc-Signature`, bare or after `sha256=`, which cannot
 * detect a replay.
 */
export async function verifyWebhook(input: Verification): Promise<VerificationResult> {
  const { secret, body } = input
  const secrets = [secret].flat()
  if (secrets.length === 0 || !secrets.every(isUsableSecret)) return refuse('secret_unusable')
  const claim = claimOf(input)
  if ('ok' in claim) return claim
  const text = textOf(body)
  const secret_index = await indexOfSigner(secrets, body, claim)
  if (secret_index !== -1) return resultOf(claim, secret_index, text, input)
  for (const mistake of mistakesIn(secrets, body, text)) {
    const index = await indexOfSigner(mistake.secrets, mistake.body, claim)
    if (index !== -1) return refuse('signature_mismatch', mistake.hint)
  }
  return refuse('signature_mismatch')
}

/** The position of the secret that gives a claimed digest for these bytes; -1 if none does. */
async function indexOfSigner(
  secrets: readonly string[],
  body: string | Uint8Array,
  claim: Claim,
): Promise<number> {
  for (const [index, secret] of secrets.entries()) {
    const expected =
      claim.scheme === 'hex'
        ? await signHex(secret, body)
        : await signStandard(secret, claim.id, claim.seconds, body)
    if (claim.digests.some((digest) => isSame(expected, digest))) return index
  }
  return -1
}

/** Compares digests of one length in constant time. */
function isSame(expected: string, actual: string): boolean {
  let difference = expected.length ^ actual.length
  for (let at = 0; at < expected.length; at++) {
    difference |= expected.charCodeAt(at) ^ actual.charCodeAt(at)
  }
  return difference === 0
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
