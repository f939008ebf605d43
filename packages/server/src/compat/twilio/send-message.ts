import {
  apiFor,
  decode,
  LIMITS,
  mediaTypeOf,
  parseCredits,
  readTwilioAddress,
  type Units,
} from '@svc/core/contract'
import type { StatusCallbackRequest } from '@svc/core/operate'
import type * as z from 'zod'
import { TwilioError } from './errors.ts'
import { Given, type Parameters } from './parameters.ts'

const NAMES = new Set([
  'To',
  'From',
  'MessagingServiceSid',
  'Body',
  'MediaUrl',
  'StatusCallback',
  'ValidityPeriod',
  'ScheduleType',
  'SendAt',
  'ContentSid',
  'ContentVariables',
  'SmartEncoded',
  'ProvideFeedback',
  'RiskCheck',
  'MessageIntent',
  'Attempt',
  'MaxPrice',
  'ApplicationSid',
] as const)

type Name = typeof NAMES extends Set<infer N> ? N : never

/** Parameters whose default changes nothing. */
const NEUTRAL = {
  ForceDelivery: 'false',
  ContentRetention: 'retain',
  AddressRetention: 'retain',
  ShortenUrls: 'false',
  SendAsMms: 'false',
  TrafficType: 'free',
}

const SERVICE_SID = /^MG[0-9a-f]{32}$/i

/** Twilio's longest validity, in seconds. */
const VALIDITY_MAX_S = 36_000

/** A message that is to be sent, the URL that gets its statuses, and the highest price. */
interface ReadMessage {
  request: z.output<ReturnType<typeof apiFor>['messages']['send']['body']>
  status_callback: StatusCallbackRequest | undefined
  credits_max: Units | undefined
}

/** Reads `POST Messages.json` as a request of the API. */
export function createMessageReader({ voice }: { voice: boolean }) {
  const { read_plain, body: schema } = apiFor({ voice }).messages.send
  return (parameters: Parameters): ReadMessage => {
    const given = new Given<Name>(parameters, NAMES, NEUTRAL)
    const request = requestOf(given)
    const url = given.filled('StatusCallback')
    checkApplication(given, url)
    checkAttempt(given)
    return {
      request: (read_plain(request) as ReadMessage['request'] | null) ?? decode(schema, request),
      status_callback: url === undefined ? undefined : { url },
      credits_max: maxPriceOf(given),
    }
  }
}

/**
 * An application names the URL of the status callbacks at Twilio, which ignores it beside `StatusCallback`. Alone it is
 * refused, because the client would wait for callbacks that never come.
 */
function checkApplication(given: Given<Name>, statusCallback: string | undefined): void {
  if (given.filled('ApplicationSid') === undefined || statusCallback !== undefined) return
  throw new TwilioError(
    'invalid_parameter',
    "'ApplicationSid' is only supported beside 'StatusCallback': give the URL of the application's status callbacks as 'StatusCallback'",
  )
}

/** The client counts its own attempts for reports of Twilio, so the number has no effect. */
function checkAttempt(given: Given<Name>): void {
  const attempt = given.filled('Attempt')
  if (attempt === undefined || /^[1-9]\d{0,8}$/.test(attempt)) return
  throw new TwilioError('invalid_parameter', "'Attempt' must be a whole number from 1")
}

/** The highest price. It is compared in credits, as all prices of the door are. */
function maxPriceOf(given: Given<Name>): Units | undefined {
  const text = given.filled('MaxPrice')
  if (text === undefined) return undefined
  try {
    const price = parseCredits(text)
    if (price >= 0) return price
  } catch {}
  throw new TwilioError(
    'invalid_parameter',
    "'MaxPrice' must be a number of credits with at most six decimals",
  )
}

function requestOf(given: Given<Name>): object {
  const to = given.filled('To')
  if (to === undefined) throw new TwilioError('no_to', "A 'To' phone number is required.")
  const { channel, address } = readTwilioAddress(to)
  const from = senderOf(given, channel)
  return {
    to: address,
    channel,
    ...contentOf(given, channel),
    ...(from !== undefined && { from }),
    ...timesOf(given),
  }
}

