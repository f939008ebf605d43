import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type {
  CallbackReading,
  CallbackRequest,
  Report,
} from '../../../src/contract/outside/provider.ts'
import { signatureOf } from '../../../src/providers/whatsapp-cloud/callback.ts'
import { settings } from '../../../src/providers/whatsapp-cloud/settings.ts'
import { openWhatsappCloud } from '../../../src/providers/whatsapp-cloud/whatsapp-cloud.ts'
import { MESSAGE, WORKSPACE } from './jobs.ts'
import { APP_SECRET, VERIFY_TOKEN } from './peer.ts'
import { type MetaNumber, NUMBERS } from './requests.ts'
import {
  CALLBACK_URL,
  inboundOf,
  metaJson,
  notificationOf,
  signedCallback,
  statusOf,
  updatesOf,
  verificationCall,
} from './webhooks.ts'

const provider = openWhatsappCloud(
  settings.parse({
    type: 'whatsapp_cloud',
    name: 'wa',
    access_token: 'EAAlocal',
    app_secret: APP_SECRET,
    verify_token: VERIFY_TOKEN,
    senders: NUMBERS,
  }),
)

const [NUMBER, OTHER] = NUMBERS
const ABOUT = { workspace_id: WORKSPACE, message_id: MESSAGE }
const SENT = { wamid: 'wamid.one', to: '+14155550100', opaque: `${WORKSPACE}.${MESSAGE}` }

function read(request: CallbackRequest): CallbackReading {
  const reading = provider.readCallback?.(request) as CallbackReading | undefined
  if (!reading) throw new Error('the provider reads no callbacks')
  return reading
}

/** The reports of a signed notification. */
function reportsOf(notification: unknown): Report[] {
  const reading = read(signedCallback(APP_SECRET, notification))
  if (reading.type !== 'read') throw new Error(`it is ${reading.type}`)
  return reading.reports
}

const statuses = (...updates: object[]) =>
  reportsOf(notificationOf(updatesOf(NUMBER, { statuses: updates })))
const messages = (...updates: object[]) =>
  reportsOf(notificationOf(updatesOf(NUMBER, { messages: updates })))

describe('the verification of the URL', () => {
  it('is answered with the challenge, as text', () => {
    expect(read(verificationCall(VERIFY_TOKEN, { challenge: '1158201444' }))).toEqual({
      type: 'read',
      reports: [],
      answer: { content_type: 'text/plain', body: '1158201444' },
    })
  })

  it('refuses another token', () => {
    for (const token of ['', `${VERIFY_TOKEN}x`, VERIFY_TOKEN.slice(1), VERIFY_TOKEN.toUpperCase()])
      expect(read(verificationCall(token))).toEqual({ type: 'forged' })
  })

  it('refuses another mode', () => {
    expect(read(verificationCall(VERIFY_TOKEN, { mode: 'unsubscribe' })).type).toBe('forged')
  })

  it('refuses a repeated token and a missing query', () => {
    const request = verificationCall('wrong-token')
    const twice = `${request.url}&hub.verify_token=${VERIFY_TOKEN}`
    expect(read({ ...request, url: twice }).type).toBe('forged')
    expect(read({ ...request, url: CALLBACK_URL }).type).toBe('forged')
  })

  it.each(['', '<script> x', 'a\r\nb', 'é', '1'.repeat(257)])('does not echo %j', (challenge) => {
    expect(read(verificationCall(VERIFY_TOKEN, { challenge })).type).toBe('unreadable')
  })
})

