import { z } from 'zod'
import { CHANNELS, emailContent, smsContent, voiceContent, whatsappContent } from './content.ts'
import { dateTime, email, metadata, phone, senderName, text } from './fields.ts'
import { LIMITS } from './limits.ts'

const CHANNELS_BUT_VOICE = CHANNELS.filter((channel) => channel !== 'voice')

/** The refusal of a channel that is not, or not yet, served. Source: interface, Errors. */
export function channelText(channels: readonly string[]): string {
  return `Invalid channel. Must be one of: ${channels.join(', ')}`
}

// A misspelt field is refused and not ignored: a misspelt `scheduled_at` must not send now.
const common = {
  metadata: metadata.optional(),
  scheduled_at: dateTime.optional(),
  expires_in: z.int().min(1).max(LIMITS.expires_in_s).optional().meta({
    description: 'Seconds after which it is no longer sent.',
  }),
}

// Which senders are allowed is for the provider's configuration to say.
const from = text(LIMITS.sender_name_length).optional()

const sms = z
  .strictObject({
    to: phone,
    channel: z.literal('sms'),
    content: smsContent,
    from,
    ...common,
  })
  .meta({ id: 'SmsRequest' })

const whatsapp = z
  .strictObject({
    to: phone,
    channel: z.literal('whatsapp'),
    content: whatsappContent,
    from,
    ...common,
  })
  .meta({ id: 'WhatsappRequest' })

const mail = z
  .strictObject({
    to: email,
    channel: z.literal('email'),
    content: emailContent,
    from: senderName.optional().meta({ description: 'The display name of the sender.' }),
    ...common,
  })
  .meta({ id: 'EmailRequest' })

const voice = z
  .strictObject({
    to: phone,
    channel: z.literal('voice'),
    content: voiceContent,
    from,
    ...common,
  })
  .meta({ id: 'VoiceRequest' })

const withVoice = z.discriminatedUnion('channel', [sms, whatsapp, mail, voice], {
  error: (issue) => channelRefusal(issue, CHANNELS),
})

const withoutVoice = z.discriminatedUnion('channel', [sms, whatsapp, mail], {
  error: (issue) => channelRefusal(issue, CHANNELS_BUT_VOICE),
})

function channelRefusal(
  issue: z.core.$ZodRawIssue,
  channels: readonly string[],
): string | undefined {
  const { code, input } = issue
  if (code !== 'invalid_union') return undefined
  const { channel } = input as { channel?: unknown }
  // An absent channel is a missing field, which the common texts say.
  return channel === undefined || channel === '' ? undefined : channelText(channels)
}

/** A request to send one message. Source: interface, Messages; contract section 6. */
export type SendRequest = z.output<typeof withVoice>

/** A request to send one message, as JSON has it. */
export type WireSendRequest = z.input<typeof withVoice>

/**
 * The body of a send. Without `voice` (no voice provider is configured) that channel is refused, and
 * the refusal does not name it. Source: contract section 6.
 */
export function sendRequest({
  voice,
}: {
  voice: boolean
}): z.ZodType<SendRequest, WireSendRequest> {
  return voice ? withVoice : withoutVoice
}
