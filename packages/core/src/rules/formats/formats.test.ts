import { Webhook } from 'standardwebhooks'
import twilio from 'twilio'
import { describe, expect, it } from 'vitest'
import type { WebhookFormatName } from '../../contract/resources/webhooks.ts'
import type { FormattedAttempt, FormattedMessage, FormattedRequest } from './format.ts'
import { FORMATS } from './formats.ts'

const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const OTHER_SECRET = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
const WORKSPACE = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
const DELIVERY = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02'
const EVENT = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d03'
const MESSAGE = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d04'
const APP = 'https://app.example/hook?order=1'
// The official libraries refuse a time that is minutes away from the clock.
const AT = new Date()
const SECONDS = String(Math.floor(AT.getTime() / 1000))
const OCCURRED_AT = '2026-05-04T09:00:00.000Z'

const MAILED: FormattedMessage = {
  sender: 'Acme',
  subject: 'Hi',
  from_address: 'a@acme.example',
  callback_method: null,
}
const TEXTED: FormattedMessage = {
  sender: '+15005550006',
  subject: null,
  from_address: null,
  callback_method: null,
}

function attemptOf(
  event: string,
  data: object,
  message: FormattedMessage | null = null,
): FormattedAttempt {
  return {
    workspace_id: WORKSPACE,
    delivery_id: DELIVERY,
    event_id: EVENT,
    event,
    url: APP,
    secret: SECRET,
    other_secret: null,
    body: JSON.stringify({ event, data }),
    message,
    attempt: 3,
  }
}

const changeOf = (event: string, data: object, message: FormattedMessage | null) =>
  attemptOf(
    event,
    {
      message_id: MESSAGE,
      occurred_at: OCCURRED_AT,
      error_code: null,
      error_message: null,
      sequence: 2,
      ...data,
    },
    message,
  )

const mail = (event: string, data: object, message: FormattedMessage | null = MAILED) =>
  changeOf(event, { channel: 'email', recipient: 'to@example.com', ...data }, message)
const text = (event: string, data: object, message: FormattedMessage | null = TEXTED) =>
  changeOf(event, { channel: 'sms', recipient: '+255700000001', ...data }, message)

/** Whether the official library of a format accepts a request that was signed with this secret. */
const ACCEPTS: Record<WebhookFormatName, (request: FormattedRequest, secret: string) => boolean> = {
  svc: ({ headers, body = '' }, secret) => isStandard(secret, body, headers),
  // The package `svix` verifies as Standard Webhooks does, under its own names of headers.
  resend: ({ headers, body = '' }, secret) =>
    isStandard(
      secret,
      body,
      Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.replace(/^svix-/, 'webhook-'), value]),
      ),
    ),
  twilio: ({ headers, body, url = APP }, secret) =>
    twilio.validateRequest(
      secret,
      headers['x-twilio-signature'] ?? '',
      url,
      Object.fromEntries(new URLSearchParams(body)),
    ),
}

