import { once } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Resend } from 'resend'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { useWorld } from '../world.ts'

const world = useWorld({ listen: true })

const MAIL = {
  from: 'Acme <shop@acme.example>',
  to: 'delivered@sandbox.svc',
  subject: 'Hello',
  html: '<p>It works</p>',
}
const LETTER = {
  from: MAIL.from,
  subject: MAIL.subject,
  html: MAIL.html,
  segment_id: 'none',
}
const HOOK = { endpoint: 'https://receiver.example/resend', events: ['email.sent'] as const }
const NOT_FOUND = { statusCode: 404, name: 'not_found' }

interface Party {
  owner: Account
  key: string
  resend: Resend
}

async function party(mode: 'live' | 'test' = 'live', of?: Account): Promise<Party> {
  const owner = of ?? (await world().signup({ credits: 100 }))
  const { key } = await world().key(owner, { mode })
  return { owner, key, resend: clientOf(key) }
}

const clientOf = (key: string, url = world().url) =>
  new Resend(key, { baseUrl: `${url}/compat/resend` })

let one: Party
let other: Party
beforeAll(async () => {
  one = await party()
  other = await party()
})

const written = async () => (await world().written(one.owner)).messages

describe('an id of another workspace', () => {
  it('is unknown for e-mails', async () => {
    const scheduledAt = 'in 1 hour'
    const id = (await one.resend.emails.send({ ...MAIL, scheduledAt })).data?.id ?? ''
    const { emails } = other.resend
    expect((await emails.get(id)).error).toMatchObject(NOT_FOUND)
    expect((await emails.update({ id, scheduledAt })).error).toMatchObject(NOT_FOUND)
    expect((await emails.cancel(id)).error).toMatchObject(NOT_FOUND)
    expect((await emails.list({ after: id })).data?.data).toEqual([])
    expect((await one.resend.emails.get(id)).data?.last_event).toBe('scheduled')
  })

  it('is unknown for e-mails of the other mode', async () => {
    const test = await party('test', one.owner)
    const live = (await one.resend.emails.send(MAIL)).data?.id ?? ''
    expect((await test.resend.emails.get(live)).error).toMatchObject(NOT_FOUND)
    expect((await test.resend.emails.list()).data?.data).toEqual([])
  })

  it('is unknown for contacts', async () => {
    const email = 'asha@example.com'
    const id = (await one.resend.contacts.create({ email })).data?.id ?? ''
    const { contacts } = other.resend
    for (const of of [{ id }, { email }]) {
      expect((await contacts.get(of)).error).toMatchObject(NOT_FOUND)
      const changed = await contacts.update({ ...of, firstName: 'Juma' })
      expect(changed.error).toMatchObject(NOT_FOUND)
      expect((await contacts.remove(of)).error).toMatchObject(NOT_FOUND)
    }
    expect((await contacts.list()).data?.data).toEqual([])
    expect((await one.resend.contacts.get({ id })).data).toMatchObject({ email, first_name: null })
  })

  it('is unknown for webhooks', async () => {
    const id = (await one.resend.webhooks.create({ ...HOOK, events: [...HOOK.events] })).data?.id
    const { webhooks } = other.resend
    expect((await webhooks.get(id ?? '')).error).toMatchObject(NOT_FOUND)
    const changed = await webhooks.update(id ?? '', { status: 'disabled' })
    expect(changed.error).toMatchObject(NOT_FOUND)
    const rotated = await call(other.key, 'POST', `/webhooks/${id}/signing-secret/rotate`)
    expect(rotated.body).toMatchObject(NOT_FOUND)
    expect((await webhooks.remove(id ?? '')).error).toMatchObject(NOT_FOUND)
    expect((await one.resend.webhooks.get(id ?? '')).data).toMatchObject({ status: 'enabled' })
  })

  it('does not share idempotency keys', async () => {
    const options = { idempotencyKey: 'order-1' }
    const ids = []
    for (const { resend } of [one, other]) {
      ids.push((await resend.emails.send(MAIL, options)).data?.id)
      ids.push((await resend.batch.send([MAIL], options)).data?.data[0]?.id)
    }
    expect(new Set(ids).size).toBe(4)
    expect(ids).not.toContain(undefined)
  })
})

