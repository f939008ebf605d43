import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import { KEY_ID_LENGTH } from '../rows/sealed.ts'

/** A key that encrypts secrets. Its id discloses nothing about the key. */
export interface SecretsKey {
  id: string
  key: KeyObject
}

const KEY_BYTES = 32
const KEYS_MAX = 16

/**
 * Reads keys of 32 bytes, each written as base64, base64url or 64 hex digits. The first key encrypts.
 * @throws RangeError for an invalid key; the message contains its position, never its text.
 */
export function readSecretsKeys(texts: readonly string[]): SecretsKey[] {
  if (texts.length > KEYS_MAX) throw new RangeError(`there may be at most ${KEYS_MAX} keys`)
  const keys = new Map<string, SecretsKey>()
  for (const [i, text] of texts.entries()) {
    const bytes = bytesOf(text.trim())
    if (!bytes) {
      const which = texts.length === 1 ? 'the key' : `key ${i + 1} of ${texts.length}`
      throw new RangeError(
        `${which} must be ${KEY_BYTES} bytes as base64 or as 64 hex digits: openssl rand -base64 ${KEY_BYTES} makes one`,
      )
    }
    const id = idOf(bytes)
    if (!keys.has(id)) keys.set(id, { id, key: createSecretKey(bytes) })
  }
  return [...keys.values()]
}

function bytesOf(text: string): Buffer | null {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (!/^[\w+/-]{43}=?$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === KEY_BYTES ? bytes : null
}

function idOf(bytes: Buffer): string {
  const hash = createHash('sha256').update('svc secrets key').update(bytes)
  return hash.digest('hex').slice(0, KEY_ID_LENGTH)
}
