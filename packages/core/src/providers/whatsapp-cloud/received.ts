import { isRecord } from '../../contract/fields/fields.ts'
import type { Received, ReceivedContent } from '../../contract/outside/provider.ts'
import { numberOf, userIdOf, wamidOf } from './outcome.ts'

type Fields = Record<string, unknown>

interface Where {
  /** Our number, the recipient. */
  recipient: string
  /** The URL of media. */
  graph_url: string
}

const TEXT_MAX = 65_536

/**
 * A received text or media. Null for other types (reactions, locations, contact cards, orders, system notes,
 * `unsupported`) and for messages of groups. A person with a user name may hide the number; the id then names the sender.
 * Source: Meta, Cloud API, Messages webhook.
 */
export function receivedOf(message: Fields, { recipient, graph_url }: Where): Received | null {
  const { group_id, context } = message
  const number = numberOf(message.from)
  const user_id = userIdOf(message.from_user_id)
  const sender = number ?? user_id
  if (sender === null || group_id !== undefined) return null
  const answers = wamidOf(fieldsOf(context).id)
  const content = contentOf(message, graph_url)
  if (!content) return null
  return {
    type: 'received',
    channel: 'whatsapp',
    provider_message_id: wamidOf(message.id),
    sender,
    ...(number && user_id && { identities: [user_id] }),
    ...(answers && { answers }),
    recipient,
    content,
  }
}

function contentOf(message: Fields, graph_url: string): ReceivedContent | null {
  switch (message.type) {
    case 'text':
      return textContent(fieldsOf(message.text).body)
    case 'button':
      return textContent(fieldsOf(message.button).text)
    case 'interactive': {
      const { button_reply, list_reply } = fieldsOf(message.interactive)
      return textContent(fieldsOf(button_reply ?? list_reply).title)
    }
    case 'image':
    case 'video':
    case 'audio':
    case 'document':
    case 'sticker':
      return mediaContent(fieldsOf(message[message.type]), graph_url)
    default:
      return null
  }
}

function textContent(value: unknown): ReceivedContent | null {
  const text = textOf(value)
  return text === null ? null : { text, media: [] }
}

// Meta's download URLs expire within minutes; this URL returns a new one to a client with the access token.
function mediaContent(
  { id, mime_type, caption }: Fields,
  graph_url: string,
): ReceivedContent | null {
  if (typeof id !== 'string' || !/^[\w-]{1,128}$/.test(id)) return null
  const isType = typeof mime_type === 'string' && /^[\x20-\x7e]{1,255}$/.test(mime_type)
  const media = [{ url: `${graph_url}/${id}`, content_type: isType ? mime_type : null }]
  return { text: textOf(caption), media }
}

/** A text that the database can store: without U+0000 and halves of surrogate pairs. */
function textOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null
  return value.slice(0, TEXT_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')
}

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {}
}
