import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectStatus } from './call.ts'
import { openReceiver } from './receiver.ts'
import { openWorld, type World } from './world.ts'

/** Texts that no log line may contain. They are sent as they are. */
const SENT = {
  password: 'canary-of-the-password',
  wrong_password: 'canary-of-a-wrong-password',
  email: 'canary-of-the-owner@example.com',
  company: 'Canary of the company',
  phone: '+99912345678901',
  recipient: '+99910987654321',
  mail_recipient: 'canary-of-a-recipient@example.com',
  text: 'canary of the text',
  subject: 'canary of the subject',
  html: '<p>canary of the html</p>',
  metadata_key: 'canary_of_a_metadata_key',
  metadata_value: 'canary-of-a-metadata-value',
  header_value: 'canary-of-a-webhook-header',
  bad_key: 'svc_canaryOfAKeyThatIsNone',
  bad_token: 'canary.of.a-token-that-is-none',
  idempotency_key: 'canary-of-an-idempotency-key',
  query: 'canary-in-the-query',
  path: 'canary-in-the-path',
  broken: 'canary-in-broken-json',
  cookie: 'canary-of-a-cookie',
  reply: 'canary of what the receiver answered',
}

let world: World
let canaries: Record<string, string>
let receiver: Awaited<ReturnType<typeof openReceiver>>

beforeAll(async () => {
  world = await openWorld({ log_level: 'trace', dispatch: true, signup_credits: '10' })
  receiver = await openReceiver({ answer: () => 500, text: SENT.reply })
  canaries = { ...SENT, ...(await liveThrough(world)) }
})
afterAll(async () => {
  world.takeFaults()
  await receiver.close()
  await world.close()
})

/** Runs every operation and every fault; returns the secrets from the answers. */
async function liveThrough({ call }: World): Promise<Record<string, string>> {
  const { email, password } = SENT
  const json = { email, password, company_name: SENT.company, phone: SENT.phone }
  expectStatus(201, await call('POST', '/api/v1/auth/signup', { json }))
  expectStatus(400, await call('POST', '/api/v1/auth/signup', { json }))
  const wrong = { email, password: SENT.wrong_password }
  expectStatus(401, await call('POST', '/api/v1/auth/login', { json: wrong }))
  const login = await call('POST', '/api/v1/auth/login', { json: { email, password } })
  const { token } = expectStatus(200, login).body.data
  for (const route of ['forgot-password', 'resend-verification']) {
    expectStatus(200, await call('POST', `/api/v1/auth/${route}`, { json: { email } }))
  }
  const verify_token = (await world.mailed(email, 'verify_email')) ?? 'no mail'
  const reset_token = (await world.mailed(email, 'reset_password')) ?? 'no mail'
  const verify = { json: { token: verify_token } }
  await world.app.inject({ method: 'GET', url: `/verify-email?token=${verify_token}` })
  expectStatus(200, await call('POST', '/api/v1/auth/verify-email', verify))
  expectStatus(400, await call('POST', '/api/v1/auth/verify-email', verify))
  const { key } = await world.key({ token })
  const { secret } = await world.webhook(
    { token },
    { url: receiver.url, headers: { 'X-Auth': SENT.header_value } },
  )
  const metadata = { [SENT.metadata_key]: SENT.metadata_value }
  const repeat = { 'idempotency-key': SENT.idempotency_key, cookie: SENT.cookie }
  for (const to of [SENT.recipient, '+15005550001', '+15005550009']) {
    const sent = await world.send(key, { to, content: { text: SENT.text }, metadata })
    expectStatus(201, sent)
  }
  const mail = {
    to: SENT.mail_recipient,
    channel: 'email',
    content: { subject: SENT.subject, html: SENT.html },
  }
  expectStatus(201, await world.send(key, mail, repeat))
  expectStatus(201, await world.send(key, mail, repeat))
  expectStatus(400, await world.send(key, { ...mail, metadata }, repeat))
  await world.advance(60_000)
  const as = { key, headers: repeat }
  expectStatus(200, await call('GET', `/api/v1/messages?recipient=${SENT.query}`, as))
  expectStatus(400, await call('GET', `/api/v1/messages?startDate=${SENT.query}`, as))
  expectStatus(404, await call('GET', `/api/v1/messages/${SENT.path}`, as))
  expectStatus(404, await call('GET', `/${SENT.path}?token=${token}&key=${key}`))
  expectStatus(404, await call('GET', `/%zz/${SENT.path}?key=${key}`))
  const send = '/api/v1/messages/send'
  expectStatus(400, await call('POST', send, { key, raw: `{"to": ${SENT.broken}` }))
  expectStatus(400, await call('POST', send, { key, json: { [SENT.broken]: SENT.broken } }))
  expectStatus(401, await call('GET', '/api/v1/messages', { key: SENT.bad_key }))
  expectStatus(401, await call('GET', '/api/v1/account', { token: SENT.bad_token }))
  await failQueries({ token })
  return { token, signature: token.split('.')[2], key, secret, verify_token, reset_token }
}

