import type { MessageStatus } from '../contract/resources/messages.ts'

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
