import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import metadata from 'libphonenumber-js/min/metadata'

/**
 * The ISO 3166-1 code of an E.164 number's country; null if the number belongs to no country (satellites, international
 * services, unassigned numbers).
 *
 * This module takes about 60 ms and 10 MB to load, so it is loaded only when a rule is set. A look-up takes less than 1 µs,
 * or about 12 µs if several countries share the calling code (+1, +7, +44 …). The smallest set of metadata distinguishes
 * these countries as well as the largest set does; it only lacks the types of numbers.
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

/** The positions after a calling code of one, two or three digits that follows the `+`. No code is a prefix of another code. */
const CODE_ENDS = [2, 3, 4]

const BY_CODE = new Map(Object.entries<string[]>(metadata.country_calling_codes))