describe('the signature', () => {
  it('matches the published example', () => {
    const body = '{"object":"whatsapp_business_account","entry":[]}'
    expect(signatureOf('app-secret', body)).toBe(
      'sha256=d3e4f9da0ce6c71ab3dba55929b8eeeee2455349e534924ead19f98d143e904f',
    )
  })

  it('covers the raw bytes: the same JSON in other bytes is forged', () => {
    const notification = notificationOf(
      updatesOf(NUMBER, {
        messages: [inboundOf('+14155550100', 'text', { text: { body: '🙂/é' } })],
      }),
    )
    const request = signedCallback(APP_SECRET, notification)
    expect(Buffer.from(request.body).toString()).toContain('\\ud83d\\ude42\\/\\u00e9')
    expect(read(request)).toMatchObject({
      type: 'read',
      reports: [{ content: { text: '🙂/é' } }],
    })
    const rewritten = Buffer.from(JSON.stringify(notification))
    expect(read({ ...request, body: rewritten }).type).toBe('forged')
  })

  it.each([
    ['none', undefined],
    ['an empty one', ''],
    ['another algorithm', `sha1=${createHmac('sha1', APP_SECRET).update('{}').digest('hex')}`],
    ['without its prefix', createHmac('sha256', APP_SECRET).update('{}').digest('hex')],
    ['of another secret', signatureOf('another-secret', '{}')],
    ['of another body', signatureOf(APP_SECRET, '{ }')],
    ['longer', `${signatureOf(APP_SECRET, '{}')}00`],
  ])('is refused: %s', (_, signature) => {
    const headers = { 'x-hub-signature-256': signature }
    const request = { method: 'POST', url: CALLBACK_URL, headers, body: Buffer.from('{}') } as const
    expect(read(request)).toEqual({ type: 'forged' })
  })
})

describe('statuses', () => {
  it.each([
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['read', 'read'],
    ['played', 'read'],
  ])('%s is %s, with our ids and the id of Meta', (status, expected) => {
    const receipt = {
      status: expected,
      provider_message_id: 'wamid.one',
      error_code: null,
      error_message: null,
    }
    expect(statuses(statusOf(SENT, status))).toEqual([
      { type: 'receipt', about: ABOUT, provider_message_id: 'wamid.one', receipt },
    ])
  })

  it.each([
    [131026, 'undeliverable', 'whatsapp_cloud:131026 The recipient cannot be reached on WhatsApp'],
    [131047, 'outside_window', 'whatsapp_cloud:131047 Outside the 24 hour window'],
    [131042, 'payment_required', 'whatsapp_cloud:131042 The payment method of the account fails'],
    [999_999, 'undelivered', 'whatsapp_cloud:999999 Unknown error'],
  ])('failed has an error: %i', (code, error_code, error_message) => {
    const reports = statuses(statusOf(SENT, 'failed', { code }))
    expect(reports).toMatchObject([{ receipt: { status: 'failed', error_code, error_message } }])
    expect(JSON.stringify(reports)).not.toMatch(/secret contents|14155550100/)
  })

  it.each([[undefined], [[]], ['x'], [[{ code: '131026' }]]])(
    'failed may not say: %j',
    (errors) => {
      const [report] = statuses({ ...statusOf(SENT, 'failed'), errors })
      expect(report).toMatchObject({ receipt: { status: 'failed', error_code: 'undelivered' } })
    },
  )

  it('do not suppress the recipient: an opt-out is only from marketing', () => {
    const [report] = statuses(statusOf(SENT, 'failed', { code: 131050 }))
    expect(report).toMatchObject({ receipt: { error_code: 'opted_out' } })
    expect(JSON.stringify(report)).not.toContain('suppress')
  })

  it('are reported in the order in which they arrive', () => {
    const fates = ['read', 'failed', 'delivered', 'sent', 'delivered']
    const reports = statuses(...fates.map((fate) => statusOf(SENT, fate)))
    const seen = reports.map((report) => (report.type === 'receipt' ? report.receipt.status : null))
    expect(seen).toEqual(fates)
  })

  it('have the id of Meta only if our ids are missing', () => {
    expect(statuses(statusOf(SENT, 'delivered', { without_opaque: true }))).toMatchObject([
      { about: null, provider_message_id: 'wamid.one' },
    ])
  })

  it.each([
    'x',
    WORKSPACE,
    `${WORKSPACE}.`,
    `${WORKSPACE}.${MESSAGE}.${MESSAGE}`,
    `${WORKSPACE}.${MESSAGE}\n`,
    ` ${WORKSPACE}.${MESSAGE}`,
    `${WORKSPACE}x${MESSAGE}`,
    `' or 1=1`,
    7,
    null,
    { a: 1 },
  ])('do not read %j as our ids', (opaque) => {
    const status = { ...statusOf(SENT, 'delivered'), biz_opaque_callback_data: opaque }
    expect(statuses(status)).toMatchObject([{ about: null, provider_message_id: 'wamid.one' }])
  })

  it.each(['deleted', 'warning', 'unknown', '', null, 7])('ignore the status %j', (status) => {
    expect(statuses({ ...statusOf(SENT, 'sent'), status })).toEqual([])
  })

  it('ignore an update that names no message', () => {
    const nameless = { ...statusOf(SENT, 'sent', { without_opaque: true }), id: undefined }
    expect(statuses(nameless)).toEqual([])
  })
})

