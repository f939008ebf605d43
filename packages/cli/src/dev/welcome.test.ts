import { expect, it } from 'vitest'
import { type Welcome, welcomeText } from './welcome.ts'

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
