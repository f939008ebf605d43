import type { Viewer } from '@svc/core'
import type { Content, Message, ReceivedMessage } from '@svc/core/contract'
import type { DecodedCore } from '@svc/core/operate'
import { GSM7_EXTENSION, nonGsmCharacters, segments } from '@svc/core/sms'
import type { PhoneItem } from './dev-answers.ts'

const ITEMS_MAX = 50
/** A text with more characters outside GSM-7 is in another script: which characters these are does not help to shorten it. */
const NON_GSM_MAX = 5

/** The last messages to and from a number, oldest first. */
export async function conversationOf(
  core: Pick<DecodedCore, 'messages' | 'received'>,
  viewer: Viewer,
  number: string,
): Promise<PhoneItem[]> {
  const page = { page: 1, limit: ITEMS_MAX }
  const [{ messages }, { received }] = await Promise.all([
    core.messages.list(viewer, { ...page, recipient: number }),
    core.received.list(viewer, { ...page, sender: number }),
  ])
  const items = [...messages.map(arrived), ...received.map(written)]
  return items.sort((a, b) => (a.at + a.id < b.at + b.id ? -1 : 1))
}

function arrived(message: Message): PhoneItem {
  const { id, channel, status, error_code, sender, encoding, content, created_at } = message
  const text = 'text' in content ? (content.text ?? '') : ''
  const found = channel === 'sms' ? nonGsmCharacters(text).map(({ char }) => char) : []
  const characters = [...new Set(found)]
  return {
    id,
    from: 'service',
    at: created_at.toISOString(),
    channel,
    state: error_code ?? status,
    ours: sender,
    encoding,
    non_gsm_characters: characters.length > NON_GSM_MAX ? [] : characters,
    ...shown(message, text),
  }
}

function written({ id, channel, recipient, content, created_at }: ReceivedMessage): PhoneItem {
  return {
    id,
    from: 'phone',
    at: created_at.toISOString(),
    channel,
    state: null,
    ours: recipient,
    encoding: null,
    non_gsm_characters: [],
    title: content.media.map(({ url }) => url).join(' ') || null,
    parts: [content.text ?? ''],
  }
}

function shown({ channel, content }: Message, text: string): Pick<PhoneItem, 'title' | 'parts'> {
  if (channel === 'sms') return { title: null, parts: segmentTexts(text) }
  return { title: titleOf(content), parts: [textOf(content) ?? text] }
}

function titleOf(content: Content): string | null {
  if ('media' in content && content.media) {
    const { type, filename, url } = content.media
    return `${type}: ${filename ?? url}`
  }
  if ('template' in content && content.template) {
    const { name, id, language } = content.template
    return ['Template', name ?? id, language && `(${language})`].filter(Boolean).join(' ')
  }
  return 'audio_url' in content ? (content.audio_url ?? null) : null
}

function textOf(content: Content): string | undefined {
  if ('media' in content && content.media) return content.media.caption ?? ''
  if (!('template' in content) || !content.template) return undefined
  const variables = Object.entries(content.template.variables ?? {})
  return variables.map((pair) => pair.join(': ')).join('\n')
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
