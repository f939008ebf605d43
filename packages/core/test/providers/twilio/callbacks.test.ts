import { createHash } from 'node:crypto'
import twilio from 'twilio'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CallbackReading, CallbackRequest } from '../../../src/contract/outside/provider.ts'
import { DEADLINES_MS } from '../provider-harness.ts'
import { CALLBACK_URL, jobOf, openTwilioBench, type TwilioBench } from './bench.ts'
import { inboundFields, signedForm, statusFields } from './callbacks.ts'

const { getExpectedTwilioSignature, validateRequest } = twilio
const SERVICE = `MG${'5'.repeat(32)}`
const SID = `SM${'7'.repeat(32)}`

let bench: TwilioBench
beforeEach(async () => {
  bench = await openTwilioBench()
})
afterEach(() => bench.close())

function read(request: CallbackRequest): CallbackReading {
  const reading = bench.provider.readCallback?.(request)
  if (!reading) throw new Error('it reads no callbacks')
  return reading
}

function signed(fields: Record<string, string>, url = CALLBACK_URL): CallbackRequest {
  return signedForm(bench.settings.auth_token, url, fields)
}

async function taken(more: Parameters<typeof jobOf>[0] = {}) {
  const job = jobOf(more)
  await bench.provider.send([job])
  const one = bench.peer.taken().at(-1)
  if (!one) throw new Error('the peer took nothing')
  return { job, one }
}

function advanced(
  one: Awaited<ReturnType<typeof taken>>['one'],
  news: Parameters<TwilioBench['peer']['advance']>[1],
): CallbackRequest {
  const request = bench.peer.advance(one, news)
  if (!request) throw new Error('the message has no address for callbacks')
  return request
}

