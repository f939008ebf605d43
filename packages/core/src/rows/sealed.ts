declare const sealed: unique symbol

/**
 * The text of a secret as the database keeps it: `svcenc1:<key id>:<base64url>`, or plain where no key is set. Only a
 * `Sealer` makes one, so that a plain secret in a row does not compile.
 */
export type Sealed = string & { readonly [sealed]: true }

/** The headers of a webhook as the database keeps them: sealed, an object where no key is set, and `{}` for none. */
export type SealedHeaders =
  | Sealed
  | (Readonly<Record<string, string>> & { readonly [sealed]: true })

/** What a sealed text begins with; the id of its key follows. No secret that the service makes begins so. */
export const SEALED_PREFIX = 'svcenc1:'

/** How many hex digits the id of a key has. */
export const KEY_ID_LENGTH = 16

const FORM = /^svcenc1:([0-9a-f]{16}):([\w-]{38,})$/

/** The parts of a sealed text; null for any other text, which is plain. */
export function partsOf(text: string): { key_id: string; body: string } | null {
  const [, key_id, body] = FORM.exec(text) ?? []
  return key_id === undefined || body === undefined ? null : { key_id, body }
}
