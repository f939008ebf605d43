import type { Message, MessageStatus } from '@svc/core/contract'
import type { Cell } from '../show/output.ts'
import type { StyleName } from '../show/style.ts'

/** One status that a message reached, and when. */
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

/** Whether nothing more is to be waited for: a delivered message may still be read, some day. */
export function isFinal({ status }: Message): boolean {
  return FINAL.has(status)
}

/**
 * Every status that a message has been in, whichever of them were seen, in the one order in which they can follow each other:
 * times that are equal, or of a clock that went back, do not change it.
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

/** A status in its colour, padded so that what follows stands under each other. */
export function statusCell(status: MessageStatus, { padded = false } = {}): Cell {
  return { text: padded ? status.padEnd('delivered'.length) : status, style: STYLES[status] }
}

/** Why a message, or a try of it, failed, in one line; null when it did not, or nobody said. */
export function failureOf({
  error_code,
  error_message,
}: Pick<Message, 'error_code' | 'error_message'>): string | null {
  const parts = [error_code, error_message].filter((part) => part !== null)
  return parts.length === 0 ? null : parts.join(': ')
}
