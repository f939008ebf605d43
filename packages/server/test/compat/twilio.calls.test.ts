import { defineProvider } from '@svc/core'
import { sidOf } from '@svc/core/contract'
import twilio from 'twilio'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Account } from '../accounts.ts'
import { seededChance } from '../postgres/seeded-chance.ts'
import { openReceiver } from '../receiver.ts'
import { useWorld } from '../world.ts'

/** The contents of the calls that the provider got. */
const calls: unknown[] = []

const caller = defineProvider({
  name: 'caller',
  traits: {
    channels: ['voice', 'sms'],
    senders: { voice: ['+14155550190', '+442079460000'], sms: ['+14155550190', 'Acme', '24242'] },
  },
  async send(jobs) {
    calls.push(...jobs.map(({ content }) => content))
    return jobs.map(({ message_id }) => ({
      type: 'accepted',
      provider_message_id: `call_${message_id}`,
      lookup_after_ms: null,
      status: 'sent',
    }))
  },
})

// Ids follow the clock of the test, as they do in a service.
const world = useWorld({
  dispatch: true,
  listen: true,
  providers: [caller],
  chance: (now) => seededChance('calls', now).core,
})

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function receiver(options: Parameters<typeof openReceiver>[0]) {
  const opened = await openReceiver({ type: 'text/xml', ...options })
  stops.push(opened.close)
  return opened
}

const SAY = '<Response><Say>Hello</Say></Response>'
const TO = '+14155550100'
const FROM = '+14155550190'

let owner: Account
let key: string
let client: ReturnType<typeof twilio>
beforeAll(async () => {
  owner = await world().signup({ credits: 1_000 })
  key = (await world().key(owner)).key
  client = twilio(sidOf('account', owner.id), key)
  client.api.baseUrl = `${world().url}/compat/twilio`
})

describe('the calls of the official package', () => {
  it('reads a text to the recipient, and shows the call', async () => {
    const twiml = '<Response><Say language="de-DE">Guten Tag</Say></Response>'
    const made = await client.calls.create({ to: TO, from: FROM, twiml })
    expect(made).toMatchObject({
      status: 'queued',
      to: TO,
      from: FROM,
      direction: 'outbound-api',
      accountSid: sidOf('account', owner.id),
    })
    expect(made.sid).toMatch(/^CA[0-9a-f]{32}$/)
    await world().dispatcher.idle()
    expect(calls.at(-1)).toMatchObject({ text: 'Guten Tag', language: 'de-DE' })
    const fetched = await client.calls(made.sid).fetch()
    expect(fetched).toMatchObject({ sid: made.sid, status: 'in-progress', to: TO, from: FROM })
    expect(fetched.duration).toBeNull()
  })

  it('plays a file', async () => {
    const twiml = '<Response><Play>https://files.example/hello.mp3</Play></Response>'
    await client.calls.create({ to: TO, from: FROM, twiml })
    await world().dispatcher.idle()
    expect(calls.at(-1)).toMatchObject({ audio_url: 'https://files.example/hello.mp3' })
  })

  it.each([
    ['neither a URL nor TwiML', {}],
    ['a URL that is no URL', { url: 'twiml' }],
    ['an end of a greeting', { twiml: SAY, machineDetection: 'DetectMessageEnd' }],
    ['an application', { twiml: SAY, applicationSid: `AP${'0'.repeat(32)}` }],
    ['a recording', { twiml: SAY, record: true }],
    ['a verb that is not supported', { twiml: '<Response><Dial>+14155550101</Dial></Response>' }],
  ])('refuses %s, and charges nothing', async (_, more) => {
    const before = (await client.balance.fetch()).balance
    const call = { to: TO, from: FROM, ...more } as Parameters<typeof client.calls.create>[0]
    await expect(client.calls.create(call)).rejects.toMatchObject({
      status: 400,
    })
    expect((await client.balance.fetch()).balance).toBe(before)
  })

  it('shows no call of another account, and no message as a call', async () => {
    const twiml = '<Response><Say>Hello</Say></Response>'
    const { sid } = await client.calls.create({ to: TO, from: FROM, twiml })
    const stranger = await world().signup({ credits: 10 })
    const other = twilio(sidOf('account', stranger.id), (await world().key(stranger)).key)
    other.api.baseUrl = `${world().url}/compat/twilio`
    await expect(other.calls(sid).fetch()).rejects.toMatchObject({ status: 404, code: 20404 })
    const sms = await client.messages.create({ to: TO, from: FROM, body: 'Hello' })
    const asCall = sms.sid.replace('SM', 'CA')
    await expect(client.calls(asCall).fetch()).rejects.toMatchObject({ status: 404 })
  })
})

