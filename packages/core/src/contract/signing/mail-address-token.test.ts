import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { messageToken, readMessageToken } from './mail-address-token.ts'

const SECRET = 'a secret of the tests'
const REF = {
  workspace_id: '01999c7e-8f5c-7000-8a3b-2c4d5e6f7081',
  message_id: '01999c7e-8f5d-7001-9a3b-2c4d5e6f7082',
}

const purpose = fc.constantFrom('bounce' as const, 'unsubscribe' as const)
const ref = fc.record({ workspace_id: fc.uuid(), message_id: fc.uuid() })

describe('a token that names a message', () => {
  it('is read in any case, and fits a local part after b+', () => {
    fc.assert(
      fc.property(fc.string(), purpose, ref, (secret, of, about) => {
        const token = messageToken(secret, of, about)
        expect(token).toMatch(/^[0-9a-z]+$/)
        expect(Buffer.byteLength(`b+${token}`)).toBeLessThanOrEqual(64)
        expect(readMessageToken(secret, of, token)).toEqual(about)
        expect(readMessageToken(secret, of, token.toUpperCase())).toEqual(about)
      }),
    )
  })

  it('has the same length for the smallest and the largest ids', () => {
    for (const digit of ['0', 'f']) {
      const id = '00000000-0000-0000-0000-000000000000'.replaceAll('0', digit)
      const about = { workspace_id: id, message_id: id }
      const token = messageToken(SECRET, 'bounce', about)
      expect(token).toHaveLength(62)
      expect(readMessageToken(SECRET, 'bounce', token)).toEqual(about)
    }
  })

  it('never changes: sent links and addresses contain it', () => {
    expect(messageToken(SECRET, 'bounce', REF)).toMatchInlineSnapshot(
      `"05l7g9hxkoyf0oebimc47moyb36emz5cq4nf7l8mp8nyogu4ypz355nqw28yuj"`,
    )
    expect(messageToken(SECRET, 'unsubscribe', REF)).toMatchInlineSnapshot(
      `"05l7g9hxkoyf0oebimc47moyb36emz5cq4nf7l8mp8nyogu4ypz3x0x4fgo0fr"`,
    )
  })

  it('is invalid for the other purpose and with another secret', () => {
    const token = messageToken(SECRET, 'bounce', REF)
    expect(readMessageToken(SECRET, 'unsubscribe', token)).toBeNull()
    expect(readMessageToken('another secret', 'bounce', token)).toBeNull()
  })

  it('is invalid with one digit changed, missing or added', () => {
    const token = messageToken(SECRET, 'bounce', REF)
    for (let at = 0; at < token.length; at += 1) {
      const [before, digit, after] = [token.slice(0, at), token[at], token.slice(at + 1)]
      for (const other of ['0', '1', 'z', '', '-', '+', ' ', '\n', 'ſ', `${digit}${digit}`]) {
        if (other === digit) continue
        expect(readMessageToken(SECRET, 'bounce', before + other + after)).toBeNull()
      }
    }
  })

  it('is invalid with the ids of another message', () => {
    const other = { ...REF, message_id: '01999c7e-8f5d-7001-9a3b-2c4d5e6f7083' }
    const value = (about: typeof REF) =>
      [...messageToken(SECRET, 'bounce', about)].reduce(
        (sum, digit) => sum * 36n + BigInt(Number.parseInt(digit, 36)),
        0n,
      )
    const grafted = ((value(other) >> 64n) << 64n) | (value(REF) & 0xffffffffffffffffn)
    const token = grafted.toString(36).padStart(62, '0')
    expect(readMessageToken(SECRET, 'bounce', token)).toBeNull()
  })

  it('is invalid if it encodes more than forty bytes, or is any other text', () => {
    expect(readMessageToken(SECRET, 'bounce', 'z'.repeat(62))).toBeNull()
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), purpose, (text, of) => {
        expect(readMessageToken(SECRET, of, text)).toBeNull()
      }),
    )
  })

  it('refuses ids that are not UUIDs, without repeating them', () => {
    for (const id of ['m1', '', REF.message_id.toUpperCase(), `${REF.message_id}0`]) {
      const make = () => messageToken(SECRET, 'bounce', { ...REF, message_id: id })
      expect(make).toThrow(new RangeError('an id of a message is not a lower-case UUID'))
    }
  })
})
