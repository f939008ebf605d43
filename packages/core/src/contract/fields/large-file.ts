import { createHash } from 'node:crypto'

/** The decoded bytes that are read in one turn of the event loop: they take about 5 ms. */
const TURN_BYTES = 384 * 1024
const TURN_LENGTH = (TURN_BYTES / 3) * 4

const BACKSLASH = 0x5c
const PADDING = 0x3d
/** The length of the longest escape of JSON, such as `\u002B`. */
const ESCAPE_LENGTH = 6
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The length of the base64 above which a file is no text. */
export const LARGE_LENGTH = 64 * 1024

/**
 * A file in a request that is too large for a text: whatever reads a text of 10 MB blocks the event loop. It stands in the
 * place of the base64, and its parts are read one by one.
 */
export class LargeFile {
  /** The base64 as ASCII, which may have escapes of JSON, until `read` decodes it. */
  #base64: Uint8Array | null
  #bytes: Uint8Array
  #sha256: string | null = null
  #isLenient = false

  private constructor(base64: Uint8Array | null, bytes: Uint8Array) {
    this.#base64 = base64
    this.#bytes = bytes
  }

  /** `ascii`: the base64, which may have escapes of JSON. */
  static ofBase64(ascii: Uint8Array): LargeFile {
    return new LargeFile(ascii, new Uint8Array())
  }

  static ofBytes(bytes: Uint8Array): LargeFile {
    return new LargeFile(null, bytes)
  }

  /** The same file, whose base64 may have white space, and no padding. */
  lenient(): this {
    this.#isLenient = true
    return this
  }

  /** The number of decoded bytes; before `read`, of a base64 with escapes, a lower bound. */
  get size_bytes(): number {
    const ascii = this.#base64
    if (ascii === null) return this.#bytes.length
    const length = ascii.includes(BACKSLASH) ? ascii.length / ESCAPE_LENGTH : ascii.length
    const padding = ascii.at(-2) === PADDING ? 2 : ascii.at(-1) === PADDING ? 1 : 0
    return Math.max(0, Math.floor((length * 3) / 4) - padding)
  }

  /** The SHA-256 of the decoded bytes, in hexadecimal. @throws Error before `read`. */
  get sha256(): string {
    if (this.#sha256 === null) throw new Error('the file was not read')
    return this.#sha256
  }

  /** Decodes and hashes the file in turns of the event loop. Returns false if it is no base64 with its padding. */
  async read(): Promise<boolean> {
    if (this.#base64) {
      const bytes = await decoded(this.#base64, this.#isLenient)
      if (bytes === null) return false
      this.#bytes = bytes
      this.#base64 = null
    }
    if (this.#sha256 !== null) return true
    const hash = createHash('sha256')
    for (let at = 0; at < this.#bytes.length; at += TURN_BYTES) {
      hash.update(this.#bytes.subarray(at, at + TURN_BYTES))
      await turn()
    }
    this.#sha256 = hash.digest('hex')
    return true
  }

  /** A part of the base64. `length`, which is a multiple of 4, is the length of all parts except the last. */
  base64Part(number: number, length: number): string {
    const size = (length / 4) * 3
    const part = this.#bytes.subarray(number * size, (number + 1) * size)
    return Buffer.from(part.buffer, part.byteOffset, part.length).toString('base64')
  }

  /** Requests with an equal file are equal. */
  toJSON(): object {
    return { sha256: this.sha256, size_bytes: this.size_bytes }
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function decoded(base64: Uint8Array, isLenient: boolean): Promise<Uint8Array | null> {
  const ascii = Buffer.from(base64.buffer, base64.byteOffset, base64.length)
  const hasEscapes = ascii.includes(BACKSLASH)
  const bytes = new Uint8Array(Math.floor((ascii.length * 3) / 4))
  let size = 0
  let rest = ''
  for (let at = 0; at < ascii.length; ) {
    const end = hasEscapes ? endOfPart(ascii, at) : Math.min(at + TURN_LENGTH, ascii.length)
    const text = ascii.toString('latin1', at, end)
    const plain = hasEscapes ? unescaped(text) : text
    if (plain === null) return null
    const isLast = end === ascii.length
    const whole =
      rest + (isLenient ? padded(plain.replace(/\s+/g, ''), rest.length, isLast) : plain)
    const length = isLast ? whole.length : whole.length - (whole.length % 4)
    const part = whole.slice(0, length)
    rest = whole.slice(length)
    if (!BASE64.test(part) || part.length % 4 !== 0 || (!isLast && part.endsWith('='))) return null
    const read = Buffer.from(part, 'base64')
    bytes.set(read, size)
    size += read.length
    at = end
    await turn()
  }
  return size === 0 ? null : bytes.subarray(0, size)
}

function padded(text: string, before: number, isLast: boolean): string {
  if (!isLast || text.endsWith('=')) return text
  return text + '='.repeat((4 - ((before + text.length) % 4)) % 4)
}

/** The end of the part that begins at `at`, outside of an escape, which has at most 6 characters. */
function endOfPart(ascii: Buffer, at: number): number {
  const end = at + TURN_LENGTH
  if (end >= ascii.length) return ascii.length
  const start = ascii.subarray(end - 6, end).indexOf(BACKSLASH)
  return start < 0 ? end : end - 6 + start
}

/** The text of a JSON string, as PHP (`\/`) and .NET (`\u002B`) write base64; null if it is none. */
function unescaped(text: string): string | null {
  try {
    return JSON.parse(`"${text}"`)
  } catch {
    return null
  }
}

/** The file for a long base64; null for another value. Every character of a base64 is a byte. */
export function largeFileOf(content: unknown): LargeFile | null {
  if (typeof content !== 'string' || content.length <= LARGE_LENGTH) return null
  return LargeFile.ofBase64(Buffer.from(content))
}
