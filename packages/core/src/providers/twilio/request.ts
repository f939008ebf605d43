import type { CallListInstanceCreateOptions } from 'twilio/lib/rest/api/v2010/account/call.js'
import type { MessageListInstanceCreateOptions } from 'twilio/lib/rest/api/v2010/account/message.js'
import type { MessageRef, Outcome, SendJob } from '../../contract/outside/provider.ts'
import type { Channel, VoiceContent, WhatsappContent } from '../../contract/resources/content.ts'
import {
  CONTENT_SID,
  isLoopback,
  isMessagingService,
  isNumber,
  type TwilioSettings,
} from './settings.ts'

/** The parameters of the resource that is created for a message, or the reason why it is not created. */
type Request =
  | { type: 'message'; params: MessageListInstanceCreateOptions }
  | { type: 'call'; params: CallListInstanceCreateOptions }
  | Refused

interface Refused {
  type: 'refused'
  outcome: Outcome
}

/** The default limit of a call, because a call without a limit has an unlimited cost. */
const CALL_MAX_S = 600

/** How long a phone rings by default, in seconds. Twilio's own default is the same. */
export const RING_TIMEOUT_S = 60

/** The maximum number of characters of a call's TwiML. Source: Twilio error 32018. */
const TWIML_MAX = 4_000

/**
 * The request for one message. The recipient is always a number, and the sender is one of the settings: no part of a
 * message can add a parameter, name a SIP address or use another sender.
 * @param status_callback_base The address that Twilio reports to; null if Twilio cannot reach it.
 */
export function requestFor(
  job: SendJob,
  settings: TwilioSettings,
  status_callback_base: string | null,
): Request {
  const { channel } = job
  const sender = senderOf(job, settings)
  if (sender === null) return unknownSender(job.sender)
  if (!isNumber(job.recipient)) return refused('invalid_recipient', 'The recipient is not a number')
  const params = {
    to: addressOf(channel, job.recipient),
    ...(status_callback_base !== null && {
      statusCallback: statusCallback(status_callback_base, job),
    }),
  }
  if (channel === 'voice') return callRequest({ ...params, from: sender }, job, settings)
  const content =
    channel === 'whatsapp'
      ? whatsappParams(job.content as WhatsappContent, settings)
      : { body: (job.content as { text: string }).text }
  if ('outcome' in content) return content
  return {
    type: 'message',
    params: {
      ...params,
      ...(isMessagingService(sender)
        ? { messagingServiceSid: sender }
        : { from: addressOf(channel, sender) }),
      ...(settings.validity_period_s !== undefined && {
        validityPeriod: settings.validity_period_s,
      }),
      ...content,
    },
  }
}

/**
 * The address that Twilio reports to; null if Twilio cannot reach it, because Twilio would refuse messages with it. A
 * simulated Twilio on this machine can reach a loopback address.
 */
export function callbackBase(
  { api_url }: Pick<TwilioSettings, 'api_url'>,
  callback_url: string,
): string | null {
  const is_here = api_url !== undefined && isLoopback(api_url)
  return is_here || !isLoopback(callback_url) ? callback_url : null
}

/** An address as Twilio writes it on a channel. */
export function addressOf(channel: Channel, address: string): string {
  return channel === 'whatsapp' ? `whatsapp:${address}` : address
}

/** The message's sender, or the first one of the settings; null for a sender that the settings do not have. */
export function senderOf({ channel, sender }: SendJob, settings: TwilioSettings): string | null {
  const senders = channel === 'email' ? undefined : settings.senders[channel]
  if (sender === null) return senders?.[0] ?? null
  return senders?.includes(sender) ? sender : null
}

function whatsappParams(
  { text, media, template }: WhatsappContent,
  { content_sids = {} }: TwilioSettings,
): Partial<MessageListInstanceCreateOptions> | Refused {
  if (template) {
    const { id, name = '', language, variables } = template
    const contentSid = id ?? own(content_sids, `${name}:${language}`) ?? own(content_sids, name)
    if (contentSid === undefined || !CONTENT_SID.test(contentSid)) {
      return refused('template_unknown', 'No ContentSid is set for this template')
    }
    // Meta's variables of buttons: Twilio fills them from those of the text.
    const named = Object.entries(variables ?? {}).filter(([key]) => !key.startsWith('button.'))
    const contentVariables = variables && JSON.stringify(Object.fromEntries(named))
    return { contentSid, ...(contentVariables && { contentVariables }) }
  }
  const body = media ? media.caption : text
  return { ...(body !== undefined && { body }), ...(media && { mediaUrl: [media.url] }) }
}

function callRequest(
  params: Pick<CallListInstanceCreateOptions, 'to' | 'from' | 'statusCallback'>,
  job: SendJob,
  settings: TwilioSettings,
): Request {
  const twiml = twimlFor(job.content as VoiceContent)
  if (twiml.length > TWIML_MAX) {
    return refused('content_too_long', `More than ${TWIML_MAX} characters as TwiML`)
  }
  return {
    type: 'call',
    params: {
      ...params,
      twiml,
      timeLimit: job.max_duration_s ?? CALL_MAX_S,
      timeout: settings.ring_timeout_s ?? RING_TIMEOUT_S,
      // `initiated` proves acceptance if the answer was lost; `completed` has the duration.
      ...(params.statusCallback && { statusCallbackEvent: ['initiated', 'completed'] }),
    },
  }
}

/**
 * The TwiML of a call: reads the text out, or plays the recording, and hangs up. Every value of the API caller is escaped,
 * because markup in a text could dial numbers at the account's cost.
 */
function twimlFor({ text, language, voice, audio_url }: VoiceContent): string {
  const verb =
    text === undefined
      ? `<Play>${escaped(audio_url ?? '')}</Play>`
      : `<Say${attribute('language', language)}${attribute('voice', voice)}>${escaped(text)}</Say>`
  return `<Response>${verb}</Response>`
}

function attribute(name: string, value: string | undefined): string {
  return value === undefined ? '' : ` ${name}="${escaped(value)}"`
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Characters that XML 1.0 forbids, even escaped (section 2.2). The flag `u` makes half of a surrogate pair match. */
const UNWRITABLE = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu

function escaped(text: string): string {
  return text.replace(UNWRITABLE, ' ').replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
}

/** The address identifies the message: Twilio signs it, and returns no other value of ours. */
function statusCallback(base: string, { workspace_id, message_id }: MessageRef): string {
  return `${base}?${new URLSearchParams({ w: workspace_id, m: message_id })}`
}

function own(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

function refused(error_code: string, text: string): Refused {
  const outcome: Outcome = { type: 'rejected', error_code, error_message: `twilio: ${text}` }
  return { type: 'refused', outcome }
}

/** The operator removed the sender from the settings after the message was accepted, and may restore it. */
function unknownSender(sender: string | null): Refused {
  return {
    type: 'refused',
    outcome: {
      type: 'retry',
      error_code: 'sender_invalid',
      error_message: `twilio: ${sender === null ? 'No sender is set' : 'The sender is not in the settings'}`,
      delay_ms: null,
      misconfigured: 'sender',
    },
  }
}
