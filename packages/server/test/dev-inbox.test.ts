import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig, startServer } from '../src/index.ts'
import { packageFile } from '../src/pages/page.ts'
import type { Account } from './accounts.ts'
import { openEvents, type StreamEvent } from './event-reader.ts'
import { speak } from './raw-http.ts'
import { openReceiver } from './receiver.ts'
import { openWorld, useWorld } from './world.ts'

const demo = { workspace_id: 'w', api_key: 'svc_demo' }
const world = useWorld({ inbox: { demo: () => demo }, dispatch: true, listen: true })

interface Options {
  headers?: Record<string, string>
  from?: string
}

const request = (url: string, { headers = { host: 'localhost:3000' }, from }: Options = {}) =>
  world().app.inject({
    method: 'GET',
    url,
    headers,
    ...(from !== undefined && { remoteAddress: from }),
  })

// biome-ignore lint/suspicious/noExplicitAny: a test states its expectations of a body directly.
async function read(url: string): Promise<any> {
  const { statusCode, body } = await request(url)
  expect([statusCode, body]).toStrictEqual([200, body])
  return JSON.parse(body)
}

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
})

async function send(body: object): Promise<string> {
  const { data } = (await world().send(key, body)).body
  await world().dispatcher.idle()
  return data.message_id
}

