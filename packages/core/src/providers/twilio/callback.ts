import type {
  CallbackReading,
  CallbackRequest,
  MessageRef,
  Report,
} from '../../contract/outside/provider.ts'
import { codeOf } from './codes.ts'
import { receivedFrom } from './inbound.ts'
import { SID } from './outcome.ts'
import { callReceipt, messageReceipt, secondsOf } from './receipt.ts'
import type { TwilioSettings } from './settings.ts'
import { type Fields, fieldsOf, formOf, isSigned } from './signed-request.ts'

/** Several times the size of Twilio's largest request. */
const BODY_MAX = 64 * 1024

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * Reads a request of Twilio: the status of a message or a call, or a message from a person. No field is read before
 * the signature is verified. A replayed request has a valid signature but changes nothing, because statuses only move
 * forward and a received message is stored once for each id.
 */
export function readCallback(request: CallbackRequest, settings: TwilioSettings): CallbackReading {
  if (request.body.length > BODY_MAX) return { type: 'forged' }
  const form = formOf(request)
  if (!isSigned(request, form, settings.auth_token)) return { type: 'forged' }
  const fields = fieldsOf(request, form)
  if (!fields) return unreadable('The body is not a JSON object')
  // A token signs for one account.
  const account = fields('AccountSid')
  if (account !== undefined && account !== settings.account_sid) return { type: 'forged' }
  return read(fields, aboutOf(request.url), settings)
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
  // A person calls one of our numbers. A rejected call costs nothing.
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

/** Twilio executes the verbs of an answer. An answer without verbs does nothing. */
function twiml(verbs: string) {
  return { content_type: 'text/xml', body: `<Response>${verbs}</Response>` }
}

/** The message that the callback address identifies. */
function aboutOf(url: string): MessageRef | null {
  const query = new URL(url).searchParams
  const [w, ...more_w] = query.getAll('w')
  const [m, ...more_m] = query.getAll('m')
  if (w === undefined || m === undefined || more_w.length + more_m.length > 0) return null
  if (!UUID.test(w) || !UUID.test(m)) return null
  return { workspace_id: w.toLowerCase(), message_id: m.toLowerCase() }
}
