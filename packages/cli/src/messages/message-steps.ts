import type { Message, MessageStatus } from '@svc/client'
import type { Cell } from '../show/output.ts'
import type { StyleName } from '../show/text.ts'

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

/** Whether a command stops waiting at this status. A delivered message may still become read later. */
export function isFinal({ status }: Message): boolean {
  return FINAL.has(status)
}

/**
 * Every status that a message had, in the order of the state machine. Equal times, or a clock that was set back, do not
 * change the order.
 */
export function stepsOf(message: Message): Step[] {
  const { created_at, sent_at, delivered_at, read_at, failed_at } = message
  const steps: [MessageStatus, string | null][] = [
    ['queued', created_at],
    ['sent', sent_at],
    ['failed', failed_at],
    ['delivered', delivered_at],
    ['read', read_at],
  ]
  return steps.flatMap(([status, at]) => (at ? [{ status, at: new Date(at) }] : []))
}

/** A status in its colour. With `padded` it has the width of the longest status. */
export function statusCell(status: MessageStatus, { padded = false } = {}): Cell {
  return { text: padded ? status.padEnd('delivered'.length) : status, style: STYLES[status] }
}

/** The reason why a message or an attempt failed, in one line; null if there is none. */
export function failureOf({
  error_code,
  error_message,
}: Pick<Message, 'error_code' | 'error_message'>): string | null {
  const parts = [error_code, error_message].filter((part) => part !== null)
  return parts.length === 0 ? null : parts.join(': ')
}