function isStandard(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

const SVC_BODY = { event: 'message.sent', data: { message_id: MESSAGE } }
const SVC_HEADERS = {
  'content-type': 'application/json',
  'X-Svc-Event': 'message.sent',
  'X-Svc-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
  'X-Svc-Signature-256': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
  'X-Svc-Delivery': DELIVERY,
  'X-Svc-Attempt': '3',
  'webhook-id': EVENT,
  'webhook-timestamp': SECONDS,
  'webhook-signature': expect.stringMatching(/^v1,\S+$/),
}
const RESEND_HEADERS = {
  'content-type': 'application/json',
  'svix-id': EVENT,
  'svix-timestamp': SECONDS,
  'svix-signature': expect.stringMatching(/^v1,\S+$/),
}
const RESEND_DATA = {
  email_id: MESSAGE,
  created_at: OCCURRED_AT,
  from: 'Acme <a@acme.example>',
  to: ['to@example.com'],
  subject: 'Hi',
}
const GET_HEADERS = {
  'i-twilio-idempotency-token': DELIVERY,
  'x-twilio-signature': expect.stringMatching(/./),
}
const TWILIO_HEADERS = {
  ...GET_HEADERS,
  'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
}
const ACCOUNT = { AccountSid: 'AC01934f5e8c007a3b9d2e5f6a7b8c9d01', ApiVersion: '2010-04-01' }
const SID = 'SM01934f5e8c007a3b9d2e5f6a7b8c9d04'
const SENT_FORM = {
  MessageSid: SID,
  SmsSid: SID,
  MessageStatus: 'sent',
  SmsStatus: 'sent',
  To: '+255700000001',
  From: '+15005550006',
  ...ACCOUNT,
}

const resend = (type: string, data: object = {}) => ({
  headers: RESEND_HEADERS,
  body: { type, created_at: OCCURRED_AT, data: { ...RESEND_DATA, ...data } },
})
const form = (fields: object) => ({ headers: TWILIO_HEADERS, body: fields })

type Case = [WebhookFormatName, string, FormattedAttempt, object]

const CASES: Case[] = [
  [
    'svc',
    'an event',
    attemptOf('message.sent', SVC_BODY.data),
    { headers: SVC_HEADERS, body: SVC_BODY },
  ],
  [
    'resend',
    'a test',
    attemptOf('webhook.test', {}),
    { headers: RESEND_HEADERS, body: { type: 'webhook.test', data: {} } },
  ],
  ['resend', 'sent', mail('message.sent', { status: 'sent' }), resend('email.sent')],
  [
    'resend',
    'delivered, with tags',
    mail('message.delivered', { status: 'delivered', tags: [{ name: 'order', value: '1' }] }),
    resend('email.delivered', { tags: { order: '1' } }),
  ],
  ['resend', 'read', mail('message.read', { status: 'read' }), resend('email.opened')],
  [
    'resend',
    'bounced',
    mail('message.failed', { status: 'failed', error_code: 'bounced', error_message: 'No box' }),
    resend('email.bounced', {
      bounce: { type: 'Permanent', subType: 'General', message: 'No box' },
    }),
  ],
  [
    'resend',
    'bounced without a text',
    mail('message.failed', { status: 'failed', error_code: 'bounced' }),
    resend('email.bounced', { bounce: { type: 'Permanent', subType: 'General', message: '' } }),
  ],
  [
    'resend',
    'suppressed',
    mail('message.failed', { status: 'failed', error_code: 'suppressed', error_message: 'Listed' }),
    resend('email.suppressed', {
      suppressed: { type: 'OnAccountSuppressionList', message: 'Listed' },
    }),
  ],
  [
    'resend',
    'suppressed without a text',
    mail('message.failed', { status: 'failed', error_code: 'suppressed' }),
    resend('email.suppressed', { suppressed: { type: 'OnAccountSuppressionList', message: '' } }),
  ],
  [
    'resend',
    'failed',
    mail('message.failed', { status: 'failed', error_code: 'expired' }),
    resend('email.failed', { failed: { reason: 'expired' } }),
  ],
  [
    'resend',
    'failed without a code',
    mail('message.failed', { status: 'failed' }),
    resend('email.failed', { failed: { reason: 'failed' } }),
  ],
  [
    'resend',
    'an erased message',
    mail('message.sent', { status: 'sent' }, null),
    resend('email.sent', { from: '', subject: '' }),
  ],
  [
    'resend',
    'a sender without an address',
    mail('message.sent', { status: 'sent' }, { ...MAILED, from_address: null }),
    resend('email.sent', { from: 'Acme' }),
  ],
  [
    'resend',
    'an address without a name',
    mail('message.sent', { status: 'sent' }, { ...MAILED, sender: null }),
    resend('email.sent', { from: 'a@acme.example' }),
  ],
  ['twilio', 'a test', attemptOf('webhook.test', {}), form(ACCOUNT)],
  ['twilio', 'sent', text('message.sent', { status: 'sent' }), form(SENT_FORM)],
  [
    'twilio',
    'an erased message',
    text('message.sent', { status: 'sent' }, null),
    form({ ...SENT_FORM, From: '' }),
  ],
  [
    'twilio',
    'failed, by WhatsApp',
    text('message.failed', { channel: 'whatsapp', status: 'failed', error_code: 'undelivered' }),
    form({
      ...SENT_FORM,
      MessageStatus: 'undelivered',
      SmsStatus: 'undelivered',
      To: 'whatsapp:+255700000001',
      From: 'whatsapp:+15005550006',
      ErrorCode: '30003',
    }),
  ],
  [
    'twilio',
    'sent, as a GET',
    {
      ...text('message.sent', { status: 'sent' }, { ...TEXTED, callback_method: 'GET' }),
      url: `${APP}&To=own`,
    },
    {
      headers: GET_HEADERS,
      method: 'GET',
      query: [['order', '1'], ['To', 'own'], ...Object.entries(SENT_FORM)],
    },
  ],
  [
    'twilio',
    'a call',
    text('message.delivered', { channel: 'voice', status: 'delivered', duration_s: 0 }),
    form({
      CallSid: 'CA01934f5e8c007a3b9d2e5f6a7b8c9d04',
      CallStatus: 'completed',
      From: '+15005550006',
      To: '+255700000001',
      Direction: 'outbound-api',
      Timestamp: 'Mon, 04 May 2026 09:00:00 +0000',
      CallbackSource: 'call-progress-events',
      SequenceNumber: '1',
      CallDuration: '0',
      ...ACCOUNT,
    }),
  ],
  [
    'twilio',
    'a call that begins',
    text('message.sent', { channel: 'voice', status: 'sent', sequence: 1 }),
    form({
      CallSid: 'CA01934f5e8c007a3b9d2e5f6a7b8c9d04',
      CallStatus: 'initiated',
      From: '+15005550006',
      To: '+255700000001',
      Direction: 'outbound-api',
      Timestamp: 'Mon, 04 May 2026 09:00:00 +0000',
      CallbackSource: 'call-progress-events',
      SequenceNumber: '0',
      ...ACCOUNT,
    }),
  ],
  [
    'twilio',
    'a received message',
    attemptOf('message.received', {
      message_id: MESSAGE,
      channel: 'sms',
      sender: '+255700000001',
      recipient: '+15005550006',
      content: { media: [{ url: 'https://files.example/1.jpg', content_type: 'image/jpeg' }] },
    }),
    form({
      MessageSid: SID,
      SmsSid: SID,
      SmsMessageSid: SID,
      SmsStatus: 'received',
      From: '+255700000001',
      To: '+15005550006',
      Body: '',
      NumMedia: '1',
      MediaUrl0: 'https://files.example/1.jpg',
      MediaContentType0: 'image/jpeg',
      ...ACCOUNT,
    }),
  ],
]

/** A request with its body, or the query of its URL, as values. */
function read(name: WebhookFormatName, { headers, body, method, url }: FormattedRequest): object {
  const fields = (text: string) => Object.fromEntries(new URLSearchParams(text))
  return {
    headers,
    ...(method && { method }),
    ...(url !== undefined && { query: [...new URL(url).searchParams] }),
    ...(body !== undefined && { body: name === 'twilio' ? fields(body) : JSON.parse(body) }),
  }
}

describe('A format', () => {
  it.each(CASES)('%s has exactly these headers and fields: %s', (name, _, attempt, expected) => {
    const request = FORMATS[name].request(attempt, AT)
    expect(read(name, request)).toEqual(expected)
    expect(ACCEPTS[name](request, SECRET)).toBe(true)
    expect(ACCEPTS[name](request, OTHER_SECRET)).toBe(false)
  })

  it.each([
    ['svc', true],
    ['resend', true],
    ['twilio', false],
  ] as const)('%s signs with both secrets of a rotation: %s', (name, isSigned) => {
    const attempt = { ...attemptOf('webhook.test', {}), other_secret: OTHER_SECRET }
    const request = FORMATS[name].request(attempt, AT)
    expect(ACCEPTS[name](request, SECRET)).toBe(true)
    expect(ACCEPTS[name](request, OTHER_SECRET)).toBe(isSigned)
  })

  it.each([
    ['webhook.test', null, ['svc', 'twilio', 'resend']],
    ['credits.low', null, ['svc']],
    ['message.sent', 'sms', ['svc', 'twilio']],
    ['message.received', 'whatsapp', ['svc', 'twilio']],
    ['message.sent', 'voice', ['svc']],
    ['message.sent', 'email', ['svc', 'resend']],
    ['message.delivered', 'email', ['svc', 'resend']],
    ['message.read', 'email', ['svc', 'resend']],
    ['message.failed', 'email', ['svc', 'resend']],
    ['message.recipients_failed', 'email', ['svc', 'resend']],
    ['message.received', 'email', ['svc']],
  ] as const)('takes %s of the channel %s if it is of %j', (event, channel, names) => {
    const taking = Object.entries(FORMATS).filter(
      ([, { takes }]) => takes?.(event, channel) ?? true,
    )
    expect(taking.map(([name]) => name)).toEqual(names)
  })
})
