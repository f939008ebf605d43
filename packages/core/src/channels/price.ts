import type { Channel, Content, SmsContent } from '../contract/content.ts'
import { parseCredits, type Units, units } from '../contract/units.ts'
import { countSegments, encodingOf } from '../sms/index.ts'

/** What one unit of each channel costs, as decimal strings of credits: an SMS segment, a message, a started minute. */
export type Prices = Record<Channel, string>

/** Source: interface, Credit costs. */
export const DEFAULT_PRICES: Prices = { sms: '1', whatsapp: '0.5', email: '0.1', voice: '2' }

export interface Price {
  credits: Units
  quantity: number
  unit_price: Units
  segments: number | null
  encoding: 'GSM-7' | 'UCS-2' | null
}

/** Says what a message costs. Prices are read once: a wrong one is refused at start, not at the first send. */
export function createPricing(prices: Prices): (channel: Channel, content: Content) => Price {
  const unitPrices = Object.fromEntries(
    Object.entries(prices).map(([channel, price]) => [channel, parseCredits(price)]),
  ) as Record<Channel, Units>
  return (channel, content) => {
    const unit_price = unitPrices[channel]
    const text = channel === 'sms' ? (content as SmsContent).text : null
    const segments = text === null ? null : countSegments(text)
    const quantity = segments ?? 1
    return {
      credits: units(unit_price * quantity),
      quantity,
      unit_price,
      segments,
      encoding: text === null ? null : encodingOf(text),
    }
  }
}
