import PostalMime, {
  type Attachment,
  decodeWords,
  type Email,
  type PostalMimeOptions,
} from 'postal-mime'
import { type PlainMail, readPlainMail } from './plain-mail.ts'

/** The parts of a mail that a message can have. */
export interface ReadMail {
  subject: string
  html: string | undefined
  text: string | undefined
  /** The display name and the address of `From`. */
  from: { name: string; address: string }
  /** The addresses of these headers, at most `ADDRESSES_MAX` each. */
  to: string[]
  cc: string[]
  reply_to: string[]
  message_id: string | undefined
  /** All headers in their order, unfolded, with the spelling of the mail. */
  headers: [name: string, value: string][]
  /** The headers `X-Svc-…` by their lower-case names, decoded. */
  own: Record<string, string>
  attachments: ReadAttachment[]
}

/** A file of a mail. */
export interface ReadAttachment {
  filename: string | undefined
  content_type: string
  /** The parameters of the type by their lower-case names, decoded. */
  parameters: Record<string, string>
  content_id: string | undefined
  content: Uint8Array<ArrayBuffer>
}

type Parsed = Omit<PlainMail, 'attachments'> & { attachments: Part[] }

type Part = Attachment & { parameters?: Record<string, string> }

/** The part of the library's parser that `FileParser` extends. Its types do not name it. */
interface LibraryParser extends PostalMime {
  attachments: Part[]
  collectAttachment(node: LibraryNode, content: ArrayBuffer, ...rest: unknown[]): void
}

interface LibraryNode {
  contentType: { parsed: { params: Record<string, string> } }
}

const Parser = PostalMime as unknown as new (options: PostalMimeOptions) => LibraryParser

/**
 * Keeps the parameters of a file's type, and the bytes of the file: the library drops the parameters, and writes calendars
 * again in UTF-8 whatever their `charset` says.
 */
class FileParser extends Parser {
  override collectAttachment(node: LibraryNode, content: ArrayBuffer, ...rest: unknown[]): void {
    super.collectAttachment(node, content, ...rest)
    Object.assign(this.attachments.at(-1) ?? {}, {
      content,
      parameters: node.contentType.parsed.params,
    })
  }
}

/** The result for one mail; `fault` is a text for the client. */
export type Reading = { mail: ReadMail } | { fault: string }

export const HEADER_BYTES_MAX = 256 * 1024
const NESTING_MAX = 20
const ADDRESSES_MAX = 1_000
const ATTACHMENTS_MAX = 100
/** The parser needs up to 15 µs for a line. Lines in base64 have 60 to 76 bytes. */
const SHORT_LINES_MAX = 50_000
const LINE_BYTES = 50
/** The parser needs up to 40 µs for a part. */
const PARTS_MAX = 1_000

/** The options for mails that `readPlainMail` does not read. */
export const OPTIONS = {
  // A mail inside a mail stays a file.
  forceRfc822Attachments: true,
  maxNestingDepth: NESTING_MAX,
  maxHeadersSize: HEADER_BYTES_MAX,
}

/** Reads a mail (RFC 5322, MIME) whose headers have no `headFault`. Accepts any bytes and never throws. */
export async function readMail(raw: Uint8Array): Promise<Reading> {
  try {
    if (hasManyLines(raw)) return { fault: 'The mail has too many lines' }
    const plain = readPlainMail(raw)
    if (plain) return { mail: partsOf(plain) }
    if (hasManyParts(raw)) return { fault: `The mail must have at most ${PARTS_MAX} parts` }
    const mail = await new FileParser(OPTIONS).parse(raw)
    if (mail.attachments.length > ATTACHMENTS_MAX) {
      return { fault: 'The mail has too many attachments' }
    }
    return { mail: partsOf(mail) }
  } catch (error) {
    // The library reports an exceeded limit in this form; other texts may contain parts of the mail.
    const text = error instanceof Error ? error.message : ''
    return { fault: /^Maximum [a-z MIE]+ of \d+/.test(text) ? text : 'The mail could not be read' }
  }
}

/** The memory of the files of a mail, which can be moved to another thread. */
export function memoryOf(reading: Reading): ArrayBuffer[] {
  if ('fault' in reading) return []
  return [...new Set(reading.mail.attachments.map(({ content }) => content.buffer))]
}

function hasManyLines(raw: Uint8Array): boolean {
  if (raw.length < SHORT_LINES_MAX) return false
  let end = -1
  for (let rest = SHORT_LINES_MAX + raw.length / LINE_BYTES; rest > 0; rest -= 1) {
    end = raw.indexOf(0x0a, end + 1)
    if (end < 0) return false
  }
  return true
}

/**
 * Counts the lines that begin with one of the mail's boundaries (RFC 2046, section 5.1.1). A boundary that is hidden in
 * comments or continued parameters is not found; the number of lines bounds its parts.
 */
function hasManyParts(raw: Uint8Array): boolean {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('latin1')
  const boundaries = new Set<string>()
  for (const [, boundary] of text.matchAll(/\bboundary[*\d]*[ \t]*=\s*"?([^"\s;]{1,70})/gi)) {
    boundaries.add(boundary ?? '')
  }
  if (boundaries.size === 0) return false
  let parts = 0
  for (const [, name] of text.matchAll(/^--(\S{1,72})/gm)) {
    if (!boundaries.has(name ?? '')) continue
    parts += 1
    if (parts > PARTS_MAX) return true
  }
  return false
}

function partsOf(mail: Parsed): ReadMail {
  const { name, address } = addressesIn(mail.from ? [mail.from] : [])[0] ?? {
    name: '',
    address: '',
  }
  const listed = (group: Email['to']) => addressesIn(group).map((one) => one.address)
  return {
    subject: mail.subject ?? '',
    html: withoutLastBreak(mail.html),
    text: withoutLastBreak(mail.text),
    from: { name, address },
    to: listed(mail.to),
    cc: listed(mail.cc),
    reply_to: listed(mail.replyTo),
    message_id: mail.messageId,
    headers: mail.headers.map(({ originalKey, value }) => [originalKey, value]),
    own: ownHeaders(mail),
    attachments: mail.attachments.map(attachmentOf),
  }
}

function ownHeaders({ headers }: Parsed): Record<string, string> {
  const own = headers.filter(({ key }) => /^x-svc-[a-z-]+$/.test(key))
  // The first header of a name counts, as for the headers that the library reads.
  return Object.fromEntries(own.reverse().map(({ key, value }) => [key, decodeWords(value)]))
}

/** The addresses of a header, also those in groups. */
function addressesIn(list: Email['to'] = []): { name: string; address: string }[] {
  return list
    .flatMap((one) => one.group ?? [one])
    .flatMap(({ name, address }) => (address ? [{ name, address }] : []))
    .slice(0, ADDRESSES_MAX)
}

/** The line break before the end of a mail or of its part is not in the text. */
function withoutLastBreak(text: string | undefined): string | undefined {
  return text?.replace(/\r?\n$/, '')
}

function attachmentOf(part: Part): ReadAttachment {
  const { filename, mimeType, parameters = {}, disposition, related, contentId, content } = part
  const isShown = disposition === 'inline' || related === true
  return {
    filename: filename ?? undefined,
    content_type: mimeType,
    parameters,
    content_id: isShown ? contentId?.replace(/^<|>$/g, '') : undefined,
    // The library gives an array of its own for each file.
    content: new Uint8Array(content as ArrayBuffer),
  }
}
