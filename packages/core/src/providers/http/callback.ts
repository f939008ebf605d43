import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type {
  CallbackReading,
  CallbackRequest,
  MessageRef,
  ProviderContext,
  Report,
} from '../../contract/outside/provider.ts'
import { containsSecret } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { signatureOf } from './request.ts'
import { type CallbackSettings, type HttpSettings, translated } from './settings.ts'

/** How many messages one callback may report. */
const MAX_ITEMS = 1_000

/** Returns the value of a field in one item of a callback. */
type Reader = (field: string | undefined) => unknown

/** Reads a request of the gateway; see `Provider.readCallback`. */
export function readCallback(
  request: CallbackRequest,
  settings: HttpSettings & { callback: CallbackSettings },
  context: ProviderContext & { secrets: readonly string[] },
): CallbackReading {
  const { callback } = settings
  const query = new URLSearchParams(queryOf(request.url))
  const ref = signedRef(query, context)
  if (!isAuthentic(request, query, { auth: callback.auth, ref })) return { type: 'forged' }
  const document = documentOf(request)
  const is_inbound = query.has('inbound')
  const layout = is_inbound ? callback.inbound : callback.receipts
  if (!layout) return unreadable('The settings do not describe this kind of callback')
  const items = layout.list === undefined ? [document] : valueAt(document, layout.list)
  if (!Array.isArray(items)) return unreadable('There is no list at the place in the settings')
  if (items.length > MAX_ITEMS) return unreadable(`It reports more than ${MAX_ITEMS} messages`)
  const reports: Report[] = []
  for (const item of items) {
    const read: Reader = (field) => fieldOf(field, item, query)
    const report = is_inbound
      ? inboundOf(read, settings)
      : receiptOf(read, callback, { ref, secrets: context.secrets })
    if (typeof report === 'string') return unreadable(report)
    if (report) reports.push(report)
  }
  return { type: 'read', reports, ...(callback.answer && { answer: callback.answer }) }
}

function unreadable(reason: string): CallbackReading {
  return { type: 'unreadable', reason }
}

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at + 1)
}

