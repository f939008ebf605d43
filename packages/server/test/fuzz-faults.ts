import fc from 'fast-check'
import { anyCharacter } from '../../core/test/any-character.ts'

const NASTY = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  '',
  ' ',
  '\0',
  '\ud800',
  '\u2028',
  '__proto__',
  'constructor',
  '2026-02-30',
  '+1',
  '+14155552671',
  'a@b.example',
  'email',
  'whatsapp',
  'voice',
  'sms',
  [],
  {},
  [[]],
  'x'.repeat(2_000),
  '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
  '*',
  '::/0',
  'https://x',
  'read',
  '1e3',
  '999999999999',
]

/** Any text, lone surrogates included. */
export const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: 'grapheme' }),
  fc.string(),
)
/** Values that often cause faults in services. */
export const nasty = fc.oneof(fc.constantFrom(...NASTY), fc.jsonValue({ maxDepth: 4 }), text)

/** A change: the place in a body, counted among all its places, and the new value. */
const change = fc.record({
  at: fc.nat(30),
  value: fc.option(nasty, { nil: undefined }),
  key: fc.option(fc.oneof(text, fc.constantFrom('__proto__', 'toString', 'to', 'text')), {
    freq: 5,
  }),
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** A damage: the position in a body's bytes and the new bytes; without new bytes, the rest is cut off. */
const damage = fc.record({
  at: fc.nat(),
  bytes: fc.option(fc.uint8Array({ maxLength: 4 }), { freq: 3 }),
})
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never

/** Bodies with another value in one place, without one, or with one more; as JSON. */
export function withOneChange(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return fc.tuple(bodies, change).map(([body, one]) => changed(body, one))
}

/** Bodies with some bytes overwritten, or cut off. */
export function withDamage(bodies: fc.Arbitrary<string>): fc.Arbitrary<Buffer> {
  return fc.tuple(bodies, damage).map(([body, one]) => damaged(body, one))
}

function changed(good: unknown, { at, value, key }: Change): string {
  if (typeof good !== 'object' || good === null) return JSON.stringify(value ?? null)
  const body = structuredClone(good)
  const places = placesIn(body)
  const [holder, field] = places[at % places.length] ?? [body, 'to']
  // The length of a list cannot be redefined.
  const name = key == null || (Array.isArray(holder) && key === 'length') ? field : key
  Object.defineProperty(holder, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  })
  return JSON.stringify(body)
}

function placesIn(value: object): [object, string][] {
  return Object.entries(value).flatMap(([field, inner]): [object, string][] => {
    const deeper = typeof inner === 'object' && inner !== null ? placesIn(inner) : []
    return [[value, field], ...deeper]
  })
}

function damaged(whole: string, { at, bytes: instead }: Damage): Buffer {
  const before = Buffer.from(whole)
  const cut = at % (before.length + 1)
  if (!instead) return before.subarray(0, cut)
  return Buffer.concat([before.subarray(0, cut), instead, before.subarray(cut + instead.length)])
}
