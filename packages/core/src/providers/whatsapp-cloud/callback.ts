import { createHmac, timingSafeEqual } from 'node:crypto'
import { isRecord } from '../../contract/fields/fields.ts'
import type {
  CallbackReading,
  CallbackRequest,
  MessageRef,
  Receipt,
  Received,
  ReceivedContent,
  Report,
} from '../../contract/outside/provider.ts'
import { errorText, meaningOf } from './codes.ts'
import { numberOf, userIdOf, wamidOf } from './outcome.ts'
import type { WhatsappCloudSettings } from './settings.ts'

type CallbackSettings = Pick<WhatsappCloudSettings, 'app_secret' | 'verify_token' | 'senders'> & {
  /** The URL of media: `<api_url>/<api_version>`. */
  graph_url: string
}

/** `X-Hub-Signature-256` of a body: `sha256=` and the hex HMAC-SHA256 of its raw bytes with the app's secret. */
export function signatureOf(app_secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac('sha256', app_secret).update(body).digest('hex')}`
}

/** Meta verifies the URL with one GET, then sends notifications with POST. Source: Meta, Webhooks, Getting started. */
export function readCallback(
  request: CallbackRequest,
  settings: CallbackSettings,
): CallbackReading {
  return request.method === 'GET'
    ? readVerification(request.url, settings)
    : readNotification(request, settings)
}

function readVerification(url: string, { verify_token }: CallbackSettings): CallbackReading {
  const params = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
  const isSubscription = only(params, 'hub.mode') === 'subscribe'
  if (!isSubscription || !isEqual(only(params, 'hub.verify_token') ?? '', verify_token)) {
    return { type: 'forged' }
  }
  const challenge = only(params, 'hub.challenge') ?? ''
  if (!/^[\x21-\x7e]{1,256}$/.test(challenge)) {
    return { type: 'unreadable', reason: 'hub.challenge is not 1 to 256 visible ASCII' }
  }
  return { type: 'read', reports: [], answer: { content_type: 'text/plain', body: challenge } }
}

/** Returns null for a parameter that is missing or repeated. */
function only(params: URLSearchParams, name: string): string | null {
  const [value, ...more] = params.getAll(name)
  return value === undefined || more.length > 0 ? null : value
}

// Meta signs the raw bytes, in which all characters that are not ASCII are escaped.
function readNotification(
  { headers, body }: CallbackRequest,
  settings: CallbackSettings,
): CallbackReading {
  const signature = headers['x-hub-signature-256'] ?? ''
  if (!isEqual(signature, signatureOf(settings.app_secret, body))) return { type: 'forged' }
  let notification: unknown
  try {
    notification = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return { type: 'unreadable', reason: 'the body is not JSON' }
  }
  const reports = notificationReports(notification, settings)
  return typeof reports === 'string'
    ? { type: 'unreadable', reason: reports }
    : { type: 'read', reports }
}

/** Compares in a time that depends neither on the place of the first difference nor on the length of the secret. */
function isEqual(actual: string, expected: string): boolean {
  return timingSafeEqual(digestOf(actual), digestOf(expected))
}

function digestOf(text: string): Buffer {
  return createHmac('sha256', 'svc').update(text).digest()
}

/** Meta sends up to a thousand updates in one call. */
const REPORTS_MAX = 10_000

interface Known {
  senders: WhatsappCloudSettings['senders']
  graph_url: string
}

/**
 * The reports of a notification, or the reason why it cannot be read. Ignores everything except messages of our own
 * numbers: one app may serve several services, and Meta adds new types of updates. Source: Meta, Cloud API, Webhooks.
 */
function notificationReports(notification: unknown, known: Known): Report[] | string {
  if (!isRecord(notification) || !Array.isArray(notification.entry)) return 'the body has no entry'
  if (notification.object !== 'whatsapp_business_account') return []
  const reports: Report[] = []
  for (const value of messageValues(notification.entry)) {
    for (const report of valueReports(value, known)) {
      if (reports.length === REPORTS_MAX) return `the body has more than ${REPORTS_MAX} reports`
      reports.push(report)
    }
  }
  return reports
}

function* messageValues(entries: readonly unknown[]): Iterable<Record<string, unknown>> {
  for (const entry of records(entries)) {
    for (const { field, value } of records(entry.changes)) {
      if (field === 'messages' && isRecord(value)) yield value
    }
  }
}

function* valueReports(
  { metadata, statuses, messages }: Record<string, unknown>,
  { senders, graph_url }: Known,
): Iterable<Report> {
  const id = isRecord(metadata) ? metadata.phone_number_id : null
  const sender = senders.find(({ phone_number_id }) => phone_number_id === id)
  if (!sender) return
  for (const status of records(statuses)) {
    const report = statusReport(status)
    if (report) yield report
  }
  for (const message of records(messages)) {
    const received = receivedOf(message, { recipient: sender.number, graph_url })
    if (received) yield received
  }
}

/** The objects in a list; none if it is not a list. */
function records(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isRecord) : []
}

/** `played` is for voice messages: the recipient played one. Source: Meta, Cloud API, Status messages webhook. */
const STATUSES: ReadonlyMap<unknown, Receipt['status']> = new Map([
  ['sent', 'sent'],
  ['delivered', 'delivered'],
  ['read', 'read'],
  ['played', 'read'],
  ['failed', 'failed'],
])

/**
 * The receipt of a status; null if the status is unknown or names no message. The order of statuses has no meaning:
 * Meta guarantees no order, may omit `delivered` before `read`, and may send `delivered` after `failed`.
 */
function statusReport(fields: Record<string, unknown>): Report | null {
  const status = STATUSES.get(fields.status)
  const about = refOf(fields.biz_opaque_callback_data)
  const provider_message_id = wamidOf(fields.id)
  if (!status || (!about && provider_message_id === null)) return null
  const error = status === 'failed' ? errorOf(fields.errors) : NO_ERROR
  return {
    type: 'receipt',
    about,
    provider_message_id,
    receipt: { status, provider_message_id, ...error },
  }
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const REF = new RegExp(`^(${UUID})\\.(${UUID})$`, 'i')

/** The message in our opaque data; null if the data is not ours. */
function refOf(opaque: unknown): MessageRef | null {
  const [, workspace_id, message_id] = typeof opaque === 'string' ? (REF.exec(opaque) ?? []) : []
  if (workspace_id === undefined || message_id === undefined) return null
  return { workspace_id: workspace_id.toLowerCase(), message_id: message_id.toLowerCase() }
}

const NO_ERROR = { error_code: null, error_message: null }

function errorOf(errors: unknown): Pick<Receipt, 'error_code' | 'error_message'> {
  const first: unknown = Array.isArray(errors) ? errors[0] : null
  const code = isRecord(first) && Number.isSafeInteger(first.code) ? (first.code as number) : null
  if (code === null) {
    return { error_code: 'undelivered', error_message: 'whatsapp_cloud No reason was given' }
  }
  const { error_code, text } = meaningOf(code) ?? UNKNOWN
  return { error_code, error_message: errorText(code, text) }
}

const UNKNOWN = { error_code: 'undelivered', text: 'Unknown error' }

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
function receivedOf(message: Fields, { recipient, graph_url }: Where): Received | null {
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
