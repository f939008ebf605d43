import type { Outcome, SendJob } from '../../contract/outside/provider.ts'
import { retryAfterMs } from '../../http/retry-after.ts'
import type { ProviderAnswer } from '../http-client.ts'
import { echoes } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { findsUnanswered, type HttpSettings, translated, type Verdict } from './settings.ts'

type Answered = Extract<ProviderAnswer, { type: 'answered' }>

export interface OutcomeContext {
  settings: HttpSettings
  /** What must not be told on. */
  secrets: readonly string[]
  now_ms: number
}

/** What an answer means for the message. Source: channels, section 3.6. */
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
      // Requests are made of the settings: what makes one impossible is in them.
      ...(answer.code === 'invalid' && { misconfigured: 'provider' }),
    }
  }
  const { settings } = context
  const verdict = verdictOf(answer, settings)
  const { id: id_pointer } = settings.answer
  const provider_message_id = id_pointer ? idOf(valueAt(answer.json, id_pointer)) : null
  if (verdict === 'accepted') {
    // A repeat may be acknowledged without the id; anything else that lacks it is not the answer that was promised.
    const is_whole = !id_pointer || provider_message_id !== null || answer.status === 409
    if (is_whole) {
      return {
        type: 'accepted',
        provider_message_id,
        lookup_after_ms: lookupAfterMs(settings),
        // Receipts may bring the gateway's id alone.
        ...(provider_message_id !== null && { part_ids: [provider_message_id] }),
      }
    }
  }
  const said = saidBy(answer, job, context)
  if (verdict === 'rejected') return { type: 'rejected', ...said }
  if (verdict === 'retry' || verdict === 'misconfigured') {
    return {
      type: 'retry',
      ...said,
      delay_ms: retryAfterMs(answer.headers, context.now_ms),
      ...(verdict === 'misconfigured' && { misconfigured: 'provider' }),
    }
  }
  const delay_ms = retryAfterMs(answer.headers, context.now_ms)
  return { type: 'ambiguous', ...said, ...(answer.status >= 500 && { answered: { delay_ms } }) }
}

function lookupAfterMs({ callback, lookup }: HttpSettings): number | null {
  return lookup && !callback?.receipts ? lookup.every_s * 1_000 : null
}

/**
 * The gateway's own word counts more than its HTTP status; but nothing is accepted with a status that says otherwise, and
 * what is said of words in general ("" and "*") is meant for successes.
 */
function verdictOf({ status, json }: Answered, settings: HttpSettings): Verdict | 'ambiguous' {
  const by_status = verdictOfStatus(status, settings)
  const { status: place, statuses } = settings.answer
  if (!place || !statuses) return by_status
  const said = wordOf(valueAt(json, place))
  if (status >= 200 && status < 300) {
    return (json === undefined ? undefined : translated(statuses, said)) ?? 'ambiguous'
  }
  const by_word = said !== undefined && Object.hasOwn(statuses, said) ? statuses[said] : undefined
  return by_word === undefined || by_word === 'accepted' ? by_status : by_word
}

const TRY_LATER: readonly number[] = [408, 425, 429]
const CREDENTIALS: readonly number[] = [401, 402, 403, 407]

/** From proxies whose gateway may have taken the message; the last two are Cloudflare's words for it. */
const LOST: readonly number[] = [502, 504, 520, 524]

/** RFC 9110: the answer to what was done is elsewhere. */
const SEE_OTHER = 303

/**
 * A gateway that fails with a 5xx may have taken the message before that. Where that can be found out, or a repetition is
 * harmless, it counts as unknown. Elsewhere a message would be lost for each such answer, and nearly all of them are
 * refusals: it is tried again, and may arrive twice.
 */
function verdictOfStatus(status: number, settings: HttpSettings): Verdict | 'ambiguous' {
  const { idempotent } = settings
  if (status >= 200 && status < 300) return 'accepted'
  if (status === SEE_OTHER) return 'ambiguous'
  // Redirects are not followed: the address in the settings is not the right one.
  if (status < 400 || CREDENTIALS.includes(status)) return 'misconfigured'
  if (TRY_LATER.includes(status)) return 'retry'
  if (status >= 500) {
    const is_unknown = LOST.includes(status) || idempotent || findsUnanswered(settings)
    return is_unknown ? 'ambiguous' : 'retry'
  }
  return status === 409 && idempotent ? 'accepted' : 'rejected'
}

/** The gateway's code and text for what went wrong; the HTTP status where it has none, or only repeats what it got. */
function saidBy({ status, json }: Answered, job: SendJob, { settings, secrets }: OutcomeContext) {
  const { error_code, error_message, status: word } = settings.answer
  const telling = <T extends string | null>(said: T) =>
    said !== null && !echoes(said, job.content, secrets) ? said : null
  const code = [error_code, word].map((at) => (at ? telling(codeOf(valueAt(json, at))) : null))
  const text = error_message ? telling(messageOf(valueAt(json, error_message))) : null
  return {
    error_code: code.find((each) => each !== null) ?? `http_${status}`,
    error_message: text ?? `The provider answered with status ${status}`,
  }
}
