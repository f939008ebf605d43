import { once } from 'node:events'
import { connect, Server } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import { type InletStageOptions, openInletStage } from './inlet-stage.ts'
import { plainLogin, speak } from './smtp-client.ts'

type Stage = Awaited<ReturnType<typeof openInletStage>>

let stage: Stage | null = null
afterEach(async () => {
  vi.restoreAllMocks()
  await stage?.close()
  stage = null
})

async function open(options: InletStageOptions = {}) {
  const opened = await openInletStage({ dispatch: true, ...options })
  stage = opened
  const account = await opened.world.signup({ credits: 10 })
  const { key } = await opened.world.key(account)
  const visit = async (secret = key) => {
    const client = await speak(opened.port)
    await client.say('EHLO app.example\r\n')
    await client.say(plainLogin(secret))
    return client
  }
  return { ...opened, account, key, visit }
}

it('listens with the maximum of waiting connections that is set', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen')
  await open({ settings: { backlog: 2_000 } })
  expect(listen.mock.calls).toContainEqual([0, '127.0.0.1', 2_000])
})

const HEAD = 'From: shop@svc.example\r\nTo: asha@example.com\r\nSubject: Hi\r\n\r\n'

async function toData(client: Awaited<ReturnType<typeof speak>>) {
  await client.say('MAIL FROM:<a@b.example>\r\n')
  await client.say('RCPT TO:<asha@example.com>\r\n')
  expect(await client.say('DATA\r\n')).toMatch(/^354 /)
}

it('counts mails in the rate limits of the API, of the key and of the workspace: 451 4.7.1', async () => {
  const once = { max: 1, window_s: 60 }
  // The workspace has made one request, for its first key.
  const { visit, account, world } = await open({
    rates: { general: once, workspace: { max: 3, window_s: 60 } },
  })
  const { apiKeys } = world.core
  const create = () => apiKeys.create(account.id, { name: 'other', mode: 'live' })
  const keys = [await create(), await create()] as const
  const begin = async (client: Awaited<ReturnType<typeof speak>>) => {
    const reply = await client.say('MAIL FROM:<a@b.example>\r\n')
    await client.say('RSET\r\n')
    return reply
  }
  const first = await visit()
  expect(await begin(first)).toMatch(/^250 /)
  expect(await begin(first)).toMatch(
    /^451 4\.7\.1 Rate limit exceeded\. Try again in \d+ seconds\./,
  )
  // The refused mail did not count for the workspace.
  expect(await begin(await visit(keys[0].key))).toMatch(/^250 /)
  expect(await begin(await visit(keys[1].key))).toMatch(/^451 4\.7\.1 Rate limit exceeded/)
})

it('counts wrong keys of an address: 454 4.7.0, while a right key passes', async () => {
  const { port, visit, world, account } = await open({
    rates: { failed_auth: { max: 1, window_s: 60 }, anonymous: { max: 3, window_s: 60 } },
  })
  const reader = await world.key(account, { scopes: ['read_messages'] })
  const attempt = async (key: string) => {
    const client = await speak(port)
    await client.say('EHLO app.example\r\n')
    return client.say(plainLogin(key))
  }
  expect(await attempt(reader.key)).toMatch(/^535 5\.7\.8 .*send_messages/)
  expect(await attempt('svc_wrong')).toMatch(/^535 5\.7\.8 Invalid API key/)
  expect(await attempt('svc_wrong')).toMatch(/^454 4\.7\.0 /)
  // A key without the scope is no wrong key, but counts like a request without a credential.
  expect(await attempt(reader.key)).toMatch(/^454 4\.7\.0 /)
  const client = await visit()
  expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(/^250 /)
})

it('refuses mails while the service is overloaded: 451', async () => {
  let requests = 1
  const { visit } = await open({ load: () => ({ requests, delay_ms: 0 }) })
  const client = await visit()
  requests = 1_000_000
  expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(/^451 4\.7\.1 Too many requests/)
})

it('refuses connections beyond the limit of an address', async () => {
  const { port } = await open({ limits: { connections_of_network: 1 } })
  const first = await speak(port)
  const second = connect({ host: '127.0.0.1', port })
  let text = ''
  second.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  await once(second, 'close')
  expect(text).toMatch(/^421 4\.7\.0 Too many connections/)
  first.socket.destroy()
})

it('closes connections without a login, and silent connections', async () => {
  const { port, visit } = await open({ limits: { login_ms: 2_000, silence_ms: 4_000 } })
  const silent = await visit()
  const stranger = await speak(port)
  await stranger.closed
  // The limit for the login has ended.
  expect(await silent.say('NOOP\r\n')).toMatch(/^250 /)
  await silent.closed
})

