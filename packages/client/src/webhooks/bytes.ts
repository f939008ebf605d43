const encoder = new TextEncoder()
// The text must give the same bytes again.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** The bytes of a text in UTF-8, or the bytes themselves. */
export function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body)
}

/** The text of bytes in UTF-8. */
export function textOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? body : decoder.decode(body)
}

/** The bytes of all parts. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Lowercase hex digits. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Base64 with padding. */
export function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** The bytes of base64 of either alphabet; other characters are ignored. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const [digits = ''] = text.replaceAll('-', '+').replaceAll('_', '/').split('=')
  const plain = digits.replace(/[^A-Za-z0-9+/]/g, '')
  // One digit holds no whole byte.
  const whole = plain.length % 4 === 1 ? plain.slice(0, -1) : plain
  return Uint8Array.from(atob(whole), (char) => char.charCodeAt(0))
}

/** The SHA-256 of a body. */
export async function sha256(body: string | Uint8Array): Promise<string> {
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(body))))
}

/** The HMAC-SHA256 of a message. */
export async function hmacOf(
  key: Uint8Array<ArrayBuffer>,
  message: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message))
}
