import { describe, expect, it } from 'vitest'
import { messageToken } from '../../core/src/contract/signing/mail-address-token.ts'
import type { Account } from './accounts.ts'
import { expectStatus } from './call.ts'
import { useWorld } from './world.ts'

const world = useWorld()

const FORM = 'application/x-www-form-urlencoded'
const ONE_CLICK = 'List-Unsubscribe=One-Click'
const BOUNDARY = [
  '--b',
  'Content-Disposition: form-data; name="List-Unsubscribe"',
  '',
  'One-Click',
  '--b--',
  '',
].join('\r\n')

/** A mail of a new workspace, and its unsubscribe link. */
async function mailTo(to: string, owner?: Account) {
  const from = owner ?? (await world().signup({ credits: 10 }))
  const { key } = await world().key(from)
  const body = { to, channel: 'email', content: { subject: 'News', text: 'News' } }
  const sent = expectStatus(201, await world().send(key, body))
  const ref = { workspace_id: from.id, message_id: sent.body.data.message_id as string }
  const token = messageToken(await world().core.secret('providers'), 'unsubscribe', ref)
  return { owner: from, key, body, ref, token, path: `/unsubscribe/${token}` }
}

const open = (url: string) => world().app.inject({ method: 'GET', url })

const press = (url: string, payload = ONE_CLICK, type: string | null = FORM) =>
  world().app.inject({
    method: 'POST',
    url,
    headers: type === null ? {} : { 'content-type': type },
    payload,
  })

async function suppressed({ token }: Account): Promise<object[]> {
  const list = await world().call('GET', '/api/v1/contacts/suppressions', { token })
  return expectStatus(200, list).body.data.suppressions
}

