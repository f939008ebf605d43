import { type Broadcast, Svc } from '@svc/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { svc, svcJson } from './svc.ts'

let server: DevServer
let client: Svc

beforeAll(async () => {
  server = await startDevServer()
  client = new Svc({ baseUrl: server.url, apiKey: server.api_key })
  const variants = [
    { channel: 'sms' as const, locale: 'en', content: { text: 'Hi {{name}}, {{offer|tea}}' } },
  ]
  await client.templates.create({ name: 'news', variants })
  await client.templates.publish('news', {})
  const tags = ['vip']
  const attributes = { city: 'Moshi' }
  await client.contacts.create({ name: 'Asha', phone: '+15005550006', tags, attributes })
  await client.contacts.create({ name: 'Juma', email: 'juma@example.com', tags })
  await client.contacts.create({ phone: '+15005550001', tags: ['vip', 'staff'] })
})

afterAll(() => server.close())

const broadcasts = (...argv: string[]) => svc(['broadcasts', ...argv], server.here)
const json = <T>(...argv: string[]) => svcJson<T>(['broadcasts', ...argv], server.here)

test('preview shows size, price and samples', async () => {
  const { code, stdout } = await broadcasts(
    'preview',
    'news',
    '--tag',
    'vip',
    '--exclude-tag',
    'staff',
  )
  expect(code).toBe(0)
  expect(stdout).toMatch(/^contacts\s+2$/m)
  expect(stdout).toMatch(/^messages\s+1$/m)
  expect(stdout).toMatch(/^no address\s+1$/m)
  expect(stdout).toContain('Hi Asha, tea')
  const without = ['--tag', 'vip', '--exclude-attribute', 'city=Moshi']
  expect((await broadcasts('preview', 'news', ...without)).stdout).not.toContain('Asha')
  const all = await broadcasts('preview', 'news', '--all', '--var', 'offer=cake')
  expect(all.stdout).toContain('Hi Asha, cake')
  expect(all.stderr).toContain('No value for {{name}}')
})

test('needs an audience, or --all', async () => {
  const none = await broadcasts('preview', 'news')
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('--all for all contacts')])
  const both = await broadcasts('preview', 'news', '--all', '--tag', 'vip')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('give --all alone')])
  const rate = await broadcasts('create', 'news', '--all', '--rate', 'fast')
  expect([rate.code, rate.stderr]).toEqual([2, expect.stringContaining('--rate must be a number')])
})

test('create asks, and the broadcast is sent, listed and shown', async () => {
  const audience = ['--tag', 'vip', '--exclude-tag', 'staff']
  expect((await broadcasts('create', 'news', ...audience)).stderr).toContain('add --yes')
  const made = await json<{ broadcast: { id: string } }>(
    ...['create', 'news', ...audience, '--name', 'May', '--yes', '--idempotency-key', 'may'],
  )
  const { id } = made.broadcast
  const again = await json<{ broadcast: { id: string } }>(
    ...['create', 'news', ...audience, '--name', 'May', '--yes', '--idempotency-key', 'may'],
  )
  expect(again.broadcast.id).toBe(id)
  await expect
    .poll(async () => (await client.broadcasts.get(id)).broadcast.status, { timeout: 20_000 })
    .toBe('finished')
  const { stdout } = await broadcasts('show', id)
  expect(stdout).toMatch(/^status\s+finished$/m)
  expect(stdout).toMatch(/^contacts\s+2 of 2$/m)
  expect(stdout).toMatch(/^accepted\s+1$/m)
  expect(stdout).toMatch(/^template\s+news, version 1$/m)
  expect((await broadcasts('list', '--status', 'finished')).stdout).toMatch(
    new RegExp(`^finished\\t${id}\\tMay\\tsms\\tnews\\t1\\t\\S+\\n$`),
  )
})

test('--local-time shows when the messages go', async () => {
  const local = ['news', '--tag', 'vip', '--exclude-tag', 'staff', '--local-time']
  const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10)
  const { stdout } = await broadcasts('preview', ...local, `${day}T09:00`)
  expect(stdout).toMatch(new RegExp(`^at ${day}T\\d\\d:00:00\\.000Z\\s+1 message: .+$`, 'm'))
  const wrong = await broadcasts('preview', ...local, '2035-05-04T09:00Z')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('2026-05-04T09:00')])
  const both = await broadcasts('create', ...local, '2035-05-04T09:00', '--at', '1h')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('not both')])
})

test('a draft begins with resume, and is paused and canceled', async () => {
  const made = await broadcasts(
    'create',
    'news',
    '--tag',
    'vip',
    '--draft',
    '--at',
    '1h',
    '--rate',
    '60',
  )
  const [, id = ''] = /^draft\t(\S+)\n$/.exec(made.stdout) ?? []
  expect((await broadcasts('resume', id)).stdout).toBe(`scheduled\t${id}\n`)
  expect((await broadcasts('pause', id)).stdout).toBe(`paused\t${id}\n`)
  expect((await broadcasts('show', id)).stdout).toContain('requested: A request paused it.')
  expect((await broadcasts('cancel', id)).stderr).toContain('add --yes')
  expect((await broadcasts('cancel', id, '--yes')).stdout).toBe(`canceled\t${id}\n`)
})

test('update changes what its options name, until the broadcast begins', async () => {
  const audience = ['--tag', 'vip', '--exclude-tag', 'staff', '--var', 'offer=tea']
  const made = await json<{ broadcast: { id: string } }>(
    ...['create', 'news', ...audience, '--rate', '60', '--name', 'May', '--at', '2h', '--yes'],
  )
  const { id } = made.broadcast
  const update = async (...options: string[]) =>
    (await json<{ broadcast: Broadcast }>('update', id, ...options)).broadcast
  const excluded = ['--exclude-tag', 'bots', '--exclude-attribute', 'city=Berlin', 'kind=old']
  const first = await update('--rate', '30', ...excluded, '--var', 'shop=Acme')
  const exclude_attributes = { city: 'Berlin', kind: 'old' }
  expect(first).toMatchObject({
    ...{ id, name: 'May', rate: 30, status: 'scheduled' },
    audience: { tags: ['vip'], exclude_tags: ['bots'], exclude_attributes },
    template: { name: 'news', variables: { offer: 'tea', shop: 'Acme' } },
  })
  const all = await update(
    '--all',
    '--no-rate',
    '--no-name',
    '--local-time',
    '2035-05-04T09:00',
  ).catch((error: Error) => error.message)
  expect(all).toContain('35 days')
  const plain = await update('--all', '--no-rate', '--no-name', '--template', 'news', '--draft')
  expect(plain).toMatchObject({
    ...{ name: null, rate: null, status: 'draft' },
    audience: { exclude_tags: ['bots'], exclude_attributes },
    template: { name: 'news', variables: {} },
  })
  expect(plain.audience.tags).toBeUndefined()
  expect(await update('--no-at')).toMatchObject({ scheduled_at: null, time_zone: null })
  const none = await broadcasts('update', id)
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('at least one option')])
  const both = await broadcasts('update', id, '--all', '--tag', 'vip')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('give --all alone')])
  expect((await broadcasts('update', id, '--rate', '40')).stdout).toBe(`draft\t${id}\n`)
  await broadcasts('cancel', id, '--yes')
  const late = await broadcasts('update', id, '--rate', '50')
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('cannot be changed')])
})
