import type { CallbackRequest } from '../../contract/outside/provider.ts'
import { type Params, paramsOf } from './signature.ts'

/** What a request tells, by name; undefined for what it does not tell. */
export type Fields = (name: string) => string | undefined

/**
 * The parameters that the signature covers beside the address: a form's, and none of a GET.
 * @returns null for JSON, which only its hash in the address can cover.
 */
export function formOf(request: CallbackRequest): Params | null {
  if (request.method === 'GET') return new Map()
  if (isJson(request)) return null
  return paramsOf(new URLSearchParams(textOf(request.body)))
}

/**
 * A form's fields, an object's of JSON, or, where it was a GET, the query's.
 * @returns null for JSON that is no object.
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

function isJson({ headers }: CallbackRequest): boolean {
  return /^application\/json\b/i.test(headers['content-type'] ?? '')
}

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body)
}
