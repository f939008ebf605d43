/** An amount in micro-credits, an integer; one credit is 1,000,000. Source: contract section 4. */
export type Units = number & { readonly __units: 'micro-credits' }

/** Micro-credits in one credit. */
export const UNITS_PER_CREDIT = 1_000_000

/** The largest positive or negative amount: 999,999,999.999999 credits. */
export const UNITS_MAX = 999_999_999_999_999

const DECIMALS = 6
const DECIMAL = /^(-?)(\d{1,9})(?:\.(\d{1,6}))?$/

/** Whether `value` is a whole number of micro-credits of at most `UNITS_MAX`. */
export function isUnits(value: unknown): value is Units {
  return Number.isInteger(value) && Math.abs(value as number) <= UNITS_MAX
}

/** The amount of a whole number of micro-credits. @throws RangeError for any other number. */
export function units(n: number): Units {
  if (!isUnits(n)) throw new RangeError(`Not a whole number of micro-credits within the cap: ${n}`)
  return (n === 0 ? 0 : n) as Units
}

/**
 * Reads a decimal number of credits ("0.1", "-12") with at most six decimals, without rounding.
 * @throws RangeError for any other text.
 *
 * @example parseCredits('0.1') // 100000
 */
export function parseCredits(text: string): Units {
  const match = DECIMAL.exec(text)
  if (!match) throw new RangeError(`Not a number of credits with at most six decimals: ${text}`)
  const [, sign, whole, decimals = ''] = match
  const amount = Number(`${whole}${decimals.padEnd(DECIMALS, '0')}`)
  return units(sign === '-' ? -amount : amount)
}

/** The amount in credits, a JSON number. The number is exact, because it has at most 15 significant digits. */
export function creditsOf(amount: Units): number {
  return amount / UNITS_PER_CREDIT
}

/**
 * The amount as a decimal without trailing zeros.
 *
 * @example formatCredits(units(12_000_000)) // '12'
 */
export function formatCredits(amount: Units): string {
  return String(creditsOf(amount))
}

/** The amount with its unit: `1 credit`, `0.5 credits`. */
export function withUnit(amount: Units): string {
  return `${formatCredits(amount)} ${amount === UNITS_PER_CREDIT ? 'credit' : 'credits'}`
}