describe('a received message', () => {
  const from = '+14155550100'

  it.each([
    ['text', { text: { body: 'STOP' } }, 'STOP'],
    ['button', { button: { payload: 'p', text: 'Yes, please' } }, 'Yes, please'],
    [
      'interactive',
      { interactive: { type: 'button_reply', button_reply: { id: 'b1', title: 'Confirm' } } },
      'Confirm',
    ],
    [
      'interactive',
      { interactive: { type: 'list_reply', list_reply: { id: 'r1', title: 'Arusha' } } },
      'Arusha',
    ],
  ])('%s', (type, fields, text) => {
    expect(messages(inboundOf(from, type, fields))).toEqual([
      {
        type: 'received',
        channel: 'whatsapp',
        provider_message_id: expect.stringMatching(/^wamid\./),
        sender: from,
        recipient: NUMBER.number,
        content: { text, media: [] },
      },
    ])
  })

  it.each([
    ['image', 'image/jpeg', 'Look!'],
    ['video', 'video/mp4', null],
    ['audio', 'audio/ogg; codecs=opus', null],
    ['document', 'application/pdf', 'The bill'],
    ['sticker', 'image/webp', null],
  ])('%s', (type, mime_type, caption) => {
    const medium = { id: '1013859600285441', mime_type, sha256: 'x', ...(caption && { caption }) }
    const url = 'https://graph.facebook.com/v25.0/1013859600285441'
    expect(messages(inboundOf(from, type, { [type]: medium }))).toMatchObject([
      { content: { text: caption, media: [{ url, content_type: mime_type }] } },
    ])
  })

  it('has the recipient’s number', () => {
    const written = inboundOf(from, 'text', { text: { body: 'a' } })
    const reports = reportsOf(notificationOf(updatesOf(OTHER, { messages: [written] })))
    expect(reports).toMatchObject([{ recipient: OTHER.number }])
  })

  it.each([
    ['reaction', { reaction: { message_id: 'wamid.one', emoji: '👍' } }],
    ['system', { system: { type: 'user_changed_number', body: 'x' } }],
    ['unsupported', { errors: [{ code: 131051, title: 'Message type unknown' }] }],
    ['location', { location: { latitude: 1, longitude: 2 } }],
    ['contacts', { contacts: [] }],
    ['order', { order: {} }],
    ['invented_in_2031', { invented_in_2031: { text: 'x' } }],
    ['text', { text: { body: '' } }],
    ['text', { text: 'not an object' }],
    ['interactive', { interactive: { type: 'nfm_reply', nfm_reply: {} } }],
    ['image', { image: { mime_type: 'image/png' } }],
    ['image', { image: { id: '../../secrets' } }],
    ['text', { text: { body: 'to a group' }, group_id: 'g' }],
  ])('is ignored if it is neither text nor media: %s %j', (type, fields) => {
    const plain = inboundOf(from, 'text', { text: { body: 'after it' } })
    expect(messages(inboundOf(from, type, fields), plain)).toMatchObject([
      { content: { text: 'after it' } },
    ])
  })

  it.each([undefined, '', 'US.13491208655302741918', '0123', '1'.repeat(16), 14155550100])(
    'by who shows no number is passed over: %j',
    (hidden) => {
      const written = { ...inboundOf(from, 'text', { text: { body: 'a' } }), from: hidden }
      expect(messages(written)).toEqual([])
    },
  )

  it('names its author by an id too, and the message that it answers', () => {
    const written = inboundOf(from, 'text', { text: { body: 'STOP' } })
    const user = { from_user_id: 'US.13491208655302741918' }
    const context = { context: { from: '15550783881', id: 'wamid.one' } }
    expect(messages({ ...written, ...user, ...context })).toMatchObject([
      { sender: from, identities: ['US.13491208655302741918'], answers: 'wamid.one' },
    ])
    expect(messages({ ...written, from: undefined, ...user })).toMatchObject([
      { sender: 'US.13491208655302741918' },
    ])
    expect(messages({ ...written, from: undefined, from_user_id: 'x y' })).toEqual([])
  })

  it('can be stored: no NUL, no half of a surrogate pair, a limited length', () => {
    const body = `a\u0000b\ud83d${'c'.repeat(100_000)}`
    const [report] = messages(inboundOf(from, 'text', { text: { body } }))
    const text = report?.type === 'received' ? (report.content.text ?? '') : ''
    expect(text.slice(0, 5)).toBe('a\ufffdb\ufffdc')
    expect(text).toHaveLength(65_536)
  })
})

