import { createHash } from 'node:crypto'
import { DEADLINES_MS } from '@svc/testkit/provider'
import twilio from 'twilio'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CallbackReading, CallbackRequest } from '../../../src/contract/outside/provider.ts'
import { CALLBACK_URL, jobOf, openTwilioBench, type TwilioBench } from './bench.ts'
import { inboundFields, signedForm, statusFields } from './callbacks.ts'

const { getExpectedTwilioSignature } = twilio
const SERVICE = `MG${'5'.repeat(32)}`
const SID = `SM${'7'.repeat(32)}`

let bench: TwilioBench
beforeEach(async () => {
  bench = await openTwilioBench()
})
afterEach(() => bench.close())

function read(request: CallbackRequest): CallbackReading {
  const reading = bench.provider.readCallback?.(request) as CallbackReading | undefined
  if (!reading) throw new Error('the provider reads no callbacks')
  return reading
}

function signed(fields: Record<string, string>, url = CALLBACK_URL): CallbackRequest {
  return signedForm(bench.settings.auth_token, url, fields)
}

async function taken(more: Parameters<typeof jobOf>[0] = {}) {
  const job = jobOf(more)
  await bench.provider.send([job])
  const one = bench.peer.taken().at(-1)
  if (!one) throw new Error('the peer accepted no message')
  return { job, one }
}

function advanced(
  one: Awaited<ReturnType<typeof taken>>['one'],
  news: Parameters<TwilioBench['peer']['advance']>[1],
): CallbackRequest {
  const request = bench.peer.advance(one, news)
  if (!request) throw new Error('the message has no callback address')
  return request
}

describe('a status callback', () => {
  it.each([
    ['sending', undefined, { status: 'sent' }],
    ['sent', undefined, { status: 'sent' }],
    ['delivered', undefined, { status: 'delivered' }],
    ['read', undefined, { status: 'read' }],
    [
      'undelivered',
      30_005,
      {
        status: 'failed',
        error_code: 'invalid_recipient',
        error_message: 'twilio:30005 Unknown destination handset',
      },
    ],
    ['failed', 21_610, { status: 'failed', error_code: 'opted_out', suppress: 'opt_out' }],
  ])('reports %s (%s) of its message', async (status, code, receipt) => {
    const { job, one } = await taken()
    const request = advanced(one, { status, ...(code !== undefined && { code }) })
    const { workspace_id, message_id } = job
    expect(read(request)).toMatchObject({
      type: 'read',
      reports: [
        {
          type: 'receipt',
          about: { workspace_id, message_id },
          provider_message_id: one.resource.sid,
          receipt,
        },
      ],
    })
  })

  it('names its message even if it arrives before the answer', async () => {
    await bench.close()
    bench = await openTwilioBench({ deadline_ms: DEADLINES_MS.brief })
    const job = jobOf()
    bench.peer.plays(job.recipient, { type: 'hang' })
    const answer = bench.provider.send([job])
    await expect.poll(() => bench.peer.taken().length, { timeout: 10_000 }).toBe(1)
    const [one] = bench.peer.taken()
    if (!one) throw new Error('the peer accepted no message')
    const { message_id } = job
    const receipt = { status: 'delivered', provider_message_id: one.resource.sid }
    expect(read(advanced(one, { status: 'delivered' }))).toMatchObject({
      reports: [{ about: { message_id }, receipt }],
    })
    expect(await answer).toMatchObject([{ type: 'ambiguous' }])
  })

  it('reads the same when it is repeated', async () => {
    const { one } = await taken()
    const request = advanced(one, { status: 'delivered' })
    expect(read(request)).toEqual(read(request))
  })

  it('is signed over unknown parameters too', async () => {
    const { one } = await taken()
    const fields = statusFields(one, { status: 'delivered' })
    const request = signed({ ...fields, Zukunft: 'ü 1', AFirst: '' }, callbackOf(one))
    expect(read(request)).toMatchObject({ type: 'read', reports: [{ type: 'receipt' }] })
    const without = { ...request, body: signed(fields).body }
    expect(read(without)).toEqual({ type: 'forged' })
  })

  it('reports only the id if its address does not name a message', () => {
    const fields = {
      AccountSid: bench.settings.account_sid,
      MessageSid: SID,
      MessageStatus: 'sent',
    }
    for (const query of [
      '',
      '?w=1&m=2',
      `?m=${SID}`,
      `?w=${UUID}&m=${UUID}&m=${UUID}`,
      `?w=${UUID}`,
    ]) {
      const reading = read(signed(fields, CALLBACK_URL + query))
      expect(reading).toMatchObject({ reports: [{ about: null, provider_message_id: SID }] })
    }
  })
})

