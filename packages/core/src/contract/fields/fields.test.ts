import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { decode } from '../endpoints/decode.ts'
import {
  credits,
  dateTime,
  httpUrl,
  idempotencyKey,
  metadata,
  phone,
  phoneOrText,
  senderName,
  text,
  timestamp,
  uuid,
} from './fields.ts'
import { units } from './units.ts'

/** The message with which a field named `it` refuses the value, or undefined. */
function refusalOf(schema: z.ZodType, value: unknown): string | undefined {
  try {
    decode(z.object({ it: schema }), { it: value })
  } catch (error) {
    return (error as Error).message
  }
  return undefined
}

describe('a text that may be a phone number', () => {
  test.each([
    [' 255700000001', '+255700000001'],
    [' 12', '+12'],
    ['+255700000001', '+255700000001'],
    ['255700000001', '255700000001'],
    [' 1', ' 1'],
    [' 02', ' 02'],
    ['  12', '  12'],
    [' 12 ', ' 12 '],
    [' 1234567890123456', ' 1234567890123456'],
    ['a 12', 'a 12'],
    [' asha@example.com', ' asha@example.com'],
  ])('%j is read as %j', (input, read) => {
    expect(decode(phoneOrText(text(255)), input)).toBe(read)
  })
})

describe('phone', () => {
  test.each(['+14155552671', '+12', '+123456789012345', '+999999999999999'])(
    'takes %s',
    (value) => {
      expect(decode(phone, value)).toBe(value)
    },
  )

  test.each([
    '14155552671',
    '+04155552671',
    '+1',
    '+1234567890123456',
    '+1 4155552671',
    '+1-415-555-2671',
    '+14155552671\n',
    '+１４１５５５５２６７１',
    'tel:+14155552671',
  ])('refuses %j', (value) => {
    expect(refusalOf(phone, value)).toBe('Phone number must be in E.164 format')
  })
})

describe('instants', () => {
  test('are Dates, and ISO 8601 with milliseconds and Z in JSON', () => {
    const date = new Date('2026-05-04T09:30:00.000Z')
    expect(timestamp.decode('2026-05-04T09:30:00.000Z')).toEqual(date)
    expect(timestamp.encode(date)).toBe('2026-05-04T09:30:00.000Z')
  })

  test.each(['2026-02-30', 'soon', '', '2026-05-04T09:30:15 03:00'])('%j is refused', (value) => {
    expect(refusalOf(dateTime.optional(), value)).toBe('Invalid date format. Use ISO 8601 format.')
  })

  test('refuses a number', () => {
    expect(refusalOf(dateTime, 1777887015000)).toBe('it must be a string')
  })

  test('does not encode an invalid Date', () => {
    expect(timestamp.safeEncode(new Date(Number.NaN)).success).toBe(false)
  })
})

describe('credits', () => {
  test.each([
    [0.1, 100_000],
    [0.5, 500_000],
    [12, 12_000_000],
    [999_999_999.999999, 999_999_999_999_999],
    [-0.3, -300_000],
  ])('%d is %d units, and back', (amount, n) => {
    expect(credits.decode(amount)).toBe(n)
    expect(credits.encode(units(n))).toBe(amount)
  })

  test.each([0.0000001, 1e9, -1e9, 0.1234567])('refuses %d', (amount) => {
    expect(refusalOf(credits, amount)).toBe(
      'Credits must have at most six decimals and be below 1000000000',
    )
  })

  test('refuses a string', () => {
    expect(refusalOf(credits, '1')).toBe('it must be a number')
  })

  test('does not encode a fraction of a unit', () => {
    expect(credits.safeEncode(0.5 as ReturnType<typeof units>).success).toBe(false)
  })
})

describe('metadata', () => {
  test('keeps every key, also __proto__ and constructor', () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"constructor":1,"order_id":"A1","n":[1]}')
    const read = decode(z.strictObject({ metadata }), { metadata: value }).metadata
    expect(JSON.stringify(read)).toBe(JSON.stringify(value))
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  test.each([[[]], ['x'], [1], [null]])('refuses %j', (value) => {
    expect(refusalOf(metadata, value)).toBe('it must be an object')
  })

  test('accepts 50 keys and refuses 51', () => {
    const keys = (n: number) =>
      Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]))
    expect(refusalOf(metadata, keys(50))).toBeUndefined()
    expect(refusalOf(metadata, keys(51))).toBe('Metadata must have at most 50 keys')
  })

  test('accepts 8192 bytes of JSON in UTF-8 and refuses 8193', () => {
    const bytes = (n: number) => ({ k: 'x'.repeat(n - '{"k":""}'.length) })
    expect(refusalOf(metadata, bytes(8192))).toBeUndefined()
    expect(refusalOf(metadata, bytes(8193))).toBe('Metadata must be at most 8192 bytes of JSON')
    expect(refusalOf(metadata, { k: 'ü'.repeat(4096) })).toBe(
      'Metadata must be at most 8192 bytes of JSON',
    )
  })
})

describe('links', () => {
  test.each(['https://example.com/x?y=1', 'http://127.0.0.1:3000', 'https://münchen.de/'])(
    'takes %s',
    (value) => {
      expect(refusalOf(httpUrl, value)).toBeUndefined()
    },
  )

  test.each([
    'ftp://example.com',
    'javascript:alert(1)',
    'example.com',
    '//example.com',
    'https://user:pw@example.com',
    'https://user@example.com',
    'https://example.com/#',
    'https://example.com/#frag',
    ' https://example.com',
    'https://exa\nmple.com',
    'https://',
  ])('refuses %j', (value) => {
    expect(refusalOf(httpUrl, value)).toBe(
      'URL must be http or https, without user name, password or fragment',
    )
  })

  test('accepts 2048 characters and refuses 2049', () => {
    const long = (n: number) => `https://example.com/${'a'.repeat(n - 20)}`
    expect(refusalOf(httpUrl, long(2048))).toBeUndefined()
    expect(refusalOf(httpUrl, long(2049))).toBe('it must be at most 2048 characters')
  })
})

describe('names and keys', () => {
  test.each(['Example Ltd', "Asha's Café", '例'])('accepts the sender %s', (value) => {
    expect(refusalOf(senderName, value)).toBeUndefined()
  })

  test.each(['Bank <ceo@bank.test>', 'a@b', 'a\r\nBcc: b', 'a\u202eb', 'a\u2028b'])(
    'refuses the sender %j',
    (value) => {
      expect(refusalOf(senderName, value)).toBe(
        'Sender name must be one line without "<", ">", "@" or direction marks',
      )
    },
  )

  test.each(['a', 'order 17', 'x'.repeat(255)])('accepts the idempotency key %s', (value) => {
    expect(refusalOf(idempotencyKey, value)).toBeUndefined()
  })

  test.each(['x'.repeat(256), ' a', 'a\n', 'ä'])('refuses the idempotency key %j', (value) => {
    expect(refusalOf(idempotencyKey, value)).toBe(
      'Idempotency-Key must be 1 to 255 printable ASCII characters',
    )
  })

  test('accepts only UUIDs as ids', () => {
    expect(refusalOf(uuid, '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01')).toBeUndefined()
    expect(refusalOf(uuid, '42')).toBe('it must be a UUID')
  })
})
