import type { Content } from '../../contract/resources/messages.ts'
import { basicPair } from './request.ts'
import type { AuthSettings, CallbackSettings, RequestSettings } from './settings.ts'
import { type Json, literalsOf } from './template.ts'

/** An error that contains this many characters of a text repeats that text. */
const WINDOW = 16

/** A shorter text can occur in an error by chance. */
const MIN_LENGTH = 4

/** How many characters of each text are compared. */
const COMPARED = 100_000

/**
 * Whether an error of the gateway repeats the request. Some gateways copy the message or the credentials into their
 * errors; such an error must not be stored or shown.
 */
export function echoes(error: string, content: Content, secrets: readonly string[]): boolean {
  if (containsSecret(error, secrets)) return true
  const texts = textsOf(content).filter((text) => text.length >= MIN_LENGTH)
  return texts.some((text) => {
    if (text.length <= WINDOW) return error.includes(text)
    const compared = text.slice(0, COMPARED)
    for (let at = 0; at + WINDOW <= error.length; at += 1) {
      if (compared.includes(error.slice(at, at + WINDOW))) return true
    }
    return false
  })
}

export function containsSecret(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => text.includes(secret))
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value.trim()]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsOf)
}

/** A shorter text of a template can occur in an error by chance. */
const MIN_LITERAL_LENGTH = 8

/**
 * Every secret in the settings: no text that is stored or shown may contain one. A template may contain an unmarked
 * secret anywhere, so every literal text that is long enough counts as a secret.
 */
export function secretsOf({ auth, callback, send, lookup }: Secretive): string[] {
  const literals = [send, lookup?.request].flatMap((request) =>
    request ? literalsIn(request) : [],
  )
  const secrets = [...secretValues(auth), ...secretValues(callback?.auth), ...literals]
  // An error may repeat a secret as it was encoded in a URL or a form.
  return [
    ...new Set(secrets.flatMap((secret) => [secret, encodeURIComponent(secret.toWellFormed())])),
  ]
}

interface Secretive {
  auth?: AuthSettings | undefined
  callback?: CallbackSettings | undefined
  send: RequestSettings
  lookup?: { request: RequestSettings } | undefined
}

/** Each literal text of a request, and each word of it: an error may repeat `Bearer x` as `x`. */
function literalsIn({ url, headers, query, form, body }: RequestSettings): string[] {
  return literalsOf([partsOf(url), headers, query, form ?? null, body ?? null] as Json)
    .flatMap((text) => [text, ...text.split(/\s+/)])
    .filter((text) => text.length >= MIN_LITERAL_LENGTH)
}

/** The parts of a URL after its host, without parameter names and common names of resources. */
function partsOf(url: string): string[] {
  const [path = '', search = ''] = url.replace(/^https?:\/\/[^/?]*/i, '').split(/\?(.*)/s)
  const segments = path.split('/').filter((segment) => !/^[a-z_-]{1,19}$/.test(segment))
  return [...segments, ...search.split('&').map((pair) => pair.replace(/^[^=]*=/, ''))]
}

const SECRET_NAMES = new Set(['token', 'password', 'value', 'secret'])

function secretValues(auth: AuthSettings | CallbackSettings['auth'] | undefined): string[] {
  const pair = auth?.type === 'basic' ? [basicPair(auth)] : []
  return [
    ...pair,
    ...Object.entries(auth ?? {}).flatMap(([name, value]) => {
      if (name === 'parameters') return Object.values(value as Record<string, string>)
      return SECRET_NAMES.has(name) ? [String(value)] : []
    }),
  ]
}
