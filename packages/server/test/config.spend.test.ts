import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../src/settings/config.ts'

const read = (env: NodeJS.ProcessEnv = {}) => {
  const { prices, countries, sequence_limit } = readConfig(env)
  return { prices, countries, sequence_limit }
}

it('by default no rule applies, and prices are those of the specification', () => {
  const none = { prices: {}, countries: null, sequence_limit: null }
  expect(read()).toStrictEqual(none)
  expect(
    read({ SVC_PRICES: ' ', SVC_ALLOWED_COUNTRIES: '', SVC_DENIED_COUNTRIES: ' ' }),
  ).toStrictEqual(none)
})

it('reads every setting', () => {
  expect(
    read({
      SVC_PRICES: '{"sms":{"default":"1","+255":"0.8"},"voice":"3"}',
      SVC_ALLOWED_COUNTRIES: 'TZ, KE',
      SVC_DENIED_COUNTRIES: 'KE',
      SVC_SEQUENCE_LIMIT: '10/60',
    }),
  ).toStrictEqual({
    prices: { sms: { default: '1', '+255': '0.8' }, voice: '3' },
    countries: { allowed: ['TZ', 'KE'], denied: ['KE'] },
    sequence_limit: { max: 10, window_s: 60 },
  })
})

it('reads one list of countries without the other', () => {
  expect(read({ SVC_DENIED_COUNTRIES: 'KE' }).countries).toStrictEqual({
    allowed: null,
    denied: ['KE'],
  })
  expect(read({ SVC_ALLOWED_COUNTRIES: 'KE' }).countries).toStrictEqual({
    allowed: ['KE'],
    denied: [],
  })
})

describe('the error for a wrong setting names the setting', () => {
  const CODES =
    'must be two-letter codes of countries with numbers of their own, for example TZ,KE:'
  it.each([
    ['SVC_ALLOWED_COUNTRIES', 'TZ,UK', `SVC_ALLOWED_COUNTRIES ${CODES} "UK" is not a country code`],
    ['SVC_DENIED_COUNTRIES', ',', `SVC_DENIED_COUNTRIES ${CODES} the list is empty`],
    ['SVC_PRICES', '{', 'SVC_PRICES must be prices of channels as JSON: it is not JSON'],
    [
      'SVC_PRICES',
      '{"sms":{"255":"1"}}',
      'SVC_PRICES must be prices of channels as JSON: sms.255: a prefix is "+" and 1 to 15 digits, for example +255',
    ],
    [
      'SVC_SEQUENCE_LIMIT',
      '10',
      'SVC_SEQUENCE_LIMIT must be 3 to 100 numbers/1 to 86400 seconds, for example 10/60, got "10"',
    ],
  ])('%s=%s', (name, text, message) => {
    expect(() => read({ [name]: text })).toThrow(new ConfigError(message))
  })
})
