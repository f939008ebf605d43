import { type Address, addressParser, decodeWords, type Email, type Header } from 'postal-mime'

/** The parts of a mail that `readMail` uses. */
export type PlainMail = Pick<
  Email,
  'headers' | 'from' | 'to' | 'cc' | 'replyTo' | 'subject' | 'messageId' | 'text' | 'html'
> & { attachments: never[] }

type Encoding = '7bit' | '8bit' | 'quoted-printable' | 'base64'

/** How the headers of a mail or a part describe its body. */
interface BodyForm {
  type: string
  boundary: string | undefined
  charset: string
  encoding: string
}

const PRINTABLE = /^[\t\x20-\x7e]*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
const ASCII = /^[\x00-\x7f]*$/
const HEADER = /^([a-z0-9-]+):(.*)$/i
const CONTENT_TYPE = /^(text\/plain|text\/html|multipart\/alternative)((?:;[^;]*)*)$/i
const PARAMETER = /^;[ \t]*(charset|boundary)=(?:"([a-z0-9'()+_,./:= -]*)"|([a-z0-9+_.-]+))$/i
const ENCODING = /^(?:7bit|8bit|quoted-printable|base64)$/i
const BASE64 = /^(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?$/i

const utf8 = new TextDecoder()

/**
 * Reads a mail in the form that programs write most: a text, an HTML text, or both as alternatives, in UTF-8. The result
 * is the one of `postal-mime`, in a twentieth of its time. Null for every other mail, also if it is only unusual.
 */
export function readPlainMail(raw: Uint8Array): PlainMail | null {
  const source = Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('latin1')
  const split = splitHead(source)
  if (!split) return null
  const form = formOf(split.headers)
  const texts = form && textsOf(form, split.body)
  if (!texts) return null
  const { text, html } = texts
  return {
    ...namedOf(split.headers),
    ...(text && { text }),
    ...(html && { html }),
    attachments: [],
  }
}

/** The headers of a mail or a part, and the text after the empty line. */
function splitHead(source: string): { headers: Header[]; body: string } | null {
  const end = source.indexOf('\r\n\r\n')
  if (end < 0 || source.startsWith('\r\n')) return null
  const headers: Header[] = []
  let unfolded = ''
  for (const line of source.slice(0, end).split('\r\n')) {
    if (!PRINTABLE.test(line)) return null
    if (line.startsWith(' ') || line.startsWith('\t')) {
      unfolded += line
      continue
    }
    if (!addHeader(headers, unfolded)) return null
    unfolded = line
  }
  if (!addHeader(headers, unfolded)) return null
  return { headers, body: source.slice(end + 4) }
}

function addHeader(headers: Header[], unfolded: string): boolean {
  if (unfolded === '') return headers.length === 0
  const [, originalKey, value] = HEADER.exec(unfolded) ?? []
  if (originalKey === undefined || value === undefined) return false
  // The characters are printable, so this removes spaces and tabs only.
  headers.push({ key: originalKey.toLowerCase(), originalKey, value: value.trim() })
  return true
}

function formOf(headers: readonly Header[]): BodyForm | null {
  const form: BodyForm = { type: 'text/plain', boundary: undefined, charset: '', encoding: '7bit' }
  const seen = new Set<string>()
  for (const { key, value } of headers) {
    if (!key.startsWith('content-')) continue
    if (seen.has(key)) return null
    seen.add(key)
    if (key === 'content-type') {
      if (!readType(form, value)) return null
    } else if (key === 'content-transfer-encoding') {
      if (!ENCODING.test(value)) return null
      form.encoding = value.toLowerCase()
    } else if (key === 'content-disposition' && value.toLowerCase() !== 'inline') return null
  }
  return form
}

function readType(form: BodyForm, value: string): boolean {
  const [, type, parameters] = CONTENT_TYPE.exec(value) ?? []
  if (type === undefined || parameters === undefined) return false
  form.type = type.toLowerCase()
  for (const text of parameters.match(/;[^;]*/g) ?? []) {
    const [, name, quoted, token] = PARAMETER.exec(text) ?? []
    const parameter = quoted ?? token
    if (name === undefined || parameter === undefined || parameter.endsWith(' ')) return false
    const key = name.toLowerCase() as 'charset' | 'boundary'
    if (form[key]) return false
    form[key] = parameter
  }
  form.charset = form.charset.toLowerCase()
  return true
}

function textsOf(form: BodyForm, body: string): Pick<PlainMail, 'text' | 'html'> | null {
  if (form.type !== 'multipart/alternative') {
    const text = textOf(form, body)
    if (text === null) return null
    return form.type === 'text/html' ? { html: text } : { text }
  }
  const parts = form.boundary ? partsBetween(form.boundary, body) : null
  if (!parts) return null
  const texts: { text?: string; html?: string } = {}
  for (const part of parts) {
    const split = splitHead(part)
    const partForm = split && formOf(split.headers)
    if (!partForm || partForm.boundary !== undefined) return null
    const name = partForm.type === 'text/html' ? 'html' : 'text'
    if (name in texts || partForm.type === 'multipart/alternative') return null
    const text = textOf(partForm, split.body)
    if (text === null) return null
    texts[name] = text
  }
  return texts
}

/** The parts between the lines of a boundary; null without the line that ends the last part. */
function partsBetween(boundary: string, body: string): string[] | null {
  const delimiter = `--${boundary}`
  const parts: string[] = []
  let from: number | null = null
  let at = body.startsWith(delimiter) ? 0 : lineAfter(body, 0, delimiter)
  while (at >= 0) {
    if (from !== null) parts.push(body.slice(from, at))
    const rest = at + delimiter.length
    if (body.startsWith('--\r\n', rest) || body.slice(rest) === '--') return parts
    if (!body.startsWith('\r\n', rest)) return null
    from = rest + 2
    at = lineAfter(body, rest, delimiter)
  }
  return null
}

/** Where the next line with this beginning begins, or -1. */
function lineAfter(body: string, from: number, beginning: string): number {
  const at = body.indexOf(`\n${beginning}`, from)
  return at < 0 ? -1 : at + 1
}

/** The text of a body whose characters are its bytes. */
function textOf({ charset, encoding }: BodyForm, body: string): string | null {
  const lines = body.replaceAll('\r\n', '\n')
  if (lines.includes('\r')) return null
  const bytes = decoded(
    encoding as Encoding,
    lines === '' || lines.endsWith('\n') ? lines : `${lines}\n`,
  )
  if (bytes === null) return null
  const isUtf8 = charset === '' || charset === 'utf-8' || charset === 'utf8'
  if (ASCII.test(bytes)) return isUtf8 || charset === 'us-ascii' ? bytes : null
  return isUtf8 ? utf8.decode(Buffer.from(bytes, 'latin1')) : null
}

function decoded(encoding: Encoding, lines: string): string | null {
  switch (encoding) {
    case '7bit':
    case '8bit':
      return lines
    case 'quoted-printable':
      return lines.replace(/=(?:\n|([0-9a-f]{2}))/gi, (_, hex?: string) =>
        hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
      )
    case 'base64': {
      const text = lines.replaceAll('\n', '')
      return BASE64.test(text) ? Buffer.from(text, 'base64').toString('latin1') : null
    }
  }
}

/** The headers that name something, as `postal-mime` reads them. */
function namedOf(
  headers: Header[],
): Pick<PlainMail, 'headers' | 'from' | 'to' | 'cc' | 'replyTo' | 'subject' | 'messageId'> {
  const first = (name: string) => headers.find(({ key }) => key === name)?.value || undefined
  const words = (name: string) => {
    const value = first(name)
    return value === undefined ? undefined : decodeWords(value)
  }
  const addresses = (name: string): Address[] | undefined => {
    const all = headers.flatMap(({ key, value }) =>
      key === name && value !== '' ? addressParser(value) : [],
    )
    return all.length > 0 ? all : undefined
  }
  const from = first('from')
  const [sender] = from === undefined ? [] : addressParser(from)
  const subject = words('subject')
  const messageId = words('message-id')
  const [to, cc, replyTo] = [addresses('to'), addresses('cc'), addresses('reply-to')]
  return {
    headers,
    ...(sender && { from: sender }),
    ...(to && { to }),
    ...(cc && { cc }),
    ...(replyTo && { replyTo }),
    ...(subject !== undefined && { subject }),
    ...(messageId !== undefined && { messageId }),
  }
}
