import { createHmac } from 'node:crypto'

/** Seconds for which a code is the current one. */
const STEP_S = 30
const DIGITS = 6

/** Steps before and after the current one whose codes are taken too, for clocks that differ (RFC 6238, 5.2). */
const WINDOW = 1

/** The code of a step: HOTP with SHA-1 and six digits, as authenticator apps expect it. Source: RFC 4226, 5.3; RFC 6238, 4.2. */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest.at(-1) ?? 0) & 0x0f
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0')
}

/**
 * The step of a code that is valid now; null for another text. Steps up to `last` are used up, so that each code signs in once
 * (RFC 6238, 5.2).
 */
export function stepOfCode(
  secret: Uint8Array,
  code: string,
  { now, last }: { now: Date; last: number | null },
): number | null {
  const current = Math.floor(now.getTime() / 1000 / STEP_S)
  for (let step = current - WINDOW; step <= current + WINDOW; step++) {
    if (step > (last ?? -1) && totpCode(secret, step) === code) return step
  }
  return null
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** A secret in the form that people type into an authenticator app: base32 without padding (RFC 4648, 6). */
export function base32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const groups = bits.match(/.{1,5}/g) ?? []
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('')
}
