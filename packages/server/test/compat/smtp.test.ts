import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { openInletStage } from './inlet-stage.ts'
import { plainLogin, speak } from './smtp-client.ts'

type Stage = Awaited<ReturnType<typeof openInletStage>>

let stage: Stage
let account: Account
let key: string

beforeAll(async () => {
  stage = await openInletStage({ dispatch: true })
  account = await stage.world.signup({ credits: 1_000 })
  key = (await stage.world.key(account)).key
})
afterAll(() => stage?.close())

/** A mail of the service's own domain, so that no domain needs verification. */
const mail = {
  from: 'Acme <shop@svc.example>',
  to: 'asha@example.com',
  subject: 'Hi',
  text: 'Hello',
}

async function messageOf(response: string) {
  const [, id] = /^250 2\.6\.0 Queued as ([0-9a-f-]{36})$/.exec(response) ?? []
  const answer = await stage.world.call('GET', `/api/v1/messages/${id}`, { key })
  return answer.body.data.message
}

async function loggedIn(secret = key) {
  const client = await speak(stage.port)
  await client.say('EHLO app.example\r\n')
  await client.say(plainLogin(secret))
  return client
}

async function refusedWith(sent: Promise<unknown>): Promise<string> {
  const error = await sent.then(
    () => null,
    (failure: Error & { response?: string }) => failure,
  )
  return error?.response ?? error?.message ?? 'accepted'
}