describe('statuses', () => {
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
  ])('%s (%s) is told of the message it is about', async (status, code, receipt) => {
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

  it('come before the answer, and say of themselves what they are about', async () => {
    await bench.close()
    bench = await openTwilioBench({ deadline_ms: DEADLINES_MS.brief })
    const job = jobOf()
    bench.peer.plays(job.recipient, { type: 'hang' })
    const answer = bench.provider.send([job])
    await expect.poll(() => bench.peer.taken().length, { timeout: 10_000 }).toBe(1)
    const [one] = bench.peer.taken()
    if (!one) throw new Error('the peer took nothing')
    const { message_id } = job
    const receipt = { status: 'delivered', provider_message_id: one.resource.sid }
    expect(read(advanced(one, { status: 'delivered' }))).toMatchObject({
      reports: [{ about: { message_id }, receipt }],
    })
    expect(await answer).toMatchObject([{ type: 'ambiguous' }])
  })

  it('that come twice say the same twice', async () => {
    const { one } = await taken()
    const request = advanced(one, { status: 'delivered' })
    expect(read(request)).toEqual(read(request))
  })

  it('with parameters of tomorrow are signed over them too', async () => {
    const { one } = await taken()
    const fields = statusFields(one, { status: 'delivered' })
    const request = signed({ ...fields, Zukunft: 'ü 1', AFirst: '' }, callbackOf(one))
    expect(read(request)).toMatchObject({ type: 'read', reports: [{ type: 'receipt' }] })
    const without = { ...request, body: signed(fields).body }
    expect(read(without)).toEqual({ type: 'forged' })
  })

  it('without our part of the address tell the id alone', () => {
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

describe('calls', () => {
  const call = { channel: 'voice', content: { text: 'Hi' } } as const

  it.each([
    ['initiated', undefined, { status: 'sent' }],
    ['in-progress', undefined, { status: 'sent' }],
    ['completed', 61, { status: 'delivered', duration_s: 61 }],
    ['completed', 0, { status: 'failed', duration_s: 0 }],
    ['busy', 0, { status: 'failed', error_code: 'busy', duration_s: 0 }],
    ['no-answer', 0, { status: 'failed', error_code: 'unanswered', duration_s: 0 }],
    ['failed', undefined, { status: 'failed', error_code: 'call_failed', duration_s: 0 }],
    ['canceled', undefined, { status: 'failed', error_code: 'canceled', duration_s: 0 }],
  ])('%s after %s seconds', async (status, duration_s, receipt) => {
    const { job, one } = await taken(call)
    const request = advanced(one, { status, ...(duration_s !== undefined && { duration_s }) })
    const { message_id } = job
    expect(read(request)).toMatchObject({ reports: [{ about: { message_id }, receipt }] })
  })

  it('to our number are not picked up', () => {
    const { account_sid: AccountSid } = bench.settings
    const fields = { AccountSid, CallSid: `CA${'7'.repeat(32)}`, CallStatus: 'ringing' }
    expect(read(signed({ ...fields, Direction: 'inbound' }))).toEqual({
      type: 'read',
      reports: [],
      answer: { content_type: 'text/xml', body: '<Response><Reject/></Response>' },
    })
  })
})

describe('forgeries', () => {
  it('an address of another message is not what was signed', async () => {
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

  it('another account’s token signs nothing', async () => {
    const { one } = await taken()
    const fields = statusFields(one, { status: 'delivered' })
    const request = signedForm('e'.repeat(32), callbackOf(one), fields)
    expect(read(request)).toEqual({ type: 'forged' })
  })

  it('another account’s message is refused under our token too', () => {
    const AccountSid = `AC${'f'.repeat(32)}`
    const request = signed({ AccountSid, MessageSid: SID, MessageStatus: 'delivered' })
    expect(read(request)).toEqual({ type: 'forged' })
  })

  it('the port is as it was signed, or the usual one', async () => {
    const { one } = await taken()
    const request = advanced(one, { status: 'delivered' })
    const at = (port: string) => ({
      ...request,
      url: request.url.replace('svc.example', `svc.example${port}`),
    })
    for (const port of ['', ':443', ':8443']) {
      const { url, headers, body } = at(port)
      const fields = Object.fromEntries(new URLSearchParams(Buffer.from(body).toString()))
      const theirs = validateRequest(
        bench.settings.auth_token,
        headers['x-twilio-signature'] ?? '',
        url,
        fields,
      )
      expect(read(at(port)).type === 'read').toBe(theirs)
    }
  })

  it('a body larger than Twilio ever sends is not read', () => {
    const { account_sid: AccountSid } = bench.settings
    const fields = { AccountSid, MessageSid: SID, MessageStatus: 'sent' }
    expect(read(signed({ ...fields, Body: 'x'.repeat(60_000) })).type).toBe('read')
    expect(read(signed({ ...fields, Body: 'x'.repeat(70_000) }))).toEqual({ type: 'forged' })
  })
})

describe('JSON', () => {
  function json(text: string, { hash = hashOf(text) } = {}): CallbackRequest {
    const url = `${CALLBACK_URL}?w=${UUID}&m=${UUID}&bodySHA256=${hash}`
    const signature = getExpectedTwilioSignature(bench.settings.auth_token, url, {})
    const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature }
    return { method: 'POST', url, headers, body: Buffer.from(text) }
  }

  it('is read where its hash is signed', () => {
    const { account_sid: AccountSid } = bench.settings
    const text = JSON.stringify({ AccountSid, MessageSid: SID, MessageStatus: 'delivered' })
    expect(read(json(text))).toMatchObject({
      reports: [{ about: { message_id: UUID }, receipt: { status: 'delivered' } }],
    })
    expect(read(json(text, { hash: hashOf('x') }))).toEqual({ type: 'forged' })
  })

  it.each(['[]', 'null', '7', '"x"', '{', ''])('%j is unreadable', (text) => {
    expect(read(json(text))).toMatchObject({ type: 'unreadable' })
  })

  it('under a signature that covers the address alone is nobody’s', () => {
    const signature = getExpectedTwilioSignature(bench.settings.auth_token, CALLBACK_URL, {})
    const headers = { 'content-type': 'application/json', 'x-twilio-signature': signature }
    const body = Buffer.from(JSON.stringify({ MessageSid: SID, MessageStatus: 'delivered' }))
    const request = { method: 'POST' as const, url: CALLBACK_URL, headers, body }
    expect(read(request)).toEqual({ type: 'forged' })
  })
})

it('what no database could keep is not in what somebody wrote', () => {
  const message = { sid: SID, from: '+14155550100', to: '+15550100001', body: 'A\0B' }
  expect(read(signed(inboundFields(bench.settings.account_sid, message)))).toMatchObject({
    reports: [{ content: { text: 'A\ufffdB' } }],
  })
})

describe('what somebody wrote', () => {
  type Inbound = Omit<Parameters<typeof inboundFields>[1], 'sid'>
  const from = '+255700000001'
  const to = '+15550100001'

  const received = (message: Inbound) =>
    read(signed(inboundFields(bench.settings.account_sid, { sid: SID, ...message })))

  it('is taken with its id, and answered with nothing to say', () => {
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

  it.each(['STOP', 'START', 'HELP'] as const)('%s is what Twilio took it for', (opt_out) => {
    const keyword = opt_out.toLowerCase()
    const reading = received({ from, to, body: 'ok', opt_out })
    expect(reading).toMatchObject({ reports: [{ keyword }] })
  })

  it('on WhatsApp has media', () => {
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

  it('to a number of a messaging service is to the service that sends', () => {
    const service = { service: SERVICE }
    const reading = (number: string) => received({ from, to: number, body: 'x', ...service })
    expect(reading('+15550199999')).toMatchObject({ reports: [{ recipient: SERVICE }] })
    expect(reading(to)).toMatchObject({ reports: [{ recipient: to }] })
  })

  it.each(['12345', 'messenger:123', 'rcs:agent', 'Shop', ''])(
    'by %j, no number, is left',
    (who) => {
      expect(received({ from: who, to, body: 'x' })).toMatchObject({ type: 'read', reports: [] })
    },
  )

  it('by GET is signed with its query', () => {
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
