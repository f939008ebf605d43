import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { createCore, systemRuntime } from '@svc/core'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type Config, readConfig, startServer } from '../src/index.ts'
import { within } from './within.ts'

let folder: string
let config: Config
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-start-'))
  config = readConfig({
    PORT: '0',
    SVC_DATA_DIR: folder,
    SVC_SIGNUP_CREDITS: '5',
    SVC_LOG_LEVEL: 'silent',
  })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('serves the API on a free port, sends in threads, and keeps all data over a restart', async () => {
  const first = await startServer({ config })
  const { url: base_url } = first
  expect(base_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
  await new Svc({ baseUrl: base_url }).workspaces.signup(signup)
  const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(signup)
  const { key: api_key } = await new Svc({ baseUrl: base_url, token }).apiKeys.create({ name: 'A' })
  const { messages } = new Svc({ baseUrl: base_url, apiKey: api_key })
  const { message_id: id } = await messages.send({
    to: '+14155552671',
    channel: 'sms',
    content: { text: 'Hello' },
  })
  const statusOf = async () => (await messages.get(id)).message.status
  await expect.poll(statusOf, { timeout: 10_000 }).toBe('delivered')
  await first.close()
  await expect(fetch(`${base_url}/health`)).rejects.toThrow()

  const second = await startServer({ config })
  try {
    const after = new Svc({ baseUrl: second.url, apiKey: api_key, token })
    expect((await after.messages.get(id)).message.status).toBe('delivered')
    // The session is still valid, because its secret was stored too.
    expect((await after.workspaces.account()).credits_balance).toBe(4)
  } finally {
    await second.close()
  }
})

it.each([
  { dev: true, status: 201 },
  { dev: false, status: 400 },
])('answers $status to a common password with dev: $dev', async ({ dev, status }) => {
  const { url, core, close } = await startServer({ config, dev })
  try {
    for (const [email, password] of [
      ['first@example.com', '12345678'],
      ['owner@example.com', 'owner@example.com'],
    ]) {
      const answer = await fetch(`${url}/api/v1/auth/signup`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password, company_name: 'A' }),
      })
      expect(answer.status).toBe(status)
    }
    const operator = core.operators.add({ name: 'ops', password: '12345678' })
    if (dev) await operator
    else await expect(operator).rejects.toThrow('most common')
  } finally {
    await close()
  }
})

it('listens on the port of the API, and so of the health checks, after all other ports', async () => {
  const others = { SVC_METRICS_LISTEN: '127.0.0.1:0', SVC_SMTP_LISTEN: '127.0.0.1:0' }
  const settings = { PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent', ...others }
  const { listen } = Server.prototype
  const servers: Server[] = []
  let others_listening: boolean[] = []
  const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (
    this: Server,
    ...given: unknown[]
  ) {
    others_listening = servers.map((other) => other.listening)
    servers.push(this)
    return Reflect.apply(listen, this, given) as Server
  })
  const server = await startServer({ config: readConfig(settings) })
  spy.mockRestore()
  try {
    expect(servers.at(-1)?.address()).toMatchObject({ port: Number(new URL(server.url).port) })
    expect(others_listening).toEqual([true, true])
  } finally {
    await server.close()
  }
})

it('serves as many connections, and lets as many wait, as the operator allows', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen')
  const server = await startServer({ config: { ...config, bulk_recipients_max: 1 } })
  // A burst of clients waits in a queue of this length, and needs no repeated attempts.
  const [address] = listen.mock.calls.map(([options]) => options as object)
  listen.mockRestore()
  expect(address).toMatchObject({ port: 0, backlog: 4_096 })
  try {
    const { url: base_url } = server
    const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
    await new Svc({ baseUrl: base_url }).workspaces.signup(signup)
    const { token } = await new Svc({ baseUrl: base_url }).workspaces.login(signup)
    const { key: api_key } = await new Svc({ baseUrl: base_url, token }).apiKeys.create({
      name: 'A',
    })
    const { bulks } = new Svc({ baseUrl: base_url, apiKey: api_key })
    const body = { channel: 'sms', content: { text: 'x' } } as const
    const sent = await bulks.send({ ...body, recipients: ['+14155552671'] })
    expect(sent.accepted).toBe(1)
    await expect(
      bulks.send({ ...body, recipients: ['+14155552671', '+14155552672'] }),
    ).rejects.toThrow('recipients must have at most 1 item')
  } finally {
    await server.close()
  }
})