describe('a mail', () => {
  it('becomes a message with its texts, sender name and metadata', async () => {
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      html: '<p>Hello</p>',
      replyTo: 'help@example.com',
      messageId: '<m1@app.example>',
      headers: { 'X-Svc-Metadata': JSON.stringify({ order: 'A1' }), 'List-Id': 'news.example.com' },
    })
    expect(await messageOf(response)).toMatchObject({
      channel: 'email',
      recipient: 'asha@example.com',
      content: {
        subject: 'Hi',
        text: 'Hello',
        html: '<p>Hello</p>',
        reply_to: 'help@example.com',
        headers: { 'List-Id': 'news.example.com' },
      },
      metadata: { order: 'A1', smtp_message_id: '<m1@app.example>' },
      credits_used: 0.1,
    })
  })

  it('takes its subject and texts from a stored template that a header names', async () => {
    const variants = [
      {
        ...{ channel: 'email', locale: 'en' },
        content: { subject: 'Order {{id}}', html: '<p>{{name|there}}</p>' },
      },
      { channel: 'sms', locale: 'de', content: { text: 'Bestellung {{id}}' } },
      { channel: 'sms', locale: 'en', content: { text: 'Order {{id|-}}' } },
    ]
    const { templates } = stage.world.core
    await templates.create(account.id, { name: 'order', default_locale: 'en', variants } as never)
    await templates.publish(account.id, 'order')
    const variables = { id: 'A1', name: 'Äsha' }
    const headers = { 'X-Svc-Template': JSON.stringify({ name: 'order', variables }) }
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      headers,
      attachments: [{ filename: 'a.pdf', content: 'PDF', contentType: 'application/pdf' }],
    })
    expect(await messageOf(response)).toMatchObject({
      content: {
        ...{ subject: 'Order A1', html: '<p>Äsha</p>', text: 'Äsha' },
        attachments: [{ filename: 'a.pdf' }],
      },
      template: { name: 'order', version: 1, locale: 'en' },
    })
    const sms = async (value: string) => {
      const to = '+15005550006@sms.sandbox.svc'
      return stage.mailer(key).sendMail({ ...mail, to, headers: { 'X-Svc-Template': value } })
    }
    expect((await messageOf((await sms('order')).response)).content).toEqual({ text: 'Order -' })
    const german = JSON.stringify({ name: 'order', locale: 'de-AT', variables })
    const { content } = await messageOf((await sms(german)).response)
    expect(content).toEqual({ text: 'Bestellung A1' })
    expect(await refusedWith(sms('other'))).toContain('No template has the name other')
    expect(await refusedWith(sms('{'))).toContain('X-Svc-Template must be a JSON object')
    expect(await refusedWith(sms('{"nam":"order"}'))).toMatch(/^5\d\d /)
  })

  it('keeps its files', async () => {
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      attachments: [{ filename: 'a/b.pdf', content: 'PDF', contentType: 'application/pdf' }],
    })
    expect((await messageOf(response)).content.attachments).toStrictEqual([
      {
        filename: expect.stringMatching(/b\.pdf$/),
        content_type: 'application/pdf',
        size_bytes: 3,
      },
    ])
  })

  it('with an invitation keeps its method and charset (RFC 6047, section 2.4)', async () => {
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n' },
    })
    expect((await messageOf(response)).content.attachments).toMatchObject([
      { content_type: 'text/calendar; charset=utf-8; method=REQUEST' },
      {},
    ])
  })

  it('of 10 MB is read in a thread', async () => {
    const content = Buffer.alloc(10_400_000, 7)
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      attachments: [{ filename: 'big.bin', content }],
    })
    expect((await messageOf(response)).content.attachments[0].size_bytes).toBe(10_400_000)
  })

  it('to a number at the SMS domain is an SMS', async () => {
    const { response } = await stage
      .mailer(key)
      .sendMail({ ...mail, to: '+14155552671@sms.sandbox.svc', text: 'Ready\n' })
    expect(await messageOf(response)).toMatchObject({
      channel: 'sms',
      recipient: '+14155552671',
      content: { text: 'Ready' },
    })
  })

  it('keeps characters of other languages, in all places', async () => {
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      from: 'Zoë <shop@svc.example>',
      subject: 'Größe 尺寸',
      text: 'Привет €',
    })
    expect((await messageOf(response)).content).toMatchObject({
      subject: 'Größe 尺寸',
      text: 'Привет €',
    })
  })

  it('is scheduled by X-Svc-Scheduled-At', async () => {
    const headers = { 'X-Svc-Scheduled-At': '2026-05-05T09:00:00Z' }
    const { response } = await stage.mailer(key).sendMail({ ...mail, headers })
    expect((await messageOf(response)).scheduled_at).toBe('2026-05-05T09:00:00.000Z')
  })

  it('to several recipients is one message, with the role of each, priced for each', async () => {
    const balance = async () =>
      (await stage.world.call('GET', '/api/v1/balance', { key })).body.data.credits_balance
    const before = await balance()
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      to: ['asha@example.com', 'juma@example.com'],
      cc: 'neema@example.com',
      bcc: 'hidden@example.com',
    })
    const message = await messageOf(response)
    expect(message).toMatchObject({ recipient: 'asha@example.com', credits_used: 0.4 })
    const roles = message.recipients.map(({ address, role }: Record<string, string>) => [
      address,
      role,
    ])
    expect(roles).toEqual([
      ['asha@example.com', 'to'],
      ['juma@example.com', 'to'],
      ['neema@example.com', 'cc'],
      ['hidden@example.com', 'bcc'],
    ])
    expect(before - (await balance())).toBeCloseTo(0.4, 9)
  })

  it('for hidden recipients only is refused: 550 5.1.3', async () => {
    const hidden = { ...mail, to: undefined, bcc: ['di@example.com', 'ed@example.com'] }
    expect(await refusedWith(stage.mailer(key).sendMail(hidden))).toMatch(/^550 5\.1\.3 /)
    const one = await stage.mailer(key).sendMail({ ...hidden, bcc: 'di@example.com' })
    expect((await messageOf(one.response)).recipient).toBe('di@example.com')
  })

  it('shows its inline images, and keeps X-… headers that are not reserved', async () => {
    const { response } = await stage.mailer(key).sendMail({
      ...mail,
      html: '<img src="cid:logo@app">',
      attachments: [{ filename: 'logo.png', content: 'png', cid: 'logo@app' }],
      headers: { 'X-Order': 'A1', 'X-Originating-IP': '192.0.2.1' },
    })
    const { content } = await messageOf(response)
    expect(content.attachments).toMatchObject([{ filename: 'logo.png', content_id: 'logo@app' }])
    expect(content.headers).toStrictEqual({ 'X-Order': 'A1' })
  })

  it('with an idempotency key is sent once', async () => {
    const headers = { 'X-Svc-Idempotency-Key': 'order-1' }
    const first = await stage.mailer(key).sendMail({ ...mail, headers })
    const second = await stage.mailer(key).sendMail({ ...mail, headers })
    expect(second.response).toBe(first.response)
    const other = stage.mailer(key).sendMail({ ...mail, text: 'Other', headers })
    expect(await refusedWith(other)).toMatch(/^554 5\.6\.0 /)
  })
})

