import { createHmac } from 'node:crypto'
import type { HttpCall } from '../../http/client.ts'
import type { AuthSettings, RequestSettings } from './settings.ts'
import { fillJson, fillPairs, fillText, type Json, type ValueOf } from './template.ts'

/** The request for a message: the filled template with the gateway's credentials. */
export function requestOf(
  template: RequestSettings,
  auth: AuthSettings | undefined,
  value_of: ValueOf,
): HttpCall {
  const { method } = template
  const form = template.form && fillPairs(template.form, value_of)
  const url = new URL(fillText(template.url, value_of, encodedPart))
  for (const [name, value] of fillPairs(template.query, value_of)) {
    url.searchParams.append(name, value)
  }
  if (auth?.type === 'parameters') {
    for (const [name, value] of Object.entries(auth.parameters)) {
      ;(form ?? url.searchParams).append(name, value)
    }
  }
  const headers = Object.fromEntries(
    Object.entries(template.headers).map(([name, text]) => [
      name.toLowerCase(),
      fillText(text, value_of),
    ]),
  )
  const body = bodyOf(template, form, value_of)
  const signed = body?.text ?? `${url.pathname}${url.search}`
  return {
    method,
    url: url.href,
    headers: { ...body?.headers, ...headers, ...credentials(auth, signed) },
    ...(body && { body: body.text }),
  }
}

/** Encodes a value for a path or a query. A segment `.` or `..` would change the path, even if it were encoded. */
function encodedPart(value: string): string {
  return /^\.{1,2}$/.test(value) ? '' : encodeURIComponent(value.toWellFormed())
}

function bodyOf(template: RequestSettings, form: URLSearchParams | undefined, value_of: ValueOf) {
  if (form) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return { text: form.toString(), headers }
  }
  if (template.body === undefined) return null
  const text = JSON.stringify(fillJson(template.body as Json, value_of) ?? null)
  return { text, headers: { 'content-type': 'application/json' } }
}

function credentials(auth: AuthSettings | undefined, signed: string): Record<string, string> {
  switch (auth?.type) {
    case 'bearer':
      return { authorization: `Bearer ${auth.token}` }
    case 'basic':
      return { authorization: `Basic ${basicPair(auth)}` }
    case 'header':
      return { [auth.name.toLowerCase()]: auth.value }
    case 'hmac':
      return { [auth.header.toLowerCase()]: signatureOf(auth, signed) }
    default:
      return {}
  }
}

/** User and password, encoded: RFC 7617 section 2. */
export function basicPair({ user, password }: { user: string; password: string }): string {
  return Buffer.from(`${user}:${password}`).toString('base64')
}

/** The keyed hash for a header. */
export function signatureOf(
  {
    secret,
    algorithm,
    encoding,
    prefix,
  }: { secret: string; algorithm: string; encoding: 'hex' | 'base64'; prefix: string },
  signed: string | Uint8Array,
): string {
  return `${prefix}${createHmac(algorithm, secret).update(signed).digest(encoding)}`
}
