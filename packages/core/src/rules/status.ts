import type { MessageStatus } from '../contract/resources/messages.ts'

/** What a status change is announced as; `queued` is nobody's news, the caller was told by the 201. */
export const STATUS_EVENTS = {
  sent: 'message.sent',
  delivered: 'message.delivered',
  read: 'message.read',
  failed: 'message.failed',
} as const satisfies Record<Exclude<MessageStatus, 'queued'>, string>

export type Reported = Exclude<MessageStatus, 'queued'>

/**
 * Which statuses a message passes through when `reported` arrives, in order; none when the report is late, repeated or
 * contradictory. Positive evidence beats a failure that the provider itself reported after taking the message, never
 * a failure before that: those credits went back. A `read` without a `delivered` passes through both.
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
