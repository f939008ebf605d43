import { retryAfterMs } from '../../contract/fields/retry-after.ts'
import type { Outcome, SendJob } from '../../contract/outside/provider.ts'
import { type Answered, isNotBegun, type ProviderAnswer } from '../http-client.ts'
import { echoes } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { findsUnanswered, type HttpSettings, translated, type Verdict } from './settings.ts'

export interface OutcomeContext {
  settings: HttpSettings
  /** No text of an outcome may contain a secret. */
  secrets: readonly string[]
  now_ms: number
}

/** Derives the outcome from an answer. Source: channels, section 3.6. */
export function outcomeOf(answer: ProviderAnswer, job: SendJob, context: OutcomeContext): Outcome {
  if (answer.type === 'unanswered') {
    return { type: 'ambiguous', error_code: answer.code, error_message: answer.text }
  }
  if (answer.type === 'not_sent') {
    return {
      type: 'retry',
      error_code: answer.code,
      error_message: answer.text,
      delay_ms: null,
      // Only wrong settings can make a request invalid.
      ...(answer.code === 'invalid' && { misconfigured: 'provider' }),
      ...(isNotBegun(answer) && { not_begun: true }),
    }
  }
  const { settings } = context
  const verdict = verdictOf(answer, settings)
  const { id: id_pointer } = settings.answer
  const provider_message_id = id_pointer ? idOf(valueAt(answer.json, id_pointer)) : null
  if (verdict === 'accepted') {
    // Only the acknowledgement of a repeated request may lack an id that the settings name.
    if (!id_pointer || provider_message_id !== null || answer.status === 409) {
      return {
        type: 'accepted',
        provider_message_id,
        lookup_after_ms: lookupAfterMs(settings),
        // Receipts may name the message only by the gateway's id.
        ...(provider_message_id !== null && { part_ids: [provider_message_id] }),
      }
    }
  }
  const error = errorOf(answer, job, context)
  if (verdict === 'rejected') return { type: 'rejected', ...error }
  if (verdict === 'retry' || verdict === 'misconfigured') {
    return {
      type: 'retry',
      ...error,
      delay_ms: retryAfterMs(answer.headers, context.now_ms),
      ...(verdict === 'misconfigured' && { misconfigured: 'provider' }),
    }
  }
  const delay_ms = retryAfterMs(answer.headers, context.now_ms)
  return { type: 'ambiguous', ...error, ...(answer.status >= 500 && { answered: { delay_ms } }) }
}

function lookupAfterMs({ callback, lookup }: HttpSettings): number | null {
  return lookup && !callback?.receipts ? lookup.every_s * 1_000 : null
}

/**
 * The gateway's own status word overrides its HTTP status, with two limits: an HTTP status of failure is never `accepted`,
 * and the general words ("" and "*") apply to HTTP successes only.
 */
function verdictOf({ status, json }: Answered, settings: HttpSettings): Verdict | 'ambiguous' {
  const by_status = verdictOfStatus(status, settings)
  const { status: place, statuses } = settings.answer
  if (!place || !statuses) return by_status
  const word = wordOf(valueAt(json, place))
  if (status >= 200 && status < 300) {
    return (json === undefined ? undefined : translated(statuses, word)) ?? 'ambiguous'
  }
  const by_word = word !== undefined && Object.hasOwn(statuses, word) ? statuses[word] : undefined
  return by_word === undefined || by_word === 'accepted' ? by_status : by_word
}

const TRY_LATER: readonly number[] = [408, 425, 429]
const CREDENTIALS: readonly number[] = [401, 402, 403, 407]

/** Statuses of proxies whose gateway may have the message; the last two are Cloudflare's. */
const LOST: readonly number[] = [502, 504, 520, 524]

/** RFC 9110: the request was processed, and its answer is at another URL. */
const SEE_OTHER = 303

/**
 * A gateway that answers 5xx may have accepted the message. If a look-up can find out, or if a repeat is harmless, the
 * outcome is ambiguous. Otherwise the message is sent again and may arrive twice. Without this, most of these messages
 * would be lost, because nearly all such answers are refusals.
 */
function verdictOfStatus(status: number, settings: HttpSettings): Verdict | 'ambiguous' {
  const { idempotent } = settings
  if (status >= 200 && status < 300) return 'accepted'
  if (status === SEE_OTHER) return 'ambiguous'
  // Redirects are not followed: the URL in the settings is wrong.
  if (status < 400 || CREDENTIALS.includes(status)) return 'misconfigured'
  if (TRY_LATER.includes(status)) return 'retry'
  if (status >= 500) {
    const is_unknown = LOST.includes(status) || idempotent || findsUnanswered(settings)
    return is_unknown ? 'ambiguous' : 'retry'
  }
  return status === 409 && idempotent ? 'accepted' : 'rejected'
}

/** The gateway's error code and message; the HTTP status if there are none, or if they repeat the request. */
function errorOf({ status, json }: Answered, job: SendJob, { settings, secrets }: OutcomeContext) {
  const { error_code, error_message, status: status_word } = settings.answer
  const safe = (text: string | null) =>
    text !== null && !echoes(text, job.content, secrets) ? text : null
  const codes = [error_code, status_word].map((at) => (at ? safe(codeOf(valueAt(json, at))) : null))
  const text = error_message ? safe(messageOf(valueAt(json, error_message))) : null
  return {
    error_code: codes.find((code) => code !== null) ?? `http_${status}`,
    error_message: text ?? `The provider answered with status ${status}`,
  }
}
