import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import type { ErrorDetail } from '../errors.ts'
import { credits, dateTime, isRecord, text, timestamp, uuid } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS, type Content } from './content.ts'
import { CHANNELS_BUT_VOICE, channelText, from } from './send-request.ts'
import { templateUse, templateValues, usedTemplate } from './template-use.ts'

/** The states of a broadcast. */
export const BROADCAST_STATUSES = [
  'draft',
  'scheduled',
  'running',
  'paused',
  'finished',
  'canceled',
] as const

/** The state of a broadcast. */
export type BroadcastStatus = (typeof BROADCAST_STATUSES)[number]

/** Why a broadcast is paused. */
export const PAUSE_REASONS = [
  'requested',
  'insufficient_credits',
  'credential',
  'forbidden',
  'template',
  'restored',
] as const

/** Why a broadcast is paused. */
export type PauseReason = (typeof PAUSE_REASONS)[number]

/** What `time_zone` of a broadcast may be. */
export const BROADCAST_TIME_ZONES = ['recipient'] as const

/** `recipient`: each message goes when the clocks of its recipient show the time of `scheduled_at`. */
export type BroadcastTimeZone = (typeof BROADCAST_TIME_ZONES)[number]

const tags = z.array(text(LIMITS.contact_tag_length)).max(LIMITS.contact_tags)

/** The value that an attribute of a contact must have. */
export type AttributeValue = string | number | boolean

const attributes = z
  .custom<Readonly<Record<string, AttributeValue>>>(isRecord, {
    error: (issue) => `${(issue.path ?? []).join('.')} must be an object`,
  })
  .superRefine((values, ctx) => {
    const entries = Object.entries(values)
    const fault = (message: string) => ctx.addIssue({ code: 'custom', message })
    if (entries.length > LIMITS.metadata_keys) {
      return fault(`At most ${LIMITS.metadata_keys} attributes are allowed`)
    }
    for (const [name, value] of entries) {
      if (!['string', 'number', 'boolean'].includes(typeof value)) {
        return fault(`Attribute ${name} must be a string, a number or a boolean`)
      }
    }
    if (Buffer.byteLength(JSON.stringify(values)) > LIMITS.metadata_bytes) {
      fault(`Attributes must be at most ${LIMITS.metadata_bytes} bytes of JSON`)
    }
  })
  .meta({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'] },
    maxProperties: LIMITS.metadata_keys,
    example: { city: 'Dar es Salaam' },
  })

const audience = z
  .strictObject({
    tags: tags.optional().meta({
      description: 'Contacts with at least one of these tags. Absent or empty: all contacts.',
      example: ['vip'],
    }),
    exclude_tags: tags.optional().meta({
      description: 'Without the contacts that have one of these tags.',
      example: ['staff'],
    }),
    attributes: attributes.optional().meta({
      description: 'Only contacts whose attributes have all these values.',
    }),
    exclude_attributes: attributes.optional().meta({
      description: 'Without the contacts that have one of these attributes with its value.',
      example: { status: 'closed' },
    }),
  })
  .meta({ id: 'Audience' })

/** The contacts that a broadcast is for. */
export type Audience = z.output<typeof audience>

const channel = z.enum(CHANNELS_BUT_VOICE, {
  // An absent channel is a missing field: `issueText` reports it.
  error: ({ input }) => (input === undefined ? undefined : channelText(CHANNELS_BUT_VOICE)),
})

const name = text(LIMITS.broadcast_name_length).meta({ example: 'May news' })
const timeZone = z.enum(BROADCAST_TIME_ZONES)
const rate = z.int().min(1).max(LIMITS.broadcast_rate_max)

const newBroadcast = z
  .strictObject({
    name: name.optional(),
    channel,
    template: templateUse,
    audience,
    from: from.sms.meta({
      description: 'The sender, as in a send. For an e-mail the display name of the sender.',
    }),
    scheduled_at: dateTime.optional().meta({ description: 'Default: at once.' }),
    time_zone: timeZone.optional().meta({
      description:
        '`recipient`: each message goes when the clocks of its recipient show the date and the time of `scheduled_at` in UTC. `2026-05-04T09:00` is then nine in the morning for each of them. Where this time is past, messages go at once.',
    }),
    rate: rate.optional().meta({
      description: 'Messages in a minute. Default: as fast as the provider takes them.',
    }),
    draft: z.boolean().default(false).meta({
      description: 'Whether the broadcast waits for `resume`.',
    }),
  })
  .superRefine((request, ctx) => {
    for (const { path, message } of broadcastFaults(request)) {
      ctx.addIssue({ code: 'custom', path: [path], message })
    }
  })

/** A new broadcast, decoded. */
export type NewBroadcast = z.output<typeof newBroadcast>