describe('a call with the URL of its TwiML', () => {
  const call = { to: '+1 415 555 0100', from: FROM }

  it('asks the program as Twilio does, with a signature, and reads its answer', async () => {
    const { arrivals, url } = await receiver({ text: SAY })
    const asked = `${url}?order=A%201`
    const made = await client.calls.create({
      ...call,
      url: asked,
      machineDetection: 'Enable',
      fallbackUrl: `${url}/fallback`,
      twiml: '<Response><Say>ignored</Say></Response>',
    })
    await world().dispatcher.idle()
    expect(calls.at(-1)).toEqual({ text: 'Hello' })
    expect(made.answeredBy).toBeNull()
    const [arrival] = arrivals
    const form = Object.fromEntries(new URLSearchParams(arrival?.body.toString()))
    expect(form).toEqual({
      AccountSid: sidOf('account', owner.id),
      ApiVersion: '2010-04-01',
      CallStatus: 'queued',
      Direction: 'outbound-api',
      From: FROM,
      To: TO,
    })
    const signature = `${arrival?.headers['x-twilio-signature']}`
    expect(twilio.validateRequest(key, signature, asked, form)).toBe(true)
    expect(arrivals).toHaveLength(1)
  })

  it('asks with GET, and the signature covers the query', async () => {
    const { arrivals, url } = await receiver({ text: SAY, type: 'application/xml; charset=utf-8' })
    await client.calls.create({ ...call, url: `${url}?order=1`, method: 'GET' })
    const [arrival] = arrivals
    expect(arrival).toMatchObject({ method: 'GET', body: Buffer.alloc(0) })
    const asked = new URL(arrival?.path ?? '', url)
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({ order: '1', To: TO, From: FROM })
    const signature = `${arrival?.headers['x-twilio-signature']}`
    expect(twilio.validateRequest(key, signature, asked.href, {})).toBe(true)
  })

  it.each([
    ['a status of an error', { answer: () => 500, text: SAY }, 11200],
    ['a redirect', { answer: () => 302, text: SAY }, 11200],
    ['a long answer', { text: `${SAY}${' '.repeat(70_000)}` }, 11200],
    ['another media type', { text: SAY, type: 'text/plain' }, 12300],
    ['no TwiML', { text: 'Hello' }, 12100],
    ['a verb that is not supported', { text: '<Response><Gather/></Response>' }, 12100],
    ['a long text', { text: SAY.replace('Hello', 'a'.repeat(5_000)) }, 21617],
  ])('refuses %s with the number of Twilio, and charges nothing', async (_, options, code) => {
    const { url } = await receiver(options)
    const before = (await client.balance.fetch()).balance
    await expect(client.calls.create({ ...call, url })).rejects.toMatchObject({ status: 400, code })
    expect((await client.balance.fetch()).balance).toBe(before)
  })

  it('reaches only addresses that webhooks may reach, and asks nothing for a wrong number', async () => {
    for (const url of ['http://10.0.0.1/twiml', 'http://169.254.169.254/', 'ftp://127.0.0.1/']) {
      const refused = client.calls.create({ ...call, url })
      await expect(refused).rejects.toMatchObject({ status: 400, code: 21205 })
    }
    const { arrivals, url } = await receiver({ text: SAY })
    const wrong = client.calls.create({ ...call, to: '12', url })
    await expect(wrong).rejects.toMatchObject({ code: 21211 })
    expect(arrivals).toEqual([])
  })

  it('is made once for one idempotency key, although the program answers anew', async () => {
    let n = 0
    const { url } = await receiver({ text: () => SAY.replace('Hello', `Hello ${n++}`) })
    const sid = sidOf('account', owner.id)
    const send = async () => {
      const answer = await fetch(
        `${world().url}/compat/twilio/2010-04-01/Accounts/${sid}/Calls.json`,
        {
          method: 'POST',
          body: new URLSearchParams({ To: TO, From: FROM, Url: url }),
          headers: {
            authorization: `Basic ${Buffer.from(`${sid}:${key}`).toString('base64')}`,
            'idempotency-key': 'call-1',
          },
        },
      )
      return (await answer.json()) as { sid: string }
    }
    expect((await send()).sid).toBe((await send()).sid)
  })
})

