import twilio from 'twilio'
import type { CallbackRequest } from '../../../src/contract/outside/provider.ts'
import type { Taken } from './resources.ts'

const { getExpectedTwilioSignature } = twilio

/** A form as Twilio posts it, signed by Twilio's own package. */
export function signedForm(
  auth_token: string,
  url: string,
  fields: Record<string, string> | URLSearchParams,
): CallbackRequest {
  const form = new URLSearchParams(fields)
  const params = Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name)]))
  const signature = getExpectedTwilioSignature(auth_token, url, params)
  return {
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      'user-agent': 'TwilioProxy/1.1',
      'x-twilio-signature': signature,
    },
    body: Buffer.from(form.toString()),
  }
}

/** The fields of a status callback. Source: Twilio, Message status callbacks. */
export function statusFields(
  { kind, resource }: Taken,
  { status, code, duration_s }: { status: string; code?: number; duration_s?: number },
): Record<string, string> {
  const text = (name: string) => String(resource[name] ?? '')
  const common = {
    AccountSid: text('account_sid'),
    ApiVersion: text('api_version'),
    From: text('from'),
    To: text('to'),
    ...(code !== undefined && { ErrorCode: String(code) }),
  }
  if (kind === 'Calls') {
    return {
      ...common,
      CallSid: text('sid'),
      CallStatus: status,
      Direction: 'outbound-api',
      CallbackSource: 'call-progress-events',
      ...(duration_s !== undefined && {
        CallDuration: String(duration_s),
        Duration: String(Math.ceil(duration_s / 60)),
      }),
    }
  }
  return {
    ...common,
    MessageSid: text('sid'),
    SmsSid: text('sid'),
    MessageStatus: status,
    SmsStatus: status,
    ...(status === 'read' && { EventType: 'READ' }),
  }
}

/** The fields of an incoming message. Source: Twilio, incoming messages. */
export function inboundFields(
  account_sid: string,
  message: {
    sid: string
    from: string
    to: string
    body?: string
    media?: readonly [url: string, content_type: string][]
    opt_out?: 'STOP' | 'START' | 'HELP'
    service?: string
  },
): Record<string, string> {
  const { sid, from, to, body = '', media = [], opt_out, service } = message
  return {
    ToCountry: 'US',
    SmsMessageSid: sid,
    NumMedia: String(media.length),
    SmsSid: sid,
    SmsStatus: 'received',
    Body: body,
    To: to,
    NumSegments: '1',
    MessageSid: sid,
    AccountSid: account_sid,
    From: from,
    ApiVersion: '2010-04-01',
    ...(opt_out && { OptOutType: opt_out }),
    ...(service && { MessagingServiceSid: service }),
    ...Object.fromEntries(
      media.flatMap(([url, content_type], i) => [
        [`MediaUrl${i}`, url],
        [`MediaContentType${i}`, content_type],
      ]),
    ),
  }
}
