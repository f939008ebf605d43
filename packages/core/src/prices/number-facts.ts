import {
  type CountryCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
  validatePhoneNumberLength,
} from 'libphonenumber-js/min'

/** What the numbering plans say about a number. Nothing is asked of a network, so a valid number may have no subscriber. */
export interface NumberFacts {
  /** In E.164; the given text if it is no number. */
  number: string
  /** Why the number is not valid; null for a valid number. */
  fault:
    | 'TOO_SHORT'
    | 'TOO_LONG'
    | 'INVALID_LENGTH'
    | 'INVALID_BUT_POSSIBLE'
    | 'INVALID_COUNTRY_CODE'
    | 'NOT_A_NUMBER'
    | null
  /** ISO 3166-1; null for a number of no country. */
  country: string | null
  calling_code: string | null
  national_format: string | null
}

/**
 * The facts of a number in E.164, or in the form of a country. Null if the country is not known.
 *
 * This module is as large as `country-of.ts`, so it is loaded with the first look-up.
 */
export function numberFacts(text: string, country: string): NumberFacts | null {
  if (!isSupportedCountry(country)) return null
  const parsed = parsePhoneNumberFromString(text, country)
  const unknown = { country: null, calling_code: null, national_format: null }
  if (!parsed?.isValid()) {
    return { number: parsed?.number ?? text, fault: faultOf(text, country), ...unknown }
  }
  return {
    number: parsed.number,
    fault: null,
    country: parsed.country ?? null,
    calling_code: parsed.countryCallingCode,
    national_format: parsed.formatNational(),
  }
}

function faultOf(text: string, country: CountryCode): NonNullable<NumberFacts['fault']> {
  const fault = validatePhoneNumberLength(text, country)
  if (fault === 'INVALID_COUNTRY') return 'INVALID_COUNTRY_CODE'
  return fault ?? 'INVALID_BUT_POSSIBLE'
}
