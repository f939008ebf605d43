import type { Channel } from '../../contract/resources/content.ts'
import type { WireEventData } from '../../contract/resources/events.ts'
import { twilioErrorOf, twilioStatusOf } from '../../contract/twilio/message-status.ts'
import { sidOf } from '../../contract/twilio/sids.ts'
import { signTwilio, TWILIO_SIGNATURE_HEADER } from '../../contract/twilio/signature.ts'
import type { FormattedAttempt, WebhookFormat } from './format.ts'

/** The version of Twilio's API in requests and answers. */
export const TWILIO_API_VERSION = '2010-04-01'

type Form = Record<string, string>

/**
 * The form of Twilio's webhooks for messages: a POST of a form, signed with the secret as Twilio signs with the auth token.
 * It has changes of a message's status and received messages.
 * Source: https://www.twilio.com/docs/messaging/guides/webhook-request
 */
export const twilioFormat: WebhookFormat = {
  takes: (event, channel) =>
    event === 'webhook.test' ||
    (event.startsWith('message.') && (channel === 'sms' || channel === 'whatsapp')),
  request(attempt) {
    const form = formOf(attempt)
    return {
      body: new URLSearchParams(form).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
        [TWILIO_SIGNATURE_HEADER]: signTwilio(attempt.secret, attempt.url, form),
        // The same in each attempt of a delivery.
        'i-twilio-idempotency-token': attempt.delivery_id,
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
    default:
      return {
        ...statusForm(data as WireEventData<'message.sent'>, message?.sender ?? null),
        ...account,
      }
  }
}

function statusForm(data: WireEventData<'message.sent'>, sender: string | null): Form {
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
    From: sender === null ? '' : twilioAddress(channel, sender),
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

/** An address at Twilio: with the prefix `whatsapp:` on that channel. */
export function twilioAddress(channel: Channel, address: string): string {
  return channel === 'whatsapp' ? `whatsapp:${address}` : address
}
