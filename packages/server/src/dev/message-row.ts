import { type Content, type Message, message as messageRecord } from '@svc/core/contract'
import { GSM7_EXTENSION, nonGsmCharacters, segments } from '@svc/core/sms'

/** A message as a row of the list. */
export type MessageRow = ReturnType<typeof messageRow>

const EXCERPT_MAX = 140
const NON_GSM_MAX = 20

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

/** The complete message; for an SMS also its segments and encoding. */
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

/** The segments of an SMS text, in their order. Joined, they are the text. */
function segmentTexts(text: string): string[] {
  const { encoding, parts } = segments(text)
  const texts: string[] = []
  let part = ''
  let units = 0
  for (const character of text) {
    part += character
    units += encoding === 'UCS-2' ? character.length : GSM7_EXTENSION.has(character) ? 2 : 1
    if (units === parts[texts.length]) {
      texts.push(part)
      part = ''
      units = 0
    }
  }
  return texts
}

function excerptOf(content: Content): string {
  const text = textOf(content) ?? ''
  return [...text.slice(0, EXCERPT_MAX * 2)].slice(0, EXCERPT_MAX).join('').replace(/\s+/g, ' ')
}

/** The first readable text of a message. */
function textOf(content: Content): string | undefined {
  if ('subject' in content) return content.subject
  if ('media' in content && content.media) return content.media.caption ?? content.media.type
  if ('template' in content && content.template) {
    return `Template ${content.template.name ?? content.template.id}`
  }
  if ('audio_url' in content && content.audio_url) return content.audio_url
  return content.text
}
