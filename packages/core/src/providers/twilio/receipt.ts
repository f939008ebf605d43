import type { Receipt } from '../../contract/outside/provider.ts'
import { meaningOf } from './codes.ts'

type Status = Receipt['status']

/** The statuses of a Message resource. Any other status means only that Twilio has the message. */
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

// Not `canceled`: this code says that a request to the service canceled the message.
const OF_ENDED_CALLS: Readonly<Record<string, readonly [word: string, text: string]>> = {
  busy: ['busy', 'The line was busy'],
  'no-answer': ['unanswered', 'The call was not answered'],
  failed: ['call_failed', 'The call could not be made'],
  canceled: ['carrier_canceled', 'The call was canceled'],
}

const OF_FAILED_MESSAGES: Readonly<Record<string, readonly [word: string, text: string]>> = {
  undelivered: ['undelivered', 'Not delivered'],
  failed: ['undelivered', 'Not sent'],
  canceled: ['carrier_canceled', 'Canceled'],
}

/** The fields of a message or a call; `code` is Twilio's error. */
interface Resource {
  sid: string | null
  status: string
  code: number | null
}

/** The receipt of a text message's status. Source: Twilio, Message resource, status values. */
export function messageReceipt({ sid, status, code }: Resource): Receipt {
  const ours = own(OF_MESSAGES, status) ?? 'sent'
  if (ours !== 'failed') return receiptOf(ours, sid)
  return failure(sid, code, own(OF_FAILED_MESSAGES, status) ?? ['undelivered', 'Not delivered'])
}

/**
 * The receipt of a call's status; `duration_s` is null if it is not known. A call that ended without a known duration
 * counts as `sent`, because its cost depends on the duration.
 */
export function callReceipt({
  sid,
  status,
  code,
  duration_s,
}: Resource & { duration_s: number | null }): Receipt {
  const unanswered = own(OF_ENDED_CALLS, status)
  if (unanswered) return { ...failure(sid, code, unanswered), duration_s: 0 }
  if (status !== 'completed' || duration_s === null) return receiptOf('sent', sid)
  if (duration_s > 0) return { ...receiptOf('delivered', sid), duration_s }
  return { ...failure(sid, code, ['unanswered', 'The call ended at once']), duration_s: 0 }
}

/** Whether the status is final. A callback may still report `read` after a delivery. */
export function isFinal({ status }: Receipt): boolean {
  return status !== 'sent'
}

/** Whole seconds from a text of digits, as Twilio writes them; null for anything else. */
export function secondsOf(text: unknown): number | null {
  return typeof text === 'string' && /^\d{1,6}$/.test(text) ? Number(text) : null
}

function receiptOf(status: Status, sid: string | null): Receipt {
  return { status, provider_message_id: sid, error_code: null, error_message: null }
}

function failure(
  sid: string | null,
  code: number | null,
  [word, default_text]: readonly [string, string],
): Receipt {
  const meaning = meaningOf(code)
  const text = meaning?.text ?? default_text
  return {
    status: 'failed',
    provider_message_id: sid,
    error_code: meaning?.word ?? word,
    error_message: code === null ? `twilio: ${text}` : `twilio:${code} ${text}`,
    ...(meaning?.suppress && { suppress: meaning.suppress }),
  }
}

function own<T>(map: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined
}
