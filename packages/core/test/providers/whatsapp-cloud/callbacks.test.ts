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
  newsOf,
  notificationOf,
  signedCallback,
  statusOf,
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
  const reading = provider.readCallback?.(request)
  if (!reading) throw new Error('the provider reads no callbacks')
  return reading
}

/** What a signed notification tells. */
function told(notification: unknown): Report[] {
  const reading = read(signedCallback(APP_SECRET, notification))
  if (reading.type !== 'read') throw new Error(`it is ${reading.type}`)
  return reading.reports
}

const statuses = (...given: object[]) => told(notificationOf(newsOf(NUMBER, { statuses: given })))
const messages = (...given: object[]) => told(notificationOf(newsOf(NUMBER, { messages: given })))

describe('the verification of the address', () => {
  it('is answered with the challenge, as text', () => {
    expect(read(verificationCall(VERIFY_TOKEN, { challenge: '1158201444' }))).toEqual({
      type: 'read',
      reports: [],
      answer: { content_type: 'text/plain', body: '1158201444' },
    })
  })

  it('says nothing to who has another token', () => {
    for (const token of ['', `${VERIFY_TOKEN}x`, VERIFY_TOKEN.slice(1), VERIFY_TOKEN.toUpperCase()])
      expect(read(verificationCall(token))).toEqual({ type: 'forged' })
  })

  it('says nothing to another mode', () => {
    expect(read(verificationCall(VERIFY_TOKEN, { mode: 'unsubscribe' })).type).toBe('forged')
  })

  it('says nothing where the token is given twice, or nothing is', () => {
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
  it('is that of the published example', () => {
    const body = '{"object":"whatsapp_business_account","entry":[]}'
    expect(signatureOf('app-secret', body)).toBe(
      'sha256=d3e4f9da0ce6c71ab3dba55929b8eeeee2455349e534924ead19f98d143e904f',
    )
  })

  it('is of the bytes as they came: JSON written anew is another body', () => {
    const notification = notificationOf(
      newsOf(NUMBER, { messages: [inboundOf('+14155550100', 'text', { text: { body: '🙂/é' } })] }),
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
  ])('%s is %s, by what was sent along and by the id', (status, expected) => {
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
  ])('failed says why: %i', (code, error_code, error_message) => {
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

  it('suppress nobody: an opt-out is from marketing alone', () => {
    const [report] = statuses(statusOf(SENT, 'failed', { code: 131050 }))
    expect(report).toMatchObject({ receipt: { error_code: 'opted_out' } })
    expect(JSON.stringify(report)).not.toContain('suppress')
  })

  it('are told in the order in which they come, whatever that is', () => {
    const fates = ['read', 'failed', 'delivered', 'sent', 'delivered']
    const reports = statuses(...fates.map((fate) => statusOf(SENT, fate)))
    const seen = reports.map((report) => (report.type === 'receipt' ? report.receipt.status : null))
    expect(seen).toEqual(fates)
  })

  it('without what was sent along are matched by the id', () => {
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
  ])('do not take %j for ours', (opaque) => {
    const status = { ...statusOf(SENT, 'delivered'), biz_opaque_callback_data: opaque }
    expect(statuses(status)).toMatchObject([{ about: null, provider_message_id: 'wamid.one' }])
  })

  it.each(['deleted', 'warning', 'unheard_of', '', null, 7])('pass over %j', (status) => {
    expect(statuses({ ...statusOf(SENT, 'sent'), status })).toEqual([])
  })

  it('pass over what names no message', () => {
    const nameless = { ...statusOf(SENT, 'sent', { without_opaque: true }), id: undefined }
    expect(statuses(nameless)).toEqual([])
  })
})

describe('what people write', () => {
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

  it('goes to the number that it was written to', () => {
    const written = inboundOf(from, 'text', { text: { body: 'a' } })
    const reports = told(notificationOf(newsOf(OTHER, { messages: [written] })))
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
  ])('that is not a text or a medium is passed over: %s %j', (type, fields) => {
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

  it('can be stored: no NUL, no half of a surrogate pair, no endless text', () => {
    const body = `a\u0000b\ud83d${'c'.repeat(100_000)}`
    const [report] = messages(inboundOf(from, 'text', { text: { body } }))
    const text = report?.type === 'received' ? (report.content.text ?? '') : ''
    expect(text.slice(0, 5)).toBe('a\ufffdb\ufffdc')
    expect(text).toHaveLength(65_536)
  })
})

describe('a notification', () => {
  const stranger: MetaNumber = { number: '+15550009999', phone_number_id: '999' }

  it('gathers updates of several numbers, entries and kinds', () => {
    const written = inboundOf('+14155550100', 'text', { text: { body: 'a' } })
    const both = { statuses: [statusOf(SENT, 'sent')], messages: [written] }
    const reports = told(notificationOf(newsOf(NUMBER, both), newsOf(OTHER, both)))
    expect(reports.map(({ type }) => type)).toEqual(['receipt', 'received', 'receipt', 'received'])
  })

  it('of another service’s number is passed over, and what stands beside it is not', () => {
    const news = { statuses: [statusOf(SENT, 'sent')] }
    expect(told(notificationOf(newsOf(stranger, news), newsOf(NUMBER, news)))).toHaveLength(1)
  })

  it.each([
    ['an account update', [{ changes: [{ field: 'account_update', value: { event: 'x' } }] }]],
    ['no changes', [{}, null, 7, { changes: null }, { changes: [null, { field: 'messages' }] }]],
    ['no metadata', [{ changes: [{ field: 'messages', value: { statuses: [{}] } }] }]],
    ['nothing', []],
  ])('may have %s', (_, entry) => {
    expect(told({ object: 'whatsapp_business_account', entry })).toEqual([])
  })

  it('of another product of the same app is taken and passed over', () => {
    const news = notificationOf(newsOf(NUMBER, { statuses: [statusOf(SENT, 'sent')] }))
    expect(told({ ...news, object: 'page' })).toEqual([])
  })

  it('may have fields that nobody knows, anywhere', () => {
    const extra = { invented: { deep: [1] } }
    const value = newsOf(NUMBER, { statuses: [{ ...statusOf(SENT, 'read'), ...extra }] })
    expect(told({ ...notificationOf({ ...value, ...extra }), ...extra })).toHaveLength(1)
  })

  it.each(['', 'x', '[]', 'null', '{}', '{"entry":{}}'])('cannot be %j', (text) => {
    const reading = read(signedCallback(APP_SECRET, null, { body: Buffer.from(text) }))
    expect(reading).toMatchObject({ type: 'unreadable', reason: expect.any(String) })
  })

  it('is read with thousands of updates, and bounded', () => {
    const many = (count: number) => {
      const all = Array.from({ length: count }, (_, i) =>
        statusOf({ ...SENT, wamid: `wamid.${i}` }, 'sent'),
      )
      return read(signedCallback(APP_SECRET, notificationOf(newsOf(NUMBER, { statuses: all }))))
    }
    const reading = many(10_000)
    expect(reading.type === 'read' && reading.reports.length).toBe(10_000)
    expect(many(10_001).type).toBe('unreadable')
  })
})

describe('the local Meta', () => {
  it('writes JSON as Meta does', () => {
    expect(metaJson({ a: 'é/🙂' })).toBe('{"a":"\\u00e9\\/\\ud83d\\ude42"}')
    expect(JSON.parse(metaJson({ a: 'é/🙂' }))).toEqual({ a: 'é/🙂' })
  })
})
