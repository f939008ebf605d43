import type { WireEventData } from '../../contract/resources/events.ts'
import {
  twilioCallStatusOf,
  twilioErrorOf,
  twilioStatusOf,
} from '../../contract/twilio/message-status.ts'
import {
  sidOf,
  signTwilio,
  TWILIO_SIGNATURE_HEADER,
  twilioAddress,
  twilioDate,
} from '../../contract/twilio/notation.ts'

import type { FormattedAttempt, WebhookFormat } from './format.ts'

/** The version of Twilio's API in requests and answers. */
export const TWILIO_API_VERSION = '2010-04-01'

type Form = Record<string, string>

/**
 * The form of Twilio's webhooks for messages: a POST of a form, signed with the secret as Twilio signs with the auth token.
 * It has changes of a message's status, of a call's status for status callbacks, and received messages.
 * Source: https://www.twilio.com/docs/messaging/guides/webhook-request
 */
export const twilioFormat: Required<WebhookFormat> = {
  takes: (event, channel) =>
    event === 'webhook.test' ||
    (event.startsWith('message.') && (channel === 'sms' || channel === 'whatsapp')),
  request(attempt) {
    const { secret, message } = attempt
    const form = formOf(attempt)
    // The same in each attempt of a delivery.
    const token = { 'i-twilio-idempotency-token': attempt.delivery_id }
    if (message?.callback_method === 'GET') {
      const url = withFields(attempt.url, form)
      return {
        method: 'GET',
        url,
        headers: { ...token, [TWILIO_SIGNATURE_HEADER]: signTwilio(secret, url, {}) },
      }
    }
    return {
      body: new URLSearchParams(form).toString(),
      headers: {
        ...token,
        'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
        [TWILIO_SIGNATURE_HEADER]: signTwilio(secret, attempt.url, form),
      },
    }
  },
}

function formOf(attempt: FormattedAttempt): Form {
  const { event, body, workspace_id, message } = attempt
  const account = { AccountSid: sidOf('account', workspace_id), ApiVersion: TWILIO_API_VERSION }
  const { data } = JSON.parse(body) as { data: unknown }
  switch (event) {
    case 'message.received':
      return { ...receivedForm(data as WireEventData<'message.received'>), ...account }
    case 'webhook.test':
      return account
    default: {
      const change = data as WireEventData<'message.sent'>
      const form = change.channel === 'voice' ? callForm : statusForm
      return { ...form(change, message?.sender ?? ''), ...account }
    }
  }
}

/** Adds the fields to the query of a URL, after its own. */
function withFields(url: string, form: Form): string {
  const whole = new URL(url)
  for (const [name, value] of Object.entries(form)) whole.searchParams.append(name, value)
  return whole.href
}

/**
 * The progress of a call. A call that was handed to the carrier is `initiated`; it is not known when the phone rings and when
 * the call is answered.
 * Source: https://www.twilio.com/docs/voice/api/call-resource#statuscallback
 */
function callForm(data: WireEventData<'message.sent'>, sender: string): Form {
  const { message_id, recipient, status, error_code, occurred_at, sequence, duration_s } = data
  return {
    CallSid: sidOf('call', message_id),
    CallStatus: status === 'sent' ? 'initiated' : twilioCallStatusOf(status, error_code),
    From: sender,
    To: recipient,
    Direction: 'outbound-api',
    Timestamp: twilioDate(new Date(occurred_at)),
    CallbackSource: 'call-progress-events',
    SequenceNumber: `${sequence - 1}`,
    ...(duration_s !== undefined && { CallDuration: `${duration_s}` }),
  }
}

function statusForm(data: WireEventData<'message.sent'>, sender: string): Form {
  const { message_id, recipient, channel, status, error_code } = data
  const sid = sidOf('message', message_id)
  const twilioStatus = twilioStatusOf(status, error_code)
  const error = twilioErrorOf(error_code)
  return {
    MessageSid: sid,
    SmsSid: sid,
    MessageStatus: twilioStatus,
    SmsStatus: twilioStatus,
    To: twilioAddress(channel, recipient),
    From: sender === '' ? '' : twilioAddress(channel, sender),
    ...(error !== null && { ErrorCode: `${error}` }),
  }
}

function receivedForm(data: WireEventData<'message.received'>): Form {
  const { message_id, channel, sender, recipient } = data
  const { text, media } = data.content as { text?: unknown; media?: unknown }
  const files = Array.isArray(media) ? (media as Partial<Record<string, unknown>>[]) : []
  const sid = sidOf('message', message_id)
  const form: Form = {
    MessageSid: sid,
    SmsSid: sid,
    SmsMessageSid: sid,
    SmsStatus: 'received',
    From: twilioAddress(channel, sender),
    To: twilioAddress(channel, recipient),
    Body: typeof text === 'string' ? text : '',
    NumMedia: `${files.length}`,
  }
  for (const [i, { url, content_type }] of files.entries()) {
    if (typeof url === 'string') form[`MediaUrl${i}`] = url
    if (typeof content_type === 'string') form[`MediaContentType${i}`] = content_type
  }
  return form
}
