import type { Channel } from '../contract/resources/content.ts'
import { countryName } from './countries.ts'

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
