import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineProvider } from '@svc/core'
import { idOfSid, sidOf } from '@svc/core/contract'
import { verifyLedger } from '@svc/core/operate'
import twilio from 'twilio'
import { afterEach, describe, expect, it } from 'vitest'
import { connect as connectSqlite } from '../../../core/src/storage/sqlite/engine/connection.ts'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import type { Account } from '../accounts.ts'
import { seededChance } from '../postgres/seeded-chance.ts'
import { type Arrival, openReceiver } from '../receiver.ts'
import { openWorld, type World, type WorldOptions } from '../world.ts'

const TO = '+14155550100'
const FROM = '+14155550190'
const MINUTE_MS = 60_000

const REPLY = '<Response><Message>Hi again</Message></Response>'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function openStage({
  credits = 1_000,
  ...options
}: WorldOptions & { credits?: number } = {}) {
  const world = await openWorld({
    dispatch: true,
    listen: true,
    chance: (now) => seededChance('twilio callbacks', now).core,
    ...options,
  })
  closers.push(() => world.close())
  const owner = await world.signup({ credits })
  const key = await world.key(owner, { signs: true })
  return { world, owner, key, client: clientOf(world, owner, key) }
}

function clientOf(world: World, { id }: Account, { key }: { key: string }) {
  const made = twilio(sidOf('account', id), key)
  made.api.baseUrl = `${world.url}/compat/twilio`
  return made
}

async function receiver(...given: Parameters<typeof openReceiver>) {
  const opened = await openReceiver(...given)
  closers.push(opened.close)
  return opened
}

/** The fields of a callback; null if the official package refuses its signature. */
function readCallback({ headers, body }: Arrival, key: string, url: string) {
  const form = Object.fromEntries(new URLSearchParams(body.toString()))
  const signature = String(headers['x-twilio-signature'])
  return twilio.validateRequest(key, signature, url, form) ? form : null
}

/** A provider whose callback takes reports of a test: receipts, whose id is that of the message, and received messages. */
const carrier = defineProvider({
  name: 'carrier',
  traits: {
    channels: ['voice', 'sms'],
    senders: { voice: [FROM], sms: [FROM] },
    callback_bytes: 1_000,
  },
  async send(jobs) {
    return jobs.map(({ message_id }) => ({
      type: 'accepted',
      provider_message_id: message_id,
      lookup_after_ms: null,
      part_ids: [message_id],
    }))
  },
  readCallback({ body }) {
    const { received, id: provider_message_id, ...end } = JSON.parse(new TextDecoder().decode(body))
    if (received) return { type: 'read', reports: [received] }
    const receipt = { provider_message_id, error_code: null, error_message: null, ...end }
    return {
      type: 'read',
      reports: [{ type: 'receipt', about: null, provider_message_id, receipt }],
    }
  },
})

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (error: { code: number }) => error.code,
  )

