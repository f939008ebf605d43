import { ConfigError } from './config-error.ts'

/** How Stripe is reached, and how its notifications are known. */
export interface StripeSettings {
  secret_key: string
  /** Several while a secret is rolled; each is good. */
  webhook_secrets: string[]
  /** Where its API is instead: a proxy, or what stands in for Stripe in a trial. */
  api_url?: string
}

/** The accounts at providers that the operator named. Contract section 11. */
export interface ProviderSettings {
  stripe: StripeSettings | null
  /** Variables that are set well and that nothing reads: their channel is served by the sandbox all the same. */
  unused: string[]
}

/** Answers the text of a variable; undefined when it is empty. */
type Read = (name: string) => string | undefined

interface Variable {
  name: string
  /** What is wrong with a text, without repeating it: it may be a secret. Null when nothing is. */
  fault(text: string): string | null
}

const STRIPE: readonly Variable[] = [
  { name: 'STRIPE_SECRET_KEY', fault: secretKeyFault },
  { name: 'STRIPE_WEBHOOK_SECRET', fault: webhookSecretFault },
]

const STRIPE_API_URL = 'STRIPE_API_URL'

const TWILIO: readonly Variable[] = [
  { name: 'TWILIO_ACCOUNT_SID', fault: unless(/^AC[0-9a-f]{32}$/i, 'AC and 32 hex digits') },
  { name: 'TWILIO_AUTH_TOKEN', fault: unless(/^[0-9a-f]{32}$/i, '32 hex digits') },
]

const DOMAIN =
  /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/i

const MAIL: readonly Variable[] = [
  { name: 'SVC_SMTP_URL', fault: smtpUrlFault },
  { name: 'SVC_MAIL_DOMAIN', fault: unless(DOMAIN, 'a domain, for example example.com') },
]

/**
 * Reads the variables of the providers, of which each has a set: all of it or nothing.
 * @throws ConfigError for the first that is wrong or missing.
 */
export function readProviders(read: Read): ProviderSettings {
  return {
    stripe: readStripe(read),
    unused: [TWILIO, MAIL].flatMap((set) =>
      readSet(set, read).length > 0 ? set.map(({ name }) => name) : [],
    ),
  }
}

function readStripe(read: Read): StripeSettings | null {
  const [secret_key, secrets] = readSet(STRIPE, read)
  const api_url = read(STRIPE_API_URL)
  if (secret_key === undefined || secrets === undefined) {
    if (api_url === undefined) return null
    throw new ConfigError(
      `STRIPE_SECRET_KEY must be set too: ${STRIPE_API_URL} alone is half a set`,
    )
  }
  const settings = { secret_key, webhook_secrets: itemsOf(secrets) }
  if (api_url === undefined) return settings
  if (isSafe(api_url)) return { ...settings, api_url }
  throw new ConfigError(
    `${STRIPE_API_URL} must be an https URL without a path, or http on this machine: the secret key is sent there`,
  )
}

function isSafe(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url?.pathname !== '/' || url.search || url.hash || url.username) return false
  const isHere = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && isHere)
}

/** The texts of a set, in its order; none when none is set. */
function readSet(set: readonly Variable[], read: Read): string[] {
  const given = set.filter(({ name }) => read(name) !== undefined)
  const [first] = given
  return set.flatMap(({ name, fault }) => {
    const text = read(name)
    if (text !== undefined) {
      const wrong = fault(text)
      if (wrong !== null) throw new ConfigError(`${name} ${wrong}`)
      return [text]
    }
    if (first) throw new ConfigError(`${name} must be set too: ${first.name} alone is half a set`)
    return []
  })
}

function itemsOf(text: string): string[] {
  return text.split(',').flatMap((item) => item.trim() || [])
}

function unless(pattern: RegExp, what: string): Variable['fault'] {
  return (text) => (pattern.test(text) ? null : `must be ${what}`)
}

function secretKeyFault(text: string): string | null {
  if (/^(sk|rk)_(test|live)_[A-Za-z0-9_]+$/.test(text)) return null
  const takes = 'must be a secret key (sk_…) or a restricted one (rk_…)'
  if (text.startsWith('pk_')) {
    return `${takes}, got a publishable key (pk_…): the secret one stands beside it at Stripe, under Developers, API keys`
  }
  if (text.startsWith('whsec_')) {
    return `${takes}, got a signing secret (whsec_…): that one belongs in STRIPE_WEBHOOK_SECRET`
  }
  return `${takes} of Stripe, for example sk_test_…`
}

function webhookSecretFault(text: string): string | null {
  const items = itemsOf(text)
  if (items.length > 0 && items.every((item) => /^whsec_[A-Za-z0-9+/=_-]+$/.test(item))) return null
  const takes = 'must be the signing secret of the webhook endpoint at Stripe (whsec_…)'
  const isKey = items.some((item) => /^[srp]k_/.test(item))
  return isKey ? `${takes}, got an API key` : `${takes}, or several with commas between them`
}

function smtpUrlFault(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^smtps?:$/.test(url.protocol) && url.hostname !== '') return null
  return 'must be smtp://user:password@host:port or smtps://…'
}
