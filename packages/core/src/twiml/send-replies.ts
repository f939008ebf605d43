import { type KeyIdentity, requireScope } from '../api-keys/api-keys.ts'
import { identityOfKey } from '../api-keys/identity-of-key.ts'

import { api } from '../contract/api.ts'
import { decode } from '../contract/endpoints/decode.ts'
import { SvcError } from '../contract/errors.ts'
import { LIMITS } from '../contract/limits.ts'
import type { WireEventData } from '../contract/resources/events.ts'
import { mediaTypeOf, readTwilioAddress } from '../contract/twilio/notation.ts'

import type { Messages } from '../messages/messages.ts'
import { SUPPRESSED_TEXT } from '../rules/recipients.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Storage } from '../storage/ports/storage.ts'

/** A delivery of a received message, and the TwiML that its receiver answered. */
interface AnsweredDelivery {
  workspace_id: string
  delivery_id: string
  /** The API key that signed the request. */
  secret: string
  /** The stored body of the event. */
  body: string
  twiml: string
}

/**
 * Sends the messages of an answer with the key that signed the request. A repeated call for the same delivery sends none of
 * them again, whatever its TwiML. Returns the error of the delivery's attempt: the reason why a message was not sent, or null.
 * @throws Error if it is not known whether a message was sent: the caller must repeat the delivery.
 */
export type SendReplies = (answered: AnsweredDelivery) => Promise<string | null>

/** Two programs that answer each other stop at this number of answers to one address in this time. */
const LOOP = { replies: 15, window_ms: 30_000 }

/**
 * A later delivery sends no reply, because it could repeat one: its idempotency key may be gone. The limit is an hour below
 * the lifetime of the key, because a server with a clock that is ahead removes the key earlier.
 */
const AGE_MAX_MS = (LIMITS.idempotency_lifetime_s - 3_600) * 1_000

/** The maximum number of counted addresses. At this number all are forgotten before the next is added. */
const COUNTED_MAX = 10_000

export function createSendReplies({
  storage,
  runtime,
  messages,
}: {
  storage: Storage
  runtime: Runtime
  messages: Pick<Messages<'decoded'>, 'send'>
}): SendReplies {
  const counts = new Map<string, { replies: number; until_ms: number }>()
  const { body: schema } = api.messages.send

  /** Counts a reply to an address. @throws SvcError `rate_limit_exceeded`. */
  function count(workspace_id: string, address: string): void {
    const key = `${workspace_id}\n${address}`
    const now_ms = runtime.elapsed()
    const before = counts.get(key)
    if (before && before.until_ms > now_ms) {
      before.replies += 1
      if (before.replies > LOOP.replies) {
        throw new SvcError('rate_limit_exceeded', 'Too many replies to one address')
      }
      return
    }
    if (counts.size >= COUNTED_MAX) counts.clear()
    counts.set(key, { replies: 1, until_ms: now_ms + LOOP.window_ms })
  }

  return async ({ workspace_id, delivery_id, secret, body, twiml }) => {
    const { data } = JSON.parse(body) as { data: WireEventData<'message.received'> }
    const { channel, sender, recipient, livemode, occurred_at } = data
    // An erased message has no author.
    if (typeof sender !== 'string' || (channel !== 'sms' && channel !== 'whatsapp')) return null
    let requests: object[]
    try {
      requests = await readReplies(twiml, { channel, sender, recipient })
    } catch (error) {
      if (error instanceof TwimlError) return 'twiml_invalid'
      throw error
    }
    if (requests.length === 0) return null
    const age_ms = runtime.now().getTime() - Date.parse(occurred_at)
    if (age_ms >= AGE_MAX_MS) return 'reply_too_late'
    const key = await identityOfKey({ storage, runtime }, secret)
    const identity = key && senderOf(key, livemode)
    if (identity?.workspace_id !== workspace_id) return 'reply_forbidden'
    let fault: string | null = null
    for (const [i, request] of requests.entries()) {
      const compared = { delivery_id, number: i }
      const options = { idempotency_key: `twiml-${delivery_id}-${i}`, compared }
      try {
        const decoded = decode(schema, request)
        requireScope(identity, 'send_messages')
        count(workspace_id, String(decoded.to))
        await messages.send(identity, decoded, options)
      } catch (error) {
        if (!(error instanceof SvcError)) throw error
        fault ??= faultOf(error)
      }
    }
    return fault
  }
}

function faultOf({ code, message }: SvcError): string {
  return message === SUPPRESSED_TEXT ? 'reply_suppressed' : `reply_${code}`
}

/** A reply to a test message is a test message. Null for a test key and a live message. */
function senderOf(key: KeyIdentity, livemode: boolean): KeyIdentity | null {
  if (livemode) return key.mode === 'live' ? key : null
  return { ...key, mode: 'test' }
}

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
async function readReplies(twiml: string, answered: Answered): Promise<object[]> {
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

/** One element of TwiML. `text` is its own text, without that of its children. */
export interface TwimlElement {
  name: string
  attributes: Readonly<Record<string, string>>
  text: string
  children: TwimlElement[]
}

/** A refusal of TwiML. The message names the fault, for the author of the TwiML. */
export class TwimlError extends Error {
  override readonly name = 'TwimlError'
}

const DEPTH_MAX = 4

/**
 * Reads TwiML: the verbs of its `<Response>`. Document types, entities other than the five of XML and more than four levels are
 * refused. The caller limits the length.
 * @throws TwimlError
 */
export async function readVerbs(text: string): Promise<TwimlElement[]> {
  // The parser is loaded for the first TwiML only: most services get none.
  const { SaxesParser } = await import('saxes')
  const parser = new SaxesParser()
  const document: TwimlElement = { name: '', attributes: {}, text: '', children: [] }
  const open = [document]
  const innermost = () => open.at(-1) as TwimlElement
  parser.on('error', ({ message }) => {
    throw new TwimlError(`TwiML is not well-formed: ${message.slice(0, 200)}`)
  })
  parser.on('doctype', () => {
    throw new TwimlError('TwiML must not have a document type')
  })
  parser.on('opentag', ({ name, attributes }) => {
    if (open.length > DEPTH_MAX) throw new TwimlError('TwiML has too many levels')
    const element: TwimlElement = { name, attributes, text: '', children: [] }
    innermost().children.push(element)
    open.push(element)
  })
  parser.on('closetag', () => void open.pop())
  const append = (piece: string) => {
    innermost().text += piece
  }
  parser.on('text', append)
  parser.on('cdata', append)
  parser.write(text).close()
  const [root] = document.children
  if (root?.name !== 'Response') throw unsupported(root?.name ?? '')
  checkAttributes(root, [])
  if (root.text.trim() !== '') throw new TwimlError('Text must stand in a verb')
  return root.children
}

/** The refusal of an element that may not stand where it stands. */
export function unsupported(name: string): TwimlError {
  return new TwimlError(`<${name.slice(0, 64)}> is not supported here`)
}

/**
 * Refuses attributes that are not in the list; an attribute of a pair must have its value.
 * @throws TwimlError
 */
export function checkAttributes(
  { name, attributes }: TwimlElement,
  allowed: readonly (string | readonly [string, string])[],
): void {
  for (const [attribute, value] of Object.entries(attributes)) {
    const isAllowed = allowed.some((one) =>
      typeof one === 'string' ? one === attribute : one[0] === attribute && one[1] === value,
    )
    if (isAllowed) continue
    const shown = attribute.slice(0, 64)
    throw new TwimlError(`The attribute '${shown}' of <${name.slice(0, 64)}> is not supported`)
  }
}