describe.each(['SQLite', 'PostgreSQL'])('status callbacks with %s', (engine) => {
  async function openEngine(options: WorldOptions = {}) {
    if (engine === 'SQLite') return openStage(options)
    const database = await createDatabase()
    closers.push(() => database.drop())
    return openStage({ ...options, database_url: database.url })
  }

  it('posts every status to the URL of its message, and validateRequest accepts it', async () => {
    const { world, owner, key, client } = await openEngine()
    // An answer to a status callback sends no reply.
    const { arrivals, url } = await receiver({ type: 'text/xml', text: REPLY })
    const first = `${url}?order=1&name=J%C3%BCrgen`
    const second = `${url}/other`
    const statusCallback = first
    const one = await client.messages.create({ to: TO, from: FROM, body: 'Hi', statusCallback })
    await world.dispatcher.idle()
    const forms = arrivals.splice(0).map((arrival) => readCallback(arrival, key.key, first))
    const shared = {
      MessageSid: one.sid,
      AccountSid: sidOf('account', owner.id),
      To: TO,
      From: FROM,
    }
    expect(forms).toMatchObject([
      { ...shared, MessageStatus: 'sent' },
      { ...shared, MessageStatus: 'delivered' },
    ])
    // Beside a callback, an application means nothing.
    const both = { statusCallback: second, applicationSid: `AP${'0'.repeat(32)}` }
    await client.messages.create({ to: TO, from: FROM, body: 'Hi', ...both })
    await client.messages.create({ to: TO, from: FROM, body: 'no callback' })
    await world.dispatcher.idle()
    expect(
      arrivals.map((arrival) => readCallback(arrival, key.key, second)?.MessageStatus),
    ).toEqual(['sent', 'delivered'])
    expect((await world.written(owner)).messages).toBe(3)
    // The webhooks of callbacks belong to the service: the workspace sees its own only.
    const { body } = await world.call('GET', '/api/v1/webhooks', { token: owner.token })
    expect(body.data.webhooks).toEqual([])
  })

  it('posts the progress of a call, and validateRequest accepts it', async () => {
    const { world, owner, key, client } = await openEngine({ providers: [carrier] })
    const { arrivals, url } = await receiver()
    const twiml = '<Response><Say>Hello</Say></Response>'
    const common = { to: TO, from: FROM, twiml, statusCallback: url }
    const events = ['initiated', 'ringing', 'answered', 'completed']
    const whole = await client.calls.create({ ...common, statusCallbackEvent: events })
    const ended = await client.calls.create({ ...common, statusCallbackMethod: 'GET' })
    await world.dispatcher.idle()
    const end = async (sid: string, json: object) => {
      const id = idOfSid('call', sid)
      const body = JSON.stringify({ id, ...json })
      const reported = await fetch(`${world.url}/callbacks/carrier`, { method: 'POST', body })
      expect(reported.status).toBe(200)
      await world.dispatcher.idle()
    }
    await end(whole.sid, { status: 'delivered', duration_s: 42 })
    await end(ended.sid, { status: 'failed', error_code: 'busy', duration_s: 0 })
    const posts = arrivals.filter(({ method }) => method === 'POST')
    const shared = {
      CallSid: whole.sid,
      AccountSid: sidOf('account', owner.id),
      ApiVersion: '2010-04-01',
      From: FROM,
      To: TO,
      Direction: 'outbound-api',
      CallbackSource: 'call-progress-events',
      Timestamp: expect.stringMatching(/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} \+0000$/),
    }
    expect(posts.map((arrival) => readCallback(arrival, key.key, url))).toEqual([
      { ...shared, CallStatus: 'initiated', SequenceNumber: '0' },
      { ...shared, CallStatus: 'completed', SequenceNumber: '1', CallDuration: '42' },
    ])
    const gets = arrivals.filter(({ method }) => method === 'GET')
    expect(gets).toHaveLength(1)
    const asked = new URL(gets[0]?.path ?? '', url)
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      CallSid: ended.sid,
      CallStatus: 'busy',
      CallDuration: '0',
    })
    const signature = String(gets[0]?.headers['x-twilio-signature'])
    expect(twilio.validateRequest(key.key, signature, asked.href, {})).toBe(true)
    const fetched = await Promise.all([whole, ended].map(({ sid }) => client.calls(sid).fetch()))
    expect(fetched).toMatchObject([
      { status: 'completed', duration: '42' },
      { status: 'busy', duration: '0' },
    ])
    const { body } = await world.call('GET', '/api/v1/messages', { key: key.key })
    expect(body.data.messages).toMatchObject([{ duration_s: 0 }, { duration_s: 42 }])
  })

  it('ends with its key', async () => {
    const { world, owner, key, client } = await openEngine()
    const { arrivals, url } = await receiver()
    const sendAt = new Date(world.now().getTime() + 60 * MINUTE_MS)
    await client.messages.create({
      to: TO,
      from: FROM,
      body: 'later',
      statusCallback: url,
      sendAt,
      scheduleType: 'fixed',
    })
    await world.call('DELETE', `/api/v1/api-keys/${key.id}`, { token: owner.token })
    await world.advance(61 * MINUTE_MS)
    expect(arrivals).toEqual([])
  })
})

