import * as z from 'zod'
import { email, httpUrl, text } from '../fields/fields.ts'
import { headerValue, textMap } from '../fields/text-map.ts'
import { LIMITS } from '../limits.ts'
import { emailAttachments } from './email-attachments.ts'

/** The ways a message can go. Source: interface, What the service does. */
export const CHANNELS = ['sms', 'whatsapp', 'email', 'voice'] as const

/** One way a message can go. */
export type Channel = (typeof CHANNELS)[number]

/** How much longer a text may be than what a channel takes: 1 for what is sent as it stands. */
type Room = (length: number) => number

function smsContentOf(room: Room) {
  return z.strictObject({
    text: text(room(LIMITS.sms_text_length)).meta({
      description: `1 to ${LIMITS.sms_text_length} UTF-16 code units, placeholders filled in.`,
      example: 'Your order A1 is ready',
    }),
  })
}

/** The headers that a caller may add to an e-mail; the service writes all others itself. */
export const EMAIL_HEADERS = [
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'List-Id',
  'Auto-Submitted',
  'Precedence',
  'In-Reply-To',
  'References',
  'X-Entity-Ref-ID',
] as const

const EMAIL_HEADER_NAMES = new Set(EMAIL_HEADERS.map((name) => name.toLowerCase()))

function emailFields(room: Room) {
  return {
    subject: text(room(LIMITS.email_subject_length))
      .refine((subject) => !/[\r\n]/.test(subject), 'Subject must not contain line breaks')
      .meta({ example: 'Your order A1' }),
    html: z.string().optional().meta({ example: '<p>It is ready.</p>' }),
    text: z.string().optional().meta({ example: 'It is ready.' }),
    reply_to: email.optional(),
    headers: textMap({
      entries_max: EMAIL_HEADERS.length,
      name: (name) =>
        EMAIL_HEADER_NAMES.has(name.toLowerCase())
          ? null
          : `Header ${name} is not allowed. Must be one of: ${EMAIL_HEADERS.join(', ')}`,
      value: headerValue(LIMITS.email_header_length),
    }).optional(),
  }
}

/** Something to read, and not too much of it. */
function withBodies<
  Schema extends z.ZodType<{ html?: string | undefined; text?: string | undefined }>,
>(schema: Schema) {
  return schema
    .refine(({ html, text }) => Boolean(html) || Boolean(text), {
      error: 'Missing required field: content.html or content.text',
    })
    .refine(({ html = '', text = '' }) => withinBytes([html, text], LIMITS.email_body_bytes), {
      error: `content.html and content.text must be at most ${LIMITS.email_body_bytes} bytes together`,
    })
}

function withinBytes(texts: readonly string[], max: number): boolean {
  const units = texts.reduce((sum, each) => sum + each.length, 0)
  // A UTF-16 code unit takes at most three bytes, so short texts need no counting.
  return units * 3 <= max || texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0) <= max
}

function templateVariables(length_max: number) {
  return textMap({
    entries_max: LIMITS.whatsapp_template_variables,
    name: (name) => (name === '' || name.length > 100 ? 'Names must be 1 to 100 characters' : null),
    value: (value) =>
      value.length > length_max ? `Values must be at most ${length_max} characters` : null,
  })
}

function whatsappMedia(room: Room) {
  return z.strictObject({
    type: z.enum(['image', 'video', 'audio', 'document', 'sticker']),
    url: httpUrl,
    caption: text(room(LIMITS.whatsapp_caption_length)).optional(),
    filename: text(room(LIMITS.whatsapp_filename_length)).optional(),
  })
}

function whatsappTemplate(room: Room) {
  return z
    .strictObject({
      name: text(LIMITS.whatsapp_template_name_length).optional(),
      id: text(LIMITS.whatsapp_template_name_length).optional(),
      language: text(LIMITS.language_length).optional().meta({ example: 'en' }),
      variables: templateVariables(room(LIMITS.whatsapp_template_variable_length)).optional(),
    })
    .refine(exactlyOne('name', 'id'), {
      error: 'content.template must have exactly one of: name, id',
    })
    .refine(({ name, language }) => name === undefined || language !== undefined, {
      path: ['language'],
      error: 'Missing required field: content.template.language',
    })
}

function whatsappContentOf(room: Room) {
  return z
    .strictObject({
      text: text(room(LIMITS.whatsapp_text_length)).optional(),
      preview_url: z.boolean().optional(),
      media: whatsappMedia(room).optional(),
      template: whatsappTemplate(room).optional(),
    })
    .refine(exactlyOne('text', 'media', 'template'), {
      error: 'content must have exactly one of: text, media, template',
    })
    .refine(({ text, preview_url }) => preview_url === undefined || text !== undefined, {
      path: ['preview_url'],
      error: 'content.preview_url needs content.text',
    })
}

function voiceContentOf(room: Room) {
  return z
    .strictObject({
      text: text(room(LIMITS.voice_text_length)).optional(),
      language: text(LIMITS.language_length).optional(),
      voice: text(LIMITS.voice_name_length).optional(),
      audio_url: httpUrl.optional(),
    })
    .refine(exactlyOne('text', 'audio_url'), {
      error: 'content must have exactly one of: text, audio_url',
    })
    .refine(
      ({ text, language, voice }) => text !== undefined || (language ?? voice) === undefined,
      {
        error: 'content.language and content.voice need content.text',
      },
    )
}

function exactlyOne<K extends string>(...names: K[]) {
  return (content: { readonly [_ in K]?: unknown }) =>
    names.filter((name) => content[name] !== undefined).length === 1
}

const asItStands: Room = (length) => length

/** What an SMS says. Source: interface, Content for `sms`. */
export const smsContent = smsContentOf(asItStands)
/** What an e-mail says. Source: interface, Content for `email`; contract section 6. */
export const emailContent = withBodies(
  z.strictObject({ ...emailFields(asItStands), attachments: emailAttachments.optional() }),
)
/** What a WhatsApp message says: a text, a medium or an approved template. Source: contract section 6. */
export const whatsappContent = whatsappContentOf(asItStands)
/** What a voice call says: a text to read out, or a recording to play. Source: contract section 6. */
export const voiceContent = voiceContentOf(asItStands)

// What counts is the length of what comes out, which names of placeholders do not say.
const asTemplate: Room = (length) => length * LIMITS.bulk_template_factor

/** What the messages of a bulk say, placeholders not yet filled in. Source: contract section 6, Bulk. */
export const contentTemplates = {
  sms: smsContentOf(asTemplate),
  whatsapp: whatsappContentOf(asTemplate),
  // Without attachments: every message keeps its content, so a file would be stored once for each recipient.
  email: withBodies(z.strictObject(emailFields(asTemplate))),
  voice: voiceContentOf(asTemplate),
} as const

/** What each channel takes. */
export const contents = {
  sms: smsContent,
  whatsapp: whatsappContent,
  email: emailContent,
  voice: voiceContent,
} as const

/** What an SMS says. */
export type SmsContent = z.output<typeof smsContent>
/** What an e-mail says. */
export type EmailContent = z.output<typeof emailContent>
/** What a WhatsApp message says. */
export type WhatsappContent = z.output<typeof whatsappContent>
/** What a voice call says. */
export type VoiceContent = z.output<typeof voiceContent>

/** What a message says; which of the four it is follows from the message's channel. */
export type Content = SmsContent | EmailContent | WhatsappContent | VoiceContent
