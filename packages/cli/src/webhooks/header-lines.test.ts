import { describe, expect, test } from 'vitest'
import { headersOf, readHeaders } from './header-lines.ts'

describe('headers are read from', () => {
  test.each([
    ['plain lines', 'X-Svc-Event: a\nwebhook-id:  b \n'],
    [
      'a request as it came',
      'POST /hooks HTTP/1.1\r\nX-Svc-Event: a\r\nwebhook-id: b\r\n\r\n{"c":1}',
    ],
    ['an answer as curl -D wrote it', 'HTTP/2 200\r\nX-Svc-Event: a\r\nwebhook-id: b\r\n\r\n'],
    ['JSON', '{"X-Svc-Event":"a","webhook-id":["b","c"]}'],
  ])('%s', (_, text) => {
    expect(readHeaders(text)).toEqual({ 'x-svc-event': 'a', 'webhook-id': 'b' })
  })

  test('nothing, where there is nothing', () => {
    expect(readHeaders('\n')).toEqual({})
  })
})

test('the first of a name counts, and a value may hold colons', () => {
  expect(headersOf(['Date: 10:20', 'date: later'])).toEqual({ date: '10:20' })
})

test.each(['nonsense', ': value', 'a b: c'])('"%s" is no header', (line) => {
  expect(() => headersOf([line])).toThrow('a header must be "name: value"')
})

test('what begins like JSON must be JSON', () => {
  expect(() => readHeaders('{"a":')).toThrow('the headers begin like JSON but are none')
})
