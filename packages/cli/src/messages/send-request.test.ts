import { expect, test } from 'vitest'
import { sendRequestOf } from './send-request.ts'

const now = new Date('2026-05-04T09:00:00.000Z')

test.each([
  [
    { to: ['+12'], text: 'x' },
    { channel: 'sms', to: '+12', content: { text: 'x' } },
  ],
  [
    { to: ['+12'], text: 'x', at: '10m' },
    {
      channel: 'sms',
      to: '+12',
      content: { text: 'x' },
      scheduled_at: '2026-05-04T09:10:00.000Z',
    },
  ],
  [
    { to: ['a@b.example'], subject: 's', html: '<p>' },
    { channel: 'email', to: 'a@b.example', content: { subject: 's', html: '<p>' } },
  ],
  [
    { to: ['a@b.example', 'b@b.example'], cc: ['c@b.example'], bcc: ['d@b.example'], subject: 's' },
    {
      channel: 'email',
      to: ['a@b.example', 'b@b.example'],
      content: { subject: 's', cc: ['c@b.example'], bcc: ['d@b.example'] },
    },
  ],
  [
    { to: ['+12'], text: 'x', channel: 'voice' as const },
    { channel: 'voice', to: '+12', content: { text: 'x' } },
  ],
  [
    {
      to: ['+12'],
      text: 'x',
      channel: 'whatsapp' as const,
      from: '+34',
      at: '2026-05-04',
      expiresIn: '1h',
      metadata: ['a=', '__proto__=b'],
    },
    {
      channel: 'whatsapp',
      to: '+12',
      content: { text: 'x' },
      from: '+34',
      scheduled_at: '2026-05-04',
      expires_in: 3_600,
      metadata: Object.fromEntries([
        ['a', ''],
        ['__proto__', 'b'],
      ]),
    },
  ],
])('builds the request of %o', (options, request) => {
  expect(sendRequestOf(options, now)).toEqual(request)
})

test.each(['nonsense', '=value'])('refuses --metadata "%s"', (pair) => {
  expect(() => sendRequestOf({ to: ['+12'], metadata: [pair] }, now)).toThrow(
    '--metadata must be key=value',
  )
})

test.each(['soon', '10', ''])('refuses --expires-in "%s"', (expiresIn) => {
  expect(() => sendRequestOf({ to: ['+12'], expiresIn }, now)).toThrow(
    '--expires-in must be a duration',
  )
})

test('refuses several recipients of a text message', () => {
  expect(() => sendRequestOf({ to: ['+12', '+34'], text: 'x' }, now)).toThrow('are for e-mail')
  expect(() => sendRequestOf({ to: ['+12'], cc: ['a@b.example'], text: 'x' }, now)).toThrow(
    'are for e-mail',
  )
})
