/**
 * Characters of a mail's address headers that begin or end something in them. A named address has 5 of them:
 * `"A" <a@b>,`. The parser needs up to 4 µs for each.
 */
const ADDRESS_MARKS_MAX = 6_000
/** The parser reads a group again for each colon in it: colons times bytes, 33 ns for each. */
const COLON_BYTES_MAX = 512 * 1024
const HEADERS_MAX = 500
/** The headers that the library gives to its address parser. */
const ADDRESS_HEADERS: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'bcc',
  'delivered-to',
  'return-path',
])

/**
 * What is too much in the headers of a mail (RFC 5322), as a text for its sender; null if they can be parsed in a short time.
 * It takes linear time for any bytes, and reads the headers as `postal-mime` does: the first line is never folded, and a name
 * can be.
 */
export function headFault(raw: Uint8Array, bytes_max: number): string | null {
  const size = headSize(raw, bytes_max + 1)
  if (size > bytes_max) return `Maximum header size of ${bytes_max} bytes exceeded`
  let headers = 0
  let marks = 0
  let colons = 0
  let bytes = 0
  for (const header of headersIn(raw.subarray(0, size))) {
    headers += 1
    if (headers > HEADERS_MAX) return `The mail must have at most ${HEADERS_MAX} headers`
    const colon = header.indexOf(':')
    if (colon < 0 || !ADDRESS_HEADERS.has(header.slice(0, colon).trim().toLowerCase())) continue
    const value = header.slice(colon + 1)
    marks += value.match(/[,;:"()<>]/g)?.length ?? 0
    colons += value.match(/:/g)?.length ?? 0
    bytes += value.length
    if (marks > ADDRESS_MARKS_MAX || colons * bytes > COLON_BYTES_MAX) {
      return 'The mail has too many addresses'
    }
  }
  return null
}

/** The headers, unfolded. A byte is a character. */
function headersIn(head: Uint8Array): string[] {
  const headers: string[][] = []
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('latin1')
  for (const ended of text.split('\n')) {
    // The library drops every CR at the end of a line.
    let end = ended.length
    while (ended[end - 1] === '\r') end -= 1
    const line = ended.slice(0, end)
    const last = headers.at(-1)
    if (last && /^[ \t]/.test(line)) last.push(line)
    else if (line !== '') headers.push([line])
  }
  return headers.map((lines) => lines.join(''))
}

/** The bytes before the empty line, which may end with LF alone; at most `most`. */
function headSize(raw: Uint8Array, most: number): number {
  const beginning = raw.subarray(0, most)
  let start = 0
  while (start < beginning.length) {
    const end = beginning.indexOf(0x0a, start)
    if (end < 0) break
    let last = end
    while (last > start && beginning[last - 1] === 0x0d) last -= 1
    if (last === start) return start
    start = end + 1
  }
  return beginning.length
}
