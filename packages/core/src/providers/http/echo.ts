import type { Content } from '../../contract/resources/messages.ts'
import { basicPair } from './request.ts'
import type { AuthSettings, CallbackSettings, RequestSettings } from './settings.ts'
import { type Json, literalsOf } from './template.ts'

/** So much of a text in an error is taken for an echo of it. */
const WINDOW = 16

/** Shorter than this, a text is in another one by chance. */
const SHORTEST = 4

/** How much of each text is compared. */
const COMPARED = 100_000

/**
 * Whether what a gateway says repeats what it was sent: some put the message, or the credentials, into their errors, and
 * those must not be stored or shown.
 */
export function echoes(said: string, content: Content, secrets: readonly string[]): boolean {
  if (tells(said, secrets)) return true
  const texts = textsOf(content).filter((text) => text.length >= SHORTEST)
  return texts.some((text) => {
    if (text.length <= WINDOW) return said.includes(text)
    const compared = text.slice(0, COMPARED)
    for (let at = 0; at + WINDOW <= said.length; at += 1) {
      if (compared.includes(said.slice(at, at + WINDOW))) return true
    }
    return false
  })
}

/** Whether one of the secrets is in it. */
export function tells(said: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => said.includes(secret))
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value.trim()]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsOf)
}

/** A shorter text of a template is in errors by chance. */
const SHORTEST_LITERAL = 8

/**
 * Every secret that the settings have, for what must not be told on. A template may have one anywhere, and nothing marks
 * it there: whatever is written out in one and long enough counts.
 */
export function secretsOf({ auth, callback, send, lookup }: Secretive): string[] {
  const written = [send, lookup?.request].flatMap((request) => (request ? writtenIn(request) : []))
  const secrets = [...secretValues(auth), ...secretValues(callback?.auth), ...written]
  // Addresses and forms are repeated as they were encoded.
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

/** Whole, and word by word: `Bearer x` may be repeated as `x`. */
function writtenIn({ url, headers, query, form, body }: RequestSettings): string[] {
  return literalsOf([partsOf(url), headers, query, form ?? null, body ?? null] as Json)
    .flatMap((text) => [text, ...text.split(/\s+/)])
    .filter((text) => text.length >= SHORTEST_LITERAL)
}

/** What is part of an address after its host, but for names of parameters and what anybody would call a resource. */
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