/** The faults of a broadcast that no field has alone. */
export function broadcastFaults({
  channel,
  from: sender,
  time_zone,
  scheduled_at,
}: Pick<NewBroadcast, 'channel' | 'from' | 'time_zone' | 'scheduled_at'>): ErrorDetail[] {
  const faults: ErrorDetail[] = []
  if (time_zone && !scheduled_at) {
    faults.push({ path: 'scheduled_at', message: 'scheduled_at is required with time_zone' })
  }
  const { error } = channel === 'email' ? from.email.safeParse(sender) : {}
  for (const { message } of error?.issues ?? []) faults.push({ path: 'from', message })
  return faults
}

const changedBroadcast = z.strictObject({
  name: name.nullable().optional(),
  template: templateUse.optional(),
  audience: audience.optional(),
  from: from.sms.nullable().optional(),
  scheduled_at: dateTime.nullable().optional().meta({ description: 'null: at once.' }),
  time_zone: timeZone.nullable().optional(),
  rate: rate.nullable().optional(),
  draft: z.boolean().optional().meta({
    description: 'true: it waits for `resume` from now on. false: it begins at its time.',
  }),
})

/** A change of a broadcast, decoded. */
export type ChangedBroadcast = z.output<typeof changedBroadcast>

const count = z.int().min(0)

const departure = z.object({
  at: timestamp,
  messages: count,
  time_zones: z
    .array(z.string())
    .meta({ description: `The first ${LIMITS.broadcast_zones} zones.` }),
})

/** Messages of a broadcast whose recipients have the same time. */
export type Departure = z.output<typeof departure>

const departures = z.array(departure).nullable().meta({
  description:
    'With `time_zone`: how many messages go when, the earliest first; a past time stands for at once. Null otherwise. Quiet hours and `rate` can delay messages further.',
})

/** The record of a broadcast. */
export const broadcast = z
  .object({
    id: uuid,
    name: z.string().nullable(),
    channel: z.enum(CHANNELS),
    status: z.enum(BROADCAST_STATUSES).meta({
      description:
        '`scheduled`: it begins at `scheduled_at`, or within a second. `finished`: each contact of the audience had its turn; messages may still be queued.',
    }),
    pause: z
      .object({ reason: z.enum(PAUSE_REASONS), message: z.string() })
      .nullable()
      .meta({
        description:
          'Why it is paused; null in other states. `requested` and `restored`: its queued messages wait for `resume` too. Otherwise they are still sent.',
      }),
    template: z.object({
      name: z.string(),
      version: z.int().nullable().meta({
        description: 'Fixed when the broadcast begins; before, null stands for the latest version.',
      }),
      locale: z.string().nullable(),
      variables: templateValues,
    }),
    from: z.string().nullable(),
    audience,
    rate: z.int().nullable(),
    scheduled_at: timestamp.nullable(),
    time_zone: z.enum(BROADCAST_TIME_ZONES).nullable().meta({
      description:
        '`recipient`: `scheduled_at` is the local time of each recipient, as if it were UTC.',
    }),
    departures,
    counts: z.object({
      audience: count.nullable().meta({
        description:
          'The contacts of the audience when the broadcast began; null before, and for an audience with attributes or exclude_attributes.',
      }),
      contacts: count.meta({ description: 'The contacts that had their turn.' }),
      accepted: count.meta({ description: 'The messages.' }),
      suppressed: count.meta({ description: 'Contacts whose address is suppressed.' }),
      no_address: count.meta({ description: 'Contacts without an address for the channel.' }),
      rejected: count.meta({
        description: 'Contacts whose message is not possible, for example without a value.',
      }),
    }),
    credits_used: credits,
    created_at: timestamp,
    updated_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable().meta({
      description: 'When each contact had had its turn, or the broadcast was canceled.',
    }),
  })
  .meta({ id: 'Broadcast' })

/** The record of a broadcast. */
export type Broadcast = z.output<typeof broadcast>

/** What happened to the messages of a broadcast. */
export const broadcastResults = z
  .object({
    queued: count,
    sent: count,
    delivered: count,
    read: count,
    failed: count,
    canceled: count.meta({ description: 'The part of `failed` that was canceled.' }),
    failures: z.array(z.object({ error_code: z.string().nullable(), count })).meta({
      description:
        'The failed messages by reason, the most frequent first, at most 20, without canceled ones.',
    }),
    unsubscribed: count.meta({
      description: 'Recipients that opted out of the channel since the broadcast began.',
    }),
    credits_refunded: credits,
  })
  .meta({ id: 'BroadcastResults' })

/** What happened to the messages of a broadcast. */
export type BroadcastResults = z.output<typeof broadcastResults>

