import type { MessagesEstimateBody, MessagesSendBody } from '@svc/client'
import { t } from '../../shell/text.ts'
import { instantOf } from '../../shell/time-zone.ts'
import { plainPhone } from '../contacts/plain-phone.ts'
import type { Channel } from '../messages/channels.ts'
import type { AnyContent } from '../messages/content.tsx'
import { type Fault, filled } from './filled.ts'

/** The fields of the form, as typed. Fields of other channels are kept while the person changes the channel. */
export interface Draft {
  channel: Channel
  to: string
  cc: string
  bcc: string
  from: string
  from_address: string
  reply_to: string
  subject: string
  html: string
  text: string
  /** What a WhatsApp message or a call consists of. */
  form: 'text' | 'template' | 'media' | 'audio'
  template: string
  language: string
  variables: string
  media_type: string
  url: string
  caption: string
  voice: string
  /** The local time of the schedule; empty: now. */
  at: string
  metadata: string
  attachments: Attachment[]
}

export interface Attachment {
  filename: string
  content_type?: string
  content: string
}

export const EMPTY: Draft = {
  channel: 'sms',
  ...{ to: '', cc: '', bcc: '', from: '', from_address: '', reply_to: '' },
  ...{ subject: '', html: '', text: '', form: 'text' },
  ...{ template: '', language: 'en', variables: '', media_type: 'image', url: '', caption: '' },
  ...{ voice: '', at: '', metadata: '', attachments: [] },
}

const listed = (value: string | string[] | undefined) =>
  Array.isArray(value) ? value.join(', ') : (value ?? '')

/** The fields of the form for what was sent, without recipients. */
export function draftFrom({
  channel,
  sender,
  content,
  metadata = {},
}: {
  channel: Channel
  sender: string | null
  content: object
  metadata?: object
}): Draft {
  const { template, media, audio_url, ...own } = content as AnyContent
  return {
    ...EMPTY,
    channel,
    from: sender ?? '',
    cc: listed(own.cc),
    bcc: listed(own.bcc),
    from_address: own.from_address ?? '',
    reply_to: listed(own.reply_to),
    subject: own.subject ?? '',
    html: own.html ?? '',
    text: own.text ?? '',
    form: template ? 'template' : media ? 'media' : audio_url ? 'audio' : 'text',
    template: template?.name ?? template?.id ?? '',
    language: template?.language ?? own.language ?? 'en',
    variables: template?.variables ? JSON.stringify(template.variables) : '',
    media_type: media?.type ?? 'image',
    url: media?.url ?? audio_url ?? '',
    caption: media?.caption ?? '',
    voice: own.voice ?? '',
    metadata: Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : '',
  }
}

/** The object in a field with JSON; undefined for an empty field. */
export function objectIn(text: string, path: string, faults: Fault[]): object | undefined {
  if (text.trim() === '') return undefined
  try {
    const value = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // The same fault as for another value.
  }
  faults.push({ path, message: t('This must be a JSON object, such as {"order_id": "A1"}') })
  return undefined
}

function addresses(text: string): string[] | undefined {
  const found = text.split(/[,;\s]+/).filter(Boolean)
  return found.length > 0 ? found : undefined
}

function contentOf(draft: Draft, faults: Fault[]): object {
  const { channel, form, text, url, caption, language, voice } = draft
  if (channel === 'email') {
    const { subject, html, attachments } = draft
    return filled({
      subject,
      html,
      text,
      from_address: draft.from_address.trim(),
      reply_to: addresses(draft.reply_to),
      cc: addresses(draft.cc),
      bcc: addresses(draft.bcc),
      attachments: attachments.length > 0 ? attachments : undefined,
    })
  }
  if (channel === 'whatsapp' && form === 'media') {
    return { media: filled({ type: draft.media_type, url: url.trim(), caption }) }
  }
  if (channel === 'whatsapp' && form === 'template') {
    const variables = objectIn(draft.variables, 'content.template.variables', faults)
    return { template: filled({ name: draft.template.trim(), language, variables }) }
  }
  if (channel === 'voice') {
    return form === 'audio' ? { audio_url: url.trim() } : filled({ text, language, voice })
  }
  return { text }
}

/** The fields that a send and a bulk share. */
export function sharedOf(draft: Draft) {
  const faults: Fault[] = []
  const { channel, at, from } = draft
  const body = filled({
    channel,
    content: contentOf(draft, faults),
    from: from.trim(),
    metadata: objectIn(draft.metadata, 'metadata', faults),
    scheduled_at: at === '' ? undefined : instantOf(at).toISOString(),
  })
  return { body, faults }
}

/** The request for the fields of a form. */
export function requestOf(draft: Draft): { body: MessagesSendBody; faults: Fault[] } {
  const { body, faults } = sharedOf(draft)
  const several = draft.channel === 'email' ? addresses(draft.to) : undefined
  const to = several && several.length > 1 ? several : plainPhone(draft.to)
  return { body: { to, ...body } as MessagesSendBody, faults }
}

/** Whether the recipient and the content have values, so that an estimate is worth a request. */
export function isComplete({ channel, form, to, text, html, subject, template, url }: Draft) {
  if (to.trim() === '') return false
  if (channel === 'email') return subject !== '' && (html || text) !== ''
  if (form === 'template' && channel === 'whatsapp') return template !== ''
  return ((form === 'media' && channel === 'whatsapp') || form === 'audio' ? url : text) !== ''
}

export type EstimateBody = MessagesEstimateBody