describe('access to the inbox', () => {
  const PATHS = ['/dev', '/dev/inbox.js', '/dev/api/workspaces', '/dev/api/stream?workspace=w']

  it.each([
    'localhost',
    'localhost:3000',
    'LOCALHOST:3000',
    '127.0.0.1:3000',
    '127.1.2.3',
    '[::1]:3000',
  ])('is granted to a browser of this machine that uses the name %s', async (host) => {
    expect((await request('/dev', { headers: { host } })).statusCode).toBe(200)
    const origin = `http://${host}`
    expect((await request('/dev/api/mails', { headers: { host, origin } })).statusCode).toBe(200)
  })

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('is granted from %s', async (from) => {
    expect((await request('/dev', { from })).statusCode).toBe(200)
  })

  const host = 'localhost:3000'
  it.each<[string, Options]>([
    ['another machine', { from: '192.168.1.20' }],
    ['another machine, by an address that looks like this one', { from: '::ffff:10.0.0.1' }],
    ['a name that was pointed here', { headers: { host: 'evil.example:3000' } }],
    ['a name that begins as this machine', { headers: { host: 'localhost.evil.example' } }],
    ['a name that ends as this machine', { headers: { host: 'evil-localhost' } }],
    ['an address with a prefix', { headers: { host: 'evil.127.0.0.1' } }],
    ['a page elsewhere', { headers: { host, origin: 'https://evil.example' } }],
    ['a page of no origin', { headers: { host, origin: 'null' } }],
    ['a proxy', { headers: { host, 'x-forwarded-for': '203.0.113.7' } }],
    ['a proxy that sends Forwarded', { headers: { host, forwarded: 'for=203.0.113.7' } }],
  ])('returns 404 for %s', async (_, options) => {
    for (const path of PATHS) {
      const { statusCode, body } = await request(path, options)
      expect([path, statusCode]).toStrictEqual([path, 404])
      expect(JSON.parse(body).message).toBe('Route not found')
    }
  })

  it('returns 404 without a Host header', async () => {
    const heads = [
      ['GET /dev HTTP/1.0'],
      ['GET /dev HTTP/1.1', 'Host:'],
      ['GET /dev HTTP/1.1', 'Host: evil.example'],
    ]
    for (const lines of heads) {
      const head = [...lines, 'Connection: close', '', ''].join('\r\n')
      const { statuses } = await speak(world().url, (socket) => void socket.write(head))
      expect(statuses).toStrictEqual([404])
    }
  })

  it('is served by svc dev, not by svc serve', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-inbox-'))
    const env = { PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent' }
    const statuses = []
    try {
      for (const dev of [false, true]) {
        const server = await startServer({ config: readConfig(env), dev })
        for (const path of PATHS.slice(0, 3)) {
          statuses.push((await fetch(`${server.url}${path}`)).status)
        }
        await server.close()
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    expect(statuses).toStrictEqual([404, 404, 404, 200, 200, 200])
  })
})

describe('the page', () => {
  const names = readdirSync(packageFile('@svc/server', 'dev'))

  it.each(names)('serves %s, which runs and loads only its own files', async (name) => {
    const { statusCode, headers, body } = await request(
      name === 'inbox.html' ? '/dev' : `/dev/${name}`,
    )
    expect(statusCode).toBe(200)
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self';")
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(body).not.toMatch(/innerHTML|insertAdjacentHTML|document\.write|@import|\beval\b/)
    const imported = [...body.matchAll(/from '\.\/([^']+)'/g)].map(([, file]) => file)
    const linked = [...body.matchAll(/(?:src|href)="\/dev\/([^"]+)"/g)].map(([, file]) => file)
    for (const file of [...imported, ...linked]) expect(names).toContain(file)
  })

  it.each(['/dev/', '/dev/../package.json', '/dev/..%2fpackage.json', '/dev/%2e%2e/src/app.ts'])(
    '%s leads to no file',
    async (path) => {
      expect((await request(path)).statusCode).toBe(404)
    },
  )

  it('counts in no rate limit, and shows the counters', async () => {
    const remaining = async () => (await request('/dev')).headers['x-ratelimit-remaining']
    expect(await remaining()).toBe(await remaining())
  })

  it('offers every test recipient that the guide to the sandbox lists', () => {
    const guide = new URL('../../../docs/guides/sandbox.md', import.meta.url)
    const listed = readFileSync(guide, 'utf8').match(/(?<=`)(\+1500555\d+|\w+@sandbox\.svc)(?=`)/g)
    const file = readFileSync(packageFile('@svc/server', 'dev/recipients.js'), 'utf8')
    const offered = file.match(/(?<=')(\+1500555\d+|\w+@sandbox\.svc)(?=')/g)
    expect(offered?.toSorted()).toStrictEqual([...new Set(listed)].toSorted())
  })
})

describe('the data of the inbox', () => {
  it('returns every workspace, and the demo key', async () => {
    const shown = await read('/dev/api/workspaces')
    expect(shown.demo).toStrictEqual(demo)
    expect(shown.workspaces).toContainEqual(
      expect.objectContaining({ id: owner.id, name: 'Company 1', email: owner.email }),
    )
    expect(JSON.stringify(shown)).not.toContain('password')
  })

  it('returns the messages of a workspace, newest first, in pages, with filters', async () => {
    const other = await world().signup({ credits: 500 })
    const otherKey = (await world().key(other)).key
    for (let i = 0; i < 105; i++) await world().send(otherKey, { content: { text: `Number ${i}` } })
    await world().send(otherKey, { to: '+15005550001' })
    await world().dispatcher.idle()
    const first = await read(`/dev/api/messages?workspace=${other.id}`)
    expect([first.total, first.messages.length]).toStrictEqual([106, 100])
    expect(first.messages[1]).toMatchObject({ excerpt: 'Number 104', status: 'delivered' })
    const next = await read(`/dev/api/messages?workspace=${other.id}&cursor=${first.next_cursor}`)
    expect(next.messages.at(-1).excerpt).toBe('Number 0')
    const failed = await read(`/dev/api/messages?workspace=${other.id}&status=failed&channel=sms`)
    expect(failed.messages).toMatchObject([
      { recipient: '+15005550001', error_code: 'invalid_recipient' },
    ])
    expect((await request(`/dev/api/messages?workspace=${other.id}&status=lost`)).statusCode).toBe(
      400,
    )
  })

  it('returns the segments of an SMS, which together are the text', async () => {
    const text = `${'a'.repeat(152)}{ and €uro ${'b'.repeat(160)}`
    const id = await send({ content: { text } })
    const { message } = await read(`/dev/api/messages/${id}?workspace=${owner.id}`)
    expect(message.sms).toMatchObject({ encoding: 'GSM-7', non_gsm_characters: [] })
    expect(message.sms.segments.join('')).toBe(text)
    // An escape pair is never split, so the first segment is one septet short.
    expect(message.sms.segments[0]).toBe('a'.repeat(152))
    expect(message.sms.segments).toHaveLength(message.segments)

    const emoji = `${'ä'.repeat(30)}“${'🎉'.repeat(30)}`
    const other = await send({ content: { text: emoji } })
    const { sms } = (await read(`/dev/api/messages/${other}?workspace=${owner.id}`)).message
    expect(sms).toMatchObject({ encoding: 'UCS-2', non_gsm_characters: ['“', '🎉'] })
    expect(sms.segments.join('')).toBe(emoji)
    expect(sms.segments).toHaveLength(2)
  })

  it('returns the timeline of a message, and its deliveries with payloads and responses', async () => {
    const receiver = await openReceiver({ text: 'got it' })
    try {
      await world().webhook(owner, { url: receiver.url, events: ['message.delivered'] })
      const id = await send({ content: { text: 'An event' } })
      const shown = await read(`/dev/api/messages/${id}?workspace=${owner.id}`)
      expect(shown.message).toMatchObject({ id, status: 'delivered', credits_used: 1 })
      expect(shown.timeline).toContainEqual(
        expect.objectContaining({ kind: 'ledger', type: 'send', credits: -1 }),
      )
      expect(shown.deliveries).toMatchObject([
        {
          event: 'message.delivered',
          status: 'delivered',
          url: receiver.url,
          payload: receiver.arrivals[0]?.body.toString(),
          attempts: [{ number: 1, response_status: 200, response_body: 'got it' }],
        },
      ])
      expect(JSON.stringify(shown)).not.toContain('whsec_')
    } finally {
      await receiver.close()
    }
  })

  it("returns the service's own mails, with their links", async () => {
    await world().core.mails.idle()
    const { mails } = await read('/dev/api/mails')
    const mail = mails.find(({ to }: { to: string }) => to === owner.email)
    expect(mail).toMatchObject({ kind: 'verify_email' })
    expect(mail.link).toContain('/verify-email?token=')
    const { body } = await request(`/dev/api/mails/${mail.id}/html`)
    expect(body).toBe(mail.html)
    expect((await request('/dev/api/mails/0/html')).statusCode).toBe(404)
  })

  it('serves the HTML of a mail under a policy that allows no script, no request and no link', async () => {
    const html = '<script>steal()</script><img src="https://evil.example/x.png"><b>Hi</b>'
    const content = { subject: 'Hi', html }
    const id = await send({ to: 'asha@example.com', channel: 'email', content })
    const { statusCode, headers, body } = await request(
      `/dev/api/messages/${id}/html?workspace=${owner.id}`,
    )
    expect([statusCode, body]).toStrictEqual([200, html])
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['x-dns-prefetch-control']).toBe('off')
    const policy = String(headers['content-security-policy']).split('; ')
    expect(policy.toSorted()).toStrictEqual(
      [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        'img-src data:',
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        'sandbox',
      ].toSorted(),
    )
  })

  it('returns 404 for a message of another workspace', async () => {
    const id = await send({})
    const other = await world().signup()
    for (const path of ['', '/html']) {
      const { statusCode } = await request(`/dev/api/messages/${id}${path}?workspace=${other.id}`)
      expect(statusCode).toBe(404)
    }
  })
})

describe('the stream', () => {
  const opened: { close(): void }[] = []
  const open = async (workspace: string) => {
    const events = await openEvents(`${world().url}/dev/api/stream?workspace=${workspace}`)
    opened.push(events)
    return events
  }
  afterAll(() => {
    for (const events of opened) events.close()
  })

  it('sends the current messages, then new ones with their statuses, and mails', async () => {
    const events = await open(owner.id)
    expect(events.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(events.headers['cache-control']).toBe('no-store')
    expect(await events.next()).toMatchObject({ event: 'begin' })
    const first = await events.next()
    expect(first?.event).toBe('messages')

    const id = await send({ to: '+15005550005' })
    const sent = await nextAbout(events, id, 'sent')
    expect(sent.data.total).toBe(first?.data.total + 1)
    await world().advance(31_000)
    await nextAbout(events, id, 'delivered')

    await world().signup()
    let mail = await events.next()
    while (mail?.event === 'messages') mail = await events.next()
    expect(mail).toMatchObject({ event: 'mail', data: { kind: 'verify_email' } })
  })

  it('works for an empty workspace, and sends nothing of other workspaces', async () => {
    const empty = await world().signup()
    const events = await open(empty.id)
    await events.next()
    expect(await events.next()).toStrictEqual({
      event: 'messages',
      data: { messages: [], total: 0 },
    })
  })

  it('limits the number of clients; the next one gets 429', async () => {
    let refused = await open(owner.id)
    for (let i = 0; i < 40 && refused.status === 200; i++) refused = await open(owner.id)
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('5')
    for (const events of opened.splice(0)) events.close()
    await expect.poll(async () => (await open(owner.id)).status).toBe(200)
  })
})

it('ends at once when the service stops', async () => {
  const closing = await openWorld({ inbox: {}, listen: true })
  const events = await openEvents(`${closing.url}/dev/api/stream?workspace=w`)
  await events.next()
  await closing.close()
  let event = await events.next()
  while (event) event = await events.next()
  expect(event).toBeNull()
})

async function nextAbout(
  events: { next(): Promise<StreamEvent | null> },
  id: string,
  status: string,
): Promise<StreamEvent> {
  for (;;) {
    const event = await events.next()
    if (!event) throw new Error(`the stream ended before ${id} was ${status}`)
    if (event.event !== 'messages') continue
    const row = event.data.messages.find((one: { id: string }) => one.id === id)
    if (row?.status === status) return event
  }
}
