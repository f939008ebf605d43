import type { MessageEventRow, MessageQueueRow, MessageRow } from '../rows/rows.ts'
import { isHoldable } from './claim.ts'

export interface RescheduleRequest {
  workspace_id: string
  message_id: string
  /** The new time; a time before `at` means now. */
  scheduled_at: Date
  /** The end of the quiet hours that set `scheduled_at`; null if none did. */
  deferred_until: Date | null
  at: Date
  /** The paused bulk or broadcast that held the message, and holds it no more; absent for a request about one message. */
  held_by?: string
}

/**
 * `not_waiting`: the message was sent, has failed, a provider may have it, or no pause of `held_by` holds it. `is_call`: calls
 * keep their time.
 */
export type RescheduleOutcome = 'rescheduled' | 'not_waiting' | 'is_call' | 'not_found'

/** The columns of a message that rescheduling writes. */
export const RESCHEDULED_COLUMNS = [
  'scheduled_at',
  'expires_at',
  'deferred_until',
  'updated_at',
] as const

/** The columns of a queue row that rescheduling writes. */
export const REQUEUED_COLUMNS = ['due_at', 'set_at', 'held_by'] as const

/** The code of the report in the history of a message. */
export const RESCHEDULED = 'rescheduled'

export interface RescheduleState {
  message: Omit<MessageRow, 'content'> | null
  queued: MessageQueueRow | null
}

export interface ReschedulePlan {
  message: Pick<MessageRow, 'workspace_id' | 'id' | (typeof RESCHEDULED_COLUMNS)[number]>
  queued: Pick<MessageQueueRow, 'message_id' | 'held_by'> & { due_at: Date; set_at: Date }
  report: MessageEventRow
}

/**
 * Plans the new time of a message, if no worker has begun to send it. An expiry keeps its distance from the time. The end of a pause
 * does not move an expiry, except to the end of quiet hours: a message that expired during the pause fails at the next claim.
 */
export function planReschedule(
  { workspace_id, message_id, scheduled_at, deferred_until, at, held_by }: RescheduleRequest,
  { message, queued }: RescheduleState,
  { newId }: { newId: () => string },
): { outcome: RescheduleOutcome; plan: ReschedulePlan | null } {
  if (!message) return { outcome: 'not_found', plan: null }
  if (!queued || !isHoldable({ ...message, ...queued })) {
    return { outcome: 'not_waiting', plan: null }
  }
  if (held_by !== undefined && queued.held_by !== held_by) {
    return { outcome: 'not_waiting', plan: null }
  }
  // The credits that are held for a call return at a time that depends on its schedule.
  const isCall = message.channel === 'voice'
  if (isCall && held_by === undefined) return { outcome: 'is_call', plan: null }
  const { expires_at } = message
  const isFreed = held_by !== undefined && expires_at !== null
  const isExpired = isFreed && expires_at <= at
  // The age of a message counts from this time, so a message that is due now needs one too.
  const due_at = scheduled_at > at && !isExpired ? scheduled_at : at
  const before = message.scheduled_at ?? message.created_at
  const times = {
    scheduled_at: due_at,
    expires_at: expires_at && new Date(due_at.getTime() + expires_at.getTime() - before.getTime()),
    deferred_until,
  }
  const isKept = isCall || isExpired || (isFreed && deferred_until === null)
  const cause = `${held_by === undefined ? 'Rescheduled' : 'The pause ended: rescheduled'}${deferred_until === null || isExpired ? '' : ' and deferred by quiet hours'}`
  return {
    outcome: 'rescheduled',
    plan: {
      message: {
        workspace_id,
        id: message_id,
        ...(isKept ? timesOf(message) : times),
        updated_at: at,
      },
      queued: { message_id, due_at, set_at: at, held_by: null },
      report: {
        workspace_id,
        message_id,
        id: newId(),
        status: 'queued',
        applied: true,
        error_code: RESCHEDULED,
        error_message: `${cause} to ${due_at.toISOString()}`,
        at,
      },
    },
  }
}

function timesOf({
  scheduled_at,
  expires_at,
  deferred_until,
}: Omit<MessageRow, 'content'>): Pick<
  MessageRow,
  'scheduled_at' | 'expires_at' | 'deferred_until'
> {
  return { scheduled_at, expires_at, deferred_until }
}
