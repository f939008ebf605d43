import type {
  CallbackReading,
  CallbackRequest,
  MessageRef,
  Report,
} from '../../contract/outside/provider.ts'
import { codeOf } from './codes.ts'
import { type Fields, fieldsOf, formOf } from './fields.ts'
import { receivedFrom } from './inbound.ts'
import { SID } from './outcome.ts'
import { callReceipt, messageReceipt, secondsOf } from './receipt.ts'
import type { TwilioSettings } from './settings.ts'
import { isSigned } from './signature.ts'

/** Several times what Twilio ever sends. */
const BODY_MAX = 64 * 1024

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Reads what Twilio posts: the status of a message or a call, or what somebody wrote to us. Nothing of it is looked at
 * until the signature holds. A request that is recorded and sent again carries a signature that still holds; it changes
 * nothing, as statuses only move forward and what was received is taken once by its id.
 */
export function readCallback(request: CallbackRequest, settings: TwilioSettings): CallbackReading {
  const { url, headers, body } = request
  if (body.length > BODY_MAX) return { type: 'forged' }
  const form = formOf(request)
  const { auth_token, account_sid } = settings
  const signature = headers['x-twilio-signature']
  if (!isSigned({ auth_token, signature, url, body, params: form })) return { type: 'forged' }
  const fields = fieldsOf(request, form)
  if (!fields) return unreadable('The body is no object of JSON')
  // A token signs for one account; another's name under it is nobody's.
  const account = fields('AccountSid')
  if (account !== undefined && account !== account_sid) return { type: 'forged' }
  return read(fields, aboutOf(url), settings)
}

function read(fields: Fields, about: MessageRef | null, settings: TwilioSettings): CallbackReading {
  if (fields('CallSid') !== undefined) return readCall(fields, about)
  const sid = fields('MessageSid') ?? fields('SmsSid') ?? fields('SmsMessageSid')
  if (sid === undefined || !SID.test(sid)) return unreadable('It has no MessageSid and no CallSid')
  const status = fields('MessageStatus') ?? fields('SmsStatus')
  if (status === undefined || status === 'received' || status === 'receiving') {
    const received = receivedFrom(fields, sid, settings)
    return { type: 'read', reports: received ? [received] : [], answer: twiml('') }
  }
  const receipt = messageReceipt({ sid, status, code: codeOf(fields('ErrorCode')) })
  return reportOf({ type: 'receipt', about, provider_message_id: sid, receipt })
}

function readCall(fields: Fields, about: MessageRef | null): CallbackReading {
  const [sid, status] = [fields('CallSid') ?? '', fields('CallStatus')]
  if (!SID.test(sid) || status === undefined) return unreadable('It has no CallStatus')
  // Somebody calls a number whose calls were pointed here: nobody picks up, which costs nothing.
  if (fields('Direction') === 'inbound') {
    return { type: 'read', reports: [], answer: twiml('<Reject/>') }
  }
  const duration_s = secondsOf(fields('CallDuration'))
  const receipt = callReceipt({ sid, status, code: codeOf(fields('ErrorCode')), duration_s })
  return reportOf({ type: 'receipt', about, provider_message_id: sid, receipt })
}

function reportOf(report: Report): CallbackReading {
  return { type: 'read', reports: [report] }
}

function unreadable(reason: string): CallbackReading {
  return { type: 'unreadable', reason }
}

/** Twilio carries out what it is answered: nothing, here. */
function twiml(verbs: string) {
  return { content_type: 'text/xml', body: `<Response>${verbs}</Response>` }
}

/** Which message of ours stands in the address that we gave. */
function aboutOf(url: string): MessageRef | null {
  const query = new URL(url).searchParams
  const [w, ...more_w] = query.getAll('w')
  const [m, ...more_m] = query.getAll('m')
  if (w === undefined || m === undefined || more_w.length + more_m.length > 0) return null
  if (!UUID.test(w) || !UUID.test(m)) return null
  return { workspace_id: w.toLowerCase(), message_id: m.toLowerCase() }
}
