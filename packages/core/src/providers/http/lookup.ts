import type { LookupJob, LookupResult } from '../../contract/outside/provider.ts'
import type { Content } from '../../contract/resources/messages.ts'
import type { ProviderAnswer } from '../http-client.ts'
import { echoes } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { type LookupSettings, needsId, translated } from './settings.ts'

/** Whether the look-up has all its values: it may need the gateway's own id, which may never have arrived. */
export function canLookUp(lookup: LookupSettings, job: LookupJob): boolean {
  return job.provider_message_id !== null || !needsId(lookup)
}

/**
 * The state of a message that an answer reports. It is `not_found` only if the gateway reports this, because a message
 * that is not found is sent again.
 */
export function resultOf(
  reply: ProviderAnswer,
  lookup: LookupSettings,
  { content, secrets }: { content: Content; secrets: readonly string[] },
): LookupResult {
  if (reply.type !== 'answered') return { type: 'unavailable' }
  if (lookup.not_found.includes(reply.status)) return { type: 'not_found' }
  if (reply.status < 200 || reply.status > 299 || reply.json === undefined) {
    return { type: 'unavailable' }
  }
  const { json } = reply
  const { answer, every_s } = lookup
  const word = wordOf(valueAt(json, answer.status))
  const status = translated(answer.statuses, word)
  if (status === 'not_found') return { type: 'not_found' }
  // An answer without a status does not match the settings.
  if (status === undefined && word === undefined) return { type: 'unavailable' }
  const lookup_after_ms = every_s * 1_000
  if (status === undefined) return { type: 'found', receipts: [], replies: [], lookup_after_ms }
  const is_failed = status === 'failed'
  const text =
    is_failed && answer.error_message ? messageOf(valueAt(json, answer.error_message)) : null
  const code = is_failed && answer.error_code ? codeOf(valueAt(json, answer.error_code)) : null
  const safe = (text: string | null) =>
    text !== null && !echoes(text, content, secrets) ? text : null
  const receipt = {
    status,
    provider_message_id: answer.id ? idOf(valueAt(json, answer.id)) : null,
    error_code: is_failed ? (safe(code) ?? safe(codeOf(word))) : null,
    error_message: safe(text),
  }
  return {
    type: 'found',
    receipts: [receipt],
    replies: [],
    lookup_after_ms: status === 'sent' ? lookup_after_ms : null,
  }
}
