import * as z from 'zod'
import { credits, timestamp, uuid } from '../fields/fields.ts'
import { NEXT_ATTEMPT_REASONS } from './next-attempt.ts'

const at = timestamp

/** One entry of the history of a message. Source: contract sections 6 and 12. */
export const timelineEntry = z.discriminatedUnion('kind', [
  z.object({
    at,
    kind: z.literal('status'),
    status: z.string(),
    /** False if the report has no effect, because it is late, repeated or contradictory. */
    applied: z.boolean(),
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
  }),
  z.object({
    at,
    kind: z.literal('provider'),
    provider: z.string(),
    attempt: z.int(),
    outcome: z.string(),
    error_code: z.string().nullable(),
    error_message: z.string().nullable(),
    finished_at: timestamp.nullable(),
  }),
  z.object({
    at,
    kind: z.literal('ledger'),
    type: z.string(),
    credits: credits.meta({
      description: 'The signed amount of this message, also where one debit paid for a whole bulk.',
    }),
    balance_after: credits.meta({
      description: 'The balance after the entry; for a message of a bulk after the whole bulk.',
    }),
    reference: z.object({ type: z.string(), id: z.string() }),
  }),
  z.object({
    at,
    kind: z.literal('webhook'),
    delivery_id: uuid,
    webhook_id: uuid,
    event: z.string(),
    status: z.string(),
    attempt_count: z.int(),
    response_status: z.int().nullable(),
    error: z.string().nullable(),
    next_attempt_at: timestamp.nullable(),
    next_attempt_reason: z.enum(NEXT_ATTEMPT_REASONS).nullable(),
  }),
])

/** One entry of the history of a message. */
export type TimelineEntry = z.output<typeof timelineEntry>
