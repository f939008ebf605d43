import { describe, expect, test } from 'vitest'
import { headersOf, readHeaders } from './header-lines.ts'

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
