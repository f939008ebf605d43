import type { LookupJob, LookupResult } from '../../contract/outside/provider.ts'
import type { Content } from '../../contract/resources/messages.ts'
import type { ProviderAnswer } from '../http-client.ts'
import { echoes } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { type LookupSettings, needsId, translated } from './settings.ts'

/** Whether the question can be asked: not by an id that the gateway never told. */
export function isAskable(lookup: LookupSettings, job: LookupJob): boolean {
  return job.provider_message_id !== null || !needsId(lookup)
}

/** What an answer says of a message. Only where the gateway says so is it `not_found`: it is sent again then. */
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
  const said = wordOf(valueAt(json, answer.status))
  const status = translated(answer.statuses, said)
  if (status === 'not_found') return { type: 'not_found' }
  // Nothing where the status should be is not the answer that was promised.
  if (status === undefined && said === undefined) return { type: 'unavailable' }
  const lookup_after_ms = every_s * 1_000
  if (status === undefined) return { type: 'found', receipts: [], replies: [], lookup_after_ms }
  const is_failed = status === 'failed'
  const text =
    is_failed && answer.error_message ? messageOf(valueAt(json, answer.error_message)) : null
  const code = is_failed && answer.error_code ? codeOf(valueAt(json, answer.error_code)) : null
  const telling = (told: string | null) =>
    told !== null && !echoes(told, content, secrets) ? told : null
  const receipt = {
    status,
    provider_message_id: answer.id ? idOf(valueAt(json, answer.id)) : null,
    error_code: is_failed ? (telling(code) ?? telling(codeOf(said))) : null,
    error_message: telling(text),
  }
  return {
    type: 'found',
    receipts: [receipt],
    replies: [],
    lookup_after_ms: status === 'sent' ? lookup_after_ms : null,
  }
}