/** Sends a body as no package does. */
async function call(key: string, method: string, path: string, payload?: string) {
  const answer = await world().app.inject({
    method: method as 'POST',
    url: `/compat/resend${path}`,
    headers: {
      authorization: `Bearer ${key}`,
      ...(payload !== undefined && { 'content-type': 'application/json' }),
    },
    ...(payload !== undefined && { payload }),
  })
  return { status: answer.statusCode, body: answer.json() as Record<string, unknown> }
}

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const many = (count: number, item: string) => `[${Array(count).fill(item).join(',')}]`
const withField = (of: object, name: string, json: string) =>
  `${JSON.stringify(of).slice(0, -1)},${JSON.stringify(name)}:${json}}`

/** Values of JSON that hardly any field takes. */
const VALUES = [
  'null',
  '0',
  '-1e999',
  'true',
  '[]',
  '{}',
  '[null]',
  '[{"a":[]}]',
  deep(12),
  JSON.stringify(`${'a '.repeat(5_000)}<a@b.example>`),
  '"\\u0000"',
  '{"__proto__":{"admin":true},"constructor":"x","toString":1}',
]

/** Values that take longer: for one field of each request, and for items of a batch. */
const LARGE = [
  deep(100_000),
  many(100_000, '"a@b.example"'),
  many(20_000, '{}'),
  JSON.stringify('x'.repeat(200_000)),
  JSON.stringify('@'.repeat(10_000)),
  '"\\ud800"',
]

/** The fields of each request, and a request that is accepted without them. */
const REQUESTS: [path: string, body: object, fields: string[]][] = [
  [
    '/emails',
    MAIL,
    'from to subject html text cc bcc reply_to headers tags scheduled_at attachments react x'.split(
      ' ',
    ),
  ],
  [
    '/contacts',
    { email: 'juma@example.com' },
    ['email', 'first_name', 'properties', 'unsubscribed'],
  ],
  ['/webhooks', HOOK, ['endpoint', 'events']],
  [
    '/broadcasts',
    { ...LETTER, send: false },
    'name html from subject text reply_to segment_id preview_text send scheduled_at x'.split(' '),
  ],
  ['/segments', { name: 'vip' }, ['x', 'name']],
  ['/domains', { name: 'a.example' }, ['name', 'region', 'capabilities', 'tls', 'open_tracking']],
]

/** The answer is one of Resend's, and nothing of the request became a property of all objects. */
function expectAnswer({ status, body }: Awaited<ReturnType<typeof call>>, given: string) {
  const shown = given.slice(0, 200)
  expect([200, 400, 422], shown).toContain(status)
  expect(({} as { admin?: boolean }).admin, shown).toBeUndefined()
  if (status === 200) return
  const names = ['validation_error', 'missing_required_field', 'invalid_attachment']
  expect(body, shown).toEqual({
    statusCode: status,
    name: expect.toBeOneOf(names),
    message: expect.any(String),
  })
  // No error repeats a whole request.
  expect(String(body.message).length, shown).toBeLessThan(2_000)
}