/** A database whose statements a test can run as well. */
async function openDatabase(engine: string) {
  if (engine === 'PostgreSQL') {
    const { url, connect, drop } = await createDatabase()
    closers.push(drop)
    const client = await connect()
    return { database_url: url, run: async (sql: string) => void (await client.query(sql)) }
  }
  const folder = mkdtempSync(join(tmpdir(), 'svc-replies-'))
  closers.push(async () => rmSync(folder, { recursive: true }))
  const file = join(folder, 'svc.db')
  return {
    database_url: `file:${file}`,
    async run(sql: string) {
      const connection = connectSqlite(file)
      connection.exec(sql)
      connection.close()
    },
  }
}

/** Makes the database refuse to store the second reply to a message. */
const REFUSE_SECOND = {
  SQLite: `create trigger no_second before insert on idempotency_keys when new.key like 'twiml-%-1'
    begin select raise(abort, 'refused'); end`,
  PostgreSQL: `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger no_second before insert on idempotency_keys for each row when (new.key like 'twiml-%-1')
    execute function refuse()`,
}

const ALLOW_SECOND = {
  SQLite: 'drop trigger no_second',
  PostgreSQL: 'drop trigger no_second on idempotency_keys',
}

async function openReplies(
  text: () => string,
  { engine = 'SQLite', credits = 1_000 }: { engine?: string; credits?: number } = {},
) {
  const { database_url, run } = await openDatabase(engine)
  const stage = await openStage({ providers: [carrier], database_url, credits })
  const { world, owner, key } = stage
  const opened = await receiver({ type: 'text/xml; charset=utf-8', text })
  const { token } = owner
  const json = {
    url: opened.url,
    format: 'twilio',
    api_key_id: key.id,
    events: ['message.received'],
  }
  const made = await world.call('POST', '/api/v1/webhooks', { token, json })
  const webhook = `/api/v1/webhooks/${made.body.data.webhook.id}`
  // An answer belongs to the workspace that last wrote to its author.
  await stage.client.messages.create({ to: TO, from: FROM, body: 'Hi' })
  await world.dispatcher.idle()
  const receive = async (id: string) => {
    const content = { text: 'Hello', media: [] }
    const received = {
      type: 'received',
      channel: 'sms',
      provider_message_id: id,
      sender: TO,
      recipient: FROM,
      content,
    }
    const body = JSON.stringify({ received })
    await fetch(`${world.url}/callbacks/carrier`, { method: 'POST', body })
    await world.dispatcher.idle()
  }
  const sent = async () => {
    const found = await stage.client.messages.list({ from: FROM })
    return found.map(({ body }) => body).filter((body) => body !== 'Hi')
  }
  const deliveries = async () =>
    (await world.call('GET', `${webhook}/deliveries`, { token })).body.data.deliveries
  const books = () => verifyLedger(database_url, { now: world.now })
  return { ...stage, ...opened, receive, sent, deliveries, webhook, run, books }
}

