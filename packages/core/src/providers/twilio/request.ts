import type { MessageRef, Outcome, SendJob } from '../../contract/outside/provider.ts'
import type { Channel, VoiceContent, WhatsappContent } from '../../contract/resources/content.ts'
import type { Resource } from './api.ts'
import { isLoopback, isMessagingService, isNumber, type TwilioSettings } from './settings.ts'
import { TWIML_MAX, twimlFor } from './twiml.ts'

/** What is posted for a message, or why nothing is. */
export type Request =
  | { type: 'request'; resource: Resource; form: URLSearchParams }
  | { type: 'refused'; outcome: Outcome }

/** A call whose length nobody bounded would be paid for by nobody. */
const CALL_MAX_S = 600

/** How long a phone rings unless the settings say otherwise, in seconds: as at Twilio. */
export const RING_TIMEOUT_S = 60

/**
 * The form for one message. Values are encoded as a form, the recipient is a number and nothing else, the sender one
 * of the settings': no part of a message can add a parameter, name a SIP address or use another sender.
 * @param status_callback_base Where Twilio reports to; null where it could not reach us.
 */
export function requestFor(
  job: SendJob,
  settings: TwilioSettings,
  status_callback_base: string | null,
): Request {
  const sender = senderOf(job, settings)
  if (sender === null) return refused(unknownSender(job.sender))
  if (!isNumber(job.recipient)) {
    return refused(rejected('invalid_recipient', 'The recipient is not a number'))
  }
  const form = new URLSearchParams({ To: addressOf(job.channel, job.recipient) })
  if (isMessagingService(sender)) form.set('MessagingServiceSid', sender)
  else form.set('From', addressOf(job.channel, sender))
  const problem = fill(form, job, settings)
  if (problem) return refused(problem)
  if (status_callback_base !== null) {
    form.set('StatusCallback', statusCallback(status_callback_base, job))
    // The first proves that the call was taken where its answer was lost; the last one has its length.
    if (job.channel === 'voice') {
      for (const event of ['initiated', 'completed']) form.append('StatusCallbackEvent', event)
    }
  }
  return { type: 'request', resource: resourceOf(job.channel), form }
}

/**
 * Where Twilio is to report to; null where it could not reach us: it would refuse the messages then. A stand-in on this
 * machine reaches it.
 */
export function callbackBase(
  { api_url }: Pick<TwilioSettings, 'api_url'>,
  callback_url: string,
): string | null {
  const is_here = api_url !== undefined && isLoopback(api_url)
  return is_here || !isLoopback(callback_url) ? callback_url : null
}

/** Where messages of a channel are. */
export function resourceOf(channel: Channel): Resource {
  return channel === 'voice' ? 'Calls' : 'Messages'
}

/** An address as Twilio writes it on a channel. */
export function addressOf(channel: Channel, address: string): string {
  return channel === 'whatsapp' ? `whatsapp:${address}` : address
}

/** Who sends this: whom the message names, else the first; null for anybody whom the settings do not have. */
export function senderOf({ channel, sender }: SendJob, settings: TwilioSettings): string | null {
  const senders = channel === 'email' ? undefined : settings.senders[channel]
  if (sender === null) return senders?.[0] ?? null
  return senders?.includes(sender) ? sender : null
}

/** Puts what the message says into the form; answers why that cannot be done. */
function fill(form: URLSearchParams, job: SendJob, settings: TwilioSettings): Outcome | null {
  if (job.channel === 'voice') return fillCall(form, job, settings)
  if (settings.validity_period_s !== undefined) {
    form.set('ValidityPeriod', String(settings.validity_period_s))
  }
  if (job.channel === 'whatsapp')
    return fillWhatsapp(form, job.content as WhatsappContent, settings)
  const { text } = job.content as { text: string }
  form.set('Body', text)
  return null
}

function fillWhatsapp(
  form: URLSearchParams,
  { text, media, template }: WhatsappContent,
  { content_sids = {} }: TwilioSettings,
): Outcome | null {
  if (template) {
    const { id, name = '', language, variables } = template
    const content_sid = id ?? own(content_sids, `${name}:${language}`) ?? own(content_sids, name)
    if (content_sid === undefined || !/^HX[0-9a-fA-F]{32}$/.test(content_sid)) {
      return rejected('template_unknown', 'No ContentSid is set for this template')
    }
    form.set('ContentSid', content_sid)
    if (variables) form.set('ContentVariables', JSON.stringify(variables))
    return null
  }
  const body = media ? media.caption : text
  if (body !== undefined) form.set('Body', body)
  if (media) form.set('MediaUrl', media.url)
  return null
}

function fillCall(form: URLSearchParams, job: SendJob, settings: TwilioSettings): Outcome | null {
  const twiml = twimlFor(job.content as VoiceContent)
  if (twiml.length > TWIML_MAX) {
    return rejected('content_too_long', `More than ${TWIML_MAX} characters as TwiML`)
  }
  form.set('Twiml', twiml)
  form.set('TimeLimit', String(job.max_duration_s ?? CALL_MAX_S))
  form.set('Timeout', String(settings.ring_timeout_s ?? RING_TIMEOUT_S))
  return null
}

/** Which message it is about stands in the address: Twilio signs it, and gives nothing else of ours back. */
function statusCallback(base: string, { workspace_id, message_id }: MessageRef): string {
  return `${base}?${new URLSearchParams({ w: workspace_id, m: message_id })}`
}

function own(map: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}

function refused(outcome: Outcome): Request {
  return { type: 'refused', outcome }
}

function rejected(error_code: string, text: string): Outcome {
  return { type: 'rejected', error_code, error_message: `twilio: ${text}` }
}

/** The operator took it out of the settings after the message was accepted, and may put it back. */
function unknownSender(sender: string | null): Outcome {
  return {
    type: 'retry',
    error_code: 'sender_invalid',
    error_message: `twilio: ${sender === null ? 'No sender is set' : 'The sender is not in the settings'}`,
    delay_ms: null,
    misconfigured: 'sender',
  }
}
