import { isRecord } from '../../../src/contract/fields/fields.ts'

/** A number of the business at Meta. */
export interface MetaNumber {
  number: string
  phone_number_id: string
}

/** The numbers of the local Meta. */
export const NUMBERS: readonly [MetaNumber, MetaNumber] = [
  { number: '+15550783881', phone_number_id: '106540352242922' },
  { number: '+15550783882', phone_number_id: '106540352242923' },
]

/** An approved template; `body` is the number of its variables, or their names. */
export interface MetaTemplate {
  name: string
  language: string
  body: number | readonly string[]
  /** How many variables the header has; default: none. */
  header?: number
  /** Whether its first button takes a variable. */
  button?: boolean
  /** Its state at Meta; default: APPROVED. */
  status?: string
  /** Why Meta rejected it; default: NONE. */
  rejected_reason?: string
}

/** A complete request to the API. */
export interface MetaRequest {
  method: string
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  body: string
  /** The message that Meta accepted, whatever it answered; null if it accepted none. */
  taken: MetaMessage | null
}

/** A message that Meta has accepted; outcomes are compared with it. */
export interface MetaMessage {
  wamid: string
  phone_number_id: string
  /** With the plus sign. */
  to: string
  type: string
  /** The body of the request. */
  body: Record<string, unknown>
  opaque: string | null
}

/** Why Meta refuses a call. `message` repeats parts of the request, as Meta's sometimes does. */
export interface MetaError {
  status: number
  code: number
  message: string
  subcode?: number
}

/** An error in the format of the Graph API. */
export function errorBody({ code, message, subcode }: Omit<MetaError, 'status'>): object {
  return {
    error: {
      message: `(#${code}) ${message}`,
      type: 'OAuthException',
      code,
      ...(subcode !== undefined && { error_subcode: subcode }),
      error_data: { messaging_product: 'whatsapp', details: message },
      fbtrace_id: 'AbCdEfGhIjKlMnOpQrStUvW',
    },
  }
}

/** The error of Meta for the body of a message, or null. Source: Meta, Cloud API, Messages. */
export function faultOfBody(
  body: unknown,
  { from, templates }: { from: MetaNumber; templates: readonly MetaTemplate[] },
): MetaError | null {
  if (!isRecord(body)) return refused(100, 'The body is not JSON')
  const { messaging_product, to, type, biz_opaque_callback_data: opaque } = body
  if (messaging_product !== 'whatsapp') return refused(100, 'messaging_product is required')
  if (typeof to !== 'string' || !/^\+?[1-9]\d{4,14}$/.test(to)) {
    return refused(131009, `Parameter value is not valid: to=${String(to)}`)
  }
  if (to.replace('+', '') === from.number.slice(1)) return refused(131021, 'Recipient is sender')
  if (opaque !== undefined && (typeof opaque !== 'string' || opaque.length > 512)) {
    return refused(100, 'biz_opaque_callback_data must be a text of at most 512 characters')
  }
  if (typeof type !== 'string') return refused(131008, 'type is required')
  const payload = body[type]
  if (!isRecord(payload)) return refused(131008, `Required parameter is missing: ${type}`)
  if (type === 'text') return faultOfText(payload)
  if (type === 'template') return faultOfTemplate(payload, templates)
  if (type in MEDIA_FIELDS) return faultOfMedia(type as keyof typeof MEDIA_FIELDS, payload)
  return refused(131051, `Unsupported message type ${type}`)
}

type Fields = Record<string, unknown>

function refused(code: number, message: string): MetaError {
  return { status: 400, code, message }
}

function faultOfText(payload: Fields): MetaError | null {
  const { body } = payload
  if (typeof body !== 'string' || body === '' || body.length > 4096) {
    return refused(100, `Param text['body'] must be 1 to 4096 characters: ${String(body)}`)
  }
  return extra(payload, ['body', 'preview_url'])
}

const MEDIA_FIELDS = {
  image: ['link', 'caption'],
  video: ['link', 'caption'],
  audio: ['link'],
  document: ['link', 'caption', 'filename'],
  sticker: ['link'],
} as const

function faultOfMedia(type: keyof typeof MEDIA_FIELDS, payload: Fields): MetaError | null {
  const { link, caption = '' } = payload
  if (typeof link !== 'string' || !/^https?:\/\/[^\s]+$/.test(link)) {
    return refused(100, `Param ${type}['link'] is not a valid URI: ${String(link)}`)
  }
  if (typeof caption !== 'string' || caption.length > 1024) return refused(100, 'caption too long')
  return extra(payload, MEDIA_FIELDS[type])
}

/** Meta refuses unknown fields. */
function extra(payload: Fields, allowed: readonly string[]): MetaError | null {
  const unknown = Object.keys(payload).find((name) => !allowed.includes(name))
  return unknown === undefined ? null : refused(100, `Unexpected key "${unknown}"`)
}

function faultOfTemplate(payload: Fields, templates: readonly MetaTemplate[]): MetaError | null {
  const language = isRecord(payload.language) ? payload.language.code : null
  const template = templates.find(
    (each) => each.name === payload.name && each.language === language,
  )
  if (!template) {
    const message = `Template name (${String(payload.name)}) does not exist in ${String(language)}`
    return { status: 404, code: 132001, message }
  }
  const { header = 0, body, button = false } = template
  return (
    faultOfPart(payload, 'header', header) ??
    faultOfPart(payload, 'body', body) ??
    faultOfPart(payload, 'button', button ? 1 : 0)
  )
}

function faultOfPart(
  payload: Fields,
  type: string,
  expected: number | readonly string[],
): MetaError | null {
  const components = Array.isArray(payload.components) ? payload.components.filter(isRecord) : []
  const [component = {}, ...more] = components.filter((each) => each.type === type)
  if (more.length > 0) return refused(132000, `Component ${type} is there more than once`)
  const parameters = Array.isArray(component.parameters) ? component.parameters : []
  const count = typeof expected === 'number' ? expected : expected.length
  if (parameters.length !== count) {
    const message = `${type}: number of localizable_params (${parameters.length}) does not match the expected number of params (${count})`
    return refused(132000, message)
  }
  for (const [i, parameter] of parameters.entries()) {
    const { type: kind, text, parameter_name } = isRecord(parameter) ? parameter : {}
    const isNamed = typeof expected === 'number' || expected.includes(String(parameter_name))
    if (kind !== 'text' || typeof text !== 'string' || text === '' || !isNamed) {
      return refused(132012, `Parameter format does not match format in the created template: ${i}`)
    }
    if (/[\r\n\t]| {5}/.test(text)) {
      const rule = 'cannot have new-line/tab characters or more than 4 consecutive spaces'
      return refused(132018, `Param text ${rule}: ${text}`)
    }
  }
  return null
}