describe('/unsubscribe/:token', () => {
  it('changes nothing for a mail of a test key, which had no recipient', async () => {
    const owner = await world().signup()
    const { key } = await world().key(owner, { mode: 'test' })
    const body = { to: 'a@example.com', channel: 'email', content: { subject: 'News', text: 'x' } }
    const { data } = expectStatus(201, await world().send(key, body)).body
    const ref = { workspace_id: owner.id, message_id: data.message_id as string }
    const token = messageToken(await world().core.secret('providers'), 'unsubscribe', ref)
    const never = await press(`/unsubscribe/${token.slice(0, -2)}xx`)
    const pressed = await press(`/unsubscribe/${token}`)
    expect([pressed.statusCode, pressed.body]).toEqual([never.statusCode, never.body])
    expect(await suppressed(owner)).toEqual([])
  })

  it('changes nothing when it is opened, and shows sender and masked recipient', async () => {
    const { owner, path, token } = await mailTo('Ana.Maria+news@Example.com')
    for (let i = 0; i < 3; i += 1) {
      const { statusCode, headers, body } = await open(path)
      expect(statusCode).toBe(200)
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; .*form-action 'self'/,
      )
      expect(Number(headers['x-ratelimit-remaining'])).toBeGreaterThan(0)
      expect(body).toMatch(
        /<p>After the click, Company \d+ will send no more e-mail to A…@Example.com/,
      )
      expect(body).toContain('<form method="post"')
      expect(body).not.toContain('Maria')
      expect(body).not.toContain(token)
      expect(body).not.toMatch(/<script|src=|href=|https?:|\son\w+=/i)
    }
    expect(await suppressed(owner)).toEqual([])
  })

  it.each([
    ['a form, as the button of the page sends it', ONE_CLICK, FORM],
    ['a form with additional fields', `x=1&${ONE_CLICK}&y=2`, `${FORM}; charset=utf-8`],
    ['a multipart form (RFC 8058, section 3.2)', BOUNDARY, 'multipart/form-data; boundary=b'],
    ['a form that names no type', ONE_CLICK, null],
  ])('unsubscribes with one click: %s', async (_, payload, type) => {
    const { owner, path } = await mailTo('Ben@Example.com')
    const { statusCode, headers, body } = await press(path, payload, type)
    expect(statusCode).toBe(200)
    expect(headers).not.toHaveProperty('set-cookie')
    expect(headers).not.toHaveProperty('location')
    expect(body).toContain('<h1>Unsubscribed</h1>')
    expect(await suppressed(owner)).toMatchObject([
      { channel: 'email', address: 'ben@example.com', reason: 'opt_out' },
    ])
  })

  it("has a button that sends the page's own form", async () => {
    const { owner, path } = await mailTo('carl@example.com')
    const { body } = await open(path)
    const [, name, value] = /<input type="hidden" name="([^"]+)" value="([^"]+)">/.exec(body) ?? []
    expect(await press(path, `${name}=${value}`)).toMatchObject({ statusCode: 200 })
    expect(await suppressed(owner)).toHaveLength(1)
  })

  it('answers the same the second time, keeps the suppression, and refuses the next mail', async () => {
    const { owner, key, body, path } = await mailTo('dora@example.com')
    await press(path)
    const before = await suppressed(owner)
    await world().advance(1_000)
    expect(await press(path)).toMatchObject({ statusCode: 200 })
    expect(await suppressed(owner)).toEqual(before)
    const again = await world().send(key, body)
    expect(again.status).toBe(400)
    expect(again.body.message).toContain('suppressed')
  })

  it('offers to subscribe again for a day, and subscribes by the button only', async () => {
    const { owner, key, body, path } = await mailTo('kim@example.com')
    expect((await open(path)).body).not.toContain('Subscribe again')
    // Without an opt-out there is nothing to undo.
    expect((await press(path, 'subscribe=again')).body).toContain('<h1>Subscribed again</h1>')
    expect((await press(path)).body).toContain('name="subscribe" value="again"')
    expect((await open(path)).body).toContain('Subscribe again')
    expect(await suppressed(owner)).toHaveLength(1)
    const again = await press(path, 'subscribe=again')
    expect([again.statusCode, again.body]).toEqual([
      200,
      expect.stringContaining('may send e-mail to k…@example.com again'),
    ])
    expect(await suppressed(owner)).toEqual([])
    await world().grant(owner, 10)
    expect((await world().send(key, body)).status).toBe(201)
    expect((await press(path)).body).toContain('<h1>Unsubscribed</h1>')
    expect(await suppressed(owner)).toHaveLength(1)
  })

  it('does not end an opt-out of yesterday, because the reader may be another person', async () => {
    const { owner, path } = await mailTo('lea@example.com')
    await press(path)
    await world().advance(24 * 60 * 60_000)
    const page = await open(path)
    expect(page.body).toContain('<h1>Unsubscribed</h1>')
    expect(page.body).not.toContain('<form')
    expect((await press(path, 'subscribe=again')).body).toContain('<h1>Unsubscribed</h1>')
    expect(await suppressed(owner)).toHaveLength(1)
  })

  it('does not end a suppression for another reason', async () => {
    const { owner, path } = await mailTo('max@example.com')
    const json = { channel: 'email', address: 'max@example.com' }
    const { token } = owner
    expectStatus(201, await world().call('POST', '/api/v1/contacts/suppressions', { token, json }))
    expect((await open(path)).body).not.toContain('<form')
    expect((await press(path, 'subscribe=again')).body).toContain('<h1>Unsubscribed</h1>')
    expect(await suppressed(owner)).toHaveLength(1)
  })

  it('works in capitals, because some mail programs change links', async () => {
    const { owner, token } = await mailTo('emil@example.com')
    expect(await press(`/unsubscribe/${token.toUpperCase()}`)).toMatchObject({ statusCode: 200 })
    expect(await suppressed(owner)).toHaveLength(1)
  })

  it('changes no other workspace that sends to the same recipient', async () => {
    const { path, owner } = await mailTo('fay@example.com')
    const other = await mailTo('fay@example.com')
    const contact = await world().contact(other.owner, { email: 'fay@example.com' })
    await press(path)
    expect(await suppressed(owner)).toHaveLength(1)
    expect(await suppressed(other.owner)).toEqual([])
    const found = await world().call('GET', `/api/v1/contacts/${contact.id}`, {
      token: other.owner.token,
    })
    expect(JSON.stringify(found.body)).not.toContain('unsubscribed')
    expect((await world().send(other.key, other.body)).status).toBe(201)
  })

  it('changes no other recipient of the workspace', async () => {
    const { owner, path } = await mailTo('gil@example.com')
    const { key, body } = await mailTo('hal@example.com', owner)
    await press(path)
    expect(await suppressed(owner)).toMatchObject([{ address: 'gil@example.com' }])
    await world().grant(owner, 10)
    expect((await world().send(key, body)).status).toBe(201)
  })

  it('refuses a token that is forged, foreign, or for another purpose or channel', async () => {
    const { owner, ref, token, key } = await mailTo('ida@example.com')
    const secret = await world().core.secret('providers')
    const foreign = await world().signup()
    const sms = expectStatus(201, await world().send(key)).body.data.message_id as string
    const tokens = [
      `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
      messageToken('another secret', 'unsubscribe', ref),
      messageToken(secret, 'bounce', ref),
      messageToken(secret, 'unsubscribe', { ...ref, workspace_id: foreign.id }),
      messageToken(secret, 'unsubscribe', { ...ref, message_id: sms }),
      ref.message_id,
      '%00',
      'a'.repeat(10_000),
    ]
    for (const forged of tokens) {
      for (const answer of [
        await open(`/unsubscribe/${forged}`),
        await press(`/unsubscribe/${forged}`),
      ]) {
        expect(answer.statusCode).toBe(404)
        expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
        expect(answer.body).toContain('<h1>Unknown link</h1>')
      }
    }
    expect([...(await suppressed(owner)), ...(await suppressed(foreign))]).toEqual([])
  })

  it.each([
    ['that is empty', '', FORM],
    ['with another value', 'List-Unsubscribe=No', FORM],
    ['with another field', 'x=One-Click', FORM],
    ['in JSON', '{"List-Unsubscribe":"One-Click"}', 'application/json'],
    [
      'multipart with another field',
      BOUNDARY.replace('List-Unsubscribe', 'Other'),
      'multipart/form-data; boundary=b',
    ],
    ['of 9 kB', `${ONE_CLICK}&x=${'a'.repeat(9_000)}`, FORM],
  ])('refuses a form %s', async (_, payload, type) => {
    const { owner, path } = await mailTo('jo@example.com')
    const { statusCode, body } = await press(path, payload, type)
    expect(statusCode).toBe(400)
    expect(body).toContain('<h1>That did not work</h1>')
    expect(await suppressed(owner)).toEqual([])
  })
})

describe('the rate limit of the page', () => {
  const limited = useWorld({ rates: { anonymous: { max: 3, window_s: 60 } } })

  it('is the one of pages without credentials', async () => {
    const statuses: number[] = []
    for (const method of ['GET', 'POST', 'GET', 'POST'] as const) {
      const { statusCode } = await limited().app.inject({ method, url: '/unsubscribe/none' })
      statuses.push(statusCode)
    }
    expect(statuses).toEqual([404, 400, 404, 429])
  })
})
