import { getCountries } from 'libphonenumber-js/max'
import { describe, expect, it } from 'vitest'
import { countryOf } from './country-of.ts'
import {
  COUNTRIES,
  type CountryRule,
  countryName,
  createCountryRule,
  readCountries,
} from './price.ts'

describe('countries', () => {
  it('are those of the phone number library', () => {
    expect([...COUNTRIES].toSorted()).toStrictEqual(getCountries().toSorted())
  })

  it('are read as a list, each once', () => {
    expect(readCountries(' TZ,KE , TZ,')).toStrictEqual(['TZ', 'KE'])
  })

  it.each([
    ['TZ,ZZ', '"ZZ" is not a country code'],
    ['tz', '"tz" is not a country code'],
    ['UK', '"UK" is not a country code'],
    ['TZ KE', '"TZ KE" is not a country code'],
    [',', 'the list is empty'],
  ])('are refused when invalid: %s', (list, text) => {
    expect(() => readCountries(list)).toThrow(new RangeError(text))
  })

  it('all have a name', () => {
    expect(countryName('TZ')).toBe('Tanzania (TZ)')
    for (const code of COUNTRIES) expect(countryName(code)).toMatch(/^.{2,} \([A-Z]{2}\)$/)
  })
})

describe('the country of a number', () => {
  it.each([
    ['+255700000001', 'TZ'],
    ['+14155552671', 'US'],
    ['+14165551234', 'CA'],
    ['+18765550123', 'JM'],
    ['+12684641234', 'AG'],
    ['+79161234567', 'RU'],
    ['+77012345678', 'KZ'],
    ['+447400123456', 'GB'],
    ['+447781123456', 'GG'],
    ['+447797123456', 'JE'],
    ['+447624123456', 'IM'],
    ['+393123456789', 'IT'],
    ['+390669812345', 'VA'],
    ['+8816123456789', null],
    ['+883510000000', null],
    ['+80012345678', null],
    ['+999123456', null],
    ['+12345', null],
  ])('%s is %s', (number, country) => {
    expect(countryOf(number)).toBe(country)
  })
})

const TZ = '+255700000001'
const KE = '+254712345678'
const US = '+14155552671'
const SATELLITE = '+8816123456789'

describe('a rule', () => {
  const refusedBy = (rule: CountryRule) =>
    [TZ, KE, US, SATELLITE].filter((to) => createCountryRule(rule, countryOf)('sms', to) !== null)

  it.each<[string, CountryRule, string[]]>([
    ['that allows', { allowed: ['TZ', 'KE'], denied: [] }, [US, SATELLITE]],
    ['that denies', { allowed: null, denied: ['TZ'] }, [TZ]],
    ['that does both', { allowed: ['TZ', 'KE'], denied: ['KE'] }, [KE, US, SATELLITE]],
  ])('%s refuses the numbers of other or denied countries', (_, rule, refused) => {
    expect(refusedBy(rule)).toStrictEqual(refused)
  })

  const fault = createCountryRule({ allowed: ['TZ'], denied: [] }, countryOf)

  it('names the country', () => {
    expect(fault('whatsapp', US)).toBe('Messages to United States (US) are not allowed')
    expect(fault('voice', SATELLITE)).toBe(
      'Messages to numbers of no known country are not allowed',
    )
  })

  it('does not apply to e-mail', () => {
    expect(fault('email', 'asha@example.com')).toBeNull()
  })
})