describe('lists', () => {
  async function accountWithCalls() {
    const account = await world().signup({ credits: 1_000 })
    const own = twilio(sidOf('account', account.id), (await world().key(account)).key)
    own.api.baseUrl = `${world().url}/compat/twilio`
    const sids: string[] = []
    for (let n = 0; n < 5; n++) {
      const to = n === 0 ? '+14155550101' : TO
      sids.unshift((await own.calls.create({ to, from: FROM, twiml: SAY })).sid)
      await world().advance(1_000)
    }
    await own.messages.create({ to: TO, from: FROM, body: 'no call' })
    return { own, sids }
  }

  it('have the calls, newest first, in pages', async () => {
    const { own, sids } = await accountWithCalls()
    const listed = async (filter: object) =>
      (await own.calls.list(filter as never)).map(({ sid }) => sid)
    expect(await listed({})).toEqual(sids)
    expect(await listed({ pageSize: 2 })).toEqual(sids)
    expect(await listed({ limit: 3 })).toEqual(sids.slice(0, 3))
    const page = await own.calls.page({ pageSize: 2 })
    expect((await page.nextPage())?.instances.map(({ sid }) => sid)).toEqual(sids.slice(2, 4))
    expect(await client.calls.list({ to: '+14155550101' })).toEqual([])
  })

  it('have the filters of Twilio', async () => {
    const { own, sids } = await accountWithCalls()
    const listed = async (filter: object) =>
      (await own.calls.list(filter as never)).map(({ sid }) => sid)
    expect(await listed({ to: '+1 415 555 0101' })).toEqual(sids.slice(4))
    expect(await listed({ from: '+442079460000' })).toEqual([])
    expect(await listed({ status: 'in-progress' })).toEqual(sids)
    for (const status of ['completed', 'busy', 'ringing', 'queued']) {
      expect(await listed({ status })).toEqual([])
    }
    expect(await listed({ parentCallSid: sids[0] })).toEqual([])
    const second = (await own.calls(sids[1] ?? '').fetch()).dateCreated
    expect(await listed({ startTimeAfter: second })).toEqual(sids.slice(0, 2))
    expect(await listed({ startTimeBefore: second })).toEqual(sids.slice(1))
    expect(await listed({ startTime: second })).toEqual(sids)
    expect(await listed({ endTimeAfter: second })).toEqual([])
    for (const wrong of [{ status: 'lost' }, { startTime: 'x' }, { pageSize: 0 }]) {
      await expect(own.calls.list(wrong as never)).rejects.toMatchObject({ status: 400 })
    }
  })

  it('have the numbers that the settings list as senders', async () => {
    const all = await client.incomingPhoneNumbers.list()
    expect(all).toMatchObject([
      { phoneNumber: FROM, friendlyName: FROM, capabilities: { sms: true, voice: true } },
      { phoneNumber: '+442079460000', capabilities: { sms: false, voice: true, mms: false } },
    ])
    expect(new Set(all.map(({ sid }) => sid)).size).toBe(2)
    for (const { sid } of all) expect(sid).toMatch(/^PN[0-9a-f]{32}$/)
    expect(await client.incomingPhoneNumbers.list({ pageSize: 1 })).toHaveLength(2)
    const found = async (phoneNumber: string) =>
      (await client.incomingPhoneNumbers.list({ phoneNumber })).map((one) => one.phoneNumber)
    expect(await found(FROM)).toEqual([FROM])
    expect(await found('2079')).toEqual(['+442079460000'])
    expect(await found('415***0190')).toEqual([FROM])
    expect(await found('999')).toEqual([])
    await expect(found('(((')).rejects.toMatchObject({ status: 400, code: 20001 })
  })
})
