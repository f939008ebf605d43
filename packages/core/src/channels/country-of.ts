import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import metadata from 'libphonenumber-js/min/metadata'

/**
 * The country of an E.164 number, as ISO 3166-1; null for a number of no country (satellites, international services,
 * unassigned numbers).
 *
 * This module takes about 60 ms and 10 MB to load, so it is loaded only for a rule. A look-up takes well under 1 µs, or
 * about 12 µs where several countries share a calling code (+1, +7, +44 …). The smallest set of metadata distinguishes
 * them as well as the largest: it only lacks the type of number.
 */
export function countryOf(number: string): string | null {
  for (const end of CODE_ENDS) {
    const countries = BY_CODE.get(number.slice(1, end))
    if (countries === undefined) continue
    const [only = null] = countries
    return countries.length === 1 ? only : (parsePhoneNumberFromString(number)?.country ?? null)
  }
  return null
}

/** The ends of calling codes of one, two or three digits after the `+`. No code is a prefix of another. */
const CODE_ENDS = [2, 3, 4]

const BY_CODE = new Map(Object.entries<string[]>(metadata.country_calling_codes))
