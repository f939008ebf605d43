import { randomUUID } from 'node:crypto'
import { invalid } from '../contract/errors.ts'
import { isRecord } from '../contract/fields/fields.ts'
import { LARGE_LENGTH, LargeFile } from '../contract/fields/large-file.ts'
import { LIMITS } from '../contract/limits.ts'
import { stepsInTurns } from './in-turns.ts'
import { malformedJson, readJson } from './read-json.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b

/** The name of the members that may hold a file. */
const NAME = Buffer.from('content')

/** The bytes that are scanned between two looks at the time: they take about 1 ms. */
const SCAN_BYTES = 512 * 1024

/** Stands for a cut text. No client knows it, so that no request has it. */
const MARK = `file:${randomUUID()}:`

/**
 * Reads a request in JSON as `readJson` does; its large files are LargeFiles, which are never texts. A file is a long text
 * named `content` of an object in `attachments`, or in `content.attachments`. All other parts of the request come to at
 * most `LIMITS.send_body_bytes`.
 * @throws SvcError `validation_error`.
 */
export async function readJsonWithFiles(bytes: Buffer): Promise<unknown> {
  const { rest, files } = await stepsInTurns(cut(bytes))
  if (rest.length > LIMITS.send_body_bytes) throw invalid('', 'Request body is too large')
  const value = await readJson(rest.toString('utf8'))
  const found = putFiles(value, (text) => fileOf(text, files))
  // A text in another place is no file, and its schema expects no text of this length there.
  if (found !== files.length) throw malformedJson('a text is too long')
  return value
}

function fileOf(text: unknown, files: readonly Uint8Array[]): LargeFile | null {
  if (typeof text !== 'string' || !text.startsWith(MARK)) return null
  const base64 = files[Number(text.slice(MARK.length))]
  return base64 ? LargeFile.ofBase64(base64) : null
}

/** Puts files in the places of marks; returns their number. */
export function putFiles(value: unknown, fileFor: (content: unknown) => LargeFile | null): number {
  if (!isRecord(value)) return 0
  let found = 0
  const lists = [value.attachments, isRecord(value.content) ? value.content.attachments : undefined]
  for (const list of lists) {
    if (!Array.isArray(list) || list.length > LIMITS.email_attachments) continue
    for (const one of list) {
      const file = isRecord(one) ? fileFor(one.content) : null
      if (!file) continue
      one.content = file
      found += 1
    }
  }
  return found
}

/** Cuts the long texts named `content` out of JSON. Does not check whether the bytes are JSON. */
function* cut(bytes: Buffer): Generator<void, { rest: Buffer; files: Uint8Array[] }> {
  const parts: Uint8Array[] = []
  const files: Uint8Array[] = []
  let copied = 0
  let name: Uint8Array | null = null
  let isValue = false
  let looked = 0
  for (let i = 0; i < bytes.length; i++) {
    if (i - looked > SCAN_BYTES) {
      looked = i
      yield
    }
    const code = bytes[i]
    if (code === COLON) isValue = true
    else if (code === COMMA || code === OPEN_OBJECT || code === OPEN_ARRAY) isValue = false
    if (code !== QUOTE) continue
    const start = i + 1
    for (i = start; i < bytes.length && bytes[i] !== QUOTE; i++) {
      if (bytes[i] === BACKSLASH) i++
      if (i - looked > SCAN_BYTES) {
        looked = i
        yield
      }
    }
    const text = bytes.subarray(start, i)
    if (isValue && text.length > LARGE_LENGTH && name && NAME.equals(name)) {
      parts.push(bytes.subarray(copied, start), Buffer.from(`${MARK}${files.length}`))
      files.push(text)
      copied = i
    }
    name = isValue ? null : text
    isValue = false
  }
  parts.push(bytes.subarray(copied))
  return { rest: Buffer.concat(parts), files }
}
