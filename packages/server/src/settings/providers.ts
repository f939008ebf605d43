import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { ProviderSettings } from '@svc/core'
import { assertNames, type ListedProvider, readProvider, readProviders } from '@svc/core/operate'
import { ConfigError, itemsOf, type Read, readSet, type Variable } from './variables.ts'

const DOMAIN =
  /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/i

const TWILIO: readonly Variable[] = [
  { name: 'TWILIO_ACCOUNT_SID', fault: unless(/^AC[0-9a-f]{32}$/i, 'AC and 32 hex digits') },
  { name: 'TWILIO_AUTH_TOKEN', fault: unless(/^[0-9a-f]{32}$/i, '32 hex digits') },
]

const TWILIO_SENDERS = {
  sms: 'TWILIO_SMS_FROM',
  whatsapp: 'TWILIO_WHATSAPP_FROM',
  voice: 'TWILIO_VOICE_FROM',
} as const

const MAIL: readonly Variable[] = [
  { name: 'SVC_SMTP_URL', fault: smtpUrlFault },
  { name: 'SVC_MAIL_DOMAIN', fault: unless(DOMAIN, 'a domain, for example example.com') },
]

const DKIM: readonly Variable[] = [
  { name: 'SVC_DKIM_SELECTOR', fault: () => null },
  { name: 'SVC_DKIM_KEY_FILE', fault: () => null },
]

/**
 * The providers in the order in which they are tried: `SVC_PROVIDERS` first, then the providers of other variables.
 * @throws ConfigError for the first provider that is wrong or missing.
 */
export function readProviderSettings(read: Read): ListedProvider[] {
  const providers = [...readList(read), ...readTwilio(read), ...readSmtp(read)]
  named('SVC_PROVIDERS', () => assertNames(providers))
  return providers
}

/** Reads a JSON list, or the path of a file that contains a JSON list; the paths of its modules start at its folder. */
function readList(read: Read): ListedProvider[] {
  const text = read('SVC_PROVIDERS')
  if (text === undefined) return []
  if (/^[[{]/.test(text)) return named('SVC_PROVIDERS', () => readProviders(text, read))
  const json = readText('SVC_PROVIDERS', text)
  return named('SVC_PROVIDERS', () => readProviders(json, read, dirname(resolve(text))))
}

function readTwilio(read: Read): ProviderSettings[] {
  const [account_sid, auth_token] = readSet(TWILIO, read)
  const senders = Object.fromEntries(
    Object.entries(TWILIO_SENDERS).flatMap(([channel, name]) => {
      const text = read(name)
      return text === undefined ? [] : [[channel, itemsOf(text)]]
    }),
  )
  const [some] = Object.keys(senders) as (keyof typeof TWILIO_SENDERS)[]
  if (account_sid === undefined) {
    if (some === undefined) return []
    throw new ConfigError(
      `TWILIO_ACCOUNT_SID must be set too: ${TWILIO_SENDERS[some]} alone is half a set`,
    )
  }
  if (some === undefined) {
    throw new ConfigError(
      'TWILIO_SMS_FROM, TWILIO_WHATSAPP_FROM or TWILIO_VOICE_FROM must be set too: the number to send from',
    )
  }
  const settings = { name: 'twilio', type: 'twilio', account_sid, auth_token, senders }
  return [named('TWILIO_*', () => readProvider(settings))]
}

function readSmtp(read: Read): ProviderSettings[] {
  const [url, mail_domain] = readSet(MAIL, read)
  const [selector, key_file] = readSet(DKIM, read)
  const intake = readIntake(read)
  if (url === undefined || mail_domain === undefined) {
    const other = selector === undefined ? intake && 'SVC_MAIL_INTAKE' : 'SVC_DKIM_SELECTOR'
    if (!other) return []
    throw new ConfigError(`SVC_SMTP_URL must be set too: ${other} alone is half a set`)
  }
  const dkim = selector !== undefined &&
    key_file !== undefined && {
      domain: mail_domain,
      selector,
      private_key: readText('SVC_DKIM_KEY_FILE', key_file),
    }
  const settings = {
    name: 'smtp',
    type: 'smtp',
    url,
    mail_domain,
    ...(dkim && { dkim }),
    ...(intake && { intake }),
  }
  return [named('SVC_SMTP_URL', () => readProvider(settings))]
}

function readIntake(read: Read): { host: string; port: number } | null {
  const text = read('SVC_MAIL_INTAKE')
  if (text === undefined) return null
  const [, host, port] = /^(?:(.+):)?(\d{1,5})$/.exec(text) ?? []
  if (port !== undefined && Number(port) <= 65_535) {
    return { host: host?.replace(/^\[|\]$/g, '') ?? '127.0.0.1', port: Number(port) }
  }
  throw new ConfigError('SVC_MAIL_INTAKE must be a port or host:port, for example 0.0.0.0:2525')
}

/** Puts the name of the variable before a fault. The text of a fault contains no value. */
function named<T>(name: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ConfigError(`${name}: ${error.message}`)
  }
}

function readText(name: string, path: string): string {
  try {
    return readFileSync(resolve(path), 'utf8')
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException
    throw new ConfigError(`${name}: the file cannot be read (${code})`)
  }
}

function unless(pattern: RegExp, what: string): Variable['fault'] {
  return (text) => (pattern.test(text) ? null : `must be ${what}`)
}

function smtpUrlFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^smtps?:$/.test(url.protocol) && url.hostname !== '') return null
  return 'must be smtp://user:password@host:port or smtps://…'
}
