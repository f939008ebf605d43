/**
 * The plain text of an HTML e-mail: a line for each block, links with their address, images by their alternative text.
 * Placeholders in texts and addresses stay. Hidden elements are left out, such as the text that mail programs show beside
 * the subject. Reads the HTML at most twice, so that its time grows with its length.
 */
export function textOfHtml(html: string): string {
  // A hidden element without an end would hide the rest.
  return read(html, true) ?? read(html, false) ?? ''
}

/** Returns null if a hidden element has no end. */
function read(html: string, skips_hidden: boolean): string | null {
  const out = new Lines()
  /** The hidden element around the current place, and how many elements of its name are open. */
  let hidden: { name: string; depth: number } | null = null
  let at = 0
  while (at < html.length) {
    const open = markupAt(html, at)
    if (hidden === null) out.addText(html.slice(at, open === -1 ? undefined : open))
    if (open === -1) break
    if (html.startsWith('<!--', open)) {
      at = after(html, '-->', open + 4)
      continue
    }
    const name = nameAt(html, open + 1)
    if (name === '') {
      at = after(html, '>', open)
      continue
    }
    const tag = tagAt(html, open + 1 + name.length)
    at = tag.end
    if (hidden !== null) {
      if (name === hidden.name) hidden.depth += 1
      else if (name === `/${hidden.name}` && --hidden.depth === 0) hidden = null
    } else if (skips_hidden && CAN_HIDE.has(name) && isHidden(tag.text)) {
      hidden = { name, depth: 1 }
    } else if (UNSEEN.has(name)) {
      at = after(html, '>', after(html, `</${name}`, at, true))
    } else if (name === 'br') out.newLine()
    else if (name === 'img') out.addText(attribute(tag.text, 'alt'))
    else if (name === 'a') out.beginLink(attribute(tag.text, 'href'))
    else if (name === '/a') out.endLink()
    else if (name === 'li') out.newLine('- ')
    else if (name === 'td' || name === 'th') out.addText(' ')
    else if (PARAGRAPHS.has(name)) out.newParagraph()
    else if (LINES.has(name)) out.newLine()
  }
  return hidden === null ? out.toString() : null
}

/** Elements with an end that mail programs hide. */
const CAN_HIDE = new Set(['div', 'span', 'p', 'td', 'tr', 'table', 'section'])

const HIDING = /display\s*:\s*none|mso-hide\s*:\s*all/i

function isHidden(tag: string): boolean {
  return HIDING.test(tag) && HIDING.test(attribute(tag, 'style'))
}

/** Elements whose content no reader sees. */
const UNSEEN = new Set(['head', 'style', 'script', 'title', 'template'])

const withEnds = (names: readonly string[]) => new Set(names.flatMap((name) => [name, `/${name}`]))
const PARAGRAPHS = withEnds([
  'p',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'table',
  'ul',
  'ol',
  'blockquote',
  'hr',
])
const LINES = withEnds([
  'div',
  'tr',
  'section',
  'article',
  'header',
  'footer',
  'center',
  'pre',
  'dl',
  'dt',
  'dd',
])

/** The text as lines, with blanks as a browser shows them. Parts are joined once: to read a growing text copies it. */
class Lines {
  #parts: string[] = []
  #is_blank = true
  #ends_with_blank = true
  #is_empty_above = true
  /** The open link: its address, and the part with which its label begins. */
  #link: { href: string; from: number } | null = null

  addText(html: string): void {
    const text = decodeEntities(html).replace(/[ \t\r\n\f]+/g, ' ')
    const seen = this.#ends_with_blank && text.startsWith(' ') ? text.slice(1) : text
    if (seen === '') return
    this.#parts.push(seen)
    this.#is_blank &&= seen === ' '
    this.#ends_with_blank = seen.endsWith(' ')
  }

  beginLink(href: string): void {
    this.#link = { href, from: this.#parts.length }
  }

  endLink(): void {
    const link = this.#link
    this.#link = null
    if (link === null || link.href === '' || link.href.startsWith('#')) return
    const label = this.#parts.slice(link.from).join('').trim()
    if (label !== link.href) this.addText(`${label === '' ? '' : ' '}(${link.href})`)
  }

  newLine(start = ''): void {
    if (!this.#is_blank) {
      this.#parts.push('\n')
      this.#is_empty_above = false
    }
    this.#is_blank = true
    this.#ends_with_blank = true
    if (start !== '') this.#parts.push(start)
  }

  newParagraph(): void {
    this.newLine()
    if (!this.#is_empty_above) this.#parts.push('\n')
    this.#is_empty_above = true
  }

  toString(): string {
    const lines = this.#parts.join('').split('\n')
    return lines
      .map((line) => line.trimEnd())
      .join('\n')
      .trim()
  }
}

/** The position after the next `end`, or the end of the HTML. */
function after(html: string, end: string, from: number, isName = false): number {
  const at = isName ? indexOfName(html, end, from) : html.indexOf(end, from)
  return at === -1 ? html.length : at + end.length
}

const MARKUP = /<[A-Za-z/!?]/g

/** The next place of a tag, a comment or a declaration; -1 for none. Another `<` is text. */
function markupAt(html: string, from: number): number {
  MARKUP.lastIndex = from
  return MARKUP.exec(html)?.index ?? -1
}

/** The next place of a tag, in upper or lower case. */
function indexOfName(html: string, tag: string, from: number): number {
  for (let at = html.indexOf('</', from); at !== -1; at = html.indexOf('</', at + 2)) {
    if (html.slice(at, at + tag.length).toLowerCase() === tag) return at
  }
  return -1
}

/** The lower-case name of the tag at a position, with `/` for an end; empty if no tag begins there. */
function nameAt(html: string, at: number): string {
  const name = /^\/?[A-Za-z][A-Za-z0-9]*/.exec(html.slice(at, at + 20))
  return (name?.[0] ?? '').toLowerCase()
}

/** The attributes of a tag, and the position after it. Quoted attributes may have `>`. */
function tagAt(html: string, from: number): { text: string; end: number } {
  let at = from
  while (at < html.length) {
    const next = html[at]
    if (next === '>') return { text: html.slice(from, at), end: at + 1 }
    if ((next === '"' || next === "'") && html[at - 1] === '=') {
      const end = html.indexOf(next, at + 1)
      at = end === -1 ? html.length : end + 1
    } else at += 1
  }
  return { text: html.slice(from), end: html.length }
}

/** The value of a quoted or a bare attribute; empty without one. */
function attribute(tag: string, name: string): string {
  const at = tag.toLowerCase().search(new RegExp(`\\s${name}=`))
  if (at === -1) return ''
  const value = tag.slice(at + name.length + 2)
  const quote = value[0]
  const isQuoted = quote === '"' || quote === "'"
  const end = isQuoted ? value.indexOf(quote, 1) : value.search(/\s/)
  return decodeEntities(value.slice(isQuoted ? 1 : 0, end === -1 ? undefined : end)).trim()
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  euro: '€',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  middot: '·',
  bull: '•',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  zwnj: '',
  shy: '',
}

function decodeEntities(html: string): string {
  if (!html.includes('&')) return html
  return html.replace(
    /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));/gi,
    (all, hex, digits, name) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? all
      const code = Number.parseInt(hex ?? digits, hex === undefined ? 10 : 16)
      return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
        ? String.fromCodePoint(code)
        : all
    },
  )
}
