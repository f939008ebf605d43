import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import PostalMime from 'postal-mime'
import { beforeAll, describe, expect, it } from 'vitest'
import { RECIPIENTS } from '../console/pages/tools/recipients.ts'
import type { Demo } from '../src/dev/tools.ts'
import { readConfig, startServer } from '../src/index.ts'
import type { Account } from './accounts.ts'
import { openEvents } from './event-reader.ts'
import { speak } from './raw-http.ts'
import { openReceiver } from './receiver.ts'
import { openWorld, useWorld } from './world.ts'

let demo: Demo | null = null
const world = useWorld({ dev_tools: { demo: () => demo }, dispatch: true, listen: true })

interface Options {
  headers?: Record<string, string>
  from?: string
  json?: object
}

const HOST = 'localhost:3000'

const request = (url: string, { headers = {}, from, json }: Options = {}) =>
  world().app.inject({
    method: json ? 'POST' : 'GET',
    url,
    headers: { host: HOST, ...(json && { origin: `http://${HOST}` }), ...headers },
    ...(json && { payload: json }),
    ...(from !== undefined && { remoteAddress: from }),
  })

const TOOLS = '/console/api/dev'

// biome-ignore lint/suspicious/noExplicitAny: a test states its expectations of a body directly.
async function read(path: string, options: Options = {}): Promise<any> {
  const { statusCode, body } = await request(`${TOOLS}${path}`, options)
  expect([statusCode, body]).toStrictEqual([options.json ? 201 : 200, body])
  return JSON.parse(body).data
}

let owner: Account
let key: string
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  demo = { workspace_id: owner.id, api_key: key }
})

async function send(body: object): Promise<string> {
  const { data } = (await world().send(key, body)).body
  await world().dispatcher.idle()
  return data.message_id
}

const email = (content: object) =>
  send({ to: 'asha@example.com', channel: 'email', content: { subject: 'Hi', ...content } })

describe('access to the tools', () => {
  const PATHS = [
    '/dev',
    `${TOOLS}/start`,
    `${TOOLS}/mails`,
    `${TOOLS}/mails/1/html`,
    `${TOOLS}/requests`,
    `${TOOLS}/stream`,
  ]

  it.each([
    'localhost',
    'localhost:3000',
    'LOCALHOST:3000',
    '127.0.0.1:3000',
    '127.1.2.3',
    '[::1]:3000',
  ])(
    'is granted without a password to a browser of this machine that uses the name %s',
    async (host) => {
      expect((await request(`${TOOLS}/mails`, { headers: { host } })).statusCode).toBe(200)
      const headers = { host, origin: `http://${host}` }
      expect((await request('/console/api/v1/account', { headers })).json().data.id).toBe(owner.id)
      expect((await request('/console', { headers: { host } })).body).toContain(
        '&quot;dev&quot;:true',
      )
    },
  )

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])('is granted from %s', async (from) => {
    expect((await request(`${TOOLS}/mails`, { from })).statusCode).toBe(200)
  })

  const host = HOST
  const OTHERS: [string, Options][] = [
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
  ]

  it.each(OTHERS)(
    'is refused for %s: the tools are 404, and the data needs a sign-in',
    async (_, options) => {
      const cookie = `svc_session=${owner.token}`
      for (const headers of [options.headers, { ...options.headers, cookie }]) {
        for (const path of PATHS) {
          const { statusCode, body } = await request(path, { ...options, headers: headers ?? {} })
          expect([path, statusCode]).toStrictEqual([path, 404])
          expect(JSON.parse(body).message).toBe('Route not found')
        }
      }
      const account = await request('/console/api/v1/account', options)
      expect([401, 403]).toContain(account.statusCode)
      const page = await request('/console', options)
      expect(page.body).toContain('&quot;dev&quot;:false')
    },
  )

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

  it('is refused to a page of another site, also on this machine', async () => {
    const json = { channel: 'sms', sender: '+15005550006', recipient: 'sandbox', text: 'Hi' }
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await request(`${TOOLS}/replies`, { headers, json })).statusCode).toBe(403)
    const other = { headers: { origin: 'http://127.0.0.1:8080' }, json }
    expect((await request(`${TOOLS}/replies`, other)).statusCode).toBe(403)
  })

  it('is served by svc dev, not by svc serve', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-tools-'))
    const env = { PORT: '0', SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent' }
    const statuses = []
    try {
      for (const dev of [false, true]) {
        const server = await startServer({ config: readConfig(env), dev, demo: () => demo })
        for (const path of ['/dev', `${TOOLS}/requests`]) {
          const { status } = await fetch(`${server.url}${path}`, { redirect: 'manual' })
          statuses.push(status)
        }
        await server.close()
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    expect(statuses).toStrictEqual([404, 404, 302, 200])
  })

  it('leads from the former address /dev to the tools', async () => {
    const { statusCode, headers } = await request('/dev')
    expect([statusCode, headers.location]).toStrictEqual([302, './console/tools'])
  })
})

describe('the workspace', () => {
  it('is that of the demo, or another one that the person chooses', async () => {
    const other = await world().signup()
    const session = async (headers = {}) =>
      (await request('/console/api/session', { headers })).json().data
    const shown = await session()
    expect(shown.workspace_id).toBe(owner.id)
    expect(shown.workspaces.map(({ id }: { id: string }) => id)).toContain(other.id)
    expect((await session({ 'x-svc-workspace': other.id })).workspace_id).toBe(other.id)
    const unknown = { 'x-svc-workspace': '019df237-3e80-7000-a094-1f5a798dd1fb' }
    expect((await session(unknown)).user).toBeNull()
  })

  it('is that of a person who signed in, who is then no operator', async () => {
    const other = await world().signup()
    const session = async (headers = {}) =>
      (await request('/console/api/session', { headers })).json().data
    expect((await session()).operator).toBe('local')
    const cookie = `svc_session=${other.token}`
    expect(await session({ cookie })).toMatchObject({ workspace_id: other.id, operator: null })
    const overview = '/console/api/operator/overview'
    expect((await request(overview)).statusCode).toBe(200)
    expect((await request(overview, { headers: { cookie } })).statusCode).toBe(401)
  })

  it('is that of the demo again after a cookie of former data, which is removed', async () => {
    const cookie = 'svc_session=eyJhbGciOiJIUzI1NiJ9.e30.AAAA'
    const { headers } = await request('/console/api/session', { headers: { cookie } })
    expect(headers['set-cookie']).toMatch(/^svc_session=; Path=\/console\/api; Max-Age=0;/)
    const other = await world().signup()
    const valid = { cookie: `svc_session=${other.token}`, 'x-svc-workspace': owner.id }
    const chosen = await request('/console/api/session', { headers: valid })
    expect(chosen.json().data.user).toBeNull()
    expect(chosen.headers['set-cookie']).toBeUndefined()
  })

  it('has the key of the demo only in the workspace of the demo', async () => {
    const other = await world().signup()
    expect(await read('/start')).toStrictEqual({ api_key: key })
    const headers = { 'x-svc-workspace': other.id }
    expect(await read('/start', { headers })).toStrictEqual({ api_key: null })
  })
})

it('offers every test recipient that the guide to the sandbox lists', () => {
  const guide = new URL('../../../docs/guides/sandbox.md', import.meta.url)
  const listed = readFileSync(guide, 'utf8').match(/(?<=`)(\+1500555\d+|\w+@sandbox\.svc)(?=`)/g)
  const offered = RECIPIENTS.map(([address]) => address)
  expect(offered.toSorted()).toStrictEqual([...new Set(listed)].toSorted())
})

