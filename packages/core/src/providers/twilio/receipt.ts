import type { Receipt } from '../../contract/outside/provider.ts'
import { meaningOf } from './codes.ts'

type Status = Receipt['status']

/** Statuses of a Message resource; the rest that may come says no more than that Twilio has it. */
const OF_MESSAGES: Readonly<Record<string, Status>> = {
  accepted: 'sent',
  scheduled: 'sent',
  queued: 'sent',
  sending: 'sent',
  sent: 'sent',
  partially_delivered: 'sent',
  delivered: 'delivered',
  read: 'read',
  undelivered: 'failed',
  failed: 'failed',
  canceled: 'failed',
}

const OF_ENDED_CALLS: Readonly<Record<string, readonly [word: string, text: string]>> = {
  busy: ['busy', 'The line was busy'],
  'no-answer': ['unanswered', 'Nobody answered'],
  failed: ['call_failed', 'The call could not be made'],
  canceled: ['canceled', 'The call was canceled'],
}

const OF_FAILED_MESSAGES: Readonly<Record<string, readonly [word: string, text: string]>> = {
  undelivered: ['undelivered', 'Not delivered'],
  failed: ['undelivered', 'Not sent'],
  canceled: ['canceled', 'Canceled'],
}

/** What the status of a text message says. Source: Twilio, Message resource, status values. */
export function messageReceipt({
  sid,
  status,
  code,
}: {
  sid: string | null
  status: string
  code: number | null
}): Receipt {
  const ours = own(OF_MESSAGES, status) ?? 'sent'
  if (ours !== 'failed') return receiptOf(ours, sid)
  return failure(sid, code, own(OF_FAILED_MESSAGES, status) ?? ['undelivered', 'Not delivered'])
}

/**
 * What the status of a call says; `duration_s` null where it is not told. One that ended and has no length yet says no
 * more than that Twilio has it: what it costs depends on the length.
 */
export function callReceipt({
  sid,
  status,
  code,
  duration_s,
}: {
  sid: string | null
  status: string
  code: number | null
  duration_s: number | null
}): Receipt {
  const unanswered = own(OF_ENDED_CALLS, status)
  if (unanswered) return { ...failure(sid, code, unanswered), duration_s: 0 }
  if (status !== 'completed' || duration_s === null) return receiptOf('sent', sid)
  if (duration_s > 0) return { ...receiptOf('delivered', sid), duration_s }
  return { ...failure(sid, code, ['unanswered', 'The call ended at once']), duration_s: 0 }
}

/** Whether nothing more is to come of itself; a `read` may still follow a delivery, by a callback alone. */
export function isFinal({ status }: Receipt): boolean {
  return status !== 'sent'
}

/** Whole seconds, as Twilio gives them: a text of digits. Null for anything else. */
export function secondsOf(given: unknown): number | null {
  return typeof given === 'string' && /^\d{1,6}$/.test(given) ? Number(given) : null
}

function receiptOf(status: Status, sid: string | null): Receipt {
  return { status, provider_message_id: sid, error_code: null, error_message: null }
}

function failure(
  sid: string | null,
  code: number | null,
  [word, text]: readonly [string, string],
): Receipt {
  const meaning = meaningOf(code)
  const told = meaning?.text ?? text
  return {
    status: 'failed',
    provider_message_id: sid,
    error_code: meaning?.word ?? word,
    error_message: code === null ? `twilio: ${told}` : `twilio:${code} ${told}`,
    ...(meaning?.suppress && { suppress: meaning.suppress }),
  }
}

function own<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
