import { WHATSAPP_USER_ID } from '../../contract/fields/e164.ts'
import type {
  CallbackReading,
  CallbackRequest,
  MessageRef,
  Received,
  Report,
} from '../../contract/outside/provider.ts'
import { codeOf } from './codes.ts'
import { SID } from './outcome.ts'
import { callReceipt, messageReceipt, secondsOf } from './receipt.ts'
import { isNumber, type TwilioSettings } from './settings.ts'
import { type Fields, fieldsOf, formOf, isSigned } from './signed-request.ts'

/** Several times the size of Twilio's largest request. */
const BODY_MAX = 64 * 1024

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Reads a request of Twilio: the status of a message or a call, or a message from a person. No field is read before
 * the signature is verified. A replayed request has a valid signature but changes nothing, because statuses only move
 * forward and a received message is stored once for each id.
 */
export function readCallback(request: CallbackRequest, settings: TwilioSettings): CallbackReading {
  if (request.body.length > BODY_MAX) return { type: 'forged' }
  const form = formOf(request)
  if (!isSigned(request, form, settings.auth_token)) return { type: 'forged' }
  const fields = fieldsOf(request, form)
  if (!fields) return unreadable('The body is not a JSON object')
  // A token signs for one account.
  const account = fields('AccountSid')
  if (account !== undefined && account !== settings.account_sid) return { type: 'forged' }
  return read(fields, aboutOf(request.url), settings)
}

function read(fields: Fields, about: MessageRef | null, settings: TwilioSettings): CallbackReading {
  if (fields('CallSid') !== undefined) return readCall(fields, about)
  const sid = fields('MessageSid') ?? fields('SmsSid') ?? fields('SmsMessageSid')
  if (sid === undefined || !SID.test(sid)) return unreadable('It has no MessageSid and no CallSid')
  const status = fields('MessageStatus') ?? fields('SmsStatus')
  if (status === undefined || status === 'received' || status === 'receiving') {
    const received = receivedFrom(fields, sid, settings)
    return { type: 'read', reports: received ? [received] : [], answer: twiml('') }
  }
  const receipt = messageReceipt({ sid, status, code: codeOf(fields('ErrorCode')) })
  return reportOf({ type: 'receipt', about, provider_message_id: sid, receipt })
}

function readCall(fields: Fields, about: MessageRef | null): CallbackReading {
  const [sid, status] = [fields('CallSid') ?? '', fields('CallStatus')]
  if (!SID.test(sid) || status === undefined) return unreadable('It has no CallStatus')
  // A person calls one of our numbers. A rejected call costs nothing.
  if (fields('Direction') === 'inbound') {
    return { type: 'read', reports: [], answer: twiml('<Reject/>') }
  }
  const duration_s = secondsOf(fields('CallDuration'))
  const receipt = callReceipt({ sid, status, code: codeOf(fields('ErrorCode')), duration_s })
  return reportOf({ type: 'receipt', about, provider_message_id: sid, receipt })
}

function reportOf(report: Report): CallbackReading {
  return { type: 'read', reports: [report] }
}

function unreadable(reason: string): CallbackReading {
  return { type: 'unreadable', reason }
}

/** Twilio executes the verbs of an answer. An answer without verbs does nothing. */
function twiml(verbs: string) {
  return { content_type: 'text/xml', body: `<Response>${verbs}</Response>` }
}

/** The message that the callback address identifies. */
function aboutOf(url: string): MessageRef | null {
  const query = new URL(url).searchParams
  const [w, ...more_w] = query.getAll('w')
  const [m, ...more_m] = query.getAll('m')
  if (w === undefined || m === undefined || more_w.length + more_m.length > 0) return null
  if (!UUID.test(w) || !UUID.test(m)) return null
  return { workspace_id: w.toLowerCase(), message_id: m.toLowerCase() }
}

/** The maximum number of media of one message at Twilio. */
const MEDIA_MAX = 10

const WHATSAPP = 'whatsapp:'

/** The id of a message at Twilio. */
const MESSAGE_SID = /^(?:SM|MM)[0-9a-f]{32}$/

/**
 * A message from a person to one of our senders; null if the person's address is neither a number nor an id of WhatsApp, as on
 * channels that the service does not have. If the settings do not have the number that received the message, the recipient is the
 * messaging service whose pool has this number.
 */
function receivedFrom(fields: Fields, sid: string, settings: TwilioSettings): Received | null {
  const [from, to] = [fields('From') ?? '', fields('To') ?? '']
  const channel = from.startsWith(WHATSAPP) ? 'whatsapp' : 'sms'
  const sender = withoutChannel(from)
  if (!isNumber(sender) && !(channel === 'whatsapp' && WHATSAPP_USER_ID.test(sender))) return null
  const answers = fields('OriginalRepliedMessageSid') ?? ''
  const keyword = keywordOf(fields('OptOutType'))
  return {
    type: 'received',
    channel,
    provider_message_id: sid,
    sender,
    recipient: recipientOf(withoutChannel(to), fields('MessagingServiceSid'), {
      senders: settings.senders[channel] ?? [],
    }),
    content: { text: storable(fields('Body')), media: mediaOf(fields) },
    ...(keyword && { keyword }),
    ...(MESSAGE_SID.test(answers) && { answers }),
    ...identitiesOf(fields('WaId'), sender),
  }
}

/** The number by which WhatsApp knows the author, if it differs. Source: Twilio, WhatsApp-specific parameters. */
function identitiesOf(wa_id: string | undefined, sender: string): { identities?: string[] } {
  const number = `+${wa_id}`
  return isNumber(number) && number !== sender ? { identities: [number] } : {}
}

function recipientOf(
  number: string,
  service: string | undefined,
  { senders }: { senders: readonly string[] },
): string {
  if (senders.includes(number)) return number
  return service !== undefined && senders.includes(service) ? service : number
}

/** No database stores U+0000 or half of a surrogate pair. */
function storable(text = ''): string | null {
  return text.toWellFormed().replaceAll('\0', '\ufffd') || null
}

function withoutChannel(address: string): string {
  return address.startsWith(WHATSAPP) ? address.slice(WHATSAPP.length) : address
}

function mediaOf(fields: Fields): { url: string; content_type: string | null }[] {
  const count = Math.min(Number(/^\d{1,3}$/.exec(fields('NumMedia') ?? '')?.[0] ?? 0), MEDIA_MAX)
  return Array.from({ length: count }, (_, i) => ({
    url: fields(`MediaUrl${i}`) ?? '',
    content_type: fields(`MediaContentType${i}`) ?? null,
  })).filter(({ url }) => /^https?:\/\//.test(url) && URL.canParse(url))
}

/** The keyword that Twilio recognised and answered. Source: Twilio, Advanced Opt-Out. */
function keywordOf(opt_out_type: string | undefined): Received['keyword'] {
  const word = opt_out_type?.toLowerCase()
  return word === 'stop' || word === 'start' || word === 'help' ? word : undefined
}
