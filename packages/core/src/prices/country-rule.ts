import type { Channel } from '../contract/resources/content.ts'

/** The countries whose numbers may receive messages, as ISO 3166-1 codes. */
export interface CountryRule {
  /** The allowed countries; null: all countries. */
  allowed: readonly string[] | null
  /** The refused countries, also if `allowed` contains them. */
  denied: readonly string[]
}

/** The error message for a recipient of a refused country; null for an allowed recipient. */
export type CountryFault = (channel: Channel, recipient: string) => string | null

/**
 * Applies the rule to numbers; e-mail addresses have no country. A number without a known country is refused if `allowed`
 * is set, and accepted if only `denied` is set.
 */
export function createCountryRule(
  { allowed, denied }: CountryRule,
  countryOf: (number: string) => string | null,
): CountryFault {
  const only = allowed && new Set(allowed)
  const never = new Set(denied)
  return (channel, recipient) => {
    if (channel === 'email') return null
    const country = countryOf(recipient)
    if (country === null) {
      return only && 'Messages to numbers of no known country are not allowed'
    }
    const isAllowed = (only === null || only.has(country)) && !never.has(country)
    return isAllowed ? null : `Messages to ${countryName(country)} are not allowed`
  }
}

export const ANY_COUNTRY: CountryFault = () => null

/** Loads the metadata of phone numbers only if there is a rule, because the metadata is large. */
export async function openCountryRule(rule: CountryRule | null): Promise<CountryFault> {
  if (rule === null) return ANY_COUNTRY
  const { countryOf } = await import('./country-of.ts')
  return createCountryRule(rule, countryOf)
}

/** The codes of countries and territories with their own numbers: ISO 3166-1, AC (Ascension), TA (Tristan da Cunha), XK. */
export const COUNTRIES: ReadonlySet<string> = new Set(
  `AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA CC CD CF
CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG
GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW
KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF
NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM
SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK
YE YT ZA ZM ZW`.split(/\s/),
)

/**
 * Reads a list of ISO 3166-1 codes, separated by commas.
 *
 * @example readCountries('TZ, KE') // ['TZ', 'KE']
 * @throws RangeError for a code that is not in `COUNTRIES`, and for an empty list.
 */
export function readCountries(list: string): string[] {
  const codes = list.split(',').flatMap((part) => part.trim() || [])
  for (const code of codes) {
    if (!COUNTRIES.has(code)) throw new RangeError(`"${code}" is not a country code`)
  }
  if (codes.length === 0) throw new RangeError('the list is empty')
  return [...new Set(codes)]
}

/** @example countryName('TZ') // 'Tanzania (TZ)' */
export function countryName(code: string): string {
  const name = NAMES.of(code)
  return name === undefined || name === code ? code : `${name} (${code})`
}

const NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })
