import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { chosen } from '../fields/chosen.ts'
import { credits, isRecord } from '../fields/fields.ts'
import { LIMITS, RATES } from '../limits.ts'
import { RECIPIENT_FAULTS } from './bulk.ts'
import { bulkRequest } from './bulk-request.ts'
import { SMS_ENCODINGS } from './message.ts'
import { sendRequest } from './send-request.ts'
import { usedTemplate } from './template-use.ts'

/** Why one message of an estimate would not be sent. */
export const BLOCK_REASONS = [...RECIPIENT_FAULTS, 'duplicate'] as const

/** Why the service would refuse a send of the whole estimated request. */
const REFUSALS = ['account_frozen', 'insufficient_credits', 'daily_limit'] as const

/** The body of a send or of a bulk. Bulks cannot make calls. */
function requestFor({ voice }: { voice: boolean }) {
  const single = sendRequest({ voice })
  const many = bulkRequest({ voice: false })
  return chosen([single, many], (value) =>
    isRecord(value) && Object.hasOwn(value, 'recipients') ? many : single,
  )
}

const count = z.int().min(0)

const estimated = z.object({
  /** The position of the recipient in the request, from 0. */
  index: count,
  to: z.string().nullable(),
  encoding: z.enum(SMS_ENCODINGS).nullable(),
  characters: count.nullable().meta({ description: 'Unicode code points.' }),
  units: count.nullable().meta({ description: 'Septets in GSM-7, UTF-16 code units in UCS-2.' }),
  segments: z.int().nullable(),
  credits: credits,
  non_gsm_characters: z.array(z.object({ char: z.string(), index: count })).meta({
    description: `The characters that force UCS-2: the first ${LIMITS.estimate_characters} of a message, and the first ${LIMITS.estimate_characters_of_all} of all messages.`,
  }),
  gsm7_suggestion: z.object({ text: z.string(), segments: z.int() }).nullable().meta({
    description: 'A text with the same meaning in GSM-7, if there is one.',
  }),
  block_reason: z.enum(BLOCK_REASONS).nullable(),
})

/** The cost of one message, and the reasons for the cost. Source: contract sections 5 and 12. */
export type EstimatedMessage = z.output<typeof estimated>

/** The endpoint that estimates a send or a bulk. Source: contract sections 5 and 12. */
export const estimateFor = ({ voice }: { voice: boolean }) =>
  endpoint({
    method: 'POST',
    path: '/api/v1/messages/estimate',
    auth: 'api_key',
    scope: 'send_messages',
    rate: 'general',
    status: 200,
    body_limit: LIMITS.bulk_body_bytes,
    body: requestFor({ voice }),
    data: z.object({
      /** Whether a send with the same body would be accepted now. */
      can_send: z.boolean(),
      /** `daily_limit`: the cost is more than the workspace or the API key may still spend today. */
      block_reason: z.enum(REFUSALS).nullable().meta({
        description: 'Why nothing would be sent; null if only `block_reason` of messages says why.',
      }),
      recipients: count,
      sendable: count,
      blocked: count,
      credits_needed: credits,
      credits_balance: credits,
      messages: z.array(estimated),
      template: usedTemplate.exactOptional().meta({
        description: 'Only for a template: its version and locale.',
      }),
    }),
    summary: 'Estimate the cost of a send or a bulk',
    description: `Takes the body of either. Nothing is stored or sent. Default limit for estimates of bulks: ${RATES.bulk_estimate.max} for each workspace in ${RATES.bulk_estimate.window_s} s.`,
  })

/** The endpoint of a service without a voice provider. */
export const estimate = estimateFor({ voice: false })
