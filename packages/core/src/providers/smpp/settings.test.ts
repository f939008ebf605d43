import { getCountries } from 'libphonenumber-js/min'
import { describe, expect, test } from 'vitest'
import { settings, timingOf } from './settings.ts'
import { smppType } from './type.ts'

const BIND = { host: 'smsc.example', system_id: 'svc', password: 'secret' }
const MINIMAL = { type: 'smpp', name: 'carrier', binds: [BIND] }

test('the settings have defaults', () => {
  expect(settings.parse(MINIMAL)).toEqual({
    type: 'smpp',
    name: 'carrier',
    binds: [{ ...BIND, port: 2775, system_type: '', tls: false, connections: 1 }],
    handles_stop: false,
    window: 10,
    alphabet: 'gsm',
    long_text: 'udh',
    max_parts: 25,
    receipts: 'final',
    id_form: 'as_is',
    unknown_as: 'sent',
    service_type: '',
    addresses: {
      alphanumeric: { ton: 5, npi: 0 },
      international: { ton: 1, npi: 1 },
      short_code: { ton: 3, npi: 0 },
    },
    errors: {},
    enquire_link_s: 30,
    response_timeout_s: 10,
  })
})

describe('the settings refuse', () => {
  test.each<[string, object]>([
    ['no binds', { binds: [] }],
    ['seventeen binds', { binds: Array(17).fill(BIND) }],
    ['a NUL in the password', { binds: [{ ...BIND, password: 'a\0b' }] }],
    ['no system_id', { binds: [{ ...BIND, system_id: '' }] }],
    ['an authority that is not a certificate', { binds: [{ ...BIND, tls: { ca: 'ca.pem' } }] }],
    ['port 0', { binds: [{ ...BIND, port: 0 }] }],
    ['an unknown setting', { windows: 10 }],
    ['a window of 0', { window: 0 }],
    ['256 parts', { max_parts: 256 }],
    ['a malformed status', { errors: { ok: 'retry' } }],
    ['the status of success', { errors: { '0x0': 'retry' } }],
    ['an unknown class', { errors: { '0x400': 'again' } }],
    ['a timeout longer than that of a batch', { response_timeout_s: 16 }],
    ['an unknown country', { default_country: 'XX' }],
    ['the name of a country', { default_country: 'Germany' }],
    ['an unknown alphabet', { alphabet: 'utf8' }],
  ])('%s', (_title, more) => {
    expect(settings.safeParse({ ...MINIMAL, ...more }).success).toBe(false)
  })
})

test('the settings take a country in lower case', () => {
  expect(settings.parse({ ...MINIMAL, default_country: 'de' }).default_country).toBe('DE')
})

test('the settings take each country of the table of numbers, and no other', () => {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
  const codes = letters.flatMap((first) => letters.map((second) => first + second))
  const isTaken = (default_country: string) =>
    settings.safeParse({ ...MINIMAL, default_country }).success
  expect(codes.filter(isTaken)).toEqual([...getCountries()].sort())
})

test('the settings allow less than 20 seconds for a message', () => {
  for (const response_timeout_s of [1, 10, 15]) {
    const { send_ms, response_ms } = timingOf(settings.parse({ ...MINIMAL, response_timeout_s }))
    expect(response_ms).toBe(response_timeout_s * 1000)
    expect(send_ms - response_ms).toBeGreaterThan(0)
    expect(send_ms).toBeLessThan(20_000)
  }
})

test('the settings determine the traits', () => {
  const traits = smppType.traits(settings.parse(MINIMAL))
  expect(traits).toEqual({
    channels: ['sms'],
    senders: {},
    idempotent: false,
    lookup: false,
    callback_bytes: null,
    listens: true,
    connected: true,
    messages_per_second: null,
    handles_stop: false,
  })
  const more = { senders: ['12345', 'SVC'], messages_per_second: 5, handles_stop: true }
  expect(smppType.traits(settings.parse({ ...MINIMAL, ...more }))).toMatchObject({
    senders: { sms: ['12345', 'SVC'] },
    messages_per_second: 5,
    handles_stop: true,
  })
})
