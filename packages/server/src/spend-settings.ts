import {
  type CountryRule,
  type Prices,
  readCountries,
  readPrices,
  readSequenceLimit,
  type SequenceLimit,
} from '@svc/core'
import { ConfigError } from './config-error.ts'

/** What keeps credits from being spent where they should not be, and what numbers cost. */
export interface SpendSettings {
  /** Those that are not the specification's. */
  prices: Partial<Prices>
  /** Null where no country is named. */
  countries: CountryRule | null
  /** Null where nobody looks at numbers in sequence. */
  sequence_limit: SequenceLimit | null
}

/**
 * Reads the variables of spend protection.
 * @throws ConfigError for the first that is wrong.
 */
export function readSpendSettings(read: (name: string) => string | undefined): SpendSettings {
  function readBy<T>(name: string, takes: string, reader: (text: string) => T): T | null {
    const text = read(name)
    if (text === undefined) return null
    try {
      return reader(text)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new ConfigError(`${name} must be ${takes}${error.message}`)
    }
  }
  const allowed = readBy('SVC_ALLOWED_COUNTRIES', COUNTRIES, readCountries)
  const denied = readBy('SVC_DENIED_COUNTRIES', COUNTRIES, readCountries)
  return {
    prices: readBy('SVC_PRICES', 'prices of channels as JSON: ', readPrices) ?? {},
    countries: allowed || denied ? { allowed, denied: denied ?? [] } : null,
    sequence_limit: readBy('SVC_SEQUENCE_LIMIT', '', readSequenceLimit),
  }
}

const COUNTRIES = 'two-letter codes of countries with numbers of their own, for example TZ,KE: '
