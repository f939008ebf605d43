import { expect, test } from 'vitest'
import type { Style } from '../show/style.ts'
import { type AnsweredRequest, requestLine } from './request-line.ts'

const at = new Date(2026, 4, 4, 9, 0, 3)
const plain: Style = (_, text) => text
const line = (request: Partial<AnsweredRequest>) =>
  requestLine(
    { method: 'GET', url: '/', route: '/', status: 200, duration_ms: 1.4, ...request },
    at,
    plain,
  )

test('a request is one line with method, path, status and duration', () => {
  const route = '/api/v1/messages/:id'
  const url = '/api/v1/messages/01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
  expect(line({ url, route })).toBe(`09:00:03 GET ${url} 200 1 ms`)
})

test('has neither the query nor a token of the path, and controls no terminal', () => {
  expect(line({ url: '/verify?token=secret', route: '/verify' })).toBe(
    '09:00:03 GET /verify 200 1 ms',
  )
  expect(line({ url: '/unsubscribe/secret', route: '/unsubscribe/:token' })).toBe(
    '09:00:03 GET /unsubscribe/:token 200 1 ms',
  )
  expect(line({ url: '/\u001b[2J', route: undefined, status: 404 })).toBe(
    '09:00:03 GET /\\u001b[2J 404 1 ms',
  )
})

test('leaves out the files and polls of the pages, unless they fail', () => {
  expect(line({ url: '/console/assets/main.js', route: '/console/assets/main.js' })).toBe(null)
  expect(line({ url: '/dev/messages', route: '/dev/messages', status: 500 })).toContain('500')
})

test('colours the status', () => {
  const styled = (status: number) =>
    requestLine(
      { method: 'GET', url: '/', route: '/', status, duration_ms: 0 },
      at,
      (name, text) => `<${name}>${text}`,
    )
  expect([styled(200), styled(429), styled(500)]).toEqual([
    '<dim>09:00:03 GET / <green>200 <dim>0 ms',
    '<dim>09:00:03 GET / <yellow>429 <dim>0 ms',
    '<dim>09:00:03 GET / <red>500 <dim>0 ms',
  ])
})