describe('the mails', () => {
  it('are those of the workspace in the sandbox and those of the service, newest first', async () => {
    const id = await email({ text: 'Hello' })
    await world().core.mails.idle()
    const { mails } = await read('/mails')
    expect(mails[0]).toMatchObject({ id, from: 'sandbox', to: 'asha@example.com', subject: 'Hi' })
    const verify = mails.find(({ to }: { to: string }) => to === owner.email)
    expect(verify).toMatchObject({ from: 'service', state: 'verify_email' })
    const whole = await read(`/mails/${verify.id}`)
    expect(whole.text).toMatch(/\/verify-email\?token=/)
    expect(whole.headers).toContainEqual(['To', owner.email])
    const other = await world().signup()
    const headers = { 'x-svc-workspace': other.id }
    expect((await request(`${TOOLS}/mails/${id}`, { headers })).statusCode).toBe(404)
    expect((await request(`${TOOLS}/mails/none`)).statusCode).toBe(404)
  })

  it('have the source that a mail server would get, with a link to unsubscribe that works', async () => {
    const attachments = [{ filename: 'ä.pdf', content: Buffer.from('%PDF').toString('base64') }]
    const id = await email({ html: '<p>Grüße</p>', text: 'Grüße', attachments })
    const { headers, attachments: files } = await read(`/mails/${id}`)
    expect(files).toStrictEqual([
      { name: 'ä.pdf', content_type: 'application/octet-stream', bytes: 4 },
    ])
    const source = await request(`${TOOLS}/mails/${id}/source?mode=live`)
    expect(source.headers['content-type']).toBe('text/plain; charset=utf-8')
    const mail = await PostalMime.parse(source.rawPayload)
    expect(mail).toMatchObject({ subject: 'Hi', text: 'Grüße\n', html: '<p>Grüße</p>\n' })
    expect(mail.attachments[0]?.filename).toBe('ä.pdf')
    const [, link = ''] = headers.find(([name]: [string]) => name === 'List-Unsubscribe')
    const token = /\/unsubscribe\/(\w+)>/.exec(link)?.[1] ?? ''
    expect(await world().core.unsubscribe.look(token)).toMatchObject({
      workspace_name: 'Company 1',
    })
    const file = await request(`${TOOLS}/mails/${id}/attachments/0`)
    expect(file.headers['content-disposition']).toBe("attachment; filename*=UTF-8''%C3%A4.pdf")
    expect([file.body, file.headers['content-type']]).toEqual(['%PDF', 'application/octet-stream'])
    expect((await request(`${TOOLS}/mails/${id}/attachments/1`)).statusCode).toBe(404)
  })

  it('are pages under a policy that allows no script and no request, with links in new tabs', async () => {
    const html =
      '<script>steal()</script><img src="https://evil.example/x.png"><img src="cid:logo">'
    const logo = {
      filename: 'l.png',
      content_type: 'image/png',
      content_id: 'logo',
      content: 'SGk=',
    }
    const id = await email({ html, attachments: [logo] })
    const { statusCode, headers, body } = await request(`${TOOLS}/mails/${id}/html`)
    const shown = html.replace('cid:logo', 'data:image/png;base64,SGk=')
    expect([statusCode, body]).toStrictEqual([200, `<!doctype html><base target="_blank">${shown}`])
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['x-dns-prefetch-control']).toBe('off')
    expect(headers['referrer-policy']).toBe('no-referrer')
    const policy = String(headers['content-security-policy']).split('; ')
    expect(policy.toSorted()).toStrictEqual(
      [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        'img-src data:',
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'self'",
        'sandbox allow-popups allow-popups-to-escape-sandbox',
      ].toSorted(),
    )
  })
})

