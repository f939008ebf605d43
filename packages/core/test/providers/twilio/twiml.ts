/** A verb of TwiML. */
export interface Verb {
  name: string
  attributes: Record<string, string>
  /** Its text with decoded entities; the verbs inside it are `verbs`. */
  text: string
  verbs: Verb[]
}

const TAG = /<(\/?)([A-Za-z][\w.-]*)((?:\s+[A-Za-z_][\w.:-]*="[^"<]*")*)\s*(\/?)>/y
const ATTRIBUTE = /([A-Za-z_][\w.:-]*)="([^"<]*)"/g
const DECLARATION = /^<\?xml version="1\.0" encoding="UTF-8"\?>/
const TEXT = /[^<]+/y
const ENTITY = /&(?:amp|lt|gt|quot|apos|#\d+|#x[0-9a-fA-F]+);/g
const ENTITIES: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
}

/** The characters of XML 1.0 (section 2.2). A document with any other is not well-formed. */
const ALLOWED = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u

/**
 * Reads the verbs of a TwiML document in the order in which Twilio executes them. It knows only the XML that TwiML needs,
 * and is strict. Null if the document is not well-formed or its root is not `Response`.
 */
export function readTwiml(declared: string): Verb[] | null {
  const document = declared.replace(DECLARATION, '')
  if (!ALLOWED.test(document)) return null
  const root: Verb = { name: '', attributes: {}, text: '', verbs: [] }
  const open = [root]
  let at = 0
  while (at < document.length) {
    const inner = open.at(-1)
    if (!inner) return null
    const text = matchAt(TEXT, document, at)
    if (text) {
      const decoded = decode(text[0])
      if (decoded === null) return null
      inner.text += decoded
      at += text[0].length
      continue
    }
    const tag = matchAt(TAG, document, at)
    if (!tag) return null
    at += tag[0].length
    const [, closing, name = '', attributes = '', empty] = tag
    if (closing) {
      if (open.pop()?.name !== name) return null
      continue
    }
    const verb = { name, attributes: attributesOf(attributes), text: '', verbs: [] }
    inner.verbs.push(verb)
    if (!empty) open.push(verb)
  }
  const [response, ...others] = root.verbs
  const is_whole = open.length === 1 && others.length === 0 && root.text.trim() === ''
  return is_whole && response?.name === 'Response' ? response.verbs : null
}

function matchAt(form: RegExp, text: string, at: number): RegExpExecArray | null {
  form.lastIndex = at
  return form.exec(text)
}

function attributesOf(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(ATTRIBUTE)].map(([, name = '', value = '']) => [name, decode(value) ?? '']),
  )
}

function decode(text: string): string | null {
  if (text.replace(ENTITY, '').includes('&')) return null
  return text.replace(ENTITY, (entity) => {
    const known = ENTITIES[entity]
    if (known !== undefined) return known
    const digits = entity.slice(2, -1)
    return String.fromCodePoint(
      digits.startsWith('x') ? Number.parseInt(digits.slice(1), 16) : Number(digits),
    )
  })
}
