import {
  isSupportedCountry,
  type CountryCode as LibraryCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min'
import { E164 } from '../contract/fields/e164.ts'

/** A number in E.164, or what is wrong with the text and what to do. */
export type PhoneResult = { phone: string; fault?: never } | { phone?: never; fault: string }

/** Longer texts are no numbers. */
const LENGTH_MAX = 60

/** A spreadsheet writes long numbers like this, and has lost their last digits. */
export const SCIENTIFIC = /^\+?\d+(?:[.,]\d+)?[eE][+-]?\d+$/

/** Marks that are not visible; contact lists and web pages put them around numbers and addresses. */
export const INVISIBLE = /\p{Cf}|(?!\s)\p{Cc}/gu

/** A separator between blanks stands behind an area code, or before another number or an extension. */
const PARTS = /\s[/\u2010-\u2015-]\s/

/** National numbers are seldom longer. Longer digits without a plus sign may begin with a calling code. */
const NATIONAL_DIGITS = 11

/** The ISO 3166-1 code of a country, in upper case. The library's own type would reach the declarations of this package. */
export type CountryCode = string

/** Whether numbers of the country can be read: its ISO 3166-1 code in upper case. */
export function isCountry(code: string): boolean {
  return isSupportedCountry(code)
}

/**
 * Reads a number as people and spreadsheets write it: with separators, with `00` for the plus sign, with a trunk `(0)`, with
 * invisible marks, and, if `country` says where it belongs, without a calling code. A number in E.164 is taken unchanged.
 */
export function readPhone(text: string, country?: CountryCode): PhoneResult {
  const plain = text.normalize('NFKC').replace(INVISIBLE, '').trim()
  if (E164.test(plain)) return { phone: plain }
  const quoted = JSON.stringify(plain.slice(0, LENGTH_MAX))
  if (SCIENTIFIC.test(plain)) {
    return {
      fault: `Phone number ${quoted} is in scientific notation, without its last digits: format the column as text in the spreadsheet, and export the file again`,
    }
  }
  if (plain.length > LENGTH_MAX || !/^(?:tel:)?[+(\d]/i.test(plain)) {
    return { fault: `Phone number must be in E.164 format: ${quoted} is not a phone number` }
  }
  if (hasMore(plain)) {
    return { fault: `Phone number ${quoted} has another number or an extension: remove it` }
  }
  const written = plain
    .replace(/^tel:/i, '')
    .replace(/^00/, '+')
    // A column of numbers is exported with decimals.
    .replace(/^(\d{7,})[.,]0$/, '$1')
  const isInternational = written.startsWith('+')
  if (!isInternational && country === undefined) {
    return {
      fault: `Phone number must be in E.164 format: ${quoted} has no country code; set default_country, or write the number with + and its country code`,
    }
  }
  const found = isInternational ? international(written) : national(written, country)
  if (found) return { phone: found }
  return { fault: `Phone number must be in E.164 format: ${quoted} is not a phone number` }
}

function hasMore(text: string): boolean {
  if (/[,;|&x#\r\n]|ext/i.test(text)) return true
  const parts = text.split(PARTS).map((part) => part.replace(/\D/g, '').length)
  const last = parts.at(-1) ?? 0
  return parts.length > 1 && (last < 4 || parts.slice(0, -1).reduce((sum, n) => sum + n, 0) > 7)
}

/** The trunk `0` is dropped where the country does so; numbers outside the plan of their country are taken as they are. */
function international(text: string): string | null {
  const number = parsePhoneNumberFromString(text, { extract: false })
  if (number?.isPossible()) return number.number
  const digits = `+${text.replace(/\D/g, '')}`
  return /^\+[\d\s()./\u2010-\u2015-]+$/.test(text) && !text.includes('(0)') && E164.test(digits)
    ? digits
    : null
}

function national(text: string, country: CountryCode | undefined): string | null {
  const own = validOf(
    parsePhoneNumberFromString(text, { extract: false, defaultCountry: country as LibraryCountry }),
  )
  if (own && own.nationalNumber.length <= NATIONAL_DIGITS) return own.number
  // Spreadsheets drop the plus sign.
  const other = /^\d+$/.test(text) && validOf(parsePhoneNumberFromString(`+${text}`))
  return (other || own)?.number ?? null
}

function validOf(number: PhoneNumber | undefined): PhoneNumber | null {
  return number?.isValid() ? number : null
}
