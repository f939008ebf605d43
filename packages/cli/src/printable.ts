const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

const SHORT: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * A text from elsewhere in a form that stays on its line and cannot steer a terminal: control and direction characters
 * are written as escapes.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0')
    return SHORT[character] ?? `\\u${code}`
  })
}
