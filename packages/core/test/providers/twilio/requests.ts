import { readTwiml } from './twiml.ts'

/** An error of Twilio. Its text may repeat the contents of the request. */
export interface ApiError {
  status: number
  code: number
  message: string
}

/** An account, and the senders it may use. */
export interface Account {
  account_sid: string
  auth_token: string
  numbers: readonly string[]
  whatsapp: readonly string[]
  services: readonly string[]
}

const NUMBER = /^\+[1-9]\d{1,14}$/
const BODY_MAX = 1_600
const TWIML_MAX = 4_000

function error(code: number, message: string, status = 400): ApiError {
  return { status, code, message }
}

/** The error with which Twilio refuses a message; null if Twilio accepts it. */
export function messageError(form: URLSearchParams, account: Account): ApiError | null {
  const [to, from, service] = [form.get('To'), form.get('From'), form.get('MessagingServiceSid')]
  if (!to) return error(21604, "A 'To' phone number is required.")
  if (!from && !service) return error(21603, "A 'From' phone number is required.")
  const is_whatsapp = to.startsWith('whatsapp:')
  if (!NUMBER.test(to.replace(/^whatsapp:/, ''))) {
    return error(21211, `The 'To' number ${to} is not a valid phone number.`)
  }
  return (
    senderError(from, service, is_whatsapp, account) ??
    contentError(form) ??
    callbackError(form) ??
    validityError(form)
  )
}

function senderError(
  from: string | null,
  service: string | null,
  is_whatsapp: boolean,
  account: Account,
): ApiError | null {
  if (service !== null) {
    return account.services.includes(service) ? null : error(21701, 'No such Messaging Service')
  }
  if (is_whatsapp) {
    const is_known = account.whatsapp.some((number) => from === `whatsapp:${number}`)
    return is_known ? null : error(63007, `Twilio could not find a Channel with From ${from}`)
  }
  return account.numbers.includes(from ?? '')
    ? null
    : error(21659, `'${from}' is not a Twilio phone number or Short Code country mismatch`)
}

function contentError(form: URLSearchParams): ApiError | null {
  const [body, content_sid, variables] = [
    form.get('Body'),
    form.get('ContentSid'),
    form.get('ContentVariables'),
  ]
  const media = form.getAll('MediaUrl')
  if (content_sid !== null) {
    if (!/^HX[0-9a-f]{32}$/i.test(content_sid)) return error(21655, 'Invalid ContentSid')
    return variables === null || isTextMap(variables) ? null : error(21656, 'Invalid variables')
  }
  if (!body && media.length === 0) return error(21619, 'A text message body or media is required.')
  if ([...(body ?? '')].length > BODY_MAX) {
    return error(21617, `The concatenated message body exceeds the limit: ${body}`)
  }
  return media.every((url) => URL.canParse(url)) ? null : error(21620, 'Invalid media URL')
}

function isTextMap(text: string): boolean {
  try {
    const map: unknown = JSON.parse(text)
    return (
      typeof map === 'object' &&
      map !== null &&
      Object.values(map).every((value) => typeof value === 'string')
    )
  } catch {
    return false
  }
}

function callbackError(form: URLSearchParams): ApiError | null {
  const url = form.get('StatusCallback')
  if (url === null) return null
  const is_fine = URL.canParse(url) && !new URL(url).hostname.includes('_') && url.length <= 4_000
  return is_fine ? null : error(21609, `The StatusCallback URL ${url} is not a valid URL.`)
}

function validityError(form: URLSearchParams): ApiError | null {
  const period = form.get('ValidityPeriod')
  if (period === null) return null
  const is_fine = /^\d+$/.test(period) && Number(period) >= 1 && Number(period) <= 36_000
  return is_fine ? null : error(90007, 'Invalid ValidityPeriod')
}

/** The error with which Twilio refuses a call; null if Twilio accepts it. */
export function callError(form: URLSearchParams, account: Account): ApiError | null {
  const [to, from, twiml] = [form.get('To') ?? '', form.get('From') ?? '', form.get('Twiml')]
  if (!NUMBER.test(to)) return error(21211, `The phone number you are attempting to call, ${to}`)
  if (!account.numbers.includes(from)) return error(21212, `The source phone number, ${from}`)
  if (twiml === null) return error(21205, 'Url parameter is required.')
  if (twiml.length > TWIML_MAX) return error(32018, 'Twiml is too long')
  if (readTwiml(twiml) === null) return error(21218, `Invalid TwiML: ${twiml}`)
  if (!/^[1-9]\d*$/.test(form.get('TimeLimit') ?? '60')) return error(20001, 'TimeLimit is invalid')
  return callbackError(form)
}
