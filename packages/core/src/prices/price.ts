import { parseCredits, type Units, units } from '../contract/fields/units.ts'
import type { Channel, Content, SmsContent, VoiceContent } from '../contract/resources/content.ts'
import { heldMinutes } from '../rules/money.ts'
import { countSegments, encodingOf } from '../sms/index.ts'

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
