/** The bytes of a file, in pieces. Each call begins at the first byte. */
export type Source = () => AsyncIterable<Uint8Array>

const UTF_8 = 'utf-8'

/** The encoding of spreadsheets on Windows that are not set to Unicode. */
const WINDOWS_1252 = 'windows-1252'

/** The size limit of a row and of the header, in bytes. A row of a contact is far smaller. */
export const ROW_MAX_BYTES = 128 * 1024

/** How many bytes show whether a file without a byte order mark is UTF-16. */
const SAMPLE_BYTES = 1024

/**
 * The characters of the bytes 0x80 to 0x9f in Windows-1252. Some versions of Node give control characters for them
 * (nodejs/node#56542).
 */
const C1 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

/**
 * The encoding of a file, as `TextDecoder` names it: of a byte order mark, else of `charset`, else UTF-8 or UTF-16 if the bytes
 * are that, else Windows-1252.
 * @throws TableFault for an unknown `charset`, and for a file that is UTF-8 with some broken characters.
 */
export async function encodingOf(source: Source, charset?: string): Promise<string> {
  for await (const first of source()) {
    const marked = markedEncoding(first)
    if (marked) return marked
    if (charset !== undefined) return knownEncoding(charset)
    const wide = wideEncoding(first.subarray(0, SAMPLE_BYTES))
    if (wide) return wide
    break
  }
  return charset === undefined ? narrowEncoding(source) : knownEncoding(charset)
}

/**
 * Decodes the pieces, without the byte order mark.
 * @throws TableFault with the line, for bytes that are not in the encoding, and for a line that is longer than a row may be: the parser
 * does not count separators, and a row of a million empty cells kept the event loop busy for 100 ms.
 */
export async function* textOf(
  pieces: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding, { fatal: true })
  const lenient = new TextDecoder(encoding)
  const read = encoding === WINDOWS_1252 ? withC1 : (text: string) => text
  let line = 1
  /** The characters of the last line so far. */
  let length = 0
  const decoded = (piece?: Uint8Array): string => {
    const stream = piece !== undefined
    try {
      const text = read(decoder.decode(piece, { stream }))
      if (text.includes('\0'))
        throw new TableFault('the character U+0000 is not allowed', lineAt(line, text, '\0'))
      lenient.decode(piece, { stream })
      line = lineAt(line, text)
      const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
      length = end === -1 ? length + text.length : text.length - end - 1
      if (length > ROW_MAX_BYTES) throw rowTooLong(line)
      return text
    } catch (error) {
      if (error instanceof TableFault) throw error
      const at = lineAt(line, lenient.decode(piece, { stream }), '\ufffd')
      throw new TableFault(`it is not ${nameOf(encoding)}`, at)
    }
  }
  for await (const piece of pieces) yield decoded(piece)
  yield decoded()
}

function markedEncoding([a, b, c]: Uint8Array): string | null {
  if (a === 0xef && b === 0xbb && c === 0xbf) return UTF_8
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  return a === 0xfe && b === 0xff ? 'utf-16be' : null
}

function knownEncoding(charset: string): string {
  try {
    return new TextDecoder(charset).encoding
  } catch {
    throw new TableFault(`the character set ${JSON.stringify(charset.slice(0, 40))} is not known`)
  }
}

/** UTF-16 without a byte order mark: half of the bytes of Latin text are 0. */
function wideEncoding(sample: Uint8Array): string | null {
  let even = 0
  let odd = 0
  for (const [i, byte] of sample.entries()) {
    if (byte !== 0) continue
    if (i % 2 === 0) even++
    else odd++
  }
  const enough = sample.length / 4
  if (odd > enough && even === 0) return 'utf-16le'
  return even > enough && odd === 0 ? 'utf-16be' : null
}

/**
 * A file with broken characters and at least as many intact ones is damaged UTF-8. As Windows-1252 its names would be stored as other
 * letters.
 */
async function narrowEncoding(source: Source): Promise<string> {
  const strict = new TextDecoder(UTF_8, { fatal: true })
  const lenient = new TextDecoder(UTF_8)
  let fault: number | null = null
  let line = 1
  let intact = 0
  let broken = 0
  const examine = (piece?: Uint8Array) => {
    const stream = piece !== undefined
    const text = lenient.decode(piece, { stream })
    if (fault === null) {
      try {
        strict.decode(piece, { stream })
      } catch {
        fault = lineAt(line, text, '\ufffd')
      }
      line = lineAt(line, text)
    }
    for (const [character] of text.matchAll(/[^\0-\x7f]/gu)) {
      if (character === '\ufffd') broken++
      else intact++
    }
  }
  for await (const piece of source()) examine(piece)
  examine()
  if (fault === null) return UTF_8
  if (intact > 0 && intact >= broken) throw new TableFault(`it is not ${nameOf(UTF_8)}`, fault)
  return WINDOWS_1252
}

/** The line at the first `until` in `text`, or at its end; `text` begins on `line`. */
function lineAt(line: number, text: string, until?: string): number {
  const end = until === undefined ? -1 : text.indexOf(until)
  const before = end === -1 ? text : text.slice(0, end)
  return line + (before.match(/\n|\r(?!\n)/g)?.length ?? 0)
}

function withC1(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (control) => C1[control.charCodeAt(0) - 0x80] ?? control)
}

function nameOf(encoding: string): string {
  return encoding === UTF_8 ? 'UTF-8' : encoding
}

export function rowTooLong(line: number): TableFault {
  const kb = ROW_MAX_BYTES / 1024
  return new TableFault(`the row has more than ${kb} KB; check for an unclosed quote`, line)
}

/** A table that cannot be read. The message is without the name of the file, and without contents of cells. */
export class TableFault extends Error {
  /** @param line the line in the file, from 1 */
  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`)
    this.name = 'TableFault'
  }
}
