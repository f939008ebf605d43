import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ApiKeyRow } from '../rows/rows.ts'
import type { Place } from '../secrets/sealer.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BASE = ALPHABET.length
const RANDOM_LENGTH = 32
const CHECKSUM_LENGTH = 6
const SHOWN_LENGTH = 12

/** Bytes from this value on are not used: with them, the first characters of the alphabet would be more likely. */
const FAIR_BYTES = 256 - (256 % BASE)

const FORM = /^svc_(?:test_)?[0-9A-Za-z]{38}$/

const TEST_PREFIX = 'svc_test_'

/** Mints a key: the prefix, 32 random characters (190 bits) and a checksum. Contract section 3. */
export function mintKey(mode: 'live' | 'test', bytes: (count: number) => Buffer): string {
  let random = ''
  while (random.length < RANDOM_LENGTH) {
    for (const byte of bytes(RANDOM_LENGTH)) {
      if (byte < FAIR_BYTES && random.length < RANDOM_LENGTH) random += ALPHABET[byte % BASE]
    }
  }
  const body = `${mode === 'test' ? TEST_PREFIX : 'svc_'}${random}`
  return body + checksum(body)
}

/** Whether a text can be a key: a mistyped key is refused without a query. */
export function isWellFormed(key: string): boolean {
  if (!FORM.test(key)) return false
  const body = key.slice(0, -CHECKSUM_LENGTH)
  return checksum(body) === key.slice(-CHECKSUM_LENGTH)
}

/** The stored form of a key. A fast hash suffices for a secret of 190 random bits. */
export function hashKey(key: string): string {
  return hash('sha256', key)
}

/** The part of a key that may be shown. */
export function prefixOf(key: string): string {
  return `${key.slice(0, SHOWN_LENGTH)}...`
}

/** The mode of a key, by its text. */
export function modeOf(key: string): 'live' | 'test' {
  return key.startsWith(TEST_PREFIX) ? 'test' : 'live'
}

/** CRC-32 (IEEE) of the ASCII bytes, as six base62 digits, most significant first. Contract section 12. */
function checksum(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[rest % BASE] + digits
    rest = Math.floor(rest / BASE)
  }
  return digits
}

/** The place of the key of a row, for a key that signs. */
export function placeOfKey({ workspace_id, id }: Pick<ApiKeyRow, 'workspace_id' | 'id'>): Place {
  return { table: 'api_keys', column: 'sealed_key', workspace_id, id }
}
