import { WHATSAPP_USER_ID } from '../../contract/fields/e164.ts'
import type { Received } from '../../contract/outside/provider.ts'
import { isNumber, type TwilioSettings } from './settings.ts'
import type { Fields } from './signed-request.ts'

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
export function receivedFrom(
  fields: Fields,
  sid: string,
  settings: TwilioSettings,
): Received | null {
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
