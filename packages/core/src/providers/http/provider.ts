import { retryAfterMs } from '../../contract/fields/retry-after.ts'
import type {
  LookupJob,
  LookupResult,
  Outcome,
  Provider,
  ProviderContext,
  SendJob,
} from '../../contract/outside/provider.ts'
import type { Content } from '../../contract/resources/messages.ts'
import type { HttpCall } from '../../http/client.ts'
import {
  type Answered,
  createProviderClient,
  isNotBegun,
  type ProviderAnswer,
} from '../http-client.ts'
import { callbackUrlOf, readCallback } from './callback.ts'
import { echoes, secretsOf } from './echo.ts'
import { codeOf, idOf, messageOf, valueAt, wordOf } from './fields.ts'
import { requestOf } from './request.ts'
import {
  findsUnanswered,
  type HttpSettings,
  type LookupSettings,
  needsId,
  placeholdersIn,
  translated,
  type Verdict,
} from './settings.ts'
import { carries, valuesOf } from './values.ts'

const CONNECT_MS = 5_000

const UNSUPPORTED: Outcome = {
  type: 'rejected',
  error_code: 'unsupported_content',
  error_message: 'The provider is not set up for this kind of content',
}

/** Opens a gateway that the settings describe. Each message is one request. */
export function httpProvider(
  settings: HttpSettings,
  context: ProviderContext,
  { now = () => new Date() }: { now?: () => Date } = {},
): Provider {
  const { send, callback, lookup } = settings
  const deadline_ms = settings.deadline_s * 1_000
  const client = createProviderClient({
    connect_ms: Math.min(CONNECT_MS, deadline_ms),
    deadline_ms,
    connections: settings.connections,
    may_start: context.may_start,
    on_call: context.note_call,
  })
  const secrets = [context.secret, ...secretsOf(settings)]
  const placeholders = placeholdersIn(send)

  async function sendOne(job: SendJob): Promise<Outcome> {
    if (!carries(placeholders, job.content)) return UNSUPPORTED
    const answer = await client.call(sendCall(job))
    return outcomeOf(answer, job, { settings, secrets, now_ms: now().getTime() })
  }

  function sendCall(job: SendJob): HttpCall {
    const call = requestOf(
      send,
      settings.auth,
      valuesOf(job, callbackUrlOf(job, context, callback)),
    )
    if (!settings.idempotent) return call
    return { ...call, headers: { ...call.headers, 'idempotency-key': job.message_id } }
  }

  return {
    name: settings.name,
    send: (jobs) => Promise.all(jobs.map(sendOne)),
    ...(lookup && {
      lookup: (jobs: readonly LookupJob[]) =>
        Promise.all(
          jobs.map(async (job) => {
            if (!canLookUp(lookup, job)) return { type: 'unavailable' } as const
            const values = valuesOf(job, callbackUrlOf(job, context, callback))
            return resultOf(
              await client.call(requestOf(lookup.request, settings.auth, values)),
              lookup,
              { content: job.content, secrets },
            )
          }),
        ),
    }),
    ...(callback && {
      readCallback: (request) =>
        readCallback(request, { ...settings, callback }, { ...context, secrets }),
    }),
    close: client.close,
  }
}

/** Whether the look-up has all its values: it may need the gateway's own id, which may never have arrived. */
function canLookUp(lookup: LookupSettings, job: LookupJob): boolean {
  return job.provider_message_id !== null || !needsId(lookup)
}

/**
 * The state of a message that an answer reports. It is `not_found` only if the gateway reports this, because a message
 * that is not found is sent again.
 */
function resultOf(
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

interface OutcomeContext {
  settings: HttpSettings
  /** No text of an outcome may contain a secret. */
  secrets: readonly string[]
  now_ms: number
}

/** Derives the outcome from an answer. Source: channels, section 3.6. */
function outcomeOf(answer: ProviderAnswer, job: SendJob, context: OutcomeContext): Outcome {
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
