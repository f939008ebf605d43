import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isUnits, parseCredits } from '../contract/fields/units.ts'
import { LIMITS } from '../contract/limits.ts'
import { CHANNELS } from '../contract/resources/content.ts'
import { type ChannelPrice, createPricing, DEFAULT_PRICES } from './price.ts'
import { readPrices } from './read-prices.ts'

const pricesOf = (sms: ChannelPrice) => createPricing({ ...DEFAULT_PRICES, sms })
const sms = (price: ChannelPrice, to: string, text = 'x') => pricesOf(price)('sms', { text })(to)

const BY_PREFIX = { default: '1', '+255': '0.8', '+2557': '0.5', '+8816': '25', '+1': '1.5' }

describe('a price', () => {
  it.each([
    ['+447911123456', 1_000_000],
    ['+255600000000', 800_000],
    ['+255700000000', 500_000],
    ['+2557', 500_000],
    ['+25', 1_000_000],
    ['+8816123456789', 25_000_000],
    ['+14155552671', 1_500_000],
  ])('is that of the longest prefix: %s', (to, unit_price) => {
    expect(sms(BY_PREFIX, to)).toStrictEqual({
      credits: unit_price,
      quantity: 1,
      unit_price,
      segments: 1,
      encoding: 'GSM-7',
    })
  })

  it('counts the segments of an SMS with any prefix', () => {
    expect(sms(BY_PREFIX, '+255700000000', 'x'.repeat(161))).toMatchObject({
      credits: 1_000_000,
      quantity: 2,
      unit_price: 500_000,
      segments: 2,
    })
  })

  it('equals a model that tries every prefix', () => {
    const digits = fc.stringMatching(/^[1-3]{1,5}$/)
    const table = fc.dictionary(
      digits.map((text) => `+${text}`),
      fc.integer({ min: 0, max: 9 }).map(String),
    )
    fc.assert(
      fc.property(table, digits, (prefixes, number) => {
        const to = `+${number}`
        const fits = Object.keys(prefixes).filter((prefix) => to.startsWith(prefix))
        const longest = fits.toSorted((a, b) => b.length - a.length)[0]
        const expected = longest === undefined ? '7' : (prefixes[longest] as string)
        const price = sms({ ...prefixes, default: '7' }, to)
        expect(price.unit_price).toBe(parseCredits(expected))
      }),
    )
  })

  it('without prefixes is computed once for all recipients', () => {
    const price = pricesOf('1')('sms', { text: 'x' })
    expect(price('+14155552671')).toBe(price('+255700000000'))
  })

  it('at its maximum fits in Units for the largest bulk of the longest texts', () => {
    const text = 'я'.repeat(LIMITS.sms_text_length)
    const { credits } = sms('4000', '+14155552671', text)
    expect(isUnits(credits * LIMITS.bulk_recipients_max)).toBe(true)
  })
})

describe('readPrices', () => {
  it('fills in only a missing default', () => {
    expect(readPrices('{}')).toStrictEqual({})
    expect(readPrices('{"sms":{"+255":"0.8"},"voice":"3"}')).toStrictEqual({
      sms: { default: '1', '+255': '0.8' },
      voice: '3',
    })
    for (const channel of CHANNELS) {
      const json = JSON.stringify({ [channel]: {} })
      expect(readPrices(json)).toStrictEqual({ [channel]: { default: DEFAULT_PRICES[channel] } })
    }
  })

  const AMOUNT = 'a price is a text of 0 to 4000 credits with at most six decimals, got'
  it.each([
    ['nonsense', 'it is not JSON'],
    ['[]', 'Invalid input: expected object, received array'],
    ['{"fax":"1"}', 'Unrecognized key: "fax"'],
    ['{"sms":1}', 'sms: must be a decimal text, for example "0.8"'],
    ['{"sms":{"+1":0.5}}', 'sms: must be a decimal text, for example "0.8"'],
    ['{"sms":"1,5"}', `sms: ${AMOUNT} "1,5"`],
    ['{"sms":"-1"}', `sms: ${AMOUNT} "-1"`],
    ['{"sms":"4000.000001"}', `sms: ${AMOUNT} "4000.000001"`],
    ['{"sms":"0.0000001"}', `sms: ${AMOUNT} "0.0000001"`],
    ['{"sms":{"default":"x"}}', `sms.default: ${AMOUNT} "x"`],
    ['{"voice":{"+1":"x"}}', `voice.+1: ${AMOUNT} "x"`],
    ['{"sms":{"255":"1"}}', badPrefix('sms.255')],
    ['{"sms":{"+0":"1"}}', badPrefix('sms.+0')],
    ['{"sms":{"+1234567890123456":"1"}}', badPrefix('sms.+1234567890123456')],
    ['{"email":{"+1":"1"}}', 'email: only numbers have prefixes'],
  ])('refuses an invalid text with the error and its place: %s', (json, text) => {
    expect(() => readPrices(json)).toThrow(new RangeError(text))
  })
})

function badPrefix(place: string): string {
  return `${place}: a prefix is "+" and 1 to 15 digits, for example +255`
}
