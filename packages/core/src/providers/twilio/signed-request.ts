import { validateRequest, validateRequestWithBody } from 'twilio/lib/webhooks/webhooks.js'
import type { CallbackRequest } from '../../contract/outside/provider.ts'

/** The parameters of a form. A name that occurs more than once has several values. */
type Params = ReadonlyMap<string, readonly string[]>

/** Reads a field of a request by its name; undefined for a field that the request does not have. */
export type Fields = (name: string) => string | undefined

/**
 * The parameters that the signature covers in addition to the address: all parameters of a form, none for a GET.
 * @returns null for JSON: the signature covers JSON only by its hash in the address.
 */
export function formOf(request: CallbackRequest): Params | null {
  if (request.method === 'GET') return new Map()
  if (/^application\/json\b/i.test(request.headers['content-type'] ?? '')) return null
  return paramsOf(new URLSearchParams(textOf(request.body)))
}

/**
 * Whether Twilio signed the request. Checks as Twilio's package does: in constant time, with and without the standard
 * port, because Twilio's back ends sign differently. `bodySHA256` in the address covers the body. The package's main
 * entry is not loaded: it takes 90 ms and 9 MB, in the thread that serves requests.
 */
export function isSigned(
  { url, headers, body }: CallbackRequest,
  form: Params | null,
  auth_token: string,
): boolean {
  const signature = headers['x-twilio-signature'] ?? ''
  if (/[?&]bodySHA256=/.test(url)) {
    return validateRequestWithBody(auth_token, signature, url, Buffer.from(body).toString())
  }
  return form !== null && validateRequest(auth_token, signature, url, Object.fromEntries(form))
}

/**
 * The fields of a form, of a JSON object or, for a GET, of the query.
 * @returns null for JSON that is not an object.
 */
export function fieldsOf(request: CallbackRequest, form: Params | null): Fields | null {
  if (request.method === 'GET') {
    const query = paramsOf(new URL(request.url).searchParams)
    return (name) => query.get(name)?.[0]
  }
  if (form) return (name) => form.get(name)?.[0]
  const object = objectOf(textOf(request.body))
  return object && ((name) => textIn(object, name))
}

function paramsOf(form: URLSearchParams): Params {
  const params = new Map<string, string[]>()
  for (const [name, value] of form) {
    const values = params.get(name)
    if (values) values.push(value)
    else params.set(name, [value])
  }
  return params
}

function objectOf(text: string): object | null {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && !Array.isArray(json) ? json : null
  } catch {
    return null
  }
}

function textIn(object: object, name: string): string | undefined {
  const value: unknown = Object.hasOwn(object, name) ? Reflect.get(object, name) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body)
}