describe('hostile input', () => {
  it.each(REQUESTS)('at %s gets an error of Resend, or is taken', async (path, body, fields) => {
    for (const [i, field] of fields.entries()) {
      const { [field]: _, ...rest } = body as Record<string, unknown>
      for (const value of i === 1 ? [...VALUES, ...LARGE] : VALUES) {
        const given = withField(rest, field, value)
        expectAnswer(await call(one.key, 'POST', path, given), `${path} ${given}`)
      }
    }
    await world().settle()
  })

  it('in a batch sends nothing', async () => {
    const before = await written()
    const mail = JSON.stringify(MAIL)
    const bodies = [
      ...VALUES,
      ...[...VALUES, ...LARGE].map((value) => `[${mail},${value}]`),
      ...VALUES.map((value) => `[${mail},${withField(MAIL, 'x', value)}]`),
      many(101, mail),
      many(100, mail).replace(/]$/, `,${deep(15)}]`),
      `[${mail},${withField(MAIL, '__proto__', '{"to":"x@example.com"}')}]`,
    ]
    for (const body of bodies) {
      const answer = await call(one.key, 'POST', '/emails/batch', body)
      expectAnswer(answer, body)
      expect([400, 422], body.slice(0, 200)).toContain(answer.status)
    }
    expect(await written()).toBe(before)
    await world().settle()
  })

  it('in paths and queries gets an error of Resend', async () => {
    for (const group of ['emails', 'contacts', 'webhooks', 'domains', 'broadcasts']) {
      for (const id of [
        '__proto__',
        '%00',
        '%ff',
        '..%2f..%2fapi',
        "' or 1=1",
        'x'.repeat(5_000),
      ]) {
        const { status, body } = await call(one.key, 'GET', `/${group}/${encodeURI(id)}`)
        expect([status, body.statusCode], `${group}/${id}`).toEqual([
          expect.toBeOneOf([400, 404, 422]),
          status,
        ])
      }
      for (const query of [
        'limit=1e2',
        'limit=-1',
        'after=x&after=y',
        'before=%00',
        `after=${'9'.repeat(5_000)}`,
      ]) {
        const { status, body } = await call(one.key, 'GET', `/${group}?${query}`)
        expect([status, body.statusCode], `${group}?${query}`).toEqual([422, 422])
      }
    }
    await world().settle()
  })
})

/** A server before the door that closes the connection in place of the first `lost` answers. */
async function losing(lost: number) {
  let left = lost
  const server = createServer((incoming, answer) => {
    const { method, url, headers } = incoming
    const forwarded = httpRequest(`${world().url}${url}`, { method, headers }, (reply) => {
      if (left-- > 0) {
        reply.resume()
        incoming.socket.destroy()
        return
      }
      answer.writeHead(reply.statusCode ?? 500, reply.headers)
      reply.pipe(answer)
    })
    incoming.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  }
}

describe('a repeated request', () => {
  it('after a lost answer sends nothing twice with its key; the package does not repeat itself', async () => {
    const proxy = await losing(2)
    const { emails, batch } = clientOf(one.key, proxy.url)
    const before = await written()
    try {
      const options = { idempotencyKey: 'lost' }
      const lostOne = await emails.send(MAIL, options)
      expect(lostOne.error).toMatchObject({ name: 'application_error', statusCode: null })
      expect(await written()).toBe(before + 1)
      const lostBatch = await batch.send([MAIL, MAIL], options)
      expect(lostBatch.error).toMatchObject({ name: 'application_error', statusCode: null })
      expect(await written()).toBe(before + 3)
      const again = await emails.send(MAIL, options)
      expect(again).toMatchObject({ error: null, headers: { 'idempotent-replayed': 'true' } })
      expect((await batch.send([MAIL, MAIL], options)).data?.data).toHaveLength(2)
      expect(await written()).toBe(before + 3)
    } finally {
      proxy.close()
    }
  })
})

describe('the field react', () => {
  it('is rendered by the package; a request with it names `html`', async () => {
    const react = { type: 'p', props: { children: 'Hello' } }
    const { html: _, ...rest } = MAIL
    const { status, body } = await call(
      one.key,
      'POST',
      '/emails',
      JSON.stringify({ ...rest, react }),
    )
    expect([status, body.name]).toEqual([422, 'validation_error'])
    expect(body.message).toContain('render it and send `html`')
  })
})
