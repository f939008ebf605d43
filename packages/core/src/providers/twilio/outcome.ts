import { retryAfterMs } from '../../contract/fields/retry-after.ts'
import type { Outcome } from '../../contract/outside/provider.ts'
import { type Answered, isNotBegun, type ProviderAnswer } from '../http-client.ts'
import { codeOf, type Meaning, meaningOf } from './codes.ts'

/** The error of a request without a success. The promises of Twilio's client reject with it. */
export class UnsuccessfulCall extends Error {
  readonly answer: ProviderAnswer

  constructor(answer: ProviderAnswer) {
    super('The call was not successful')
    this.answer = answer
  }
}

/** The form of Twilio's resource ids. */
export const SID = /^(?:SM|MM|CA)[0-9a-f]{32}$/i

/** The outcome of a success. If the id cannot be read, the look-up finds it. */
export function acceptedAs(sid: unknown, lookup_after_ms: number): Outcome {
  if (typeof sid !== 'string' || !SID.test(sid)) return ambiguous('The answer cannot be read')
  return { type: 'accepted', provider_message_id: sid, lookup_after_ms }
}

/**
 * The outcome of an error of Twilio's client. A request without an answer is a `retry` only if no byte of it was
 * written. A request that was written but not answered, or that a gateway answered, may have been accepted.
 */
export function outcomeOf(error: unknown, now_ms: number): Outcome {
  // The request succeeded, but the package could not read the answer.
  if (!(error instanceof UnsuccessfulCall)) return ambiguous('The answer cannot be read')
  const { answer } = error
  if (answer.type === 'not_sent') {
    const unsent = retry('provider_unreachable', answer.text, null)
    return { ...unsent, ...(isNotBegun(answer) && { not_begun: true }) }
  }
  if (answer.type === 'unanswered') return ambiguous(answer.text)
  return refusal(answer, now_ms)
}

/** The text for the operator about an error of Twilio's client. `null` means an answer that is not from Twilio. */
export function problemOf(error: unknown): string {
  if (!(error instanceof UnsuccessfulCall)) return 'What answers at this address is not Twilio'
  const { answer } = error
  if (answer.type !== 'answered') return `Twilio: ${answer.text}`
  const code = codeOf(fieldOf(answer.json, 'code'))
  const text = meaningOf(code)?.text
  return text ? `Twilio: ${text} (${code})` : `Twilio answers HTTP ${answer.status}`
}

function refusal(answer: Answered, now_ms: number): Outcome {
  const { status, headers, json } = answer
  const code = codeOf(fieldOf(json, 'code'))
  const known = isGateway(status) ? undefined : meaningOf(code)
  // After a 5xx, only a known code proves that Twilio refused the message. A look-up settles the other cases.
  if (status >= 500 && !known)
    return ambiguous(code === null ? `HTTP ${status}` : `${code} HTTP ${status}`)
  const meaning = known ?? meaningOfStatus(status)
  const text = code === null ? `${meaning.text}` : `${code} ${meaning.text}`
  const error = { error_code: meaning.word, error_message: messageOf(text) }
  if (meaning.consequence === 'rejected') {
    return { type: 'rejected', ...error, ...(meaning.suppress && { suppress: meaning.suppress }) }
  }
  const delay_ms = retryAfterMs(headers, now_ms)
  if (meaning.consequence === 'retry') return { type: 'retry', ...error, delay_ms }
  return { type: 'retry', ...error, delay_ms, misconfigured: meaning.consequence }
}

/** A gateway answers in place of Twilio, which may still process the request. */
function isGateway(status: number): boolean {
  return status === 502 || status === 504
}

/** The meaning of an HTTP status, for codes that are not known here. */
function meaningOfStatus(status: number): Meaning {
  const text = `HTTP ${status}`
  if (status === 429) return { consequence: 'retry', word: 'rate_limited', text }
  if ([408, 409, 425].includes(status)) {
    return { consequence: 'retry', word: 'provider_unavailable', text }
  }
  if (status === 401 || status === 403) {
    return { consequence: 'provider', word: 'provider_unauthorized', text }
  }
  // Another server answers, or the account does not exist.
  if (status < 400 || status === 404 || status === 405 || status === 410) {
    return { consequence: 'provider', word: 'provider_misconfigured', text }
  }
  return { consequence: 'rejected', word: 'provider_rejected', text }
}

function retry(error_code: string, text: string, delay_ms: number | null) {
  return { type: 'retry' as const, error_code, error_message: messageOf(text), delay_ms }
}

function ambiguous(text: string): Outcome {
  return { type: 'ambiguous', error_code: 'no_answer', error_message: messageOf(text) }
}

function messageOf(text: string): string {
  return /^\d/.test(text) ? `twilio:${text}` : `twilio: ${text}`
}

/** A field of an answer of any shape. */
export function fieldOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null && Object.hasOwn(json, name)
    ? (json as Record<string, unknown>)[name]
    : undefined
}
