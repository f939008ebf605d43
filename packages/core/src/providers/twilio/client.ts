import twilio from 'twilio'
import type { Answered, ProviderAnswer, ProviderClient } from '../http-client.ts'
import { fieldOf, UnsuccessfulCall } from './outcome.ts'
import { isLoopback, type TwilioSettings } from './settings.ts'

/** The client of Twilio's own package. */
export type TwilioClient = twilio.Twilio

const API_URL = 'https://api.twilio.com'

/** Of the templates of WhatsApp. */
const CONTENT_URL = 'https://content.twilio.com'

/** The maximum length of the address of the next page. */
const URI_MAX = 4_000

/**
 * The client of Twilio's package, on our HTTP client: connections, deadline and size limit are ours, without retries.
 * A failure keeps its headers and states whether bytes were written; the package's errors drop both. The host is
 * always the configured one: `TWILIO_REGION` or an address in an answer cannot redirect the credentials.
 */
export function createTwilioClient(settings: TwilioSettings, http: ProviderClient): TwilioClient {
  const { account_sid, auth_token, api_key_sid, api_key_secret } = settings
  const user = api_key_sid ?? account_sid
  const password = api_key_secret ?? auth_token
  const Authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`

  const api_url = settings.api_url ?? API_URL
  // The API of a region has no templates; a stand-in on this machine has all.
  const content_url = isLoopback(api_url) ? api_url : CONTENT_URL

  async function request({ method, uri, headers, params, data }: RequestOptions) {
    const { origin, pathname, search } = new URL(uri)
    const query = params ? `?${formOf(params)}` : search
    const answer = await http.call({
      method: method === 'post' ? 'POST' : 'GET',
      url: `${origin === CONTENT_URL ? content_url : api_url}${pathname}${query}`,
      headers: { ...(headers as Record<string, string>), Authorization },
      ...(data && { body: formOf(data).toString() }),
    })
    if (!isSuccess(answer, method)) throw new UnsuccessfulCall(answer)
    const list = method === 'get' && LISTS.find(({ path }) => path.test(pathname))
    if (list && !isPage(answer.json, list.name)) throw new Error('It is not a page')
    return { statusCode: answer.status, headers: answer.headers, body: answer.json }
  }

  return new twilio.Twilio(user, password, {
    accountSid: account_sid,
    autoRetry: false,
    httpClient: { request } as unknown as twilio.RequestClient,
  })
}

/** The lists that are read, and the names of their arrays. */
const LISTS = [
  { path: /\/Messages\.json$/, name: 'messages' },
  { path: /\/Calls\.json$/, name: 'calls' },
  { path: /\/ContentAndApprovals$/, name: 'contents' },
]

type RequestOptions = Parameters<twilio.RequestClient['request']>[0] & {
  params?: object
  data?: object
}

function formOf(fields: object): URLSearchParams {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) form.append(name, String(one))
  }
  return form
}

function isSuccess(answer: ProviderAnswer, method: RequestOptions['method']): answer is Answered {
  if (answer.type !== 'answered') return false
  return method === 'get' ? answer.status === 200 : answer.status >= 200 && answer.status < 300
}

/**
 * The package reads any array of a page as the list. An error in a success would count as an empty list, and the
 * message would be sent again. The time to trim the next address grows with the square of its length.
 */
function isPage(json: unknown, list: string): boolean {
  const next =
    fieldOf(json, 'next_page_uri') ?? fieldOf(fieldOf(json, 'meta'), 'next_page_url') ?? ''
  return Array.isArray(fieldOf(json, list)) && typeof next === 'string' && next.length <= URI_MAX
}