/** The sender; undefined for a messaging service, which stands for the default sender of the channel. */
function senderOf(given: Given<Name>, channel: 'sms' | 'whatsapp'): string | undefined {
  const from = given.filled('From')
  const service = given.filled('MessagingServiceSid')
  if (service !== undefined && !SERVICE_SID.test(service)) {
    throw new TwilioError('invalid_parameter', "'MessagingServiceSid' must be MG and 32 hex digits")
  }
  if (from === undefined) {
    if (service !== undefined) return undefined
    throw new TwilioError('no_from', "A 'From' phone number is required.")
  }
  const sender = readTwilioAddress(from)
  if (sender.channel === channel) return sender.address
  throw new TwilioError('invalid_from', "'To' and 'From' must be addresses of the same channel")
}

const NO_MMS =
  "'MediaUrl' is not supported for an SMS: write the link to the file into 'Body', or send it to WhatsApp with a 'To' that begins with whatsapp:"

/** Before the name of a stored template in a `ContentSid` for WhatsApp, where other ids are those of the provider. */
const STORED = /^svc:/

function contentOf(given: Given<Name>, channel: 'sms' | 'whatsapp'): object {
  const sid = given.filled('ContentSid')
  if (sid === undefined && given.filled('ContentVariables') !== undefined) {
    throw new TwilioError('invalid_parameter', "'ContentVariables' needs 'ContentSid'")
  }
  if (sid !== undefined && (channel === 'sms' || STORED.test(sid))) {
    return { template: { ...storedName(sid.replace(STORED, '')), ...variablesOf(given) } }
  }
  return { content: channel === 'sms' ? smsOf(given) : whatsappOf(given, sid) }
}

/** `name`, or `name:locale`; names have no colon. */
function storedName(text: string): { name: string; locale?: string } {
  const colon = text.indexOf(':')
  if (colon === -1) return { name: text }
  return { name: text.slice(0, colon), locale: text.slice(colon + 1) }
}

function smsOf(given: Given<Name>): object {
  if (given.all('MediaUrl').length > 0) throw new TwilioError('invalid_media', NO_MMS)
  return { text: bodyOf(given, LIMITS.sms_text_length) }
}

function bodyOf(given: Given<Name>, length_max: number): string {
  const body = given.filled('Body')
  if (body === undefined) throw new TwilioError('no_body', 'Message body is required.')
  if (body.length > length_max) {
    throw new TwilioError(
      'too_long',
      `The concatenated message body exceeds the ${length_max} character limit.`,
    )
  }
  return body
}

function whatsappOf(given: Given<Name>, sid: string | undefined): object {
  if (sid !== undefined) return { template: { id: sid, ...variablesOf(given) } }
  const [url, ...others] = given.all('MediaUrl')
  if (url === undefined) return { text: bodyOf(given, LIMITS.whatsapp_text_length) }
  if (others.length > 0) {
    throw new TwilioError('too_many_media', 'A WhatsApp message has at most one media file.')
  }
  const caption = given.filled('Body')
  return { media: { type: mediaTypeOf(url), url, ...(caption !== undefined && { caption }) } }
}

function variablesOf(given: Given<Name>): object {
  const text = given.filled('ContentVariables')
  if (text === undefined) return {}
  try {
    return { variables: JSON.parse(text) as unknown }
  } catch {
    throw new TwilioError(
      'invalid_variables',
      "'ContentVariables' must be JSON, an object of texts",
    )
  }
}

function timesOf(given: Given<Name>): object {
  const validity = given.filled('ValidityPeriod')
  const seconds = Number(validity)
  if (
    validity !== undefined &&
    !(/^\d{1,5}$/.test(validity) && seconds >= 1 && seconds <= VALIDITY_MAX_S)
  ) {
    throw new TwilioError('invalid_parameter', `'ValidityPeriod' must be 1 to ${VALIDITY_MAX_S}`)
  }
  const type = given.filled('ScheduleType')
  const at = given.filled('SendAt')
  if (type !== undefined && type !== 'fixed') {
    throw new TwilioError('invalid_parameter', "'ScheduleType' must be fixed")
  }
  if ((type === undefined) !== (at === undefined)) {
    throw new TwilioError('invalid_send_at', "'SendAt' and 'ScheduleType' must be given together")
  }
  return {
    ...(validity !== undefined && { expires_in: seconds }),
    ...(at !== undefined && { scheduled_at: at }),
  }
}
