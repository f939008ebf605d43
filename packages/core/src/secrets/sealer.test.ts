import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { Sealed } from '../rows/sealed.ts'
import { readSecretsKeys } from './keys.ts'
import { createSealer, type Place } from './sealer.ts'

const KEY = randomBytes(32)
const OTHER = randomBytes(32).toString('base64')
const PLACE: Place = { table: 'webhooks', column: 'secret', workspace_id: 'w1', id: 'h1' }

const sealerOf = (...keys: string[]) => createSealer(readSecretsKeys(keys), { bytes: randomBytes })

describe('readSecretsKeys', () => {
  it('reads base64, base64url and hex as the same key', () => {
    const texts = [KEY.toString('base64'), KEY.toString('base64url'), KEY.toString('hex')]
    const upper = KEY.toString('hex').toUpperCase()
    expect(readSecretsKeys([...texts, upper, ` ${texts[0]}\n`])).toHaveLength(1)
    const [key] = readSecretsKeys(texts)
    expect(key?.id).toMatch(/^[0-9a-f]{16}$/)
    expect(KEY.toString('hex')).not.toContain(key?.id)
  })

  it.each([
    ['three letters', 'qqq'],
    ['31 bytes', randomBytes(31).toString('base64')],
    ['33 bytes', randomBytes(33).toString('base64')],
    ['63 digits', KEY.toString('hex').slice(1)],
    ['a word', 'correct horse battery staple correct horse!'],
  ])('refuses %s by its position, without its text', (_, text) => {
    const read = () => readSecretsKeys([OTHER, text])
    expect(read).toThrow(/^key 2 of 2 must be 32 bytes as base64 or as 64 hex digits/)
    expect(read).not.toThrow(text.slice(0, 12))
    expect(read).not.toThrow(OTHER)
  })

  it('reads at most 16 keys', () => {
    const many = Array.from({ length: 17 }, () => randomBytes(32).toString('base64'))
    expect(readSecretsKeys(many.slice(1))).toHaveLength(16)
    expect(() => readSecretsKeys(many)).toThrow('at most 16 keys')
  })
})

describe('a sealed value', () => {
  it.each(['', 'whsec_abc', 'ü✓'.repeat(1_000)])('opens to the sealed text: %j', (text) => {
    const sealer = sealerOf(OTHER)
    const value = sealer.seal(PLACE, text)
    expect(value).toMatch(new RegExp(`^svcenc1:${sealer.key_id}:[\\w-]+$`))
    expect(sealer.open(PLACE, value)).toBe(text)
    expect(sealer.seal(PLACE, text)).not.toBe(value)
  })

  it('opens with any of the keys, and is sealed with the first', () => {
    const old = sealerOf(OTHER)
    const value = old.seal(PLACE, 'text')
    const both = sealerOf(KEY.toString('hex'), OTHER)
    expect(both.open(PLACE, value)).toBe('text')
    expect(both.key_id).not.toBe(old.key_id)
    expect(both.seal(PLACE, 'text')).toContain(both.key_id)
  })

  it('reports the missing key and the place', () => {
    const old = sealerOf(OTHER)
    const value = old.seal(PLACE, 'text')
    for (const other of [sealerOf(), sealerOf(KEY.toString('hex'))]) {
      expect(() => other.open(PLACE, value)).toThrow(
        `secret of h1 in webhooks of workspace w1 needs the key ${old.key_id}, which is not set`,
      )
    }
  })

  it.each([
    ['table', { table: 'secrets' }],
    ['column', { column: 'previous_secret' }],
    ['workspace', { workspace_id: 'w2' }],
    ['row', { id: 'h2' }],
    ['split', { workspace_id: 'w', id: '1h1' }],
  ] as [string, Partial<Place>][])('does not open in another %s', (_, other) => {
    const sealer = sealerOf(OTHER)
    const value = sealer.seal(PLACE, 'text')
    expect(() => sealer.open({ ...PLACE, ...other }, value)).toThrow('cannot be decrypted')
  })

  it('does not open when a character is changed or the text is cut', () => {
    const sealer = sealerOf(OTHER)
    const value = sealer.seal(PLACE, 'text')
    const start = value.lastIndexOf(':') + 1
    // Except the last digit, which has bits that no byte uses.
    for (let at = start; at < value.length - 1; at++) {
      const other = value[at] === 'A' ? 'B' : 'A'
      const changed = `${value.slice(0, at)}${other}${value.slice(at + 1)}` as Sealed
      expect(() => sealer.open(PLACE, changed)).toThrow('cannot be decrypted')
    }
    for (const cut of [value.slice(0, -4), value.slice(0, start + 20), 'svcenc1:']) {
      expect(() => sealer.open(PLACE, cut as Sealed)).toThrow(/cannot be decrypted|is damaged/)
    }
  })

  it('is plain text without a key, and plain text opens with any key', () => {
    const plain = sealerOf()
    expect(plain.seal(PLACE, 'whsec_abc')).toBe('whsec_abc')
    expect(sealerOf(OTHER).open(PLACE, 'whsec_abc' as Sealed)).toBe('whsec_abc')
  })
})
