import {
  apiFor,
  decode,
  type EventKind,
  formatCredits,
  type Message,
  type SendRequest,
  sidOf,
  twilioCallStatusOf,
  twilioDate,
  type Units,
} from '@svc/core/contract'
import type { StatusCallbackRequest } from '@svc/core/operate'
import { TwilioError } from './errors.ts'
import { API_VERSION, PRICE_UNIT, pathOf } from './message-record.ts'
import { Given, type Parameters } from './parameters.ts'
import { readTwiml } from './twiml.ts'

const NAMES = new Set([
  'To',
  'From',
  'Twiml',
  'Url',
  'StatusCallback',
  'StatusCallbackEvent',
  'StatusCallbackMethod',
] as const)

type Name = typeof NAMES extends Set<infer N> ? N : never

/** The events of the service that report an event of a call at Twilio. The service is not notified of the others. */
const EVENTS: Readonly<Record<string, readonly EventKind[]>> = {
  initiated: ['message.sent'],
  ringing: [],
  answered: [],
  completed: ['message.delivered', 'message.failed'],
}

/** A call that is to be made, and where its progress is reported. */
interface ReadCall {
  request: SendRequest
  status_callback: StatusCallbackRequest | undefined
}

/** Reads `POST Calls.json` as a request of the API. */
export async function readCall(
  parameters: Parameters,
  { voice }: { voice: boolean },
): Promise<ReadCall> {
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
  return {
    request: decode(apiFor({ voice }).messages.send.body, request),
    status_callback: callbackOf(given),
  }
}

function callbackOf(given: Given<Name>): StatusCallbackRequest | undefined {
  const url = given.filled('StatusCallback')
  const method = given.filled('StatusCallbackMethod')
  const events = eventsOf(given.all('StatusCallbackEvent'))
  if (method !== undefined && method !== 'GET' && method !== 'POST') {
    throw new TwilioError('invalid_parameter', "'StatusCallbackMethod' must be GET or POST")
  }
  if (url === undefined) return undefined
  return { url, events, ...(method === 'GET' && { method }) }
}

/** Several events may stand in one value, separated by spaces. */
function eventsOf(values: readonly string[]): EventKind[] {
  const names = values.flatMap((value) => value.split(' ')).filter((name) => name !== '')
  const events = (names.length === 0 ? ['completed'] : names).flatMap((name) => {
    const found = Object.hasOwn(EVENTS, name) ? EVENTS[name] : undefined
    if (found) return found
    const known = Object.keys(EVENTS).join(', ')
    throw new TwilioError('invalid_parameter', `'StatusCallbackEvent' must be one of: ${known}`)
  })
  if (events.length > 0) return [...new Set(events)]
  throw new TwilioError(
    'invalid_parameter',
    "'StatusCallbackEvent' must name initiated or completed: the others are not reported",
  )
}

/** A call in Twilio's form. */
export function callRecord(call: Message): object {
  const { id, workspace_id, credits_used, credits_refunded, duration_s } = call
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
    status: twilioCallStatusOf(call.status, call.error_code),
    direction: 'outbound-api',
    start_time: call.sent_at && twilioDate(call.sent_at),
    end_time: ended && twilioDate(ended),
    duration: duration_s === undefined ? null : `${duration_s}`,
    price: call.status === 'queued' || call.status === 'sent' ? null : `-${formatCredits(amount)}`,
    price_unit: PRICE_UNIT,
    answered_by: null,
    date_created: twilioDate(call.created_at),
    date_updated: twilioDate(call.updated_at),
    uri: pathOf(workspace_id, `/Calls/${sid}`),
    subresource_uris: {},
  }
}
