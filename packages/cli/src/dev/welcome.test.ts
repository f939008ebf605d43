import { expect, it } from 'vitest'
import { type Welcome, welcomeText } from './welcome.ts'

const demo = {
  api_key: 'svc_key',
  workspace: { id: 'w1', email: 'demo@sandbox.svc', credits_balance: 100_000_000 },
  password: null,
} as unknown as Welcome['demo']

const text = (providers: Welcome['providers']) =>
  welcomeText(
    {
      url: 'http://127.0.0.1:3000',
      demo,
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