/** Parses a form (the last value of each name), or any other body as JSON; undefined if it is not JSON. */
function documentOf({ headers, body }: CallbackRequest): unknown {
  const text = new TextDecoder().decode(body)
  if (/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')) {
    return Object.fromEntries(new URLSearchParams(text))
  }
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fieldOf(field: string | undefined, item: unknown, query: URLSearchParams): unknown {
  if (field === undefined) return undefined
  return field.startsWith('?') ? (query.get(field.slice(1)) ?? undefined) : valueAt(item, field)
}

/** Returns the receipt, null if the settings do not translate its status, or why the receipt cannot be read. */
function receiptOf(
  read: Reader,
  { receipts }: CallbackSettings,
  { ref, secrets }: { ref: MessageRef | null; secrets: readonly string[] },
): Report | null | string {
  if (!receipts) return null
  const word = wordOf(read(receipts.status))
  if (word === undefined && !Object.hasOwn(receipts.statuses, '')) return 'It has no status'
  const status = translated(receipts.statuses, word)
  if (status === undefined) return null
  // The URL is signed for one message, so it cannot name the messages of a list.
  const about = refOf(read(receipts.reference)) ?? (receipts.list === undefined ? ref : null)
  const provider_message_id = idOf(read(receipts.provider_message_id))
  if (!about && provider_message_id === null) return 'It names no message'
  const is_failed = status === 'failed'
  const safe = (text: string | null) =>
    text !== null && !containsSecret(text, secrets) ? text : null
  return {
    type: 'receipt',
    about,
    provider_message_id,
    receipt: {
      status,
      provider_message_id,
      error_code: is_failed
        ? (safe(codeOf(read(receipts.error_code))) ?? safe(codeOf(word)))
        : null,
      error_message: is_failed ? safe(messageOf(read(receipts.error_message))) : null,
    },
  }
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const REFERENCE = new RegExp(`^(${UUID})\\.(${UUID})$`)

/** The message that a `{{reference}}` names; null if the value is not a reference. */
function refOf(value: unknown): MessageRef | null {
  const [, workspace_id, message_id] = REFERENCE.exec(wordOf(value) ?? '') ?? []
  return workspace_id && message_id ? { workspace_id, message_id } : null
}

const TEXT_LENGTH = 10_000

/** Returns the received message, null if its sender is not a number, or why the message cannot be read. */
function inboundOf(read: Reader, { callback, senders }: HttpSettings): Report | null | string {
  const inbound = callback?.inbound
  if (!inbound) return null
  const from = wordOf(read(inbound.from))
  const to = wordOf(read(inbound.to))
  const text = read(inbound.text)
  if (from === undefined || to === undefined) return 'It has no sender or no recipient'
  if (typeof text !== 'string') return 'It has no text'
  const digits = withoutPrefix(from)
  if (!/^[1-9]\d{2,14}$/.test(digits)) return null
  const ours = senders[inbound.channel]?.find((each) => withoutPrefix(each) === withoutPrefix(to))
  return {
    type: 'received',
    channel: inbound.channel,
    provider_message_id: idOf(read(inbound.id)),
    sender: `+${digits}`,
    recipient: (ours ?? to).slice(0, 64),
    content: {
      text: text.slice(0, TEXT_LENGTH).replaceAll('\0', '\ufffd').toWellFormed(),
      media: [],
    },
  }
}

/** The digits without the plus sign, or without the usual prefix of international calls, 00. */
function withoutPrefix(number: string): string {
  return number.replace(/^(?:\+|00)/, '')
}

/** The query parameters of a message's callback URL: workspace, message, signature. */
const NAMES = { workspace_id: 'w', message_id: 'm', signature: 's' } as const

/** The URL that a gateway calls about one message. The signature makes the URL useless for other messages. */
export function callbackUrlOf(
  ref: MessageRef,
  context: ProviderContext,
  callback: CallbackSettings | undefined,
): string {
  const query = new URLSearchParams({
    [NAMES.workspace_id]: ref.workspace_id,
    [NAMES.message_id]: ref.message_id,
    [NAMES.signature]: signatureFor(ref, context),
  })
  const auth = callback?.auth
  if (auth?.type === 'token' && auth.in === 'query') query.set(auth.name, auth.token)
  return `${context.callback_url}?${query}`
}

/** 128 bits of a keyed hash, which cannot be guessed. */
function signatureFor({ workspace_id, message_id }: MessageRef, context: ProviderContext): string {
  return createHmac('sha256', context.secret)
    .update(JSON.stringify(['http-callback', context.callback_url, workspace_id, message_id]))
    .digest('hex')
    .slice(0, 32)
}

/** The message that a callback's URL names; null if it names none or its signature is not ours. */
function signedRef(query: URLSearchParams, context: ProviderContext): MessageRef | null {
  const workspace_id = query.get(NAMES.workspace_id)
  const message_id = query.get(NAMES.message_id)
  const signature = query.get(NAMES.signature)
  if (workspace_id === null || message_id === null || signature === null) return null
  const ref = { workspace_id, message_id }
  return isSame(signature, signatureFor(ref, context)) ? ref : null
}

/** Whether the sender of this request knows the gateway's secret. */
function isAuthentic(
  { headers, body }: CallbackRequest,
  query: URLSearchParams,
  { auth, ref }: { auth: CallbackSettings['auth']; ref: MessageRef | null },
): boolean {
  switch (auth.type) {
    case 'url':
      return ref !== null
    case 'hmac':
      return isSame(headers[auth.header.toLowerCase()], signatureOf(auth, body))
    case 'token': {
      const token = auth.in === 'query' ? query.get(auth.name) : headers[auth.name.toLowerCase()]
      return isSame(token, auth.token)
    }
  }
}

/** Compares in a time that depends neither on the place of the first difference nor on the lengths. */
function isSame(actual: string | null | undefined, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(actual ?? ''), hash(expected)) && typeof actual === 'string'
}