describe('a login', () => {
  it('is required for each command of a mail', async () => {
    const client = await speak(stage.port)
    await client.say('EHLO app.example\r\n')
    for (const line of ['MAIL FROM:<a@b.example>', 'RCPT TO:<a@b.example>', 'DATA']) {
      expect(await client.say(`${line}\r\n`)).toMatch(/^530 5\.7\.0 /)
    }
    client.socket.destroy()
  })

  it('with a wrong key is refused, and the third ends the connection', async () => {
    const client = await speak(stage.port)
    await client.say('EHLO app.example\r\n')
    const attempt = () => client.say(plainLogin('svc_wrong'))
    expect(await attempt()).toMatch(/^535 5\.7\.8 Invalid API key/)
    expect(await attempt()).toMatch(/^535 5\.7\.8 /)
    expect(await attempt()).toMatch(/^421 /)
    await client.closed
  })

  it('by AUTH LOGIN works with any user name', async () => {
    const client = await speak(stage.port)
    await client.say('EHLO app.example\r\n')
    const base64 = (text: string) => `${Buffer.from(text).toString('base64')}\r\n`
    await client.say('AUTH LOGIN\r\n')
    await client.say(base64('anything'))
    expect(await client.say(base64(key))).toMatch(/^235 2\.7\.0 /)
    client.socket.destroy()
  })

  it('without the scope send_messages is refused', async () => {
    const reader = await stage.world.key(account, { scopes: ['read_messages'] })
    const sent = stage.mailer(reader.key).sendMail(mail)
    expect(await refusedWith(sent)).toMatch(/^535 5\.7\.8 .*send_messages/)
  })

  it('from another address than the key allows is refused', async () => {
    const bound = await stage.world.key(account, { allowed_ips: ['192.0.2.1'] })
    expect(await refusedWith(stage.mailer(bound.key).sendMail(mail))).toMatch(/^535 5\.7\.8 /)
  })

  it('ends with the key, at the next mail', async () => {
    const ended = await stage.world.key(account)
    const client = await loggedIn(ended.key)
    expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(/^250 /)
    await client.say('RSET\r\n')
    const { token } = account
    await stage.world.call('DELETE', `/api/v1/api-keys/${ended.id}`, { token })
    expect(await client.say('MAIL FROM:<a@b.example>\r\n')).toMatch(
      /^535 5\.7\.8 API key has been deactivated/,
    )
    client.socket.destroy()
  })
})

it('answers RSET, NOOP, HELP and QUIT', async () => {
  const client = await loggedIn()
  expect(await client.say('RSET\r\n')).toMatch(/^250 2\.0\.0 /)
  expect(await client.say('NOOP\r\n')).toMatch(/^250 2\.0\.0 /)
  expect(await client.say('HELP\r\n')).toMatch(/^214 2\.0\.0 /)
  expect(await client.say('QUIT\r\n')).toMatch(/^221 2\.0\.0 /)
  await client.closed
})

