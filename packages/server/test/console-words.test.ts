import { build } from 'esbuild'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { missingText } from '../../core/src/contract/endpoints/issue-text.ts'
import { PHONE_TEXT } from '../../core/src/contract/fields/fields.ts'
import { readRecipient } from '../../core/src/rules/recipients.ts'
import { readPhone } from '../../core/src/tables/phone-numbers.ts'
import { withKeys } from '../console/build.ts'
import { utcDay } from '../console/shell/format.ts'
import { sentence } from '../console/shell/text.ts'
import { workspaceZone } from '../console/shell/time-zone.ts'
import { actorName, inWords, wordOf } from '../console/shell/words.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** A module of the console as the build makes it, for a person who chose German. */
async function inGerman(name: string) {
  vi.stubGlobal('localStorage', { getItem: (name: string) => name === 'svc.language' && 'de' })
  const entry = new URL(`../console/shell/${name}`, import.meta.url).pathname
  const options = { bundle: true, format: 'esm', target: 'es2022', write: false } as const
  const { outputFiles } = await build({ ...options, entryPoints: [entry], plugins: [withKeys] })
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`)
}

describe('the name of an actor', () => {
  it.each([
    ['a member', 'session', 'B', 'asha@example.com', 'asha@example.com'],
    ['the owner', 'session', null, 'ops@example.com', 'ops@example.com'],
    ['a login that was removed', 'session', 'B', null, 'former member'],
    ['a removed login that accepted an invitation', 'client', 'B', null, 'former member'],
    ['a client without a login', 'client', null, null, 'client'],
    ['a key', 'api_key', 'K', 'shop', 'API key shop'],
    ['an operator', 'operator', 'neema', null, 'neema'],
    ['the command line', 'operator', null, null, 'operator'],
  ])('is shown for %s', (_, kind, id, name, expected) => {
    expect(actorName({ kind, id, name })).toBe(expected)
  })
})

describe('a word of the API', () => {
  it.each([
    ['invalid_recipient', 'invalid recipient'],
    ['ambiguous', 'outcome unknown'],
    ['30_003', '30 003'],
    ['constructor', 'constructor'],
  ])('%s is shown in words', (word, words) => {
    expect(wordOf(word)).toBe(words)
  })

  it('is in the language of the person', async () => {
    const { wordOf } = await inGerman('words.ts')
    expect(['invalid_recipient', 'ambiguous', 'constructor'].map(wordOf)).toEqual([
      'ungültiger Empfänger',
      'Ergebnis unbekannt',
      'constructor',
    ])
    // Codes of gateways are no words, however short they are.
    const codes = ['P1', 'p1', 'JE', 'E17', '30007']
    expect(codes.map(wordOf)).toEqual(codes)
  })
})

describe('a sentence of the service', () => {
  const waiting = (n: number) => ({
    text: '{n} messages wait, the oldest for {duration}',
    one: '{n} message waits, the oldest for {duration}',
    values: [
      { name: 'n', value: n },
      { name: 'duration', value: '4 min' },
    ],
  })

  it('has its form and its values', () => {
    const parts = sentence(waiting(1), (value) => `<${value}>`)
    expect(parts.join('')).toBe('<1> message waits, the oldest for <4 min>')
    expect(sentence(waiting(2_000), String).join('')).toBe(
      '2,000 messages wait, the oldest for 4 min',
    )
  })

  it('is in the language of the person', async () => {
    const { sentence } = await inGerman('text.ts')
    expect(sentence(waiting(1), String).join('')).toBe('1 Nachricht wartet, die älteste seit 4 min')
    expect(sentence(waiting(2_000), String).join('')).toBe(
      '2.000 Nachrichten warten, die älteste seit 4 min',
    )
    const plain = { text: 'probably no server runs', one: null, values: [] }
    expect(sentence(plain, String)).toEqual(['wahrscheinlich läuft kein Server'])
  })
})

describe('an error of the API', () => {
  const faultOf = (text: string) => readPhone(text).fault ?? ''
  const refusal = () => {
    try {
      return readRecipient('12').address
    } catch (error) {
      return (error as Error).message
    }
  }

  it.each([
    [missingText('content.text'), 'Fill in: text'],
    [missingText('phone or email'), 'Fill in: phone or email'],
    [PHONE_TEXT, 'The phone number must have + and the country code, digits only'],
    [faultOf('asha'), '"asha" is not a phone number'],
    [
      faultOf('0151 1234567'),
      '"0151 1234567" has no country code: set the country, or write the number with + and its country code',
    ],
    [
      faultOf('2.54711E+11'),
      '"2.54711E+11" is in scientific notation, without its last digits: format the column as text in the spreadsheet, and export the file again',
    ],
    [
      faultOf('+254711000001 / +254711000002'),
      '"+254711000001 / +254711000002" has another number or an extension: remove it',
    ],
    [
      refusal(),
      'Write a phone number with + and its country code, such as +14155552671, or an e-mail address',
    ],
    [
      'Request body must be valid CSV: Line 2 is too long',
      'The file cannot be read: Line 2 is too long',
    ],
    ['url must be a URL', 'url must be a URL'],
  ])('%j is shown in words', (error, words) => {
    expect(inWords(error)).toBe(words)
  })

  it('is in the language of the person', async () => {
    const { inWords } = await inGerman('words.ts')
    expect(inWords(faultOf('asha'))).toBe('"asha" ist keine Telefonnummer')
  })
})

describe('an arrow key', () => {
  it.each([
    ['en', 1],
    ['ar', -1],
  ])('goes along the line in %s', async (language, right) => {
    const getItem = (name: string) => (name === 'svc.language' ? language : null)
    vi.stubGlobal('localStorage', { getItem })
    vi.resetModules()
    const { sideStep } = await import('../console/shell/text.ts')
    expect(['ArrowRight', 'ArrowLeft'].map(sideStep)).toEqual([right, -right])
    expect(sideStep('Enter')).toBeFalsy()
  })
})

describe('a day of UTC', () => {
  it('is the same in each zone', () => {
    vi.stubGlobal('localStorage', { getItem: () => 'workspace' })
    workspaceZone.value = 'America/Los_Angeles'
    expect(utcDay('2026-05-01')).toBe('May 1, 2026')
    expect(utcDay(Date.parse('2026-05-01T00:00:00Z'))).toBe('May 1, 2026')
  })
})
