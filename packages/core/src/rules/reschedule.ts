import type { MessageEventRow, MessageQueueRow, MessageRow } from '../rows/rows.ts'

export interface RescheduleRequest {
  workspace_id: string
  message_id: string
  /** The new time; a time before `at` means now. */
  scheduled_at: Date
  /** The end of the quiet hours that set `scheduled_at`; null if none did. */
  deferred_until: Date | null
  at: Date
}

/** `not_waiting`: the message was sent, has failed, or a provider may have it. `is_call`: calls keep their time. */
export type RescheduleOutcome = 'rescheduled' | 'not_waiting' | 'is_call' | 'not_found'

/** The columns of a message that rescheduling writes. */
export const RESCHEDULED_COLUMNS = [
  'scheduled_at',
  'expires_at',
  'deferred_until',
  'updated_at',
] as const

/** The columns of a queue row that rescheduling writes. */
export const REQUEUED_COLUMNS = ['due_at', 'set_at'] as const

/** The code of the report in the history of a message. */
export const RESCHEDULED = 'rescheduled'

export interface RescheduleState {
  message: Omit<MessageRow, 'content'> | null
  queued: MessageQueueRow | null
}

export interface ReschedulePlan {
  message: Pick<MessageRow, 'workspace_id' | 'id' | (typeof RESCHEDULED_COLUMNS)[number]>
  queued: Pick<MessageQueueRow, 'message_id'> & { due_at: Date; set_at: Date }
  report: MessageEventRow
}

/** Plans the new time of a message, if no worker has begun to send it. An expiry keeps its distance from the time. */
export function planReschedule(
  { workspace_id, message_id, scheduled_at, deferred_until, at }: RescheduleRequest,
  { message, queued }: RescheduleState,
  { newId }: { newId: () => string },
): { outcome: RescheduleOutcome; plan: ReschedulePlan | null } {
  if (!message) return { outcome: 'not_found', plan: null }
  const isWaiting =
    queued?.task === 'send' && queued.token === null && queued.unknown_since === null
  if (message.status !== 'queued' || message.accepted || !isWaiting) {
    return { outcome: 'not_waiting', plan: null }
  }
  // The hold of a call ends at a time that depends on its schedule.
  if (message.channel === 'voice') return { outcome: 'is_call', plan: null }
  // The age of a message counts from this time, so a message that is due now needs one too.
  const due_at = scheduled_at > at ? scheduled_at : at
  const { expires_at } = message
  const before = message.scheduled_at ?? message.created_at
  return {
    outcome: 'rescheduled',
    plan: {
      message: {
        workspace_id,
        id: message_id,
        scheduled_at: due_at,
        expires_at:
          expires_at && new Date(due_at.getTime() + expires_at.getTime() - before.getTime()),
        deferred_until,
        updated_at: at,
      },
      queued: { message_id, due_at, set_at: at },
      report: {
        workspace_id,
        message_id,
        id: newId(),
        status: 'queued',
        applied: true,
        error_code: RESCHEDULED,
        error_message: `Rescheduled${deferred_until === null ? '' : ' and deferred by quiet hours'} to ${due_at.toISOString()}`,
        at,
      },
    },
  }
}