/** Makes inserts of secrets fail: a second row with an existing id. */
async function failQueries(owner: { token: string }): Promise<void> {
  const { id } = world.runtime
  const taken = (await world.webhook(owner)).id
  world.runtime.id = () => taken
  try {
    const json = { url: 'https://canary-of-the-url.example/', description: SENT.text }
    const hook = await world.call('POST', '/api/v1/webhooks', { token: owner.token, json })
    expectStatus(500, hook)
    const { email, password, company } = SENT
    const signup = { email: `${Math.random()}${email}`, password, company_name: company }
    expectStatus(201, await world.call('POST', '/api/v1/auth/signup', { json: signup }))
    const again = { ...signup, email: `y${email}` }
    expectStatus(500, await world.call('POST', '/api/v1/auth/signup', { json: again }))
  } finally {
    world.runtime.id = id
  }
}

describe('a log of all operations', () => {
  it('has requests, attempts, deliveries and faults', () => {
    const texts = new Set(world.lines.map(({ msg }) => msg))
    for (const text of ['request', 'message.attempted', 'delivery.attempted', 'request failed']) {
      expect(texts).toContain(text)
    }
    expect(world.lines.length).toBeGreaterThan(40)
  })

  it('has none of the secret texts', () => {
    const log = world.lines.map((line) => JSON.stringify(line)).join('\n')
    const found = Object.entries(canaries).filter(([, canary]) => log.includes(canary))
    expect(found).toStrictEqual([])
    expect(log).not.toMatch(/canary/i)
    // Nor the stored hash of the password.
    expect(log).not.toContain('$argon2id$')
    // Nor the secrets of webhooks whose insert failed.
    expect(log).not.toContain('whsec_')
  })

  it('has the id, route, status and time of each request, and the workspace if it is known', () => {
    const requests = world.lines.filter(({ msg }) => msg === 'request')
    for (const line of requests) {
      expect(line).toMatchObject({
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        request_id: expect.any(String),
        status: expect.any(Number),
        duration_ms: expect.any(Number),
        req: { method: expect.any(String) },
      })
    }
    const sends = requests.filter(({ req, status }) => {
      return status === 201 && (req as { route: string }).route === '/api/v1/messages/send'
    })
    expect(sends).toHaveLength(5)
    for (const line of sends) expect(line.workspace_id).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('has a line for each request, with the id of its answer', async () => {
    world.lines.length = 0
    const answers = [
      await world.call('GET', '/health'),
      await world.call('GET', '/nothing'),
      await world.call('GET', '/api/v1/account'),
      await world.call('GET', '/%zz'),
    ]
    const ids = answers.map(({ headers }) => headers['x-request-id'])
    expect(world.lines.map(({ request_id }) => request_id)).toStrictEqual(ids)
    expect(world.lines.map(({ status }) => status)).toStrictEqual([200, 404, 401, 404])
  })
})

describe('a bug', () => {
  it('is answered with a fixed text and logged with its stack and the id of the request', async () => {
    const own = await openWorld({
      alter: (core) => ({
        ...core,
        messages: {
          ...core.messages,
          get: () => Promise.reject(new TypeError('a bug of ours', { cause: new Error('why') })),
          listShort: () => Promise.reject(null),
          send: () => Promise.reject(Object.assign(new Error('theirs'), { statusCode: 404 })),
        },
      }),
    })
    const { key } = await own.key(await own.signup())
    const path = '/api/v1/messages/01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
    const { status, text, headers } = await own.call('GET', path, { key })
    expect(status).toBe(500)
    expect(text).toBe(
      '{"success":false,"error":"internal_error","message":"Internal server error. Please try again later."}',
    )
    const [failed, request] = own.takeFaults()
    expect(failed).toMatchObject({
      level: 50,
      msg: 'request failed',
      request_id: headers['x-request-id'],
      err: {
        type: 'TypeError',
        message: 'a bug of ours',
        stack: expect.stringContaining('logs.test.ts'),
        cause: 'why',
      },
    })
    expect(request).toMatchObject({ msg: 'request', status: 500 })
    const nothing = await own.call('GET', '/api/v1/messages', { key })
    expect([nothing.status, nothing.text]).toStrictEqual([500, text])
    expect(own.takeFaults()[0]?.err).toStrictEqual({ type: 'null' })
    const theirs = await own.send(key)
    expect([theirs.status, theirs.text]).toStrictEqual([500, text])
    expect(own.takeFaults()[0]?.err).toMatchObject({ message: 'theirs' })
    await own.close()
  })

  it('in a query is logged with the query, without its parameters', async () => {
    const owner = await world.signup()
    world.lines.length = 0
    await failQueries(owner)
    const faults = world.takeFaults().filter(({ msg }) => msg === 'request failed')
    expect(faults).toHaveLength(2)
    expect(faults[0]?.err).toMatchObject({
      message: expect.stringMatching(/^Failed query: insert into "webhooks" .*\)$/),
      stack: expect.stringMatching(/^at .*\n {4}at /),
      cause: expect.stringContaining('UNIQUE constraint failed'),
    })
    expect(JSON.stringify(faults)).not.toMatch(/canary|whsec_|argon2/i)
  })
})
