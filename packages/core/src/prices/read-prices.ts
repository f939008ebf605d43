import * as z from 'zod'
import { CHANNELS } from '../contract/resources/content.ts'
import { createPricing, DEFAULT_PRICES, type Prices } from './price.ts'

const DECIMAL = 'must be a decimal text, for example "0.8"'

const decimal = z.string(DECIMAL)

/** The operator's setting. A price that is absent has the value in the specification. */
const setting = z.strictObject(
  Object.fromEntries(
    CHANNELS.map((channel) => [
      channel,
      z.union([decimal, z.record(z.string(), decimal)], DECIMAL).optional(),
    ]),
  ),
)

/**
 * Reads prices as JSON: for each channel a decimal text, or an object with a price for each prefix and a `default`.
 * Returns only the channels that are set.
 *
 * @example readPrices('{"sms":{"default":"1","+255":"0.8","+8816":"25"},"voice":"3"}')
 * @throws RangeError with the error and its place.
 */
export function readPrices(json: string): Partial<Prices> {
  const read = setting.safeParse(parse(json))
  if (!read.success) {
    const [issue] = read.error.issues
    const place = issue?.path.join('.')
    throw new RangeError(place ? `${place}: ${issue?.message}` : `${issue?.message}`)
  }
  const prices = Object.fromEntries(
    CHANNELS.flatMap((channel) => {
      const price = read.data[channel]
      if (price === undefined) return []
      return [
        [
          channel,
          typeof price === 'string' ? price : { default: DEFAULT_PRICES[channel], ...price },
        ],
      ]
    }),
  ) as Partial<Prices>
  createPricing({ ...DEFAULT_PRICES, ...prices })
  return prices
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new RangeError('it is not JSON')
  }
}
