import type { Channel } from '../contract/resources/content.ts'
import { countryName } from './countries.ts'

/** The countries whose numbers may receive messages, by ISO 3166-1. */
export interface CountryRule {
  /** Null for all countries. */
  allowed: readonly string[] | null
  /** Takes precedence over `allowed`. */
  denied: readonly string[]
}

/** The error message for a recipient of a refused country; null for an allowed recipient. */
export type CountryFault = (channel: Channel, recipient: string) => string | null

/**
 * Applies the rule to numbers; e-mail addresses have no country. A number of no known country is refused if `allowed` is
 * set, and accepted if only `denied` is.
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

/** Loads the metadata of numbers, which is large, only for a rule. */
export async function openCountryRule(rule: CountryRule | null): Promise<CountryFault> {
  if (rule === null) return ANY_COUNTRY
  const { countryOf } = await import('./country-of.ts')
  return createCountryRule(rule, countryOf)
}
