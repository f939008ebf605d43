import * as z from 'zod'
import { chosen } from '../fields/chosen.ts'
import { dateTime, isRecord, metadata, phone, senderName, text } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS, type Channel, contents, emailAdditions } from './content.ts'
import { mailTo, refineRecipients } from './mail-recipients.ts'
import { templateUse } from './template-use.ts'

/** The channels of bulks and broadcasts: calls cannot be sent in bulk. Source: contract section 12. */
export const CHANNELS_BUT_VOICE = CHANNELS.filter((channel) => channel !== 'voice')

/** The message for a channel that the service does not have. Source: interface, Errors. */
export function channelText(channels: readonly string[]): string {
  return `Invalid channel. Must be one of: ${channels.join(', ')}`
}

/** The optional fields of every request to send. */
export const sendOptions = {
  metadata: metadata.optional(),
  scheduled_at: dateTime.optional(),
  expires_in: z.int().min(1).max(LIMITS.expires_in_s).optional().meta({
    description: 'Seconds after which the message is not sent any more.',
  }),
}

const to = { sms: phone, whatsapp: phone, email: mailTo, voice: phone } as const
const sender = text(LIMITS.sender_name_length).optional()

/** The sender for each channel. The settings of the provider decide which senders are allowed. */
export const from = {
  sms: sender,
  whatsapp: sender,
  email: senderName.optional().meta({ description: 'The display name of the sender.' }),
  voice: sender,
} as const

// Unknown fields are refused, because a request with a misspelt `scheduled_at` must not be sent now.
function sendTo<const C extends Channel>(channel: C, id: string, example?: object) {
  return z
    .strictObject({
      to: to[channel],
      channel: z.literal(channel),
      content: contents[channel],
      from: from[channel],
      ...sendOptions,
    })
    .meta({ id, ...(example && { example }) })
}

const sms = sendTo('sms', 'SmsRequest', {
  to: '+15005550006',
  channel: 'sms',
  content: { text: 'Your order A1 is ready' },
})
const whatsapp = sendTo('whatsapp', 'WhatsappRequest', {
  to: '+15005550006',
  channel: 'whatsapp',
  content: { text: 'Your order is ready' },
})

/** A request to send one e-mail. */
export const emailRequest = sendTo('email', 'EmailRequest', {
  to: 'delivered@sandbox.svc',
  channel: 'email',
  content: { subject: 'Your order A1', html: '<p>It is ready.</p>' },
}).superRefine(refineRecipients)
const voice = sendTo('voice', 'VoiceRequest')

const withVoice = z.discriminatedUnion('channel', [sms, whatsapp, emailRequest, voice], {
  error: channelRefusal({ voice: true }),
})

const withoutVoice = z.discriminatedUnion('channel', [sms, whatsapp, emailRequest], {
  error: channelRefusal({ voice: false }),
})

function fromTemplate<const C extends Channel>(channel: C, id: string) {
  return z
    .strictObject({
      to: to[channel],
      channel: z.literal(channel),
      template: templateUse,
      from: from[channel],
      ...sendOptions,
    })
    .meta({ id })
}

const smsTemplate = fromTemplate('sms', 'SmsFromTemplate')
const whatsappTemplate = fromTemplate('whatsapp', 'WhatsappFromTemplate')
const emailTemplate = fromTemplate('email', 'EmailFromTemplate')
  .extend({ content: emailAdditions.optional() })
  .superRefine(({ to, content = {} }, ctx) => refineRecipients({ to, content }, ctx))
  .meta({ id: 'EmailFromTemplate' })
/** A request to send one e-mail, with its content or from a stored template. */
export const anyEmailRequest = chosen([emailRequest, emailTemplate], (value) =>
  isFromTemplate(value) ? emailTemplate : emailRequest,
)
const voiceTemplate = fromTemplate('voice', 'VoiceFromTemplate')

const templateWithVoice = z.discriminatedUnion(
  'channel',
  [smsTemplate, whatsappTemplate, emailTemplate, voiceTemplate],
  { error: channelRefusal({ voice: true }) },
)

const templateWithoutVoice = z.discriminatedUnion(
  'channel',
  [smsTemplate, whatsappTemplate, emailTemplate],
  { error: channelRefusal({ voice: false }) },
)

/** A request to send one message, whose content is a stored template. */
export type TemplateRequest = z.output<typeof templateWithVoice>

/** Whether a request names a stored template in place of `content`. Only an e-mail may have both. */
export function isFromTemplate(request: unknown): boolean {
  if (!isRecord(request) || !('template' in request)) return false
  return !('content' in request) || (request.channel === 'email' && !('recipients' in request))
}

/** The `error` option of a union whose options are channels. */
export function channelRefusal({ voice }: { voice: boolean }) {
  const channels = voice ? CHANNELS : CHANNELS_BUT_VOICE
  return ({ code, input }: z.core.$ZodRawIssue): string | undefined => {
    if (code !== 'invalid_union') return undefined
    const { channel } = input as { channel?: unknown }
    // An absent channel is a missing field: `issueText` reports it.
    return channel === undefined || channel === '' ? undefined : channelText(channels)
  }
}

/** A request to send one message. Source: interface, Messages; contract section 6. */
export type SendRequest = z.output<typeof withVoice>

/** A request to send one message, in JSON. */
export type WireSendRequest = z.input<typeof withVoice>

/** The body of a send, in JSON. */
export type WireSend = WireSendRequest | z.input<typeof templateWithVoice>

/** The body of a send that has its content. */
export function contentRequest({
  voice,
}: {
  voice: boolean
}): z.ZodType<SendRequest, WireSendRequest> {
  return voice ? withVoice : withoutVoice
}

/** One body for each of the two settings, so that both have one description. */
const bodies = [
  chosen([withoutVoice, templateWithoutVoice], (value) =>
    isFromTemplate(value) ? templateWithoutVoice : withoutVoice,
  ),
  chosen([withVoice, templateWithVoice], (value) =>
    isFromTemplate(value) ? templateWithVoice : withVoice,
  ),
] as const

/**
 * The body of a send. If `voice` is false (no voice provider is configured), the channel `voice` is refused, and the error
 * text does not name it. Source: contract section 6.
 */
export function sendRequest({
  voice,
}: {
  voice: boolean
}): z.ZodType<SendRequest | TemplateRequest, WireSend> {
  return bodies[voice ? 1 : 0]
}
