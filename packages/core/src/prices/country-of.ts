import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { COUNTRIES_OF_CODE, callingCodeOf } from './calling-codes.ts'

/**
 * The ISO 3166-1 code of an E.164 number's country; null if the number belongs to no country (satellites, international
 * services, unassigned numbers).
 *
 * This module takes about 60 ms and 10 MB to load, so it is loaded only when a rule is set. A look-up takes less than 1 µs,
 * or about 12 µs if several countries share the calling code (+1, +7, +44 …). The smallest set of metadata distinguishes
 * these countries as well as the largest set does; it only lacks the types of numbers.
 */
export function countryOf(number: string): string | null {
  const countries = COUNTRIES_OF_CODE.get(callingCodeOf(number) ?? '')
  if (countries === undefined) return null
  const [only = null] = countries
  return countries.length === 1 ? only : (parsePhoneNumberFromString(number)?.country ?? null)
}