describe('the phone', () => {
  const talk = async (number: string) => (await read(`/phones/${encodeURIComponent(number)}`)).items

  it('shows the segments of an SMS, which together are the text', async () => {
    const to = '+14155550140'
    const text = `${'a'.repeat(152)}{ and €uro ${'b'.repeat(160)}`
    await send({ to, content: { text } })
    const emoji = `${'ä'.repeat(30)}“${'🎉'.repeat(30)}`
    await send({ to, content: { text: emoji } })
    const items = await talk(to)
    expect(items).toMatchObject([
      { from: 'service', channel: 'sms', encoding: 'GSM-7', non_gsm_characters: [] },
      { encoding: 'UCS-2', non_gsm_characters: ['“', '🎉'], state: 'delivered' },
    ])
    expect(items[0].parts.join('')).toBe(text)
    // An escape pair is never split, so the first segment is one septet short.
    expect(items[0].parts[0]).toBe('a'.repeat(152))
    expect(items[0].parts).toHaveLength(3)
    expect(items[1].parts.join('')).toBe(emoji)
    expect(items[1].parts).toHaveLength(2)
  })

  it('names the characters that need UCS-2 only where they are few', async () => {
    const to = '+14155550149'
    await send({ to, content: { text: 'مرحبا، رمز التحقق الخاص بك هو 1234' } })
    expect(await talk(to)).toMatchObject([{ encoding: 'UCS-2', non_gsm_characters: [] }])
  })

  it('shows media and templates of WhatsApp by their names', async () => {
    const to = '+14155550141'
    const media = { type: 'image', url: 'https://example.com/cat.jpg', caption: 'A cat' }
    await send({ to, channel: 'whatsapp', content: { media } })
    const template = { name: 'order_ready', language: 'en', variables: { name: 'Asha' } }
    await send({ to, channel: 'whatsapp', content: { template } })
    expect(await talk(to)).toMatchObject([
      { title: 'image: https://example.com/cat.jpg', parts: ['A cat'] },
      { title: 'Template order_ready (en)', parts: ['name: Asha'] },
    ])
  })
})

describe('a reply', () => {
  const reply = (json: object, options: Options = {}) => read('/replies', { ...options, json })
  const text = { channel: 'sms', sender: '+14155550123', recipient: 'sandbox', text: 'Hello there' }
  const received = async (headers = {}) =>
    (await request('/console/api/v1/messages/received', { headers })).json().data.received

  it('is a received message with its event, also without an earlier message', async () => {
    const receiver = await openReceiver()
    try {
      await world().webhook(owner, { url: receiver.url, events: ['message.received'] })
      await reply(text)
      await world().dispatcher.idle()
      expect((await received())[0]).toMatchObject({
        sender: '+14155550123',
        content: { text: 'Hello there', media: [] },
        provider: 'sandbox',
        livemode: true,
      })
      expect(JSON.parse(String(receiver.arrivals[0]?.body)).data).toMatchObject({
        sender: '+14155550123',
        content: { text: 'Hello there' },
      })
    } finally {
      await receiver.close()
    }
  })

  it('is a test message in test mode, and of the chosen workspace only', async () => {
    const other = await world().signup()
    const headers = { 'x-svc-workspace': other.id, 'x-svc-mode': 'test' }
    await reply({ ...text, text: 'A test' }, { headers })
    const [one] = await received(headers)
    expect(one).toMatchObject({ content: { text: 'A test' }, livemode: false })
    expect((await received()).map(({ id }: { id: string }) => id)).not.toContain(one.id)
  })

  it('that is STOP ends messages to the number, and is answered', async () => {
    await reply({ ...text, text: 'STOP' })
    await world().dispatcher.idle()
    const list = `/console/api/v1/messages?recipient=${encodeURIComponent('+14155550123')}`
    const { messages } = (await request(list)).json().data
    expect(messages[0].content.text).toContain('Reply START')
    const refused = await world().send(key, { to: '+14155550123' })
    expect([refused.status, refused.body.error]).toStrictEqual([400, 'validation_error'])
  })

  it('is refused with the fault for a number that is none', async () => {
    const json = { ...text, sender: '123' }
    const { statusCode, body } = await request(`${TOOLS}/replies`, { json })
    expect([statusCode, JSON.parse(body).details[0].path]).toStrictEqual([400, 'sender'])
  })

  it('of the talkative recipient of the sandbox is received', async () => {
    await send({ to: '+15005550008' })
    await world().advance(1_000)
    const all: { sender: string; content: object }[] = await received()
    const one = all.find(({ sender }) => sender === '+15005550008')
    expect(one?.content).toMatchObject({ text: 'Thank you!' })
  })
})