describe('a refusal', () => {
  it('names missing credits: 550 5.7.0', async () => {
    const poor = await stage.world.key(await stage.world.signup())
    const sent = stage.mailer(poor.key).sendMail(mail)
    expect(await refusedWith(sent)).toMatch(/^550 5\.7\.0 Not enough credits\./)
  })

  it('of a suppressed recipient: 550 5.7.1', async () => {
    const { token } = account
    const json = { channel: 'email', address: 'gone@example.com' }
    await stage.world.call('POST', '/api/v1/contacts/suppressions', { token, json })
    const sent = stage.mailer(key).sendMail({ ...mail, to: 'gone@example.com' })
    expect(await refusedWith(sent)).toMatch(/^550 5\.7\.1 The recipient is suppressed/)
  })

  it.each(['not-an-address', '+4x@sms.sandbox.svc', 'ü@example.com'])(
    'of the recipient %s: 501 or 550 5.1.3',
    async (to) => {
      const client = await loggedIn()
      await client.say('MAIL FROM:<a@b.example> SMTPUTF8\r\n')
      const line = Buffer.from(`RCPT TO:<${to}>\r\n`).toString('latin1')
      expect(await client.say(line)).toMatch(/^(?:550|501) 5\.1\.3 /)
      client.socket.destroy()
    },
  )

  it('of a second recipient beside an SMS: 452 4.5.3, only in the same mail', async () => {
    const client = await loggedIn()
    await client.say('MAIL FROM:<a@b.example>\r\n')
    await client.say('RCPT TO:<+14155552671@sms.sandbox.svc>\r\n')
    expect(await client.say('RCPT TO:<asha@example.com>\r\n')).toMatch(/^452 4\.5\.3 /)
    await client.say('RSET\r\n')
    await client.say('MAIL FROM:<a@b.example>\r\n')
    expect(await client.say('RCPT TO:<asha@example.com>\r\n')).toMatch(/^250 /)
    expect(await client.say('RCPT TO:<+14155552671@sms.sandbox.svc>\r\n')).toMatch(/^452 4\.5\.3 /)
    client.socket.destroy()
  })

  it.each([
    ['a sender that is no address', { from: 'Acme <shop>' }, /^550 5\.1\.7 From is not an/],
    ['a mail without a text', { text: '' }, /^554 5\.6\.0 /],
    [
      'an SMS without a text',
      { to: '+14155552671@sms.sandbox.svc', text: '', html: '<p>Hi</p>' },
      /^554 5\.6\.0 .*must have a text part/,
    ],
    [
      'more than 10 files',
      { attachments: Array.from({ length: 11 }, (_, i) => ({ filename: `${i}`, content: 'x' })) },
      /^554 5\.6\.0 /,
    ],
    ['a text of more than 2 MB', { text: 'x'.repeat(2_100_000) }, /^552 5\.3\.4 /],
  ])('of %s', async (_, more, expected) => {
    const message: typeof mail = { ...mail, ...more }
    const envelope = { from: 'bounces@app.example', to: message.to }
    const sent = stage.mailer(key).sendMail({ ...message, envelope })
    expect(await refusedWith(sent)).toMatch(expected)
  })

  it('of an address with other letters before the @, and not of a domain with them', async () => {
    const mailer = stage.mailer(key)
    expect(await refusedWith(mailer.sendMail({ ...mail, to: 'ü@example.com' }))).toBe(
      '550 5.1.3 This is not an address that can get a message: only ASCII is allowed before the @',
    )
    const { response } = await mailer.sendMail({ ...mail, to: 'Äsha <a@bücher.example>' })
    expect(await messageOf(response)).toMatchObject({ recipient: 'a@xn--bcher-kva.example' })
  })

  it('of a mail that is too large: 552', async () => {
    const client = await loggedIn()
    expect(await client.say('MAIL FROM:<a@b.example> SIZE=99000000\r\n')).toMatch(/^552 5\.3\.4 /)
    client.socket.destroy()
    const attachments = [{ filename: 'big', content: Buffer.alloc(10_500_000, 7) }]
    const sent = stage.mailer(key).sendMail({ ...mail, attachments })
    expect(await refusedWith(sent)).toMatch(/^552 5\.3\.4 /)
  })

  it.each([
    ['metadata that is not JSON', { 'X-Svc-Metadata': '{' }],
    ['metadata that is a list', { 'X-Svc-Metadata': '[]' }],
    ['a wrong time', { 'X-Svc-Scheduled-At': 'tomorrow' }],
    ['a long idempotency key', { 'X-Svc-Idempotency-Key': 'x'.repeat(256) }],
  ])('of %s: 554 5.6.0', async (_, headers) => {
    const sent = stage.mailer(key).sendMail({ ...mail, headers })
    expect(await refusedWith(sent)).toMatch(/^554 5\.6\.0 /)
  })
})

describe('a mail that contains another mail', () => {
  it.each([
    ['bare LF', 'text\n.\nMAIL FROM:<a@b.example>\n'],
    ['bare CR', 'text\r.\rMAIL FROM:<a@b.example>\r'],
    ['LF before CRLF', 'text\n.\r\nMAIL FROM:<a@b.example>\r\n'],
    ['CRLF before LF', 'text\r\n.\nMAIL FROM:<a@b.example>\r\n'],
    ['a NUL', 'text\r\n.\0\r\nMAIL FROM:<a@b.example>\r\n'],
  ])('after %s is one mail', async (_, body) => {
    const client = await loggedIn()
    await client.say('MAIL FROM:<a@b.example>\r\n')
    await client.say('RCPT TO:<asha@example.com>\r\n')
    expect(await client.say('DATA\r\n')).toMatch(/^354 /)
    const before = (await stage.world.written(account)).messages
    const head = 'From: shop@svc.example\r\nSubject: x\r\n\r\n'
    // The mail ends only here, so the first reply comes only after this line.
    const reply = await client.say(
      `${head}${body}RCPT TO:<b@example.com>\r\n.\r\nQUIT\r\n`,
      /^221/m,
    )
    expect(reply.match(/^\d{3}/gm)?.length).toBe(2)
    const { messages } = await stage.world.written(account)
    expect(messages - before).toBeLessThanOrEqual(1)
  })
})
