import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { afterText, listQuery, nextAfter, pagination } from '../endpoints/paging.ts'
import { EMAIL_TEXT, emailAddress } from '../fields/email-address.ts'
import { PHONE_TEXT, phone, phoneOrText, text, timestamp } from '../fields/fields.ts'
import { LIMITS } from '../limits.ts'
import { CHANNELS } from './content.ts'
import { channelText } from './send-request.ts'

/** Why an address gets no messages. Source: contract section 10. */
export const SUPPRESSION_REASONS = ['opt_out', 'bounce', 'complaint', 'manual'] as const

/** Why an address gets no messages. */
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

/** The record of a suppression: the address gets no messages on the channel. Source: contract section 10. */
export const suppression = z
  .object({
    channel: z.enum(CHANNELS),
    /** A number in E.164, or an e-mail address in lower case. */
    address: z.string(),
    reason: z.enum(SUPPRESSION_REASONS),
    created_at: timestamp,
  })
  .meta({ id: 'Suppression' })

/** The record of a suppression. */
export type Suppression = z.output<typeof suppression>

const channel = z.enum(CHANNELS, {
  // An absent channel is a missing field: `issueText` reports it.
  error: ({ input }) => (input === undefined ? undefined : channelText(CHANNELS)),
})

const request = z
  .object({
    channel,
    address: text(LIMITS.email_length).meta({ example: '+14155552671' }),
    reason: z.enum(SUPPRESSION_REASONS).default('manual'),
  })
  .check(({ value, issues }) => {
    const { channel, address } = value
    const isMail = channel === 'email'
    if (isMail ? emailAddress(address) !== null : phone.safeParse(address).success) return
    const message = isMail ? EMAIL_TEXT : PHONE_TEXT
    issues.push({ code: 'custom', path: ['address'], message, input: address })
  })

const access = { auth: 'jwt_or_api_key', scope: 'manage_contacts', rate: 'general' } as const

/** Suppressions. Source: contract section 10. */
export const suppressions = {
  list: endpoint({
    ...access,
    method: 'GET',
    path: '/api/v1/contacts/suppressions',
    status: 200,
    query: listQuery(
      {
        channel: channel.optional(),
        reason: z.enum(SUPPRESSION_REASONS).optional(),
        search: phoneOrText(text(LIMITS.email_length)).optional().meta({
          description: 'A part of the address; case is ignored.',
        }),
      },
      afterText,
    ),
    data: z.object({ suppressions: z.array(suppression), pagination, next_after: nextAfter }),
    summary: 'List suppressions, newest first',
  }),
  add: endpoint({
    ...access,
    method: 'POST',
    path: '/api/v1/contacts/suppressions',
    status: 201,
    body: request,
    data: z.object({ suppression }),
    summary: 'Suppress an address on a channel',
    description: 'An existing suppression does not change and is the answer.',
  }),
  remove: endpoint({
    ...access,
    method: 'DELETE',
    path: '/api/v1/contacts/suppressions/:channel/:address',
    status: 200,
    params: z.object({ channel: z.enum(CHANNELS), address: text(LIMITS.email_length) }),
    not_found: 'Suppression not found',
    data: z.object({ message: z.string() }),
    summary: 'Remove a suppression, with any reason',
  }),
} as const
