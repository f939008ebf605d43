import * as z from 'zod'
import { credits, jsonObject, timestamp, uuid } from '../fields/fields.ts'
import { CHANNELS } from './content.ts'
import { MESSAGE_STATUSES } from './messages.ts'

/** The kinds of events for webhooks. Source: contract section 7. */
export const EVENT_KINDS = [
  'message.sent',
  'message.delivered',
  'message.failed',
  'message.read',
  'message.received',
  'credits.low',
  'webhook.test',
] as const

/** One kind of event. */
export type EventKind = (typeof EVENT_KINDS)[number]

/** False if a message of a test key caused the event. Source: contract section 9. */
const livemode = z.boolean()

const messageChange = z.object({
  message_id: uuid,
  recipient: z.string(),
  channel: z.enum(CHANNELS),
  status: z.enum(MESSAGE_STATUSES),
  credits_used: credits,
  metadata: jsonObject,
  bulk_id: uuid.nullable(),
  livemode,
  provider_message_id: z.string().nullable(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  occurred_at: timestamp,
  /** Counts the changes of one message, so that a receiver can order late events. */
  sequence: z.int().min(0),
})

const messageReceived = z.object({
  message_id: uuid,
  channel: z.enum(CHANNELS),
  /** The author. */
  sender: z.string(),
  /** The number or address of the workspace that received it. */
  recipient: z.string(),
  content: jsonObject,
  provider_message_id: z.string().nullable(),
  livemode,
  occurred_at: timestamp,
})

const creditsLow = z.object({
  credits_balance: credits,
  threshold: credits,
  livemode,
  occurred_at: timestamp,
})

const webhookTest = z.object({
  webhook_id: uuid,
  message: z.string(),
  livemode,
  occurred_at: timestamp,
})

/** The schema of each kind's `data`. */
const DATA = {
  'message.sent': messageChange,
  'message.delivered': messageChange,
  'message.failed': messageChange,
  'message.read': messageChange,
  'message.received': messageReceived,
  'credits.low': creditsLow,
  'webhook.test': webhookTest,
} as const satisfies Record<EventKind, z.ZodObject>

/** The decoded `data` of an event. */
export type EventData<K extends EventKind> = z.output<(typeof DATA)[K]>

/** The `data` of an event in JSON. */
export type WireEventData<K extends EventKind> = z.input<(typeof DATA)[K]>

/** The definition of one kind of event. */
export interface EventDefinition<K extends EventKind> {
  /** One sentence for the documentation. */
  readonly description: string
  readonly data: (typeof DATA)[K]
  readonly example: WireEventData<K>
}

const sent: WireEventData<'message.sent'> = {
  message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01',
  recipient: '+14155552671',
  channel: 'sms',
  status: 'sent',
  credits_used: 1,
  metadata: { order_id: 'A1' },
  bulk_id: null,
  livemode: true,
  provider_message_id: 'SM5f6a7b8c9d0e1f2a',
  error_code: null,
  error_message: null,
  occurred_at: '2026-05-04T09:30:00.000Z',
  sequence: 1,
}

/** The definition of every kind of event. */
export const EVENTS: { readonly [K in EventKind]: EventDefinition<K> } = {
  'message.sent': {
    description: 'A message was handed to the provider or carrier.',
    data: DATA['message.sent'],
    example: sent,
  },
  'message.delivered': {
    description: 'A message reached its recipient.',
    data: DATA['message.delivered'],
    example: {
      ...sent,
      status: 'delivered',
      occurred_at: '2026-05-04T09:30:02.150Z',
      sequence: 2,
    },
  },
  'message.failed': {
    description: 'A message will not reach its recipient; error_code and error_message say why.',
    data: DATA['message.failed'],
    example: {
      ...sent,
      status: 'failed',
      error_code: 'undelivered',
      error_message: 'The handset could not be reached.',
      occurred_at: '2026-05-04T09:31:10.000Z',
      sequence: 2,
    },
  },
  'message.read': {
    description: 'A message was read by its recipient.',
    data: DATA['message.read'],
    example: {
      ...sent,
      channel: 'whatsapp',
      status: 'read',
      credits_used: 0.5,
      occurred_at: '2026-05-04T09:35:00.000Z',
      sequence: 3,
    },
  },
  'message.received': {
    description: 'A message arrived at one of your numbers or addresses.',
    data: DATA['message.received'],
    example: {
      message_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02',
      channel: 'sms',
      sender: '+14155552671',
      recipient: '+15005550006',
      content: { text: 'Thank you!' },
      provider_message_id: 'SM0a1b2c3d4e5f6071',
      livemode: true,
      occurred_at: '2026-05-04T09:36:00.000Z',
    },
  },
  'credits.low': {
    description: 'The credit balance fell below the threshold.',
    data: DATA['credits.low'],
    example: {
      credits_balance: 9.5,
      threshold: 10,
      livemode: true,
      occurred_at: '2026-05-04T09:40:00.000Z',
    },
  },
  'webhook.test': {
    description: 'A requested test, to check whether deliveries arrive.',
    data: DATA['webhook.test'],
    example: {
      webhook_id: '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d03',
      message: 'This is a test event.',
      livemode: true,
      occurred_at: '2026-05-04T09:45:00.000Z',
    },
  },
}

/**
 * The exact body of a delivery: `{"event":…,"data":…}` as compact JSON, without fields that the schema does not name.
 * Parsed and printed again in JavaScript it has the same bytes, so that this frequent mistake still verifies.
 */
export function eventBody<K extends EventKind>(kind: K, data: EventData<K>): string {
  // TypeScript cannot relate `DATA[kind]` to `data`; the signature does.
  return JSON.stringify({ event: kind, data: (DATA[kind] as z.ZodType).encode(data) })
}
