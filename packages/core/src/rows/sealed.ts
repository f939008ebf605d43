declare const sealed: unique symbol

/**
 * A stored secret: `svcenc1:<key id>:<base64url>`, or plain text if no encryption key is set. Only a `Sealer` makes
 * this type, so code that stores a plain secret does not compile.
 */
export type Sealed = string & { readonly [sealed]: true }

/** The stored headers of a webhook: sealed, or an object if no encryption key is set; `{}` without headers. */
export type SealedHeaders =
  | Sealed
  | (Readonly<Record<string, string>> & { readonly [sealed]: true })

/** The prefix of a sealed text, before the key id. No secret that the service makes starts with it. */
export const SEALED_PREFIX = 'svcenc1:'

/** The length of a key id, in hex digits. */
export const KEY_ID_LENGTH = 16

const FORM = /^svcenc1:([0-9a-f]{16}):([\w-]{38,})$/

/** The parts of a sealed text; null for any other text, which is plain. */
export function partsOf(text: string): { key_id: string; body: string } | null {
  const [, key_id, body] = FORM.exec(text) ?? []
  return key_id === undefined || body === undefined ? null : { key_id, body }
}