it.each(['on', 'off'] as const)('mails about low credits with SVC_CONSOLE=%s', async (state) => {
  const server = await startServer({ config: { ...config, low_balance: '5', console: state } })
  try {
    const { core, url } = server
    const owner = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
    const { id } = await core.workspaces.create(owner)
    const { key } = await core.apiKeys.create(id, { name: 'A' })
    const content = { text: 'Hello' }
    const { messages } = new Svc({ baseUrl: url, apiKey: key })
    await messages.send({ to: '+14155552671', channel: 'sms', content })
    const mails = () => core.mails.list().map(({ kind, link }) => [kind, link])
    const link = state === 'on' ? `${url}/console/credits` : undefined
    await expect.poll(mails, { timeout: 10_000 }).toEqual([['low_balance', link]])
  } finally {
    await server.close()
  }
})

it('refuses to serve a database that another server serves, without harm to that server', async () => {
  const first = await startServer({ config })
  try {
    await expect(startServer({ config })).rejects.toThrow('another svc process already serves')
    expect((await fetch(`${first.url}/health`)).status).toBe(200)
  } finally {
    await first.close()
  }
})

it('releases the database when its port is taken', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await expect.poll(() => other.address()).not.toBeNull()
  const { port } = other.address() as { port: number }
  await expect(startServer({ config: { ...config, port } })).rejects.toThrow('EADDRINUSE')
  other.close()
  const server = await startServer({ config: { ...config, port } })
  await within(5_000, 'the server to close', server.close())
})

it('ends a start that fails with nothing in flight: the inlet listens before the dispatch begins', async () => {
  const first = await startServer({ config })
  const owner = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
  const { id } = await first.core.workspaces.create(owner)
  const { key } = await first.core.apiKeys.create(id, { name: 'A' })
  await first.close()
  const core = await createCore({ database_url: config.database_url, runtime: systemRuntime() })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const content = { text: 'Hello' }
  const sent = await core.messages.send(identity, {
    channel: 'sms',
    to: '+14155552671',
    content,
  })
  await core.close()
  const other = createServer().listen(0, '127.0.0.1')
  await expect.poll(() => other.address()).not.toBeNull()
  const { port } = other.address() as AddressInfo
  const started = startServer({
    config: { ...config, smtp_listen: [{ host: '127.0.0.1', port, implicit_tls: false }] },
  })
  await expect(started).rejects.toThrow('EADDRINUSE')
  other.close()
  const after = await createCore({ database_url: config.database_url, runtime: systemRuntime() })
  const viewer = { workspace_id: id, mode: 'live' as const }
  const { status } = await after.messages.get(viewer, sent.data.message_id)
  expect(status).toBe('queued')
  await after.close()
})

it('takes the next port by listening, for each port that the person did not choose', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await expect.poll(() => taken.address()).not.toBeNull()
  const { port } = taken.address() as AddressInfo
  const smtp_listen = [{ host: '127.0.0.1', port, implicit_tls: false }]
  const start = (n: number) => {
    const database_url = `file:${join(folder, `${n}.db`)}`
    const next_port = { http: true, smtp: true }
    return startServer({ config: { ...config, port, smtp_listen, database_url }, next_port })
  }
  const servers = await Promise.all([0, 1, 2, 3].map(start))
  try {
    const used = servers.flatMap(({ url, smtp_urls }) => [url, ...smtp_urls])
    const ports = used.map((url) => Number(url.split(':').at(-1)))
    expect(new Set([port, ...ports]).size).toBe(9)
    for (const { url } of servers) expect((await fetch(`${url}/health`)).status).toBe(200)
  } finally {
    await Promise.all(servers.map((server) => server.close()))
    taken.close()
  }
})
