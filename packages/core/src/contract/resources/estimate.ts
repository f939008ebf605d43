import * as z from 'zod'
import { endpoint } from '../endpoints/endpoint.ts'
import { chosen } from '../fields/chosen.ts'
import { credits, isRecord } from '../fields/fields.ts'
import { LIMITS, RATES } from '../limits.ts'
import { RECIPIENT_FAULTS } from './bulk.ts'
import { bulkRequest } from './bulk-request.ts'
import { SMS_ENCODINGS } from './message.ts'
import { sendRequest } from './send-request.ts'

/** Why a message of an estimate would not be sent. */
export const BLOCK_REASONS = [...RECIPIENT_FAULTS, 'duplicate'] as const

/** Why none of an estimate's messages would be sent, as the sending itself would say it. */
const REFUSALS = ['account_frozen', 'insufficient_credits', 'daily_limit'] as const

/** The body of a send or of a bulk; nobody is called in bulk. */
function requestFor({ voice }: { voice: boolean }) {
  const single = sendRequest({ voice })
  const many = bulkRequest({ voice: false })
  return chosen([single, many], (value) =>
    isRecord(value) && Object.hasOwn(value, 'recipients') ? many : single,
  )
}

const count = z.int().min(0)

const estimated = z.object({
  /** Which of the recipients, counted from 0. */
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
    description: 'A text that says the same in GSM-7, if there is one.',
  }),
  block_reason: z.enum(BLOCK_REASONS).nullable(),
})

/** What a message would cost, and why. Source: contract sections 5 and 12. */
export type EstimatedMessage = z.output<typeof estimated>

/** What a send or a bulk would cost. Source: contract sections 5 and 12. */
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
      /** Whether the same body would be sent just now. */
      can_send: z.boolean(),
      /** `daily_limit`: more than the workspace or the API key may still spend today. */
      block_reason: z.enum(REFUSALS).nullable().meta({
        description: 'What keeps all of it back; null also where the messages alone tell why.',
      }),
      recipients: count,
      sendable: count,
      blocked: count,
      credits_needed: credits,
      credits_balance: credits,
      messages: z.array(estimated),
    }),
    summary: 'Say what a send or a bulk would cost',
    description: `Takes the body of either. Nothing is written and nothing is sent. Of bulks, a workspace may ask for ${RATES.bulk_estimate.max} estimates in ${RATES.bulk_estimate.window_s} s unless configured otherwise.`,
  })

/** What a send or a bulk would cost where there is no voice provider. */
export const estimate = estimateFor({ voice: false })