describe.each(['SQLite', 'PostgreSQL'] as const)('replies in TwiML with %s', (engine) => {
  it('sends them once, with their debit', async () => {
    let text = 'Thanks &amp; <![CDATA[<bye>]]>'
    const { world, owner, receive, sent, deliveries, webhook, arrivals } = await openReplies(
      () => `<?xml version="1.0"?><Response><Message>${text}</Message></Response>`,
      { engine },
    )
    const before = await world.balance(owner)
    await receive('in-1')
    expect(await sent()).toEqual(['Thanks & <bye>'])
    expect(await world.balance(owner)).toBe(before - 1)
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ status: 'delivered', error: null, response_status: 200 })
    // A repeated delivery sends nothing, even if the receiver now answers another text.
    text = 'Another'
    const { token } = owner
    await world.call('POST', `${webhook}/deliveries/${delivery.id}/retry`, { token })
    await world.dispatcher.idle()
    expect(arrivals).toHaveLength(2)
    expect(await sent()).toEqual(['Thanks & <bye>'])
    expect(await world.balance(owner)).toBe(before - 1)
  })

  it('records refusals, and neither repeats nor charges them', async () => {
    const stage = await openReplies(() => REPLY, { engine, credits: 1 })
    const { world, owner, receive, sent, deliveries, arrivals, books } = stage
    const setStatus = (status: 'active' | 'frozen') =>
      world.core.credits.setTerms(owner.id, { status, ...(status === 'frozen' && { reason: 'a' }) })
    const refusals: [error: string, cause: () => Promise<unknown>, end?: () => Promise<unknown>][] =
      [
        // The message before the first received one has taken the only credit.
        ['reply_insufficient_credits', async () => {}, () => world.grant(owner, 10)],
        ['reply_forbidden', () => setStatus('frozen'), () => setStatus('active')],
        ['reply_suppressed', () => world.suppression(owner, { address: TO })],
      ]
    for (const [i, [error, cause, end]] of refusals.entries()) {
      await cause()
      const credits = await world.balance(owner)
      const known = await deliveries()
      await receive(`in-${i}`)
      await world.advance(MINUTE_MS)
      const made = (await deliveries()).slice(0, -known.length || undefined)
      expect(made).toMatchObject([{ error, status: 'delivered', attempt_count: 1 }])
      expect(arrivals).toHaveLength(i + 1)
      expect(await world.balance(owner)).toBe(credits)
      await end?.()
    }
    expect(await sent()).toEqual([])
    await world.settle()
    expect(await books()).toMatchObject({ ok: true, differences: [] })
  })

  it('repeats a delivery whose reply could not be stored, and sends each reply once', async () => {
    const stage = await openReplies(
      () => '<Response><Message>First</Message><Message>Second</Message></Response>',
      { engine },
    )
    const { world, owner, receive, sent, deliveries, arrivals, webhook, run, books } = stage
    const before = await world.balance(owner)
    await run(REFUSE_SECOND[engine])
    await receive('in-1')
    const [failed] = await deliveries()
    expect(failed).toMatchObject({
      status: 'pending',
      error: 'reply_failed',
      response_status: null,
      attempt_count: 1,
      next_attempt_at: expect.any(String),
    })
    expect(world.takeFaults()).toMatchObject([{ msg: 'a reply was not sent' }])
    expect(await sent()).toEqual(['First'])
    expect(arrivals).toHaveLength(1)
    await run(ALLOW_SECOND[engine])
    const retry = `${webhook}/deliveries/${failed.id}/retry`
    await world.call('POST', retry, { token: owner.token })
    await world.dispatcher.idle()
    expect(await deliveries()).toMatchObject([
      { status: 'delivered', error: null, attempt_count: 2 },
    ])
    expect((await sent()).sort()).toEqual(['First', 'Second'])
    expect(await world.balance(owner)).toBe(before - 2)
    await world.settle()
    expect(await books()).toMatchObject({ ok: true, differences: [] })
  })
})

