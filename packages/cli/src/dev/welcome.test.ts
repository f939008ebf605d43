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
      kept_in: './data',
      svc: 'svc',
      providers,
    },
    (_, plain) => plain,
  )

it('says that nothing leaves the machine where no provider is set', () => {
  expect(text([])).toContain('no message leaves this machine')
})

it('says what is sent for real, and by whom', () => {
  const told = text([
    { name: 'twilio', channels: ['sms', 'voice'] },
    { name: 'smtp', channels: ['email'] },
  ])
  expect(told).toContain('for real: sms, voice by twilio; email by smtp')
  expect(told).not.toContain('no message leaves this machine')
})
