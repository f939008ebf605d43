import * as z from 'zod'
import { email, httpUrl, text } from '../fields/fields.ts'
import { textMap } from '../fields/text-map.ts'
import { LIMITS } from '../limits.ts'
import { emailAttachments } from './email-attachments.ts'
import { emailHeaders, emailTags } from './email-headers.ts'

import { copies, oneOrMore } from './mail-recipients.ts'
import { templateName } from './template-use.ts'

export { contentTypeOf as fileTypeOf } from './email-attachments.ts'
export { EMAIL_HEADERS, headerName as emailHeaderName } from './email-headers.ts'

/** The channels. Source: interface, What the service does. */
export const CHANNELS = ['sms', 'whatsapp', 'email', 'voice'] as const

/** A channel. */
export type Channel = (typeof CHANNELS)[number]

/** Returns the maximum length of a text in a request. `length`: the maximum length of the text that is sent. */
type Room = (length: number) => number

function smsContentOf(room: Room) {
  return z.strictObject({
    text: text(room(LIMITS.sms_text_length)).meta({
      description: `1 to ${LIMITS.sms_text_length} UTF-16 code units with placeholders filled in.`,
      example: 'Your order A1 is ready',
    }),
  })
}

function emailFields(room: Room) {
  return {
    subject: text(room(LIMITS.email_subject_length))
      .refine((subject) => !/[\r\n]/.test(subject), 'Subject must not contain line breaks')
      .meta({ example: 'Your order A1' }),
    html: z.string().optional().meta({ example: '<p>It is ready.</p>' }),
    text: z.string().optional().meta({ example: 'It is ready.' }),
    reply_to: oneOrMore(LIMITS.email_reply_to).optional().meta({
      description: 'One address or several, to which answers go.',
    }),
    from_address: email.optional().meta({
      description:
        'The address of the sender, at a verified domain of the workspace. Test keys, and a service whose e-mail goes to the sandbox, accept any domain.',
      example: 'shop@acme.example',
    }),
    headers: emailHeaders.optional(),
    tags: emailTags.optional(),
  }
}

/** Requires `html` or `text`, and limits the size of both together. */
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
  // A UTF-16 code unit takes at most three bytes, so the bytes of short texts need not be counted.
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
      { error: 'content.language and content.voice need content.text' },
    )
}

function exactlyOne<K extends string>(...names: K[]) {
  return (content: { readonly [_ in K]?: unknown }) =>
    names.filter((name) => content[name] !== undefined).length === 1
}

const asSent: Room = (length) => length

/** What an e-mail may have beside its body. */
const mailParts = {
  cc: copies.optional().meta({ description: 'The addresses that get a copy.' }),
  bcc: copies.optional().meta({
    description: 'The addresses that get a copy, of which the other recipients do not learn.',
  }),
  attachments: emailAttachments.optional(),
}

/** The content of an SMS. Source: interface, Content for `sms`. */
export const smsContent = smsContentOf(asSent).meta({ id: 'SmsContent' })
/** The content of an e-mail. Source: interface, Content for `email`; contract section 6. */
export const emailContent = withBodies(
  z.strictObject({ ...emailFields(asSent), ...mailParts }),
).meta({ id: 'EmailContent' })
const { html: _, text: __, ...besideBodies } = emailFields(asSent)
/** What a request may add to an e-mail from a stored template. Its fields come before those of the template. */
export const emailAdditions = z
  .strictObject({ ...besideBodies, subject: besideBodies.subject.optional(), ...mailParts })
  .meta({ id: 'EmailAdditions', example: { cc: ['bookkeeping@acme.example'] } })
/** The content of a WhatsApp message: a text, media or an approved template. Source: contract section 6. */
export const whatsappContent = whatsappContentOf(asSent).meta({ id: 'WhatsappContent' })
/** The content of a voice call: a text to read out, or a recording to play. Source: contract section 6. */
export const voiceContent = voiceContentOf(asSent).meta({ id: 'VoiceContent' })

// A placeholder can be longer than its value, so the template may be longer. The filled-in text has its own limit.
const asTemplate: Room = (length) => length * LIMITS.bulk_template_factor

/** The content of a bulk for each channel, with placeholders. Source: contract section 6, Bulk. */
export const contentTemplates = {
  sms: smsContentOf(asTemplate),
  whatsapp: whatsappContentOf(asTemplate),
  // A bulk has no attachments: each message has its own content, so a file would be stored for each recipient. It has no
  // copies: each of its mails has one recipient.
  email: withBodies(z.strictObject(emailFields(asTemplate))),
  voice: voiceContentOf(asTemplate),
} as const

const storedEmailFields = emailFields(asTemplate)

/** The content of a stored template for each channel, with placeholders. */
export const storedContents = {
  ...contentTemplates,
  email: withBodies(
    z.strictObject({
      ...storedEmailFields,
      subject: storedEmailFields.subject.optional().meta({
        description: 'Required, except in a layout.',
        example: 'Your order {{order_id}}',
      }),
      layout: templateName.optional().meta({
        description:
          'The layout around `html`: `default`, or the name of a template of the category `layout`. The latest version of the layout at publishing is used.',
        example: 'default',
      }),
      preview_text: text(LIMITS.template_preview_text_length)
        .refine((given) => !/[\r\n]/.test(given), 'preview_text must not contain line breaks')
        .optional()
        .meta({
          description:
            'The text that mail programs show beside the subject. It is hidden in the mail, and not in its plain text.',
          example: 'It waits for you until Friday',
        }),
      inline_css: z.boolean().optional().meta({
        description:
          'Whether publishing copies the rules of `<style>` into `style` attributes. Default: whether there is a layout.',
      }),
    }),
  ).refine(
    ({ html, layout, preview_text, inline_css }) =>
      Boolean(html) || (layout ?? preview_text ?? inline_css) === undefined,
    { error: 'content.layout, content.preview_text and content.inline_css need content.html' },
  ),
} as const

/** The content of a message for each channel. */
export const contents = {
  sms: smsContent,
  whatsapp: whatsappContent,
  email: emailContent,
  voice: voiceContent,
} as const

/** The content of an SMS. */
export type SmsContent = z.output<typeof smsContent>
/** The content of an e-mail. */
export type EmailContent = z.output<typeof emailContent>
/** What a request may add to an e-mail from a stored template. */
export type EmailAdditions = z.output<typeof emailAdditions>
/** The content of an e-mail in a stored template. A layout has only `html`. */
export type StoredEmail = z.output<typeof storedContents.email>
/** The content of a WhatsApp message. */
export type WhatsappContent = z.output<typeof whatsappContent>
/** The content of a voice call. */
export type VoiceContent = z.output<typeof voiceContent>

/** The content of a message; the channel of the message decides which of the four types it has. */
export type Content = SmsContent | EmailContent | WhatsappContent | VoiceContent
