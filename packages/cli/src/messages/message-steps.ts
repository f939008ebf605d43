import type { Message, MessageStatus } from '@svc/core/contract'
import type { Cell } from '../show/output.ts'
import type { StyleName } from '../show/style.ts'

/** A status that a message reached, and the time. */
export interface Step {
  status: MessageStatus
  at: Date
}

const FINAL: ReadonlySet<MessageStatus> = new Set(['delivered', 'failed', 'read'])

const STYLES: Record<MessageStatus, StyleName> = {
  queued: 'dim',
  sent: 'yellow',
  delivered: 'green',
  failed: 'red',
  read: 'green',
}

/** Whether to stop waiting. A delivered message may still become read later. */
export function isFinal({ status }: Message): boolean {
  return FINAL.has(status)
}

/**
 * Every status that a message had, in the order of the state machine: equal times, or a clock that went back, do not
 * change the order.
 */
export function stepsOf(message: Message): Step[] {
  const { created_at, sent_at, delivered_at, read_at, failed_at } = message
  const steps: [MessageStatus, Date | null][] = [
    ['queued', created_at],
    ['sent', sent_at],
    ['failed', failed_at],
    ['delivered', delivered_at],
    ['read', read_at],
  ]
  return steps.flatMap(([status, at]) => (at ? [{ status, at }] : []))
}

/** A status in its colour; `padded` to the longest status. */
export function statusCell(status: MessageStatus, { padded = false } = {}): Cell {
  return { text: padded ? status.padEnd('delivered'.length) : status, style: STYLES[status] }
}

/** The reason of a failed message or attempt in one line; null without one. */
export function failureOf({
  error_code,
  error_message,
}: Pick<Message, 'error_code' | 'error_message'>): string | null {
  const parts = [error_code, error_message].filter((part) => part !== null)
  return parts.length === 0 ? null : parts.join(': ')
}