/** What a broadcast would do now. */
export const broadcastPreview = z
  .object({
    contacts: count.meta({ description: 'The size of the audience.' }),
    sendable: count.meta({ description: 'The messages that would be sent.' }),
    suppressed: count,
    no_address: count,
    rejected: count,
    credits_needed: credits,
    is_estimate: z.boolean().meta({
      description: `Whether the audience has more than ${LIMITS.broadcast_priced} contacts that can get a message: \`rejected\` and the price of the others are then those of the first ${LIMITS.broadcast_priced}, in proportion.`,
    }),
    credits_balance: credits,
    departures,
    template: usedTemplate,
    samples: z
      .array(
        z.object({
          contact_id: uuid,
          to: z.string(),
          content: z
            .custom<Content>()
            .meta({ type: 'object', additionalProperties: true, example: { text: 'Hi Asha' } }),
          credits,
          segments: z.int().nullable(),
        }),
      )
      .meta({ description: `The first ${LIMITS.broadcast_samples} messages.` }),
    faults: z
      .array(z.object({ contact_id: uuid, message: z.string() }))
      .meta({ description: `Why contacts are rejected: the first ${LIMITS.broadcast_samples}.` }),
  })
  .meta({ id: 'BroadcastPreview' })

/** What a broadcast would do now. */
export type BroadcastPreview = z.output<typeof broadcastPreview>

const sending = { auth: 'api_key', scope: 'send_messages', rate: 'general' } as const
const reading = {
  auth: 'jwt_or_api_key',
  scope: 'read_messages',
  rate: 'general',
  status: 200,
  method: 'GET',
} as const
const one = { params: z.object({ id: uuid }), not_found: 'Broadcast not found' } as const
const changed = {
  ...sending,
  ...one,
  method: 'POST',
  status: 200,
  data: z.object({ broadcast }),
  failures: ['validation_error'],
} as const

/** Broadcasts: a template to all contacts of an audience. */
export const broadcasts = {
  create: endpoint({
    ...sending,
    also_scope: 'manage_contacts',
    rate: 'bulk',
    method: 'POST',
    path: '/api/v1/broadcasts',
    status: 201,
    idempotent: true,
    body: newBroadcast,
    data: z.object({ broadcast }),
    summary: 'Send a template to all contacts of an audience',
    description:
      'Each contact gets one message, which is charged when its turn comes. Suppressed contacts get none. The fields and attributes of a contact fill in the placeholders of the template first, then `variables`, then its fallbacks.',
  }),
  preview: endpoint({
    ...sending,
    also_scope: 'manage_contacts',
    method: 'POST',
    path: '/api/v1/broadcasts/preview',
    status: 200,
    body: newBroadcast,
    data: z.object({ preview: broadcastPreview }),
    failures: ['rate_limit_exceeded'],
    summary: 'Show size, price and samples of a broadcast',
    description: 'Nothing is stored, sent or charged.',
  }),
  list: endpoint({
    ...reading,
    path: '/api/v1/broadcasts',
    query: listQuery({ status: z.enum(BROADCAST_STATUSES).optional() }),
    data: z.object({ broadcasts: z.array(broadcast), pagination, next_after: nextAfter }),
    summary: 'List broadcasts, newest first',
  }),
  get: endpoint({
    ...reading,
    ...one,
    path: '/api/v1/broadcasts/:id',
    data: z.object({ broadcast, results: broadcastResults }),
    summary: 'Get one broadcast, its progress and its results',
    description: 'The results leave out messages whose history was removed.',
  }),
  update: endpoint({
    ...changed,
    also_scope: 'manage_contacts',
    method: 'PUT',
    path: '/api/v1/broadcasts/:id',
    body: changedBroadcast,
    summary: 'Change a broadcast that has not begun',
    description:
      'Changes the fields given; `template` and `audience` as a whole. null removes a value. The broadcast is sent with the API key of this request from now on.',
  }),
  pause: endpoint({
    ...changed,
    path: '/api/v1/broadcasts/:id/pause',
    summary: 'Pause a broadcast',
    description:
      'Its messages that no worker has begun to send are held, also those that wait for their time, and also after it is finished or paused itself.',
  }),
  resume: endpoint({
    ...changed,
    also_scope: 'manage_contacts',
    path: '/api/v1/broadcasts/:id/resume',
    summary: 'Continue a paused broadcast, or begin a draft',
    description:
      'The broadcast is sent with the API key of this request from now on. Held messages go at their time, or at once if it is past; quiet hours defer them.',
  }),
  cancel: endpoint({
    ...changed,
    path: '/api/v1/broadcasts/:id/cancel',
    summary: 'Cancel a broadcast',
    description:
      'Also after it is finished. Its queued messages fail as `canceled` and are refunded, within some seconds.',
  }),
} as const

/** What happened to a recipient of a broadcast. */
export const RECIPIENT_EVENTS = [
  'sent',
  'delivered',
  'bounced',
  'complained',
  'unsubscribed',
] as const

/** What selects recipients of a broadcast. */
export const recipientsQuery = z
  .object({
    event: z.enum(RECIPIENT_EVENTS),
    address: text(LIMITS.email_length).optional(),
    /** Of bounces, only those that suppressed the address, or only the others. */
    is_permanent: z.boolean().optional(),
    limit: z.int().min(1).max(LIMITS.page_size_max),
    /** Only recipients whose messages are older, or newer, than this one. */
    after: uuid.optional(),
    before: uuid.optional(),
  })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    error: 'Give one of after and before',
  })

/** What selects recipients of a broadcast. */
export type RecipientsQuery = z.output<typeof recipientsQuery>