it('closes a connection after its last mail, and after many wrong recipients', async () => {
  const { visit } = await open({ limits: { mails: 1, refused_recipients: 2 } })
  const client = await visit()
  await client.say('MAIL FROM:<a@b.example>\r\n')
  await client.say('RSET\r\n')
  expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(/^421 /)
  const other = await visit()
  await other.say('MAIL FROM:<a@b.example>\r\n')
  expect(await other.say('RCPT TO:<a@localhost>\r\n')).toMatch(/^550 5\.1\.3 /)
  expect(await other.say('RCPT TO:<a@localhost>\r\n')).toMatch(/^421 /)
})

it('ends a mail that takes too long, and stores nothing', async () => {
  const { visit, world, account } = await open({ limits: { data_ms: 300 } })
  const client = await visit()
  await toData(client)
  expect(await client.say(HEAD)).toMatch(/^421 .*too long/)
  await client.closed
  expect((await world.written(account)).messages).toBe(0)
})

it('bounds the mails in memory of all connections: 452 4.3.1, and takes mails again later', async () => {
  const { visit } = await open({ limits: { buffered_bytes: 200_000 } })
  // The bound fits one of these mails, not two.
  const large = `${HEAD}${`${'x'.repeat(70)}\r\n`.repeat(2_000)}`
  const slow = await visit()
  const other = await visit()
  await toData(slow)
  slow.socket.write(large)
  await toData(other)
  expect(await other.say(`${large}\r\n.\r\n`)).toMatch(/^452 4\.3\.1 /)
  expect(await slow.say('\r\n.\r\n')).toMatch(/^250 /)
  await toData(slow)
  slow.socket.write(large)
  slow.socket.destroy()
  await slow.closed
  await expect
    .poll(async () => {
      await toData(other)
      return other.say(`${large}\r\n.\r\n`)
    })
    .toMatch(/^250 /)
  // Each of these lines arrives as a chunk of its own, which takes more memory than its bytes.
  await toData(other)
  expect(await other.say(`${HEAD}${'..\r\n'.repeat(2_000)}\r\n.\r\n`)).toMatch(/^452 4\.3\.1 /)
})

it('bounds the mails in memory of each workspace, and of each client: 452 4.3.1', async () => {
  const large = `${HEAD}${`${'x'.repeat(70)}\r\n`.repeat(2_000)}`
  const { visit, world } = await open({ limits: { buffered_bytes_of_workspace: 200_000 } })
  const other = (await world.key(await world.signup({ credits: 10 }))).key
  const slow = await visit()
  await toData(slow)
  slow.socket.write(large)
  const same = await visit()
  await toData(same)
  expect(await same.say(`${large}\r\n.\r\n`)).toMatch(/^452 4\.3\.1 /)
  // Another workspace has its own share, and the first one its mail.
  const stranger = await visit(other)
  await toData(stranger)
  expect(await stranger.say(`${large}\r\n.\r\n`)).toMatch(/^250 /)
  expect(await slow.say('\r\n.\r\n')).toMatch(/^250 /)
  await toData(same)
  expect(await same.say(`${large}\r\n.\r\n`)).toMatch(/^250 /)
  await stage?.close()

  const second = await open({ limits: { buffered_bytes_of_client: 200_000 } })
  const { key } = await second.world.key(await second.world.signup({ credits: 10 }))
  const first = await second.visit()
  await toData(first)
  first.socket.write(large)
  const beside = await second.visit(key)
  await toData(beside)
  expect(await beside.say(`${large}\r\n.\r\n`)).toMatch(/^452 4\.3\.1 /)
})

it('completes the mail in flight when it stops, and closes idle connections', async () => {
  const { visit, inlet, world, account } = await open()
  const busy = await visit()
  const idle = await visit()
  await toData(busy)
  busy.socket.write(HEAD)
  const closing = inlet.close(5_000)
  await idle.closed
  expect(await busy.say('Hello\r\n.\r\n')).toMatch(/^250 2\.6\.0 Queued as /)
  await busy.closed
  await closing
  expect((await world.written(account)).messages).toBe(1)
})

it('does not send a mail whose key ended while it was received', async () => {
  const { visit, world, account } = await open()
  const keys = await world.call('GET', '/api/v1/api-keys', { token: account.token })
  const client = await visit()
  await toData(client)
  for (const { id } of keys.body.data.api_keys) {
    await world.call('DELETE', `/api/v1/api-keys/${id}`, { token: account.token })
  }
  expect(await client.say(`${HEAD}Hello\r\n.\r\n`)).toMatch(/^535 5\.7\.8 /)
  expect((await world.written(account)).messages).toBe(0)
})
