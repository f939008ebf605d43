import { isRecord } from '../../contract/fields/fields.ts'
import type { Outcome } from '../../contract/outside/provider.ts'
import { retryAfterMs } from '../../http/retry-after.ts'
import type { ProviderAnswer } from '../http-client.ts'
import { type CodeMeaning, errorText, meaningOf } from './codes.ts'

type Answered = Extract<ProviderAnswer, { type: 'answered' }>

/** When the call was made and which attempt it was: what waiting times follow from. */
export interface Attempt {
  attempt: number
  now_ms: number
}

/**
 * What an answer means. Meta's code decides and not the HTTP status, which its documents call unreliable; the status
 * only where there is no code, or one that nobody told us of. Source: Meta, Cloud API, Error codes.
 */
export function outcomeOf(answer: ProviderAnswer, attempt: Attempt): Outcome {
  if (answer.type === 'not_sent') {
    return retry('provider_unreachable', `whatsapp_cloud:${answer.code} ${answer.text}`)
  }
  if (answer.type === 'unanswered') {
    return ambiguous(`whatsapp_cloud:${answer.code} ${answer.text}`)
  }
  const error = errorOf(answer.json)
  if (error) return failureOf(error, answer, attempt)
  if (answer.status >= 200 && answer.status < 300) return acceptedOf(answer)
  return byStatus(`whatsapp_cloud:${answer.status} No error of Meta`, answer, attempt)
}

/** An id of Meta's as far as it is sane: it is stored, shown and compared. */
export function wamidOf(value: unknown): string | null {
  return typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value) ? value : null
}

function acceptedOf({ json }: Answered): Outcome {
  const messages = isRecord(json) && Array.isArray(json.messages) ? json.messages : []
  const wamid = isRecord(messages[0]) ? wamidOf(messages[0].id) : null
  // It may well have been sent; only a status can tell.
  if (wamid === null) return ambiguous('whatsapp_cloud The answer names no message')
  return {
    type: 'accepted',
    provider_message_id: wamid,
    lookup_after_ms: null,
    // Statuses of a message whose opaque data got lost bring this alone.
    part_ids: [wamid],
  }
}

interface GraphError {
  code: number
  subcode: unknown
}

function errorOf(json: unknown): GraphError | null {
  const error = isRecord(json) && isRecord(json.error) ? json.error : null
  if (!error || !Number.isSafeInteger(error.code)) return null
  return { code: error.code as number, subcode: error.error_subcode }
}

const SUBCODE_NO_SUCH_OBJECT = 33

function failureOf({ code, subcode }: GraphError, answer: Answered, attempt: Attempt): Outcome {
  // What does not exist is the phone number ID of the address, not something of the message.
  const isNumberMissing = code === 100 && subcode === SUBCODE_NO_SUCH_OBJECT
  const meaning = meaningOf(isNumberMissing ? SUBCODE_NO_SUCH_OBJECT : code)
  if (!meaning) return byStatus(errorText(code, `HTTP ${answer.status}`), answer, attempt)
  const text = errorText(code, meaning.text)
  // A gateway that says so on behalf of something that may still be at work.
  const isUnsure = meaning.kind === 'unavailable' && isGateway(answer.status)
  return isUnsure ? ambiguous(text) : outcomeOfMeaning({ ...meaning, text }, answer, attempt)
}

function outcomeOfMeaning(
  { kind, error_code, text }: CodeMeaning,
  { headers }: Answered,
  { attempt, now_ms }: Attempt,
): Outcome {
  switch (kind) {
    case 'rejected':
      return rejected(error_code, text)
    case 'provider':
    case 'sender':
      return { ...retry(error_code, text), misconfigured: kind }
    case 'unavailable':
      return { ...retry(error_code, text), delay_ms: retryAfterMs(headers, now_ms) }
    case 'rate':
    case 'pair_rate': {
      const told_ms = retryAfterMs(headers, now_ms) ?? 0
      return { ...retry(error_code, text), delay_ms: Math.max(backoffMs(kind, attempt), told_ms) }
    }
  }
}

const BACKOFF_MAX_MS = 300_000

/** The first wait, doubled by each attempt. To one recipient Meta lets one message pass in 6 s. */
const FIRST_BACKOFF_MS = { rate: 2_000, pair_rate: 6_000 } as const

function backoffMs(kind: keyof typeof FIRST_BACKOFF_MS, attempt: number): number {
  return Math.min(FIRST_BACKOFF_MS[kind] * 2 ** (attempt - 1), BACKOFF_MAX_MS)
}

/** For codes that nobody told us of, and for answers that are not Meta's: something between has spoken. */
function byStatus(text: string, { status, headers }: Answered, { now_ms }: Attempt): Outcome {
  // Under a status of success, an error leaves open whether the message was taken.
  if (status < 300 || isGateway(status)) return ambiguous(text)
  if (status >= 500 || status === 408 || status === 425 || status === 429) {
    const error_code = status === 429 ? 'rate_limited' : 'provider_unavailable'
    return { ...retry(error_code, text), delay_ms: retryAfterMs(headers, now_ms) }
  }
  if ([401, 402, 403, 407].includes(status)) {
    return { ...retry('provider_unauthorized', text), misconfigured: 'provider' }
  }
  // A redirection or nothing there: the address or the version is not that of the API.
  if (status < 400 || status === 404 || status === 410) {
    return { ...retry('provider_misconfigured', text), misconfigured: 'provider' }
  }
  return rejected('provider_rejected', text)
}

function isGateway(status: number): boolean {
  return status === 502 || status === 504
}

function rejected(error_code: string, error_message: string): Outcome {
  return { type: 'rejected', error_code, error_message }
}

function retry(error_code: string, error_message: string) {
  return { type: 'retry' as const, error_code, error_message, delay_ms: null }
}

function ambiguous(error_message: string): Outcome {
  return { type: 'ambiguous', error_code: 'no_answer', error_message }
}
