import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { afterEach, describe, expect, it } from 'vitest'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import type { Account } from '../accounts.ts'
import { seededChance } from '../postgres/seeded-chance.ts'
import { type Arrival, openReceiver } from '../receiver.ts'
import { openWorld, type World, type WorldOptions } from '../world.ts'

const TO = '+14155550100'
const FROM = '+14155550190'
const MINUTE_MS = 60_000

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function openStage(options: WorldOptions = {}) {
  const world = await openWorld({
    dispatch: true,
    listen: true,
    chance: (now) => seededChance('twilio callbacks', now).core,
    ...options,
  })
  closers.push(() => world.close())
  const owner = await world.signup({ credits: 1_000 })
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
    const { arrivals, url } = await receiver()
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
    await client.messages.create({ to: TO, from: FROM, body: 'Hi', statusCallback: second })
    await client.messages.create({ to: TO, from: FROM, body: 'no callback' })
    await world.dispatcher.idle()
    expect(
      arrivals.map((arrival) => readCallback(arrival, key.key, second)?.MessageStatus),
    ).toEqual(['sent', 'delivered'])
    // The webhooks of callbacks belong to the service: the workspace sees its own only.
    const { body } = await world.call('GET', '/api/v1/webhooks', { token: owner.token })
    expect(body.data.webhooks).toEqual([])
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
