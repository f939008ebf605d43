import type { Channel } from '../contract/resources/content.ts'
import { countryName } from './countries.ts'

/** Which countries may be written to, by ISO 3166-1. */
export interface CountryRule {
  /** Only these; null for all. */
  allowed: readonly string[] | null
  /** Not these, even where `allowed` names them. */
  denied: readonly string[]
}

/** Why a recipient must not be written to, for people; null where nothing is in the way. */
export type CountryFault = (channel: Channel, recipient: string) => string | null

/**
 * Holds numbers against the rule; e-mail addresses have no country. A number of no known country is refused where only
 * some are allowed, and goes where only some are denied.
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

/** The rule of a service that has none. */
export const ANY_COUNTRY: CountryFault = () => null

/** The rule with what knows numbers, which is large: it is loaded where there is a rule. */
export async function openCountryRule(rule: CountryRule | null): Promise<CountryFault> {
  if (rule === null) return ANY_COUNTRY
  const { countryOf } = await import('./country-of.ts')
  return createCountryRule(rule, countryOf)
}
