import { Svc } from '@svc/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { svc, svcJson } from './svc.ts'

let server: DevServer
let client: Svc

beforeAll(async () => {
  server = await startDevServer()
  client = new Svc({ baseUrl: server.url, apiKey: server.api_key })
  const text = '{{code}} {{shop}} {{floor}}'
  const variants = [{ channel: 'sms' as const, locale: 'en', content: { text } }]
  await client.templates.create({ name: 'login-code', variants })
  await client.templates.publish('login-code', {})
})
afterAll(() => server.close())

const start = (...argv: string[]) => svc(['verify', 'start', ...argv], server.here)

/** Starts a verification, and returns it with its text. */
async function started(...argv: string[]) {
  const { verification_id: id, message_id } = await svcJson<Record<string, string>>(
    ['verify', 'start', ...argv],
    server.here,
  )
  const { verification } = await client.verifications.get(id as string)
  const { message } = await client.messages.get(message_id as string)
  return { ...verification, text: (message.content as { text: string }).text }
}

test('start fills a stored template, and stores metadata', async () => {
  const template = ['--template', 'login-code', '--var', 'shop=Dodoma', 'floor=2']
  const asked = ['+15005550006', ...template, '--domain', 'shop.example']
  expect(await started(...asked, '--metadata', 'user=U7', 'team=a')).toMatchObject({
    text: '•••••• Dodoma 2\n@shop.example #••••••',
    metadata: { user: 'U7', team: 'a' },
  })
})

test('start ends an SMS with the hash of an app, and has the next channels', async () => {
  const steps = ['--fallback', 'voice', 'email:asha@example.com', '--fallback-after', '20']
  const one = await started('+15005550009', '--app-hash', 'FA+9qCX9VSu', ...steps)
  expect(one.text).toMatch(/\nFA\+9qCX9VSu$/)
  expect(one.fallback).toEqual([
    { channel: 'voice', to: '+15005550009' },
    { channel: 'email', to: 'asha@example.com' },
  ])
  const wait_ms = Date.parse(one.next_fallback_at ?? '') - Date.parse(one.created_at)
  expect(wait_ms).toBe(20_000)
})

test('start names a wrong option', async () => {
  const wrong: [string[], string][] = [
    [['--var', 'shop=x'], '--var needs --template'],
    [['--template', 'a', '--var', 'shop'], '--var must be key=value'],
    [['--metadata', 'user'], '--metadata must be key=value'],
    [['--client-ip', 'here'], 'client_ip must be an IP address'],
    [['--template', 'a', '--approved-template', 'b'], 'give one of'],
    [['--fallback', 'fax'], '--fallback: "fax" does not begin with'],
  ]
  for (const [argv, message] of wrong) {
    const { code, stderr } = await start('+15005550006', ...argv)
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(message)])
  }
  expect((await start('+15005550001', '--client-ip', '192.0.2.7')).code).toBe(0)
})