describe('a callback of a call', () => {
  const call = { channel: 'voice', content: { text: 'Hi' } } as const

  it.each([
    ['initiated', undefined, { status: 'sent' }],
    ['in-progress', undefined, { status: 'sent' }],
    ['completed', 61, { status: 'delivered', duration_s: 61 }],
    ['completed', 0, { status: 'failed', duration_s: 0 }],
    ['busy', 0, { status: 'failed', error_code: 'busy', duration_s: 0 }],
    ['no-answer', 0, { status: 'failed', error_code: 'unanswered', duration_s: 0 }],
    ['failed', undefined, { status: 'failed', error_code: 'call_failed', duration_s: 0 }],
    ['canceled', undefined, { status: 'failed', error_code: 'carrier_canceled', duration_s: 0 }],
  ])('reports %s after %s seconds', async (status, duration_s, receipt) => {
    const { job, one } = await taken(call)
    const request = advanced(one, { status, ...(duration_s !== undefined && { duration_s }) })
    const { message_id } = job
    expect(read(request)).toMatchObject({ reports: [{ about: { message_id }, receipt }] })
  })

  it('rejects a call to our number', () => {
    const { account_sid: AccountSid } = bench.settings
    const fields = { AccountSid, CallSid: `CA${'7'.repeat(32)}`, CallStatus: 'ringing' }
    expect(read(signed({ ...fields, Direction: 'inbound' }))).toEqual({
      type: 'read',
      reports: [],
      answer: { content_type: 'text/xml', body: '<Response><Reject/></Response>' },
    })
  })
})

describe('a forged callback', () => {
  it('is refused if the address is not the signed one', async () => {
    const { one } = await taken()
    const request = advanced(one, { status: 'delivered' })
    for (const [from, to] of [
      [/m=2/, 'm=3'],
      [/w=1/, 'w=2'],
      ['callbacks/twilio', 'callbacks/other'],
      ['https://svc', 'https://other'],
      ['?w', '?W'],
      ['?', '?x=1&'],
    ] as const) {
      const url = request.url.replace(from, to)
      expect(url).not.toBe(request.url)
      expect(read({ ...request, url })).toEqual({ type: 'forged' })
    }
  })

  it('is refused with the signature of another token', async () => {
    const { one } = await taken()
    const fields = statusFields(one, { status: 'delivered' })
    const request = signedForm('e'.repeat(32), callbackOf(one), fields)
    expect(read(request)).toEqual({ type: 'forged' })
  })

  it('is refused with the message of another account', () => {
    const AccountSid = `AC${'f'.repeat(32)}`
    const request = signed({ AccountSid, MessageSid: SID, MessageStatus: 'delivered' })
    expect(read(request)).toEqual({ type: 'forged' })
  })

  it('is refused with a body of more than 64 KiB', () => {
    const { account_sid: AccountSid } = bench.settings
    const fields = { AccountSid, MessageSid: SID, MessageStatus: 'sent' }
    expect(read(signed({ ...fields, Body: 'x'.repeat(60_000) })).type).toBe('read')
    expect(read(signed({ ...fields, Body: 'x'.repeat(70_000) }))).toEqual({ type: 'forged' })
  })
})

it.each(['', ':443', ':8443'])(
  'reads a callback at port "%s" that was signed without a port',
  async (port) => {
    const { one } = await taken()
    const request = advanced(one, { status: 'delivered' })
    const url = request.url.replace('svc.example', `svc.example${port}`)
    expect(read({ ...request, url })).toMatchObject({ type: 'read' })
  },
)

describe('a callback of JSON', () => {
  function json(text: string, { hash = hashOf(text) } = {}): CallbackRequest {
    const url = `${CALLBACK_URL}?w=${UUID}&m=${UUID}&bodySHA256=${hash}`
    const signature = getExpectedTwilioSignature(bench.settings.auth_token, url, {})
    const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature }
    return { method: 'POST', url, headers, body: Buffer.from(text) }
  }

  it('is read if its hash is signed', () => {
    const { account_sid: AccountSid } = bench.settings
    const text = JSON.stringify({ AccountSid, MessageSid: SID, MessageStatus: 'delivered' })
    expect(read(json(text))).toMatchObject({
      reports: [{ about: { message_id: UUID }, receipt: { status: 'delivered' } }],
    })
    expect(read(json(text, { hash: hashOf('x') }))).toEqual({ type: 'forged' })
  })

  it.each(['[]', 'null', '7', '"x"', '{', ''])('is unreadable if it is %j', (text) => {
    expect(read(json(text))).toMatchObject({ type: 'unreadable' })
  })

  it('is refused if the signature covers only the address', () => {
    const signature = getExpectedTwilioSignature(bench.settings.auth_token, CALLBACK_URL, {})
    const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature }
    const body = Buffer.from(JSON.stringify({ MessageSid: SID, MessageStatus: 'delivered' }))
    const request = { method: 'POST' as const, url: CALLBACK_URL, headers, body }
    expect(read(request)).toEqual({ type: 'forged' })
  })
})

