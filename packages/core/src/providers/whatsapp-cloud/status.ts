import { isRecord } from '../../contract/fields/fields.ts'
import type { MessageRef, Receipt, Report } from '../../contract/outside/provider.ts'
import { errorText, meaningOf } from './codes.ts'
import { wamidOf } from './outcome.ts'

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
export function statusReport(fields: Record<string, unknown>): Report | null {
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
