import type { Outcome } from '../../contract/outside/provider.ts'
import { retryAfterMs } from '../../http/retry-after.ts'
import type { ProviderAnswer } from '../http-client.ts'
import { codeOf, type Meaning, meaningOf } from './codes.ts'

type Answered = Extract<ProviderAnswer, { type: 'answered' }>

/** A resource's id as Twilio makes it. */
export const SID = /^(?:SM|MM|CA)[0-9a-f]{32}$/i

/**
 * What a POST gave. Only what surely was not written is simply tried again; what was written and not answered, and what
 * a gateway answered for Twilio, may have been taken.
 */
export function outcomeOf(
  answer: ProviderAnswer,
  { now_ms, lookup_after_ms }: { now_ms: number; lookup_after_ms: number },
): Outcome {
  if (answer.type === 'not_sent') return retry('provider_unreachable', answer.text, null)
  if (answer.type === 'unanswered') return ambiguous(answer.text)
  const { status } = answer
  if (status >= 200 && status < 300) return taken(answer, lookup_after_ms)
  return refusal(answer, now_ms)
}

/** Twilio took it, and said under which id; where the id cannot be read, the look-up finds it. */
function taken({ json }: Answered, lookup_after_ms: number): Outcome {
  const sid = fieldOf(json, 'sid')
  if (typeof sid !== 'string' || !SID.test(sid)) return ambiguous('The answer cannot be read')
  return { type: 'accepted', provider_message_id: sid, lookup_after_ms }
}

function refusal(answer: Answered, now_ms: number): Outcome {
  const { status, headers, json } = answer
  const code = codeOf(fieldOf(json, 'code'))
  const known = isGateway(status) ? undefined : meaningOf(code)
  // Only a code that stands for a refusal says that nothing was made of it; the look-up tells of all others.
  if (status >= 500 && !known)
    return ambiguous(code === null ? `HTTP ${status}` : `${code} HTTP ${status}`)
  const meaning = known ?? meaningOfStatus(status)
  const text = code === null ? `${meaning.text}` : `${code} ${meaning.text}`
  const error = { error_code: meaning.word, error_message: messageOf(text) }
  if (meaning.consequence === 'rejected') {
    return {
      type: 'rejected',
      ...error,
      ...(meaning.suppress && { suppress: meaning.suppress }),
    }
  }
  const delay_ms = retryAfterMs(headers, now_ms)
  if (meaning.consequence === 'retry') return { type: 'retry', ...error, delay_ms }
  return { type: 'retry', ...error, delay_ms, misconfigured: meaning.consequence }
}

/** Answers for Twilio, which may be at work still. */
function isGateway(status: number): boolean {
  return status === 502 || status === 504
}

/** What a status says by itself, for codes that are not known here. */
function meaningOfStatus(status: number): Meaning {
  const text = `HTTP ${status}`
  if (status === 429) return { consequence: 'retry', word: 'rate_limited', text }
  if ([408, 409, 425].includes(status)) {
    return { consequence: 'retry', word: 'provider_unavailable', text }
  }
  if (status === 401 || status === 403) {
    return { consequence: 'provider', word: 'provider_unauthorized', text }
  }
  // Something else answers at this address, or the account is not there.
  if (status < 400 || status === 404 || status === 405 || status === 410) {
    return { consequence: 'provider', word: 'provider_misconfigured', text }
  }
  return { consequence: 'rejected', word: 'provider_rejected', text }
}

function retry(error_code: string, text: string, delay_ms: number | null): Outcome {
  return { type: 'retry', error_code, error_message: messageOf(text), delay_ms }
}

function ambiguous(text: string): Outcome {
  return { type: 'ambiguous', error_code: 'no_answer', error_message: messageOf(text) }
}

function messageOf(text: string): string {
  return /^\d/.test(text) ? `twilio:${text}` : `twilio: ${text}`
}

/** One field of an answer that may be anything. */
export function fieldOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null && Object.hasOwn(json, name)
    ? (json as Record<string, unknown>)[name]
    : undefined
}