describe('a notification', () => {
  const stranger: MetaNumber = { number: '+15550009999', phone_number_id: '999' }

  it('may have updates of several numbers, entries and types', () => {
    const written = inboundOf('+14155550100', 'text', { text: { body: 'a' } })
    const both = { statuses: [statusOf(SENT, 'sent')], messages: [written] }
    const reports = reportsOf(notificationOf(updatesOf(NUMBER, both), updatesOf(OTHER, both)))
    expect(reports.map(({ type }) => type)).toEqual(['receipt', 'received', 'receipt', 'received'])
  })

  it('is read without the updates for numbers of other services', () => {
    const news = { statuses: [statusOf(SENT, 'sent')] }
    expect(
      reportsOf(notificationOf(updatesOf(stranger, news), updatesOf(NUMBER, news))),
    ).toHaveLength(1)
  })

  it.each([
    ['an account update', [{ changes: [{ field: 'account_update', value: { event: 'x' } }] }]],
    ['no changes', [{}, null, 7, { changes: null }, { changes: [null, { field: 'messages' }] }]],
    ['no metadata', [{ changes: [{ field: 'messages', value: { statuses: [{}] } }] }]],
    ['nothing', []],
  ])('may have %s', (_, entry) => {
    expect(reportsOf({ object: 'whatsapp_business_account', entry })).toEqual([])
  })

  it('is ignored if it is of another product of the same app', () => {
    const news = notificationOf(updatesOf(NUMBER, { statuses: [statusOf(SENT, 'sent')] }))
    expect(reportsOf({ ...news, object: 'page' })).toEqual([])
  })

  it('may have unknown fields', () => {
    const extra = { invented: { deep: [1] } }
    const value = updatesOf(NUMBER, { statuses: [{ ...statusOf(SENT, 'read'), ...extra }] })
    expect(reportsOf({ ...notificationOf({ ...value, ...extra }), ...extra })).toHaveLength(1)
  })

  it.each(['', 'x', '[]', 'null', '{}', '{"entry":{}}'])('cannot be %j', (text) => {
    const reading = read(signedCallback(APP_SECRET, null, { body: Buffer.from(text) }))
    expect(reading).toMatchObject({ type: 'unreadable', reason: expect.any(String) })
  })

  it('is read with up to 10,000 updates', () => {
    const many = (count: number) => {
      const all = Array.from({ length: count }, (_, i) =>
        statusOf({ ...SENT, wamid: `wamid.${i}` }, 'sent'),
      )
      return read(signedCallback(APP_SECRET, notificationOf(updatesOf(NUMBER, { statuses: all }))))
    }
    const reading = many(10_000)
    expect(reading.type === 'read' && reading.reports.length).toBe(10_000)
    expect(many(10_001).type).toBe('unreadable')
  })
})

describe('the local Meta', () => {
  it('writes JSON in Meta’s form', () => {
    expect(metaJson({ a: 'é/🙂' })).toBe('{"a":"\\u00e9\\/\\ud83d\\ude42"}')
    expect(JSON.parse(metaJson({ a: 'é/🙂' }))).toEqual({ a: 'é/🙂' })
  })
})
