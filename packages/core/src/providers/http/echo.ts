import type { Content } from '../../contract/messages.ts'

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
  if (secrets.some((secret) => said.includes(secret))) return true
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

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value.trim()]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsOf)
}

/** Every secret that the settings have, for what must not be told on. */
export function secretsOf(settings: {
  auth?: object | undefined
  callback?: { auth: object } | undefined
}): string[] {
  return [...secretValues(settings.auth), ...secretValues(settings.callback?.auth)]
}

const SECRET_NAMES = new Set(['token', 'password', 'value', 'secret'])

function secretValues(auth: object | undefined): string[] {
  return Object.entries(auth ?? {}).flatMap(([name, value]) => {
    if (name === 'parameters') return Object.values(value as Record<string, string>)
    return SECRET_NAMES.has(name) ? [String(value)] : []
  })
}
