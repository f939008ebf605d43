import twilio from 'twilio'
import { describe, expect, it } from 'vitest'
import type { FormattedAttempt } from './format.ts'
import { twilioFormat } from './twilio.ts'

const TOKEN = 'svc_aTokenOfTheAccount'
const URL_OF_APP = 'https://app.example/status?order=1&name=%C3%A9'
const AT = new Date('2026-05-04T09:00:00Z')

const sent: FormattedAttempt = {
  workspace_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
  delivery_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02',
  event_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d03',
  event: 'message.failed',
  url: URL_OF_APP,
  secret: TOKEN,
  other_secret: null,
  body: JSON.stringify({
    event: 'message.failed',
    data: {
      message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d04',
      recipient: '+255700000001',
      channel: 'sms',
      status: 'failed',
      error_code: 'undelivered',
    },
  }),
  message: { sender: '+15005550006', subject: null, from_address: null, callback_method: null },
  attempt: 1,
}

const received: FormattedAttempt = {
  ...sent,
  event: 'message.received',
  message: null,
  body: JSON.stringify({
    event: 'message.received',
    data: {
      message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d05',
      channel: 'whatsapp',
      sender: '+255700000001',
      recipient: '+15005550006',
      content: {
        text: 'Żółw & + = 🐢\nsecond line',
        media: [{ url: 'https://files.example/1.jpg', content_type: 'image/jpeg' }],
      },
    },
  }),
}

/** The request as a receiver sees it: the fields of the form and the signature. */
function receive(attempt: FormattedAttempt) {
  const { body, headers } = twilioFormat.request(attempt, AT)
  const form = Object.fromEntries(new URLSearchParams(body))
  return { form, signature: headers['x-twilio-signature'] ?? '', headers, body }
}

describe('The form of webhooks of Twilio', () => {
  it.each([
    ['a change of a status', sent],
    ['a received message', received],
    ['a test', { ...sent, event: 'webhook.test', message: null }],
  ])('is accepted by validateRequest of the official package: %s', (_, attempt) => {
    const { form, signature } = receive(attempt)
    expect(twilio.validateRequest(TOKEN, signature, URL_OF_APP, form)).toBe(true)
    expect(twilio.validateRequest(`${TOKEN}x`, signature, URL_OF_APP, form)).toBe(false)
    expect(twilio.validateRequest(TOKEN, signature, `${URL_OF_APP}1`, form)).toBe(false)
    const changed = { ...form, AccountSid: 'AC0' }
    expect(twilio.validateRequest(TOKEN, signature, URL_OF_APP, changed)).toBe(false)
  })

  it('names message, account, addresses, status and error of a change', () => {
    expect(receive(sent).form).toEqual({
      MessageSid: 'SM01934f5e8c007a3b9d2e5f6a7b8c9d04',
      SmsSid: 'SM01934f5e8c007a3b9d2e5f6a7b8c9d04',
      AccountSid: 'AC01934f5e8c007a3b9d2e5f6a7b8c9d01',
      ApiVersion: '2010-04-01',
      MessageStatus: 'undelivered',
      SmsStatus: 'undelivered',
      From: '+15005550006',
      To: '+255700000001',
      ErrorCode: '30003',
    })
  })

  it('names text, files and addresses of a received message', () => {
    expect(receive(received).form).toMatchObject({
      Body: 'Żółw & + = 🐢\nsecond line',
      NumMedia: '1',
      MediaUrl0: 'https://files.example/1.jpg',
      MediaContentType0: 'image/jpeg',
      From: 'whatsapp:+255700000001',
      To: 'whatsapp:+15005550006',
      SmsStatus: 'received',
    })
  })

  it('has no files for a message without any', () => {
    const { data } = JSON.parse(received.body)
    const body = JSON.stringify({ data: { ...data, content: { text: 'Hi' } } })
    const { form } = receive({ ...received, body })
    expect(form).toMatchObject({ NumMedia: '0', Body: 'Hi' })
    expect(Object.keys(form).filter((name) => name.startsWith('Media'))).toEqual([])
  })

  it('is the same at each attempt', () => {
    const later = { ...sent, attempt: 2 }
    expect(receive(later).body).toBe(receive(sent).body)
    expect(receive(later).headers).toEqual(receive(sent).headers)
  })

  it('has no form for credits and for e-mail', () => {
    expect(twilioFormat.takes('credits.low', null)).toBe(false)
    expect(twilioFormat.takes('message.sent', 'email')).toBe(false)
    expect(twilioFormat.takes('message.sent', 'sms')).toBe(true)
  })
})