it('replaces characters of an incoming message that no database can store', () => {
  const message = { sid: SID, from: '+14155550100', to: '+15550100001', body: 'A\0B' }
  expect(read(signed(inboundFields(bench.settings.account_sid, message)))).toMatchObject({
    reports: [{ content: { text: 'A\ufffdB' } }],
  })
})

describe('an incoming message', () => {
  type Inbound = Omit<Parameters<typeof inboundFields>[1], 'sid'>
  const from = '+255700000001'
  const to = '+15550100001'

  const received = (message: Inbound) =>
    read(signed(inboundFields(bench.settings.account_sid, { sid: SID, ...message })))

  it('is received with its id, and answered with no reply', () => {
    expect(received({ from, to, body: 'Hello & <b>' })).toEqual({
      type: 'read',
      answer: { content_type: 'text/xml', body: '<Response></Response>' },
      reports: [
        {
          type: 'received',
          channel: 'sms',
          provider_message_id: SID,
          sender: from,
          recipient: to,
          content: { text: 'Hello & <b>', media: [] },
        },
      ],
    })
  })

  it.each(['STOP', 'START', 'HELP'] as const)(
    'has the keyword %s that Twilio recognised',
    (opt_out) => {
      const keyword = opt_out.toLowerCase()
      const reading = received({ from, to, body: 'ok', opt_out })
      expect(reading).toMatchObject({ reports: [{ keyword }] })
    },
  )

  it('has the media of WhatsApp', () => {
    const media: [string, string][] = [
      ['https://api.twilio.com/a', 'image/jpeg'],
      ['https://api.twilio.com/b', 'application/pdf'],
      ['javascript:alert(1)', 'text/html'],
    ]
    const reading = received({ from: `whatsapp:${from}`, to: 'whatsapp:+15550100003', media })
    expect(reading).toMatchObject({
      reports: [
        {
          channel: 'whatsapp',
          sender: from,
          recipient: '+15550100003',
          content: {
            text: null,
            media: media.slice(0, 2).map(([url, content_type]) => ({ url, content_type })),
          },
        },
      ],
    })
  })

  it('of WhatsApp has the number by which it knows the author, and the message that the author quoted', () => {
    const message = { sid: SID, from: 'whatsapp:+525512345678', to: 'whatsapp:+15550100003' }
    const fields = {
      ...inboundFields(bench.settings.account_sid, message),
      WaId: '5215512345678',
      OriginalRepliedMessageSid: `SM${'a'.repeat(32)}`,
    }
    expect(read(signed(fields))).toMatchObject({
      reports: [{ identities: ['+5215512345678'], answers: `SM${'a'.repeat(32)}` }],
    })
    const odd = read(signed({ ...fields, OriginalRepliedMessageSid: 'x' }))
    expect(odd).not.toMatchObject({ reports: [{ answers: expect.anything() }] })
  })

  it('of WhatsApp may come from an id without a number', () => {
    const sender = 'US.13491208655302741918'
    expect(received({ from: `whatsapp:${sender}`, to: 'whatsapp:+15550100003' })).toMatchObject({
      reports: [{ channel: 'whatsapp', sender }],
    })
    expect(received({ from: sender, to, body: 'x' })).toMatchObject({ reports: [] })
  })

  it('names the messaging service of the number it was sent to', () => {
    const service = { service: SERVICE }
    const reading = (number: string) => received({ from, to: number, body: 'x', ...service })
    expect(reading('+15550199999')).toMatchObject({ reports: [{ recipient: SERVICE }] })
    expect(reading(to)).toMatchObject({ reports: [{ recipient: to }] })
  })

  it.each(['12345', 'messenger:123', 'rcs:agent', 'Shop', ''])(
    'is ignored if its sender is %j, which is not a number',
    (who) => {
      expect(received({ from: who, to, body: 'x' })).toMatchObject({ type: 'read', reports: [] })
    },
  )

  it('can be a GET with a signed query', () => {
    const { account_sid, auth_token } = bench.settings
    const fields = inboundFields(account_sid, { sid: SID, from, to, body: 'Hi there' })
    const url = `${CALLBACK_URL}?${new URLSearchParams(fields)}`
    const signature = getExpectedTwilioSignature(auth_token, url, {})
    const request = {
      method: 'GET' as const,
      url,
      headers: { 'x-twilio-signature': signature },
      body: new Uint8Array(),
    }
    expect(read(request)).toMatchObject({
      reports: [{ sender: from, content: { text: 'Hi there' } }],
    })
    expect(read({ ...request, url: url.replace('there', 'thera') })).toEqual({ type: 'forged' })
  })
})

const UUID = '33333333-3333-4333-8333-333333333333'

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function callbackOf({ form }: { form: URLSearchParams }): string {
  return form.get('StatusCallback') ?? ''
}
