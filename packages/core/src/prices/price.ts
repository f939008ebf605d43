import { parseCredits, type Units, units } from '../contract/fields/units.ts'
import type { Channel, Content, SmsContent, VoiceContent } from '../contract/resources/content.ts'
import { heldMinutes } from '../rules/money.ts'
import { countSegments, encodingOf } from '../sms/index.ts'
import type { NumberFacts } from './number-facts.ts'

/**
 * The price of one unit as a decimal string of credits, or one price for each prefix of the recipient's number. The longest
 * matching prefix decides; if no prefix matches, `default` applies.
 */
export type ChannelPrice = string | { default: string; [prefix: string]: string }

/** The price of one unit of each channel: an SMS segment, a message, a started minute. */
export type Prices = Record<Channel, ChannelPrice>

/** The prices of the specification. Source: interface, Credit costs. */
export const DEFAULT_PRICES = {
  sms: '1',
  whatsapp: '0.5',
  email: '0.1',
  voice: '2',
} as const satisfies Prices

/** The maximum price in credits. At this price the largest bulk (10,000 messages of 24 segments) still fits an amount. */
const PRICE_MAX = 4_000

const PREFIX = /^\+[1-9]\d{0,14}$/

export interface Price {
  credits: Units
  quantity: number
  unit_price: Units
  segments: number | null
  encoding: 'GSM-7' | 'UCS-2' | null
}

/** Reads a content once, and returns a function that prices it for a recipient. The price of a call is for the held minutes. */
export type PriceOf = (channel: Channel, content: Content) => (recipient: string) => Price

/** The price of one message to several recipients: each recipient costs one unit. */
export function priceForSeveral(price: Price, recipients: number): Price {
  if (recipients === 1) return price
  const quantity = price.quantity * recipients
  return { ...price, quantity, credits: units(price.unit_price * quantity) }
}

/**
 * Computes prices of messages. An invalid price is refused here, not at the first send.
 * @throws RangeError that names the price, for an amount outside 0 to 4,000 credits or for an invalid prefix.
 */
export function createPricing(prices: Prices): PriceOf {
  const unitPrices = Object.fromEntries(
    Object.entries(prices).map(([channel, price]) => [
      channel,
      unitPricesOf(channel as Channel, price),
    ]),
  ) as Record<Channel, UnitPrices>
  return (channel, content) => {
    const text = channel === 'sms' ? (content as SmsContent).text : null
    const segments = text === null ? null : countSegments(text)
    const encoding = text === null ? null : encodingOf(text)
    const minutes = channel === 'voice' ? heldMinutes(content as VoiceContent) : 1
    const amount = { quantity: segments ?? minutes, segments, encoding }
    const { base, longest } = unitPrices[channel]
    const usual = priced(base, amount)
    if (longest === null) return () => usual
    return (recipient) => {
      const unit_price = longest(recipient)
      return unit_price === null ? usual : priced(unit_price, amount)
    }
  }
}

interface UnitPrices {
  base: Units
  /** Returns the price of the longest matching prefix; null when there are no prefixes. */
  longest: ((recipient: string) => Units | null) | null
}

function unitPricesOf(channel: Channel, price: ChannelPrice): UnitPrices {
  if (typeof price === 'string') return { base: unitPriceOf(channel, price), longest: null }
  const { default: usual, ...others } = price
  const base = unitPriceOf(`${channel}.default`, usual)
  const byPrefix = new Map(
    Object.entries(others).map(([prefix, price]) => {
      if (channel === 'email') throw new RangeError(`${channel}: only numbers have prefixes`)
      if (!PREFIX.test(prefix)) {
        throw new RangeError(
          `${channel}.${prefix}: a prefix is "+" and 1 to 15 digits, for example +255`,
        )
      }
      return [prefix, unitPriceOf(`${channel}.${prefix}`, price)]
    }),
  )
  if (byPrefix.size === 0) return { base, longest: null }
  const lengths = [...new Set([...byPrefix.keys()].map(({ length }) => length))].sort(
    (a, b) => b - a,
  )
  return {
    base,
    longest(recipient) {
      for (const length of lengths) {
        const price = byPrefix.get(recipient.slice(0, length))
        if (price !== undefined) return price
      }
      return null
    },
  }
}

function unitPriceOf(name: string, text: string): Units {
  const price = amountOf(text)
  if (price !== null && price >= 0 && price <= parseCredits(`${PRICE_MAX}`)) return price
  throw new RangeError(
    `${name}: a price is a text of 0 to ${PRICE_MAX} credits with at most six decimals, got ${JSON.stringify(text)}`,
  )
}

function amountOf(text: unknown): Units | null {
  try {
    return typeof text === 'string' ? parseCredits(text) : null
  } catch {
    return null
  }
}

function priced(
  unit_price: Units,
  amount: Pick<Price, 'quantity' | 'segments' | 'encoding'>,
): Price {
  return { credits: units(unit_price * amount.quantity), unit_price, ...amount }
}

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

/** Loads the metadata of phone numbers only if there is a rule, because the metadata is large. */
export async function openCountryRule(rule: CountryRule | null): Promise<CountryFault | null> {
  if (rule === null) return null
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

/** What the numbering plans say about a number; null if the country is not known. */
export async function lookUpNumber(text: string, country: string): Promise<NumberFacts | null> {
  const { numberFacts } = await import('./number-facts.ts')
  return numberFacts(text, country)
}
