import type { CountryRule, Prices, SequenceLimit } from '@svc/core'
import { readCountries, readPrices, readSequenceLimit } from '@svc/core/operate'
import { ConfigError, type Read } from './variables.ts'

/** Prices, and the rules that protect credits from misuse. */
export interface SpendSettings {
  /** The prices that differ from the specification. */
  prices: Partial<Prices>
  /** Null if no list of countries is set. */
  countries: CountryRule | null
  /** Null if numbers in sequence are not counted. */
  sequence_limit: SequenceLimit | null
}

/**
 * Reads the variables of spend protection.
 * @throws ConfigError for the first wrong variable.
 */
export function readSpendSettings(read: Read): SpendSettings {
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
