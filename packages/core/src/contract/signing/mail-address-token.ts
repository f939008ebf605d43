import { createHmac, timingSafeEqual } from 'node:crypto'
import type { MessageRef } from '../outside/provider.ts'

/** The purpose of a token; a token is invalid for the other purpose. */
type TokenPurpose = 'bounce' | 'unsubscribe'

const ID_BYTES = 16
const REF_BYTES = 2 * ID_BYTES
const MAC_BYTES = 8
const TOKEN_BYTES = REF_BYTES + MAC_BYTES

/** 62 digits of base 36 are enough for forty bytes: 36^62 is just above 2^320. */
const TOKEN_LENGTH = 62
const TOKEN = /^[0-9a-z]{62}$/
const DIGITS_PER_STEP = 10
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Names a message in an address or a link so that the name cannot be forged: both ids of the message and 64 bits of an
 * HMAC-SHA256 of purpose and ids, as 62 digits of base 36. Case is ignored, because mail systems may change it. With the
 * prefix `b+` the token has 64 octets, the maximum of a local part (RFC 5321, section 4.5.3.1.1).
 *
 * An attacker who sends a million forged tokens a second to this service succeeds after 290,000 years on average (2^63
 * attempts). A success reports a bounce of one message, or unsubscribes its recipient.
 * @throws RangeError if an id is not a lower-case UUID.
 */
export function messageToken(secret: string, purpose: TokenPurpose, ref: MessageRef): string {
  const ids = Buffer.from(hexOf(ref.workspace_id) + hexOf(ref.message_id), 'hex')
  const bytes = Buffer.concat([ids, macOf(secret, purpose, ids)])
  return BigInt(`0x${bytes.toString('hex')}`)
    .toString(36)
    .padStart(TOKEN_LENGTH, '0')
}

/** The message of a token in upper or lower case; null if the token is not valid for this purpose. */
export function readMessageToken(
  secret: string,
  purpose: TokenPurpose,
  token: string,
): MessageRef | null {
  const bytes = bytesOf(token)
  if (bytes === null) return null
  const ids = bytes.subarray(0, REF_BYTES)
  // The comparison takes constant time, so that its duration does not reveal how many bytes are right.
  if (!timingSafeEqual(bytes.subarray(REF_BYTES), macOf(secret, purpose, ids))) return null
  return {
    workspace_id: uuidOf(ids.subarray(0, ID_BYTES)),
    message_id: uuidOf(ids.subarray(ID_BYTES)),
  }
}

function macOf(secret: string, purpose: TokenPurpose, ids: Uint8Array): Buffer {
  const mac = createHmac('sha256', secret).update(`message-token ${purpose}\0`).update(ids)
  return mac.digest().subarray(0, MAC_BYTES)
}

function bytesOf(token: string): Buffer | null {
  if (token.length !== TOKEN_LENGTH) return null
  const digits = token.toLowerCase()
  if (!TOKEN.test(digits)) return null
  let value = 0n
  for (let at = 0; at < TOKEN_LENGTH; at += DIGITS_PER_STEP) {
    const step = digits.slice(at, at + DIGITS_PER_STEP)
    value = value * 36n ** BigInt(step.length) + BigInt(Number.parseInt(step, 36))
  }
  const hex = value.toString(16).padStart(2 * TOKEN_BYTES, '0')
  return hex.length === 2 * TOKEN_BYTES ? Buffer.from(hex, 'hex') : null
}

function hexOf(id: string): string {
  // The error does not repeat the value: ids are not secret, but any other value could be secret.
  if (!UUID.test(id)) throw new RangeError('an id of a message is not a lower-case UUID')
  return id.replaceAll('-', '')
}

function uuidOf(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
