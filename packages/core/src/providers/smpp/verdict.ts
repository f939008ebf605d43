import type { Outcome, Receipt } from '../../contract/outside/provider.ts'
import type { IdForm } from './receipt.ts'
import { submittedId } from './receipt.ts'
import { type StatusMeaning, statusText } from './status-table.ts'

/** The result of one part of a message. */
export type PartResult =
  | { type: 'accepted'; message_id: string | null }
  | { type: 'refused'; status: number; meaning: StatusMeaning }
  /** The part was written, but no answer came. */
  | { type: 'unanswered'; reason: string }
  /** The part was never written. `not_begun`: nothing shows that the SMSC cannot be reached. */
  | {
      type: 'unwritten'
      error_code: string
      reason: string
      misconfigured?: 'provider'
      not_begun?: true
    }

interface Verdict {
  outcome: Outcome
  /** The receipts of the missing parts, if the message is partly sent and will never be complete. */
  missing: Receipt[]
}

/** An id for a part that has no id from the SMSC. No receipt of the SMSC will contain it. */
function placeholder(message_id: string, index: number): string {
  return `${message_id}.${index + 1}`
}

export function partResult(
  answer: { status: number; message_id: string },
  form: IdForm,
  meaningOf: (status: number) => StatusMeaning,
): PartResult {
  const { status } = answer
  if (status !== 0) return { type: 'refused', status, meaning: meaningOf(status) }
  return { type: 'accepted', message_id: submittedId(answer.message_id, form) }
}

/**
 * Derives the outcome of a message from the results of its parts. One unanswered part makes it `ambiguous`. If all
 * parts are accepted, the message is accepted; if none is, the first failure is the reason. If some are accepted, the
 * others are retried after a temporary error. After a permanent error, or without a retry (`isLast`), the message is
 * accepted and then fails: missing parts get ids of ours, and receipts for these ids report the failure.
 */
export function verdictOf(
  message_id: string,
  results: readonly (PartResult | null)[],
  isLast: boolean,
): Verdict {
  const unanswered = results.find((one) => one?.type === 'unanswered')
  if (unanswered) return { outcome: ambiguous(unanswered.reason), missing: [] }
  const accepted = results.filter((one) => one?.type === 'accepted')
  if (accepted.length === results.length) return { outcome: acceptedAs(ids(results)), missing: [] }
  const failures = results.filter((one) => one !== null && one.type !== 'accepted')
  const first = failures[0]
  const reason = first ? refusalOf(first) : NEVER_WRITTEN
  if (accepted.length === 0) return { outcome: reason, missing: [] }
  const fatal = failures.map(refusalOf).find(({ type }) => type === 'rejected')
  if (reason.type === 'retry' && !fatal && !isLast) {
    return { outcome: { ...reason, partial: true }, missing: [] }
  }
  return inPart(message_id, results, fatal ?? reason)
}

type Refusal = Extract<Outcome, { type: 'retry' | 'rejected' }>

const NEVER_WRITTEN: Refusal = {
  type: 'retry',
  error_code: 'not_connected',
  error_message: 'smpp: It was not written',
  delay_ms: null,
}

function inPart(
  message_id: string,
  results: readonly (PartResult | null)[],
  refusal: Refusal,
): Verdict {
  const { error_code, error_message } = refusal
  const suppress = refusal.type === 'rejected' ? refusal.suppress : undefined
  const all = results.map((one, i) =>
    one?.type === 'accepted' ? one.message_id : placeholder(message_id, i),
  )
  const missing = results.flatMap((one, i): Receipt[] =>
    one?.type === 'accepted'
      ? []
      : [
          {
            status: 'failed',
            provider_message_id: placeholder(message_id, i),
            error_code,
            error_message: `${error_message} (part ${i + 1} of ${results.length})`,
            ...(suppress && { suppress }),
          },
        ],
  )
  const part_ids = all.map((id, i) => id ?? placeholder(message_id, i))
  const provider_message_id = ids(results).find((id) => id !== null) ?? null
  return {
    outcome: { type: 'accepted', provider_message_id, lookup_after_ms: null, part_ids },
    missing,
  }
}

function ids(results: readonly (PartResult | null)[]): (string | null)[] {
  return results.map((one) => (one?.type === 'accepted' ? one.message_id : null))
}

function acceptedAs(all: readonly (string | null)[]): Outcome {
  const provider_message_id = all.find((id) => id !== null) ?? null
  const part_ids = all.filter((id) => id !== null)
  const base = { type: 'accepted' as const, provider_message_id, lookup_after_ms: null }
  // A part without an id gets no receipt. A message that waits for all its parts would never be delivered.
  return part_ids.length === all.length ? { ...base, part_ids } : base
}

function ambiguous(reason: string): Outcome {
  return { type: 'ambiguous', error_code: 'no_answer', error_message: `smpp: ${reason}` }
}

function refusalOf(result: PartResult): Refusal {
  if (result.type === 'refused') return refusedOf(result.status, result.meaning)
  if (result.type !== 'unwritten') return NEVER_WRITTEN
  const { error_code, reason, misconfigured, not_begun } = result
  return {
    type: 'retry',
    error_code,
    error_message: `smpp: ${reason}`,
    delay_ms: null,
    ...(misconfigured && { misconfigured }),
    ...(not_begun && { not_begun }),
  }
}

const THROTTLED_MS = 1000

function refusedOf(status: number, meaning: StatusMeaning): Refusal {
  const error = { error_code: meaning.error_code, error_message: statusText(status, meaning) }
  switch (meaning.class) {
    case 'rejected':
      return { type: 'rejected', ...error }
    case 'opted_out':
      return { type: 'rejected', ...error, suppress: 'opt_out' }
    case 'throttled':
      return { type: 'retry', ...error, delay_ms: THROTTLED_MS }
    case 'provider':
    case 'sender':
      return { type: 'retry', ...error, delay_ms: null, misconfigured: meaning.class }
    default:
      return { type: 'retry', ...error, delay_ms: null }
  }
}
