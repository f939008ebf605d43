import { expect, it, test } from 'vitest'
import type { Style } from '../show/text.ts'
import { type AnsweredRequest, requestLine, type Welcome, welcomeText } from './welcome.ts'

const demo = {
  api_key: 'svc_key',
  workspace: {
    id: '019df237-3e80-7000-a094-1f5a798dd1fb',
    email: 'demo@sandbox.svc',
    credits_balance: 100_000_000,
  },
  password: null,
} as unknown as Welcome['demo']

const text = (providers: Welcome['providers']) =>
  welcomeText(
    {
      url: 'http://127.0.0.1:3000',
      demo,
      smtp_urls: ['smtp://127.0.0.1:2525'],
      taken_port: null,
      data_place: './data',
      svc: 'svc',
      providers,
    },
    (_, plain) => plain,
  )

it('says that no message leaves the machine without a provider', () => {
  expect(text([])).toContain('no message leaves this machine')
})

it('names the real providers and their channels', () => {
  const shown = text([
    { name: 'twilio', channels: ['sms', 'voice'] },
    { name: 'smtp', channels: ['email'] },
  ])
  expect(shown).toContain('for real: sms, voice by twilio; email by smtp')
  expect(shown).not.toContain('no message leaves this machine')
})

it('shows the line that sets address and key in another shell', () => {
  expect(text([]).split('\n')).toContain('export SVC_URL=http://127.0.0.1:3000 SVC_API_KEY=svc_key')
})

it('shows the changed line for Twilio, Resend and SMTP, with working credentials', () => {
  const lines = text([]).split('\n')
  expect(lines).toContain(
    "client = twilio('AC019df2373e807000a0941f5a798dd1fb', 'svc_key'); client.api.baseUrl = 'http://127.0.0.1:3000/compat/twilio'",
  )
  expect(lines).toContain(
    "new Resend('svc_key', { baseUrl: 'http://127.0.0.1:3000/compat/resend' })",
  )
  expect(lines).toContain('smtp://svc:svc_key@127.0.0.1:2525')
})

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
