import type { MessageStatus } from '../contract/resources/messages.ts'
import type { MessageEventRow, MessageRow } from '../rows/rows.ts'

/** The event of each status; `queued` has none, because the 201 response reported it. */
export const STATUS_EVENTS = {
  sent: 'message.sent',
  delivered: 'message.delivered',
  read: 'message.read',
  failed: 'message.failed',
} as const satisfies Record<Exclude<MessageStatus, 'queued'>, string>

export type Reported = Exclude<MessageStatus, 'queued'>

/**
 * The statuses that a message passes through, in order, when `reported` arrives; none for a late, repeated or
 * contradictory report. A delivery replaces a failure that came after the provider accepted the message, but not an
 * earlier failure, whose credits were refunded. A `read` without an earlier `delivered` passes through both.
 */
export function advance(
  current: { status: MessageStatus; accepted: boolean },
  reported: Reported,
): Reported[] {
  switch (current.status) {
    case 'queued':
      return reported === 'read' ? ['delivered', 'read'] : [reported]
    case 'sent':
      if (reported === 'sent') return []
      return reported === 'read' ? ['delivered', 'read'] : [reported]
    case 'delivered':
      return reported === 'read' ? ['read'] : []
    case 'read':
      return []
    case 'failed':
      if (!current.accepted) return []
      if (reported === 'delivered') return ['delivered']
      return reported === 'read' ? ['delivered', 'read'] : []
  }
}

/** The columns of a message with the times of statuses that need no row in `message_events`. */
const TIMES = { sent: 'sent_at', delivered: 'delivered_at', read: 'read_at' } as const

/** A report about a message's status; it changed the message only if `applied` is true. */
export type StatusReport = Pick<
  MessageEventRow,
  'status' | 'applied' | 'error_code' | 'error_message' | 'at'
>

/** Whether the columns of the message have everything about this report, so that no row is stored. */
export function isInColumns({ status, applied, error_code, error_message }: StatusReport): boolean {
  return applied && status in TIMES && error_code === null && error_message === null
}

/** The order in which statuses are applied; `delivered` and `read` correct a failure that a provider reported. */
export const STATUSES: readonly Reported[] = ['sent', 'failed', 'delivered', 'read']

/**
 * The reports about a message, from its columns and the stored rows: first new times of the queued message, then the
 * applied statuses in their possible order, because two servers have two clocks, then the others in the order of the rows.
 */
export function reportsOf(
  message: Pick<MessageRow, (typeof TIMES)[keyof typeof TIMES]>,
  rows: readonly StatusReport[],
): StatusReport[] {
  const none = { error_code: null, error_message: null }
  const applied = STATUSES.flatMap((status): StatusReport[] => {
    const row = rows.find((each) => each.applied && each.status === status)
    const at = status === 'failed' ? null : message[TIMES[status]]
    if (row) return [row]
    return at ? [{ status, applied: true, ...none, at }] : []
  })
  const queued = rows.filter((row) => row.applied && row.status === 'queued')
  return [...queued, ...applied, ...rows.filter((row) => !row.applied)]
}
