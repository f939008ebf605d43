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
  /** Base64. */
  content: string
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

const HEADER_BYTES_MAX = 256 * 1024
const NESTING_MAX = 20
const ADDRESSES_MAX = 1_000
const HEADERS_MAX = 500
const ATTACHMENTS_MAX = 100
/**
 * Characters of a mail's address headers that begin or end something in them. A named address has 5 of them:
 * `"A" <a@b>,`. The parser needs up to 4 µs for each.
 */
const ADDRESS_MARKS_MAX = 6_000
/** The parser reads a group again for each colon in it: colons times bytes, 33 ns for each. */
const COLON_BYTES_MAX = 512 * 1024
/** The headers that the library gives to its address parser. */
const ADDRESS_HEADER = /^(?:from|sender|reply-to|to|cc|bcc|delivered-to|return-path)[ \t]*:/i

/** The options for mails that `readPlainMail` does not read. */
export const OPTIONS = {
  // A mail inside a mail stays a file.
  forceRfc822Attachments: true,
  maxNestingDepth: NESTING_MAX,
  maxHeadersSize: HEADER_BYTES_MAX,
}

/** Reads a mail (RFC 5322, MIME). Accepts any bytes and never throws. */
export async function readMail(raw: Uint8Array): Promise<Reading> {
  try {
    const fault = headFault(raw)
    if (fault !== null) return { fault }
    const mail = readPlainMail(raw) ?? (await new FileParser(OPTIONS).parse(raw))
    if (mail.headers.length > HEADERS_MAX) {
      return { fault: `The mail must have at most ${HEADERS_MAX} headers` }
    }
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

/** What is too much in the headers of a mail; null if they can be parsed. It takes linear time. */
function headFault(raw: Uint8Array): string | null {
  const tooLong = `Maximum header size of ${HEADER_BYTES_MAX} bytes exceeded`
  const size = headSize(raw)
  if (size > HEADER_BYTES_MAX) return tooLong
  let marks = 0
  let colons = 0
  let bytes = 0
  let isAddress = false
  for (const line of Buffer.from(raw.buffer, raw.byteOffset, size).toString('latin1').split('\n')) {
    const isFolded = line.startsWith(' ') || line.startsWith('\t')
    if (!isFolded) isAddress = ADDRESS_HEADER.test(line)
    if (!isAddress) continue
    marks += line.match(/[,;:"()<>]/g)?.length ?? 0
    colons += line.match(/:/g)?.length ?? 0
    if (!isFolded) colons -= 1
    bytes += line.length
    if (marks > ADDRESS_MARKS_MAX || colons * bytes > COLON_BYTES_MAX) {
      return 'The mail has too many addresses'
    }
  }
  return null
}

/** The bytes before the empty line, which may end with LF alone; at most one more than the maximum. */
function headSize(raw: Uint8Array): number {
  const most = raw.subarray(0, HEADER_BYTES_MAX + 1)
  let start = 0
  while (start < most.length) {
    const end = most.indexOf(0x0a, start)
    if (end < 0) break
    // The library drops every CR at the end of a line.
    let last = end
    while (last > start && most[last - 1] === 0x0d) last -= 1
    if (last === start) return start
    start = end + 1
  }
  return most.length
}

export function partsOf(mail: Parsed): ReadMail {
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
  const bytes =
    typeof content === 'string' ? Buffer.from(content) : Buffer.from(content as ArrayBuffer)
  return {
    filename: filename ?? undefined,
    content_type: mimeType,
    parameters,
    content_id: isShown ? contentId?.replace(/^<|>$/g, '') : undefined,
    content: bytes.toString('base64'),
  }
}