describe('replies in TwiML', () => {
  /** A recipient of the sandbox that answers each message. */
  const TALKATIVE = '+15005550008'

  async function openTalk(options: { type?: string; status?: number } = {}) {
    const stage = await openStage()
    const { url, arrivals } = await receiver({
      text: REPLY,
      type: options.type ?? 'application/xml',
      answer: () => options.status ?? 200,
    })
    const listen = async (key: { id: string }) => {
      const { token } = stage.owner
      const json = { url, format: 'twilio', api_key_id: key.id, events: ['message.received'] }
      const made = await stage.world.call('POST', '/api/v1/webhooks', { token, json })
      return made.body.data.webhook.id
    }
    const errorsOf = async (webhook: string) => {
      const path = `/api/v1/webhooks/${webhook}/deliveries`
      const { body } = await stage.world.call('GET', path, { token: stage.owner.token })
      return body.data.deliveries.map(({ error }: { error: string | null }) => error)
    }
    const sent = async () =>
      (await stage.client.messages.list({ to: TALKATIVE })).map(({ body }) => body)
    const talk = async () => {
      await stage.client.messages.create({ to: TALKATIVE, from: FROM, body: 'Hi' })
      await stage.world.advance(1_000)
    }
    return { ...stage, arrivals, listen, errorsOf, sent, talk }
  }

  it('records why a reply is not sent, and delivers once', async () => {
    let text = ''
    const stage = await openReplies(() => text)
    const { world, owner, receive, sent, deliveries, arrivals } = stage
    const message = (inner: string) => `<Response><Message${inner}</Message></Response>`
    const cases: [string, string | null][] = [
      ['', null],
      ['<Response/>', null],
      ['Hello', 'twiml_invalid'],
      ['<Response><Message>a', 'twiml_invalid'],
      ['<Response><Redirect>https://app.example</Redirect></Response>', 'twiml_invalid'],
      [`<!DOCTYPE r [<!ENTITY a "b">]>${message('>&a;')}`, 'twiml_invalid'],
      [message('><Media>https://files.example/a.png</Media>'), 'twiml_invalid'],
      [`<Response>${'<Message>a</Message>'.repeat(11)}</Response>`, 'twiml_invalid'],
      [message(`>${'a'.repeat(17_000)}`), 'twiml_too_long'],
      [message('>'), 'reply_validation_error'],
      [message(' to="12">a'), 'reply_validation_error'],
      [message(' from="+14155550111">a'), 'reply_validation_error'],
    ]
    const before = await world.balance(owner)
    const known = new Set<string>()
    for (const [i, [answer, error]] of cases.entries()) {
      text = answer
      await receive(`in-${i}`)
      const [made] = (await deliveries()).filter(({ id }: { id: string }) => !known.has(id))
      known.add(made.id)
      expect([answer, made.error]).toEqual([answer, error])
      expect(made).toMatchObject({ status: 'delivered', attempt_count: 1 })
    }
    expect(arrivals).toHaveLength(cases.length)
    expect(await sent()).toEqual([])
    expect(await world.balance(owner)).toBe(before)
  })

  it.each([
    ['a text', { type: 'text/plain' }],
    ['a refusal', { status: 404 }],
  ])('are not read from %s', async (_, options) => {
    const { key, arrivals, listen, sent, talk } = await openTalk(options)
    await listen(key)
    await talk()
    expect(arrivals).toHaveLength(1)
    expect(await sent()).toEqual(['Hi'])
  })

  it('are not sent 23 hours after the message, when they could be repeated', async () => {
    const { world, owner, receive, sent, deliveries, arrivals, webhook } = await openReplies(
      () => REPLY,
    )
    await receive('in-1')
    const [{ id }] = await deliveries()
    const again = () =>
      world.call('POST', `${webhook}/deliveries/${id}/retry`, { token: owner.token })
    for (const [wait_ms, error] of [
      [23 * 60 * MINUTE_MS - 1, null],
      [1, 'reply_too_late'],
    ] as const) {
      await world.advance(wait_ms)
      await again()
      await world.dispatcher.idle()
      expect(await deliveries()).toMatchObject([{ status: 'delivered', error }])
    }
    expect(arrivals).toHaveLength(3)
    expect(await sent()).toEqual(['Hi again'])
  })

  it('need the scope send_messages, and credits', async () => {
    const { world, owner, listen, errorsOf, sent, talk } = await openTalk()
    const scopes = ['read_messages'] as const
    const reader = await listen(await world.key(owner, { signs: true, scopes: [...scopes] }))
    await talk()
    expect(await errorsOf(reader)).toEqual(['reply_forbidden'])
    expect(await sent()).toEqual(['Hi'])
    await world.call('DELETE', `/api/v1/webhooks/${reader}`, { token: owner.token })
    const poor = await world.key(owner, { signs: true, daily_credit_limit: 0.5 })
    const webhook = await listen(poor)
    await talk()
    expect(await errorsOf(webhook)).toEqual(['reply_insufficient_credits'])
    expect(await sent()).toEqual(['Hi', 'Hi'])
  })

  it('are test messages for a test message; a test key answers no live message', async () => {
    const { world, owner, key, listen, errorsOf, sent, talk } = await openTalk()
    const webhook = await listen(key)
    const test = await world.key(owner, { mode: 'test' })
    const before = await world.balance(owner)
    await world.send(test.key, { to: TALKATIVE })
    await world.advance(1_000)
    const { body } = await world.call('GET', '/api/v1/messages', { key: test.key })
    const { messages } = body.data
    expect(messages.at(0)).toMatchObject({ content: { text: 'Hi again' } })
    expect(messages.at(-1)).toMatchObject({ content: { text: 'Hello' } })
    const modes = messages.map(({ livemode }: { livemode: boolean }) => livemode)
    expect(new Set(modes)).toEqual(new Set([false]))
    expect(await world.balance(owner)).toBe(before)
    await world.call('DELETE', `/api/v1/webhooks/${webhook}`, { token: owner.token })
    const other = await listen(await world.key(owner, { mode: 'test', signs: true }))
    await talk()
    expect(await errorsOf(other)).toEqual(['reply_forbidden'])
    expect(await sent()).toHaveLength(messages.length + 1)
  })

  it('end between two programs that answer each other', async () => {
    const { world, key, listen, errorsOf, sent, talk } = await openTalk()
    const webhook = await listen(key)
    await talk()
    for (let second = 0; second < 20; second++) await world.advance(1_000)
    expect(await sent()).toHaveLength(1 + 15)
    expect(await errorsOf(webhook)).toContain('reply_rate_limit_exceeded')
  })
})

