import { describe, expect, test } from 'vitest'
import { overridesOf } from './overrides.ts'

describe('overridesOf', () => {
  test('takes JSON where it is, and else a text', () => {
    expect(
      overridesOf([
        'data.a=1',
        'data.b=null',
        'data.c=+15550100',
        'data.d={"x":[true]}',
        'data.e=',
      ]),
    ).toEqual({ a: 1, b: null, c: '+15550100', d: { x: [true] }, e: '' })
  })

  test('puts fields of one object together, the last of one name on top', () => {
    const given = ['data.metadata.a=x', 'data.metadata.b=y=z', 'data.metadata.a=w']
    expect(overridesOf(given)).toEqual({ metadata: { a: 'w', b: 'y=z' } })
  })

  test('has no field that reaches every object', () => {
    const fields = overridesOf(['data.__proto__.polluted=1', 'data.__proto__.more=2'])
    expect(Object.keys(fields)).toEqual(['__proto__'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each(['recipient=x', 'data=x', 'data.=x', 'data..a=x', 'data.a'])('refuses %s', (option) => {
    expect(() => overridesOf([option])).toThrow('--override must be data.field=value')
  })
})
