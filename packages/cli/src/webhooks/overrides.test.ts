import { describe, expect, test } from 'vitest'
import { overridesOf } from './overrides.ts'

describe('overridesOf', () => {
  test('reads JSON values, else texts', () => {
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

  test('merges the fields of an object; the last value of a field wins', () => {
    const options = ['data.metadata.a=x', 'data.metadata.b=y=z', 'data.metadata.a=w']
    expect(overridesOf(options)).toEqual({ metadata: { a: 'w', b: 'y=z' } })
  })

  test('cannot change the prototype of objects', () => {
    const fields = overridesOf(['data.__proto__.polluted=1', 'data.__proto__.more=2'])
    expect(Object.keys(fields)).toEqual(['__proto__'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test.each(['recipient=x', 'data=x', 'data.=x', 'data..a=x', 'data.a'])('refuses %s', (option) => {
    expect(() => overridesOf([option])).toThrow('--override must be data.field=value')
  })
})
