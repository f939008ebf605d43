import { ConfigError, itemsOf, type Read, readSet, type Variable } from './variables.ts'

/** The account at Stripe, and the secrets that sign its notifications. */
export interface StripeSettings {
  secret_key: string
  /** There are several while a secret is replaced; all of them are valid. */
  webhook_secrets: string[]
  /** The address of a proxy, or of a simulated Stripe in a trial. */
  api_url?: string
}

const STRIPE: readonly Variable[] = [
  { name: 'STRIPE_SECRET_KEY', fault: secretKeyFault },
  { name: 'STRIPE_WEBHOOK_SECRET', fault: webhookSecretFault },
]

const STRIPE_API_URL = 'STRIPE_API_URL'

/**
 * Reads the variables of Stripe; null if none is set.
 * @throws ConfigError for the first variable that is wrong, or that is missing while another is set.
 */
export function readStripe(read: Read): StripeSettings | null {
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