describe('webhooks in the form of Twilio', () => {
  /** A recipient of the sandbox that answers. */
  const TALKATIVE = '+15005550008'

  it('posts received messages, and validateRequest accepts them', async () => {
    const { world, owner, key, client } = await openStage()
    const { arrivals, url } = await receiver()
    const json = { url, format: 'twilio', api_key_id: key.id, events: ['message.received'] }
    const made = await world.call('POST', '/api/v1/webhooks', { token: owner.token, json })
    expect(made.status).toBe(201)
    // The key itself is shown at its creation only.
    expect(made.body.data.webhook).toMatchObject({ format: 'twilio', secret: '' })
    expect(JSON.stringify(made.body)).not.toContain(key.key)
    await client.messages.create({ to: TALKATIVE, from: FROM, body: 'Hi' })
    await world.advance(1_000)
    const [arrival] = arrivals
    if (!arrival) throw new Error('no message arrived')
    expect(readCallback(arrival, key.key, url)).toMatchObject({
      AccountSid: sidOf('account', owner.id),
      From: TALKATIVE,
      Body: 'Thank you!',
      NumMedia: '0',
      SmsStatus: 'received',
      MessageSid: expect.stringMatching(/^SM[0-9a-f]{32}$/),
    })
    expect(arrivals).toHaveLength(1)
    const path = `/api/v1/webhooks/${made.body.data.webhook.id}/rotate-secret`
    expect((await world.call('POST', path, { token: owner.token })).status).toBe(400)
  })

  it('refuses what cannot sign', async () => {
    const { world, owner, key } = await openStage()
    const unsigned = await world.key(owner)
    const stranger = await world.signup()
    const foreign = await world.key(stranger, { signs: true })
    const url = 'https://receiver.example/hook'
    const create = (json: object, credential: object = { token: owner.token }) =>
      world.call('POST', '/api/v1/webhooks', { json: { url, ...json }, ...credential })
    const refused = [
      { format: 'twilio' },
      { format: 'twilio', api_key_id: unsigned.id },
      { format: 'twilio', api_key_id: foreign.id },
      { format: 'twilio', api_key_id: 'x' },
      { format: 'svc', api_key_id: key.id },
      { format: 'other' },
    ]
    for (const json of refused) expect((await create(json)).status).toBe(400)
    const test = await world.key(owner, { mode: 'test', scopes: ['manage_webhooks'] })
    const byTest = await create({ format: 'twilio', api_key_id: key.id }, { key: test.key })
    expect(byTest.status).toBe(403)
    const testSigner = await world.key(owner, { mode: 'test', signs: true })
    const allowed = { format: 'twilio', api_key_id: testSigner.id }
    expect((await create(allowed, { key: test.key })).status).toBe(201)
    for (const name of ['X-Twilio-Signature', 'svix-id', 'I-Twilio-Idempotency-Token']) {
      expect((await create({ headers: { [name]: 'x' } })).status).toBe(400)
    }
    await world.call('DELETE', `/api/v1/api-keys/${key.id}`, { token: owner.token })
    expect((await create({ format: 'twilio', api_key_id: key.id })).status).toBe(400)
  })
})

