import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Core, createCore } from '../../src/core.ts'
import { migratedFolder } from '../migrated-file.ts'

let folder: string
let core: Core
let server: Server
let posts: number
let status: number
/** The answer at the path of the second webhook. */
let elsewhere: number | null

beforeEach(async () => {
  folder = await migratedFolder('svc-gate-')
  posts = 0
  elsewhere = null
  server = createServer((request, response) => {
    posts += 1
    request.resume()
    response.writeHead((request.url === '/1' && elsewhere) || status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  core = await createCore({
    database_url: `file:${join(folder, 'svc.db')}`,
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
    threads: 0,
  })
})
afterEach(async () => {
  await core.close()
  server.close()
  rmSync(folder, { recursive: true })
})

/** A new workspace with this number of webhooks, which sends a test bulk of 50. */
async function attack(email: string, webhooks: number): Promise<string[]> {
  const signup = { email, password: 'a long test password', company_name: 'Acme' }
  const { id } = await core.workspaces.signup(signup)
  const { port } = server.address() as AddressInfo
  const ids: string[] = []
  for (let i = 0; i < webhooks; i++) {
    const url = `http://127.0.0.1:${port}/${i}`
    ids.push((await core.webhooks.create(id, { url, events: ['*'] })).id)
  }
  await sendBulk(id)
  return [id, ...ids]
}

async function sendBulk(id: string): Promise<void> {
  const scopes = ['send_messages' as const]
  const { key } = await core.apiKeys.create(id, { name: 'A', mode: 'test', scopes })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  await core.messages.bulks.send(identity, {
    channel: 'sms',
    content: { text: 'Hi' },
    recipients: Array.from({ length: 50 }, (_, i) => ({ to: `+1500555${1000 + i}` })),
  })
  await (await core.startDispatch()).idle()
}

it.each([404, 301, 400, 403])(
  'sends a handful of POSTs to a host that answers %i',
  async (refusal) => {
    status = refusal
    await attack('a@example.com', 3)
    expect(posts).toBe(5)
    await attack('b@example.com', 3)
    expect(posts).toBe(8)
  },
)

it('opens with a 2xx for the webhook that got it; a new address closes it again', async () => {
  status = 404
  const [id = '', first = '', second = ''] = await attack('a@example.com', 2)
  expect(posts).toBe(5)
  status = 204
  elsewhere = 404
  await core.webhooks.test(id, first)
  await (await core.startDispatch()).idle()
  const deliveries = async (webhook: string, state: 'delivered' | 'pending') =>
    (await core.webhooks.deliveries(id, webhook, { limit: 1, offset: 0, status: state })).total
  expect(await deliveries(first, 'delivered')).toBeGreaterThanOrEqual(98)
  expect(await deliveries(second, 'delivered')).toBe(0)
  await core.webhooks.update(id, second, { url: 'http://127.0.0.2:9/x' })
  expect(await deliveries(second, 'pending')).toBeGreaterThanOrEqual(100)
})

it.each(['path', 'port'])(
  'closes again when the %s of a confirmed address changes',
  async (part) => {
    status = 204
    const [id = '', webhook = ''] = await attack('a@example.com', 1)
    expect(posts).toBe(100)
    status = 404
    const other =
      part === 'port' ? createServer(server.listeners('request')[0] as () => void) : server
    if (part === 'port') await once(other.listen(0, '127.0.0.1'), 'listening')
    const { port } = other.address() as AddressInfo
    await core.webhooks.update(id, webhook, { url: `http://127.0.0.1:${port}/elsewhere` })
    await sendBulk(id)
    if (part === 'port') other.close()
    expect(posts).toBe(105)
  },
)

it('of another host does not wait for the old one', async () => {
  status = 404
  const [id = '', webhook = ''] = await attack('a@example.com', 1)
  expect(posts).toBe(5)
  const other = createServer(server.listeners('request')[0] as () => void)
  await once(other.listen(0, '127.0.0.2'), 'listening')
  const { port } = other.address() as AddressInfo
  await core.webhooks.update(id, webhook, { url: `http://127.0.0.2:${port}/` })
  await sendBulk(id)
  other.close()
  expect(posts).toBeGreaterThan(5)
})
