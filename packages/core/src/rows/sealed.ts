declare const sealed: unique symbol

/**
 * A secret as stored: `svcenc1:<key id>:<base64url>`, or plain without a key. Only a `Sealer` makes one, so a plain
 * secret in a row does not compile.
 */
export type Sealed = string & { readonly [sealed]: true }

/** The headers of a webhook as stored: sealed; an object without a key; `{}` for none. */
export type SealedHeaders =
  | Sealed
  | (Readonly<Record<string, string>> & { readonly [sealed]: true })

/** The prefix of a sealed text, before the key id. No secret that the service makes starts with it. */
export const SEALED_PREFIX = 'svcenc1:'

/** In hex digits. */
export const KEY_ID_LENGTH = 16

const FORM = /^svcenc1:([0-9a-f]{16}):([\w-]{38,})$/

/** The parts of a sealed text; null for any other text, which is plain. */
export function partsOf(text: string): { key_id: string; body: string } | null {
  const [, key_id, body] = FORM.exec(text) ?? []
  return key_id === undefined || body === undefined ? null : { key_id, body }
}
