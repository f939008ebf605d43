import { readTwilioAddress } from '../contract/twilio/addresses.ts'
import { mediaTypeOf } from '../contract/twilio/media-type.ts'
import {
  checkAttributes,
  readVerbs,
  type TwimlElement,
  TwimlError,
  unsupported,
} from './read-verbs.ts'

/** The maximum number of messages in one answer. An answer of 16 KiB could have several hundred. */
const MESSAGES_MAX = 10

/** The addresses of a received message that TwiML answers. */
interface Answered {
  channel: 'sms' | 'whatsapp'
  sender: string
  recipient: string
}

/**
 * The requests to send that an answer with TwiML has: each `<Message>` with a text, or `<Body>` and `<Media>`, and optionally
 * `to` and `from`; default: to the author, from the number that received the message. They are not validated.
 * @throws TwimlError for everything else that TwiML can have.
 */
export async function readReplies(twiml: string, answered: Answered): Promise<object[]> {
  const verbs = await readVerbs(twiml)
  if (verbs.length > MESSAGES_MAX) {
    throw new TwimlError(`<Response> must have at most ${MESSAGES_MAX} messages`)
  }
  return verbs.map((verb) => requestOf(verb, answered))
}

function requestOf(verb: TwimlElement, { channel, sender, recipient }: Answered): object {
  if (verb.name !== 'Message') throw unsupported(verb.name)
  checkAttributes(verb, ['to', 'from'])
  const to = addressOf(verb, 'to') ?? { channel, address: sender }
  const from = addressOf(verb, 'from') ?? { channel, address: recipient }
  if (to.channel !== from.channel) {
    throw new TwimlError("'to' and 'from' must be addresses of the same channel")
  }
  const content = contentOf(verb, to.channel)
  return { to: to.address, from: from.address, channel: to.channel, content }
}

function addressOf({ attributes }: TwimlElement, name: 'to' | 'from') {
  const text = attributes[name]
  return text ? readTwilioAddress(text) : null
}

function contentOf({ text, children }: TwimlElement, channel: 'sms' | 'whatsapp'): object {
  const bodies: string[] = text.trim() === '' ? [] : [text.trim()]
  const files: string[] = []
  for (const child of children) {
    checkAttributes(child, [])
    if (child.children.length > 0) throw unsupported(child.children[0]?.name ?? '')
    if (child.name === 'Body') bodies.push(child.text)
    else if (child.name === 'Media') files.push(child.text.trim())
    else throw unsupported(child.name)
  }
  const [body, ...others] = bodies
  const [url, ...more] = files
  if (others.length > 0) throw new TwimlError('A <Message> has one text')
  if (url === undefined) return { text: body ?? '' }
  if (channel === 'sms') throw new TwimlError('<Media> is only supported for WhatsApp')
  if (more.length > 0) throw new TwimlError('A WhatsApp message has at most one <Media>')
  return { media: { type: mediaTypeOf(url), url, ...(body !== undefined && { caption: body }) } }
}
