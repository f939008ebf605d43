import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import metadata from 'libphonenumber-js/min/metadata'

/**
 * The country of an E.164 number, as ISO 3166-1; null for one that belongs to none (satellites, international
 * services, numbers that nobody has).
 *
 * This module costs about 60 ms and 10 MB to load, so it is loaded only where there is a rule. A look-up takes well
 * under a microsecond, or about 12 where several countries share a calling code (+1, +7, +44 …). The smallest set of
 * metadata tells those apart as the largest does: it leaves out only what kind of number it is.
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

/** Where a calling code of one, two or three digits behind the `+` ends. None is the beginning of another. */
const CODE_ENDS = [2, 3, 4]

const BY_CODE = new Map(Object.entries<string[]>(metadata.country_calling_codes))
