/** Fields that hold a secret, by their names in requests and answers. */
const SECRET_NAME = /password|secret|token|private_key|^api_key$|^key$|authorization/i

/** Secrets of the service in a text: API keys, webhook secrets, session tokens. */
const SECRET_TEXT = /\b(?:svc_[\w-]{8,}|whsec_[\w+/=-]{8,}|eyJhbGciOi[\w.-]*)/g

const MASK = '•••'

/** Limits of a shown body: more would fill the memory. */
const ITEMS_MAX = 50
const TEXT_MAX = 500
const BODY_MAX = 8_000
const DEPTH_MAX = 10

/** A body as indented JSON, with secrets masked and long parts cut. The work is bounded, however large the body is. */
export function maskedJson(value: unknown): string {
  const room = { length: BODY_MAX }
  return JSON.stringify(maskedCopy(value, room, 0), null, 2) ?? ''
}

/** A text with its secrets masked, cut. */
export function maskedText(text: string): string {
  return cut(text, BODY_MAX).replace(SECRET_TEXT, MASK)
}

/** A path whose query has its secrets masked. */
export function maskedPath(url: string): string {
  const [path = '', query] = cut(url, TEXT_MAX).split('?', 2)
  if (query === undefined) return path
  const pairs = query.split('&').map((pair) => {
    const [name = ''] = pair.split('=', 1)
    return SECRET_NAME.test(name) ? `${name}=${MASK}` : pair
  })
  return `${path}?${pairs.join('&')}`.replace(SECRET_TEXT, MASK)
}

function maskedCopy(value: unknown, room: { length: number }, depth: number): unknown {
  if (room.length <= 0 || depth > DEPTH_MAX) return '…'
  room.length -= 8
  if (typeof value === 'string') {
    const text = cut(value, TEXT_MAX).replace(SECRET_TEXT, MASK)
    room.length -= text.length
    return text
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => maskedCopy(item, room, depth + 1))
    return value.length > ITEMS_MAX ? [...items, `… ${value.length - ITEMS_MAX} more`] : items
  }
  const copy: Record<string, unknown> = {}
  let left = ITEMS_MAX
  for (const name in value) {
    if (!Object.hasOwn(value, name)) continue
    if (left === 0 || room.length <= 0) {
      copy['…'] = '…'
      break
    }
    left -= 1
    room.length -= name.length
    const inner = (value as Record<string, unknown>)[name]
    copy[cut(name, TEXT_MAX)] =
      SECRET_NAME.test(name) && typeof inner === 'string'
        ? MASK
        : maskedCopy(inner, room, depth + 1)
  }
  return copy
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max).toWellFormed()}…` : text
}
