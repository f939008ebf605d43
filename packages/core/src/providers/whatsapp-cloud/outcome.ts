import { WHATSAPP_USER_ID } from '../../contract/fields/e164.ts'
import { isRecord } from '../../contract/fields/fields.ts'

import { retryAfterMs } from '../../contract/fields/retry-after.ts'
import type { Outcome } from '../../contract/outside/provider.ts'
import { type Answered, isNotBegun, type ProviderAnswer } from '../http-client.ts'
import { type CodeMeaning, errorText, meaningOf } from './codes.ts'

/** The time and number of an attempt, from which delays follow. */
interface Attempt {
  attempt: number
  now_ms: number
}

/**
 * The outcome of an answer. Meta's code decides, because Meta's documents call the HTTP status unreliable. The status
 * decides only if the code is missing or unknown. Source: Meta, Cloud API, Error codes.
 */
export function outcomeOf(answer: ProviderAnswer, attempt: Attempt): Outcome {
  if (answer.type === 'not_sent') {
    const unsent = retry('provider_unreachable', `whatsapp_cloud:${answer.code} ${answer.text}`)
    return { ...unsent, ...(isNotBegun(answer) && { not_begun: true }) }
  }
  if (answer.type === 'unanswered') {
    return ambiguous(`whatsapp_cloud:${answer.code} ${answer.text}`)
  }
  const error = errorOf(answer.json)
  if (error) return failureOf(error, answer, attempt)
  if (answer.status >= 200 && answer.status < 300) return acceptedOf(answer)
  return byStatus(`whatsapp_cloud:${answer.status} No error of Meta`, answer, attempt)
}

/** A valid id of Meta, which can be stored, shown and compared; otherwise null. */
export function wamidOf(value: unknown): string | null {
  return typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value) ? value : null
}

function acceptedOf({ json }: Answered): Outcome {
  const messages = isRecord(json) && Array.isArray(json.messages) ? json.messages : []
  const wamid = isRecord(messages[0]) ? wamidOf(messages[0].id) : null
  // The message may have been sent; only a later status can report it.
  if (wamid === null) return ambiguous('whatsapp_cloud The answer names no message')
  return {
    type: 'accepted',
    provider_message_id: wamid,
    lookup_after_ms: null,
    // A status without the opaque data contains only this id.
    part_ids: [wamid],
    ...identitiesOf(isRecord(json) ? json.contacts : null),
  }
}

/** The names of the recipient: the number by which WhatsApp knows the person, and the id without a number. Source: Meta, Cloud API, Messages. */
function identitiesOf(contacts: unknown): { identities?: string[] } {
  const [contact] = Array.isArray(contacts) ? contacts : []
  if (!isRecord(contact)) return {}
  const identities = [numberOf(contact.wa_id), userIdOf(contact.user_id)].filter(
    (one) => one !== null,
  )
  return identities.length > 0 ? { identities } : {}
}

/** A number of WhatsApp, which Meta writes without its plus sign; otherwise null. */
export function numberOf(value: unknown): string | null {
  return typeof value === 'string' && /^[1-9]\d{1,14}$/.test(value) ? `+${value}` : null
}

/** The id of a person in the scope of our business (BSUID), such as `US.13491208655302741918`; otherwise null. */
export function userIdOf(value: unknown): string | null {
  return typeof value === 'string' && WHATSAPP_USER_ID.test(value) ? value : null
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
  // The phone number ID in the URL does not exist; the message is not at fault.
  const isNumberMissing = code === 100 && subcode === SUBCODE_NO_SUCH_OBJECT
  const meaning = meaningOf(isNumberMissing ? SUBCODE_NO_SUCH_OBJECT : code)
  if (!meaning) return byStatus(errorText(code, `HTTP ${answer.status}`), answer, attempt)
  const text = errorText(code, meaning.text)
  // A gateway sends this status while the server behind it may still process the message.
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
      const min_ms = retryAfterMs(headers, now_ms) ?? 0
      return { ...retry(error_code, text), delay_ms: Math.max(backoffMs(kind, attempt), min_ms) }
    }
  }
}

const BACKOFF_MAX_MS = 300_000

/** The first delay, doubled by each attempt. Meta accepts one message to one recipient every 6 s. */
const FIRST_BACKOFF_MS = { rate: 2_000, pair_rate: 6_000 } as const

function backoffMs(kind: keyof typeof FIRST_BACKOFF_MS, attempt: number): number {
  return Math.min(FIRST_BACKOFF_MS[kind] * 2 ** (attempt - 1), BACKOFF_MAX_MS)
}

/** The outcome of an unknown code, or of a proxy's answer. */
function byStatus(text: string, { status, headers }: Answered, { now_ms }: Attempt): Outcome {
  // After an error with a status of success, Meta may have accepted the message.
  if (status < 300 || isGateway(status)) return ambiguous(text)
  if (status >= 500 || status === 408 || status === 425 || status === 429) {
    const error_code = status === 429 ? 'rate_limited' : 'provider_unavailable'
    return { ...retry(error_code, text), delay_ms: retryAfterMs(headers, now_ms) }
  }
  if ([401, 402, 403, 407].includes(status)) {
    return { ...retry('provider_unauthorized', text), misconfigured: 'provider' }
  }
  // A redirect or a missing resource: the URL or the version of the API is wrong.
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
