import type {
  CallbackReading,
  CallbackRequest,
  MessageRef,
  ProviderContext,
  Report,
} from '../../contract/outside/provider.ts'
import { isAuthentic, signedRef } from './callback-auth.ts'
import { tells } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { type CallbackSettings, type HttpSettings, translated } from './settings.ts'

/** How many messages one callback may tell of. */
const ITEMS = 1_000

/** What one item of a callback says, by the field's place. */
type Reader = (field: string | undefined) => unknown

/** Reads what the gateway called; see `Provider.readCallback`. */
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
  if (!layout) return unreadable('The settings do not say how to read such a callback')
  const items = layout.list === undefined ? [document] : valueAt(document, layout.list)
  if (!Array.isArray(items)) return unreadable('There is no list where the settings say')
  if (items.length > ITEMS) return unreadable(`It tells of more than ${ITEMS} messages`)
  const reports: Report[] = []
  for (const item of items) {
    const read: Reader = (field) => saidAt(field, item, query)
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

/** A form as an object of its last values; else JSON, undefined where it is none. */
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

function saidAt(field: string | undefined, item: unknown, query: URLSearchParams): unknown {
  if (field === undefined) return undefined
  return field.startsWith('?') ? (query.get(field.slice(1)) ?? undefined) : valueAt(item, field)
}

/** A receipt, null for a status that means nothing to us, or why it cannot be read. */
function receiptOf(
  read: Reader,
  { receipts }: CallbackSettings,
  { ref, secrets }: { ref: MessageRef | null; secrets: readonly string[] },
): Report | null | string {
  if (!receipts) return null
  const said = wordOf(read(receipts.status))
  if (said === undefined && !Object.hasOwn(receipts.statuses, '')) return 'It has no status'
  const status = translated(receipts.statuses, said)
  if (status === undefined) return null
  // The address is signed for one message: where a list is told of, it names none of the items.
  const about = refOf(read(receipts.reference)) ?? (receipts.list === undefined ? ref : null)
  const provider_message_id = idOf(read(receipts.provider_message_id))
  if (!about && provider_message_id === null) return 'It names no message'
  const is_failed = status === 'failed'
  const telling = (told: string | null) => (told !== null && !tells(told, secrets) ? told : null)
  return {
    type: 'receipt',
    about,
    provider_message_id,
    receipt: {
      status,
      provider_message_id,
      error_code: is_failed
        ? (telling(codeOf(read(receipts.error_code))) ?? telling(codeOf(said)))
        : null,
      error_message: is_failed ? telling(messageOf(read(receipts.error_message))) : null,
    },
  }
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const REFERENCE = new RegExp(`^(${UUID})\\.(${UUID})$`)

/** What `{{reference}}` was. */
function refOf(value: unknown): MessageRef | null {
  const [, workspace_id, message_id] = REFERENCE.exec(wordOf(value) ?? '') ?? []
  return workspace_id && message_id ? { workspace_id, message_id } : null
}

const TEXT_LENGTH = 10_000

/** What somebody wrote; null where it is from no number, or why it cannot be read. */
function inboundOf(read: Reader, { callback, senders }: HttpSettings): Report | null | string {
  const inbound = callback?.inbound
  if (!inbound) return null
  const from = wordOf(read(inbound.from))
  const to = wordOf(read(inbound.to))
  const text = read(inbound.text)
  if (from === undefined || to === undefined) return 'It does not say from whom and to whom'
  if (typeof text !== 'string') return 'It has no text'
  const digits = from.replace(/^\+/, '')
  if (!/^[1-9]\d{2,14}$/.test(digits)) return null
  const ours = senders[inbound.channel]?.find((each) => withoutPlus(each) === withoutPlus(to))
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

function withoutPlus(number: string): string {
  return number.replace(/^\+/, '')
}
