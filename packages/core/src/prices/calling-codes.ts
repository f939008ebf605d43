import metadata from 'libphonenumber-js/min/metadata'

/** The countries of each calling code, the largest first: ISO 3166-1, `001` for a code of no country. */
export const COUNTRIES_OF_CODE: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries<string[]>(metadata.country_calling_codes),
)

/** The positions after a calling code of one, two or three digits that follows the `+`. No code is a prefix of another code. */
const CODE_ENDS = [2, 3, 4]

/** The calling code of a number or of its first digits, without `+`; null if no code is assigned. */
export function callingCodeOf(number: string): string | null {
  const codes = CODE_ENDS.map((end) => number.slice(1, end))
  return codes.find((code) => COUNTRIES_OF_CODE.has(code)) ?? null
}