describe('the log of requests', () => {
  const last = async () => (await read('/requests')).requests[0]

  it('has method, path, status, duration, key, request id and error code', async () => {
    const { key: named } = await world().key(owner, { name: 'Shop' })
    const { headers } = await world().call('GET', '/api/v1/messages?limit=1', { key: named })
    expect(await last()).toMatchObject({
      method: 'GET',
      path: '/api/v1/messages?limit=1',
      status: 200,
      key: 'Shop',
      error: null,
      request_id: headers['x-request-id'],
      duration_ms: expect.any(Number),
    })
    await world().call('GET', '/api/v1/messages', { key: 'svc_wrong' })
    expect(await last()).toMatchObject({ status: 401, key: null, error: 'unauthorized' })
    await world().call('GET', '/api/v1/account', { token: owner.token })
    expect(await last()).toMatchObject({ key: 'session' })
    await world().call('GET', '/api/v1/nothing')
    expect(await last()).toMatchObject({ status: 404, error: 'not_found' })
  })

  it('has the bodies with their secrets masked, and cut', async () => {
    const json = { email: owner.email, password: owner.password }
    const { body } = await world().call('POST', '/api/v1/auth/login', { json, from: '203.0.113.5' })
    const { request: login } = await read(`/requests/${(await last()).id}`)
    expect(login.request_body).toContain(owner.email)
    expect(JSON.stringify(login)).not.toContain(owner.password)
    expect(JSON.stringify(login)).not.toContain(body.data.token)
    const { key: made } = await world().key(owner)
    const { request: created } = await read(`/requests/${(await last()).id}`)
    expect(created.response_body).toContain('"mode": "live"')
    expect(JSON.stringify(created)).not.toContain(made)
    await world().send(key, { content: { text: `${key} ${'x'.repeat(1_000)}` } })
    const { request: sent } = await read(`/requests/${(await last()).id}`)
    expect(sent.request_body).toContain('••• xxx')
    expect(sent.request_body.length).toBeLessThan(1_000)
    const path = `/api/v1/auth/verify-email?token=${'t'.repeat(64)}`
    await world().call('GET', path)
    expect((await last()).path).toBe('/api/v1/auth/verify-email?token=•••')
  })

  it('leaves out the requests of the console, and keeps the last 500', async () => {
    const before = (await last()).id
    await request('/console/api/v1/account')
    expect((await last()).id).toBe(before)
    for (let i = 0; i < 501; i++) await request('/api/v1/nothing')
    const { requests } = await read('/requests')
    expect([requests.length, requests[0].id]).toStrictEqual([500, before + 501])
    expect((await request(`${TOOLS}/requests/${before}`)).statusCode).toBe(404)
  })
})

describe('the stream of the tools', () => {
  const open = () => openEvents(`${world().url}${TOOLS}/stream`)

  it('has the requests and the mails of the service as they come', async () => {
    const events = await open()
    expect(events.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    await world().call('GET', '/api/v1/messages?limit=3', { key })
    expect(await events.next()).toMatchObject({
      event: 'request',
      data: { path: '/api/v1/messages?limit=3', status: 200 },
    })
    await world().signup()
    await world().core.mails.idle()
    const seen = new Set<string>()
    while (!seen.has('mail')) seen.add((await events.next())?.event ?? 'end')
    expect(seen).not.toContain('end')
    events.close()
  })

  it('has a bound: the next client gets 429', async () => {
    const streams = await Promise.all(Array.from({ length: 33 }, open))
    const refused = streams.filter(({ status }) => status === 429)
    expect(refused.map(({ headers }) => headers['retry-after'])).toStrictEqual(['5'])
    for (const events of streams) events.close()
    await expect
      .poll(async () => {
        const again = await open()
        again.close()
        return again.status
      })
      .toBe(200)
  })

  it('ends at once when the service stops', async () => {
    const closing = await openWorld({ dev_tools: { demo: () => own }, listen: true })
    const { id } = await closing.signup()
    const own: Demo = { workspace_id: id, api_key: 'svc_demo' }
    const events = await openEvents(`${closing.url}${TOOLS}/stream`)
    await closing.close()
    let event = await events.next()
    while (event) event = await events.next()
    expect(event).toBeNull()
  })
})
