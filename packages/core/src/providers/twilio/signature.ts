import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** The parameters of a form, with every value of a name that came more than once. */
export type Params = ReadonlyMap<string, readonly string[]>

/** A form, or a query, as Twilio signs it. */
export function paramsOf(form: URLSearchParams): Params {
  const params = new Map<string, string[]>()
  for (const [name, value] of form) {
    const values = params.get(name)
    if (values) values.push(value)
    else params.set(name, [value])
  }
  return params
}

/**
 * `X-Twilio-Signature`: base64 of HMAC-SHA1 over the address and, for each name in order, the name and its value. The
 * values of a repeated name are told once each, in order. Source: Twilio, Webhooks security; its library, version 6.
 */
export function signatureOf(auth_token: string, url: string, params: Params): string {
  const told = [...params.keys()]
    .sort()
    .flatMap((name) => [...new Set(params.get(name))].sort().map((value) => name + value))
  return createHmac('sha1', auth_token)
    .update(url + told.join(''))
    .digest('base64')
}

/**
 * Whether Twilio signed this. As its back ends differ in that, the address counts with its standard port and without
 * any. An address with a `bodySHA256` signs its body by that hash, and no parameters.
 */
export function isSigned({
  auth_token,
  signature,
  url,
  body,
  params,
}: {
  auth_token: string
  signature: string | undefined
  url: string
  body: Uint8Array
  /** Null where parameters are not what the body has. */
  params: Params | null
}): boolean {
  const body_hash = /[?&]bodySHA256=([^&#]*)/.exec(url)?.[1]
  const signed: Params | null = body_hash === undefined ? params : new Map()
  if (!signed) return false
  const holds = [withoutPort(url), withPort(url)].some((address) =>
    equal(signatureOf(auth_token, address, signed), signature ?? ''),
  )
  if (!holds || body_hash === undefined) return holds
  return equal(createHash('sha256').update(body).digest('hex'), body_hash)
}

const ADDRESS = /^(https?:\/\/)(\[[^\]]*\]|[^/?#:]*)(:\d*)?(.*)$/is

function withoutPort(url: string): string {
  return url.replace(ADDRESS, '$1$2$4')
}

function withPort(url: string): string {
  return url.replace(ADDRESS, (_, scheme: string, host: string, port: string, rest: string) =>
    [scheme, host, port || (scheme.toLowerCase() === 'https://' ? ':443' : ':80'), rest].join(''),
  )
}

/** In a time that does not tell how much of it was right. */
function equal(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)]
  return a.length === b.length && timingSafeEqual(a, b)
}
