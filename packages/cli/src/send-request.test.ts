import { expect, test } from 'vitest'
import { sendRequestOf } from './send-request.ts'

test.each([
  [
    { to: '+12', text: 'x' },
    { channel: 'sms', to: '+12', content: { text: 'x' } },
  ],
  [
    { to: 'a@b.example', subject: 's', html: '<p>' },
    { channel: 'email', to: 'a@b.example', content: { subject: 's', html: '<p>' } },
  ],
  [
    {
      to: '+12',
      text: 'x',
      channel: 'whatsapp' as const,
      from: '+34',
      at: '2026-05-04',
      metadata: ['a=', '__proto__=b'],
    },
    {
      channel: 'whatsapp',
      to: '+12',
      content: { text: 'x' },
      from: '+34',
      scheduled_at: '2026-05-04',
      metadata: Object.fromEntries([
        ['a', ''],
        ['__proto__', 'b'],
      ]),
    },
  ],
])('%o', (options, request) => {
  expect(sendRequestOf(options)).toEqual(request)
})

test.each(['nonsense', '=value'])('metadata "%s" is refused', (pair) => {
  expect(() => sendRequestOf({ to: '+12', metadata: [pair] })).toThrow(
    '--metadata must be key=value',
  )
})
