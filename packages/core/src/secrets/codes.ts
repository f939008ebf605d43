import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Channel, Content } from '../contract/resources/content.ts'
import type { CodeSource } from '../rows/verifications.ts'

/** Stands for the code in stored contents: a bullet for each digit. */
export function maskOf(length: number): string {
  return '•'.repeat(length)
}

/** The content of a message with a code: `code` says from what the code is derived. */
type WithCode = Content & { code?: CodeSource }

/**
 * The code of a verification: HMAC-SHA-256 under the key of the service over random bytes, as decimal digits without modulo
 * bias. It is stored nowhere, so that a database without the key reveals no code, and each of its messages has the same code.
 */
export function codeOf(key: string, { seed, length, shift }: CodeSource): string {
  let code = ''
  for (let block = 0; code.length < length; block++) {
    const bytes = createHmac('sha256', key).update(`${seed}\n${length}\n${block}`).digest()
    // 250 is a multiple of 10: each digit stands for as many of the values below it.
    for (const byte of bytes) if (byte < 250 && code.length < length) code += byte % 10
  }
  return shift === undefined ? code : added(code, shift, 1)
}

/**
 * The source of a code that another service made: its digits are those of a random code plus `shift`, which therefore tells
 * nothing about them. `seed` must be new.
 */
export function sourceOfGiven(code: string, key: string, seed: string): CodeSource {
  const { length } = code
  return { seed, length, shift: added(code, codeOf(key, { seed, length }), -1) }
}

/** Adds or subtracts each digit, without a carry. */
function added(digits: string, others: string, sign: 1 | -1): string {
  const sums = [...digits].map((digit, at) => Number(digit) + sign * Number(others[at]) + 10)
  return sums.map((sum) => sum % 10).join('')
}

/** A digest for another purpose than a code. `text` begins with the purpose and a line break. */
export function digestUnder(key: string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** The content that a provider gets: with the code in place of its mask. In a call, the digits are read one by one. */
export function withCode(content: Content, code: string, channel: Channel): Content {
  const shown = channel === 'voice' ? [...code].join(', ') : code
  const { code: _, ...masked } = content as WithCode
  return filled(masked, maskOf(code.length), shown) as Content
}

function filled(value: unknown, mask: string, code: string): unknown {
  if (typeof value === 'string') return value.replaceAll(mask, code)
  if (Array.isArray(value)) return value.map((one) => filled(one, mask, code))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, filled(one, mask, code)]),
  )
}

/** What a provider says about a message, and about its recipients. */
interface Said {
  error_message?: string | null
  recipients?: readonly { error_message?: string | null }[] | undefined
}

/** An outcome or a receipt with the mask in place of the code: providers quote the text of a message that they refuse. */
export function withoutQuotes<Of extends Said>(said: Of, code: string): Of {
  // In a call, there is a comma between the digits.
  const quoted = new RegExp([...code].join('[, ]*'), 'g')
  return withTexts(said, (text) => text.replace(quoted, maskOf(code.length)))
}

/** Digits that may be a code, as in a text or as they are read in a call. */
const MAY_BE_CODE = /\d(?:[, ]*\d){3,}/

export function mayQuoteCode({ error_message, recipients = [] }: Said): boolean {
  const texts = [error_message, ...recipients.map((one) => one.error_message)]
  return texts.some((text) => MAY_BE_CODE.test(text ?? ''))
}

/** A receipt with a bullet for each digit that may belong to a code, while its message and so the code are not known. */
export function withoutNumbers<Of extends Said>(said: Of): Of {
  const numbers = new RegExp(MAY_BE_CODE, 'g')
  return withTexts(said, (text) => text.replace(numbers, (found) => found.replace(/\d/g, '•')))
}

function withTexts<Of extends Said>(said: Of, change: (text: string) => string): Of {
  const changed = <T extends Said>(of: T): T =>
    typeof of.error_message === 'string' ? { ...of, error_message: change(of.error_message) } : of
  const { recipients } = said
  return { ...changed(said), ...(recipients && { recipients: recipients.map(changed) }) }
}

/** From what the code of a stored content is derived; null for the content of another message. */
export function codeSourceOf(content: Content): CodeSource | null {
  return (content as WithCode).code ?? null
}

/** The content that its workspace sees: with the mask in place of the code. */
export function withoutCode(content: Content): Content {
  if ((content as WithCode).code === undefined) return content
  const { code: _, ...shown } = content as WithCode
  return shown as Content
}

/** Compares codes in a time that does not depend on their digits. */
export function isSameCode(a: string, b: string): boolean {
  const [one, other] = [Buffer.alloc(16), Buffer.alloc(16)]
  one.write(a)
  other.write(b)
  return timingSafeEqual(one, other) && a.length === b.length
}
