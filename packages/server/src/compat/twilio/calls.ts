import {
  apiFor,
  decode,
  formatCredits,
  type Message,
  type SendRequest,
  sidOf,
  type Units,
} from '@svc/core/contract'
import { TwilioError } from './errors.ts'
import { API_VERSION, PRICE_UNIT, pathOf, rfc2822 } from './message-record.ts'
import { Given, type Parameters } from './parameters.ts'
import { readTwiml } from './twiml.ts'

const NAMES = new Set(['To', 'From', 'Twiml', 'Url'] as const)

type Name = typeof NAMES extends Set<infer N> ? N : never

/** Reads `POST Calls.json` as a request of the API. */
export async function readCall(
  parameters: Parameters,
  { voice }: { voice: boolean },
): Promise<SendRequest> {
  const given = new Given<Name>(parameters, NAMES)
  const to = given.filled('To')
  const from = given.filled('From')
  const twiml = given.filled('Twiml')
  if (to === undefined) throw new TwilioError('no_to', "A 'To' phone number is required.")
  if (from === undefined) throw new TwilioError('no_from', "A 'From' phone number is required.")
  if (twiml === undefined) {
    const why =
      given.filled('Url') === undefined ? 'is required' : "is required: 'Url' is not supported"
    throw new TwilioError('invalid_parameter', `'Twiml' ${why}`)
  }
  if (!voice) throw new TwilioError('invalid_parameter', 'The service has no provider for calls')
  const request = { to, from, channel: 'voice', content: await readTwiml(twiml) }
  return decode(apiFor({ voice }).messages.send.body, request)
}

/** A call in Twilio's form. */
export function callRecord(call: Message): object {
  const { id, workspace_id, credits_used, credits_refunded } = call
  const sid = sidOf('call', id)
  const account_sid = sidOf('account', workspace_id)
  const amount = (credits_used - credits_refunded) as Units
  const ended = call.delivered_at ?? call.failed_at
  return {
    sid,
    account_sid,
    api_version: API_VERSION,
    to: call.recipient,
    to_formatted: call.recipient,
    from: call.sender,
    from_formatted: call.sender,
    status: callStatus(call),
    direction: 'outbound-api',
    start_time: call.sent_at && rfc2822(call.sent_at),
    end_time: ended && rfc2822(ended),
    duration: null,
    price: call.status === 'queued' || call.status === 'sent' ? null : `-${formatCredits(amount)}`,
    price_unit: PRICE_UNIT,
    answered_by: null,
    date_created: rfc2822(call.created_at),
    date_updated: rfc2822(call.updated_at),
    uri: pathOf(workspace_id, `/Calls/${sid}`),
    subresource_uris: {},
  }
}

function callStatus({ status, error_code }: Pick<Message, 'status' | 'error_code'>): string {
  switch (status) {
    case 'queued':
      return 'queued'
    case 'sent':
      return 'in-progress'
    case 'failed':
      if (error_code === 'canceled' || error_code === 'busy') return error_code
      return error_code === 'no_answer' ? 'no-answer' : 'failed'
    default:
      return 'completed'
  }
}
