import { type Content, type Message, message as messageRecord } from '@svc/core/contract'
import { nonGsmCharacters, segments } from '@svc/core/sms'
import { segmentTexts } from './segment-texts.ts'

/** A message as a list shows it. */
export type MessageRow = ReturnType<typeof messageRow>

const EXCERPT_MAX = 140
const NON_GSM_MAX = 20

/** What a line of the list needs of a message. */
export function messageRow(message: Message) {
  const { id, channel, recipient, status, livemode, error_code, created_at, updated_at } = message
  return {
    id,
    channel,
    recipient,
    status,
    livemode,
    error_code,
    created_at,
    updated_at,
    excerpt: excerptOf(message.content),
  }
}

/** All of a message, and of an SMS how it travels. */
export function wholeMessage(message: Message) {
  return {
    ...messageRecord.encode(message),
    sms: message.channel === 'sms' ? smsOf(message.content) : null,
  }
}

function smsOf(content: Content) {
  const text = textOf(content) ?? ''
  const { encoding, characters, units } = segments(text)
  const causes = [...new Set(nonGsmCharacters(text).map(({ char }) => char))]
  return {
    encoding,
    characters,
    units,
    segments: segmentTexts(text),
    non_gsm_characters: causes.slice(0, NON_GSM_MAX),
  }
}

function excerptOf(content: Content): string {
  const text = textOf(content) ?? ''
  return [...text.slice(0, EXCERPT_MAX * 2)].slice(0, EXCERPT_MAX).join('').replace(/\s+/g, ' ')
}

/** The first thing to be read of a message. */
function textOf(content: Content): string | undefined {
  if ('subject' in content) return content.subject
  if ('media' in content && content.media) return content.media.caption ?? content.media.type
  if ('template' in content && content.template) {
    return `Template ${content.template.name ?? content.template.id}`
  }
  if ('audio_url' in content && content.audio_url) return content.audio_url
  return content.text
}
