import { describe, expect, test } from 'vitest'
import { headersOf, overridesOf, readHeaders } from './webhooks-offline.ts'

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

describe('readHeaders reads', () => {
  test.each([
    ['plain lines', 'X-Svc-Event: a\nwebhook-id:  b \n'],
    ['a raw request', 'POST /hooks HTTP/1.1\r\nX-Svc-Event: a\r\nwebhook-id: b\r\n\r\n{"c":1}'],
    ['the output of curl -D', 'HTTP/2 200\r\nX-Svc-Event: a\r\nwebhook-id: b\r\n\r\n'],
    ['JSON', '{"X-Svc-Event":"a","webhook-id":["b","c"]}'],
  ])('%s', (_, text) => {
    expect(readHeaders(text)).toEqual({ 'x-svc-event': 'a', 'webhook-id': 'b' })
  })

  test('no headers in an empty text', () => {
    expect(readHeaders('\n')).toEqual({})
  })
})

test('headersOf keeps the first value of a name, and colons in a value', () => {
  expect(headersOf(['Date: 10:20', 'date: later'])).toEqual({ date: '10:20' })
})

test.each(['nonsense', ': value', 'a b: c'])('headersOf refuses "%s"', (line) => {
  expect(() => headersOf([line])).toThrow('a header must be "name: value"')
})

test('readHeaders refuses invalid JSON', () => {
  expect(() => readHeaders('{"a":')).toThrow('the headers start like JSON but are not valid JSON')
})