describe('retries', () => {
  // PostgreSQL uses its own clock, which a test cannot move.
  it('sends the same bytes again after a failure', async () => {
    const { world, key, client } = await openStage()
    let refusals = 1
    const { arrivals, url } = await receiver({ answer: () => (refusals-- > 0 ? 500 : 200) })
    await client.messages.create({ to: TO, from: FROM, body: 'Hi', statusCallback: url })
    for (let i = 0; i < 5 && arrivals.length < 3; i++) await world.advance(10 * MINUTE_MS)
    const [refused] = arrivals
    if (!refused) throw new Error('no callback arrived')
    const same = arrivals.filter(({ body }) => body.equals(refused.body))
    expect(same).toHaveLength(2)
    expect(same.map((arrival) => readCallback(arrival, key.key, url) !== null)).toEqual([
      true,
      true,
    ])
    const tokens = same.map(({ headers }) => headers['i-twilio-idempotency-token'])
    expect(new Set(tokens).size).toBe(1)
  })
})

describe('refusals', () => {
  it('refuses addresses that callbacks may not go to with 21609, and stores nothing', async () => {
    const { world, owner, client } = await openStage({ allow_nets: [] })
    const urls = [
      'http://127.0.0.1/hook',
      'http://169.254.169.254/latest/meta-data',
      'http://[::1]/hook',
      'http://user:password@example.com/',
      'ftp://example.com/',
      'not a URL',
      `https://example.com/${'a'.repeat(5_000)}`,
    ]
    const codes = await Promise.all(
      urls.map((statusCallback) =>
        codeOf(client.messages.create({ to: TO, from: FROM, body: 'Hi', statusCallback })),
      ),
    )
    expect(codes).toEqual(urls.map(() => 21609))
    expect((await world.written(owner)).messages).toBe(0)
  })

  it.each([
    [{ statusCallbackEvent: ['later'] }, 20001],
    [{ statusCallbackEvent: ['ringing'] }, 20001],
    [{ statusCallbackMethod: 'PUT' }, 20001],
    [{ statusCallback: 'http://127.0.0.1/hook' }, 21609],
  ])('refuses a call with %j, and charges nothing', async (more, code) => {
    const { world, owner, client } = await openStage({ allow_nets: [], providers: [carrier] })
    const twiml = '<Response><Say>Hello</Say></Response>'
    const statusCallback = 'https://93.184.215.14/hook'
    const call = { to: TO, from: FROM, twiml, statusCallback, ...more }
    expect(await codeOf(client.calls.create(call))).toBe(code)
    expect((await world.written(owner)).messages).toBe(0)
  })

  it('refuses a key that does not sign', async () => {
    const { world, owner } = await openStage()
    const { url } = await receiver()
    const client = clientOf(world, owner, await world.key(owner))
    const request = { to: TO, from: FROM, body: 'Hi', statusCallback: url }
    await expect(client.messages.create(request)).rejects.toThrow('does not sign callbacks')
    expect(await codeOf(client.messages.create(request))).toBe(21609)
  })

  it('takes at most 100 origins of a workspace', async () => {
    const { client } = await openStage()
    const send = (i: number) =>
      client.messages.create({
        to: TO,
        from: FROM,
        body: 'Hi',
        statusCallback: `http://127.0.0.1:${10_000 + i}/hook`,
        sendAt: new Date(Date.parse('2026-05-05T09:00:00.000Z')),
        scheduleType: 'fixed',
      })
    for (let i = 0; i < 100; i++) await send(i)
    expect(await codeOf(send(100))).toBe(21609)
    expect(await codeOf(send(7))).toBe(null)
  })
})
