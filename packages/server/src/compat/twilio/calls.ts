import { isUtf8 } from 'node:buffer'
import {
  contentRequest,
  decode,
  type EventKind,
  formatCredits,
  type Message,
  readTwilioAddress,
  type SendRequest,
  sidOf,
  signTwilio,
  TWILIO_SIGNATURE_HEADER,
  twilioCallStatusOf,
  twilioDate,
  type Units,
  type VoiceContent,
} from '@svc/core/contract'
import {
  checkAttributes,
  type DecodedCore,
  readVerbs,
  type StatusCallbackRequest,
  TwimlError,
  unsupported,
} from '@svc/core/operate'
import { isFault, TwilioError } from './errors.ts'
import { API_VERSION, PRICE_UNIT, pathOf } from './message-record.ts'
import { Given, type Parameters } from './parameters.ts'

const NAMES = new Set([
  'To',
  'From',
  'Twiml',
  'Url',
  'Method',
  'FallbackUrl',
  'FallbackMethod',
  'MachineDetection',
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

/** Parameters that change nothing with this value. */
const NEUTRAL = { Record: 'false', AsyncAmd: 'false' }

/** A call that is to be made, and where its progress is reported. */
interface ReadCall {
  request: SendRequest
  status_callback: StatusCallbackRequest | undefined
  compared?: unknown
}

/** What a call needs of the service, and of the request: its account and the key, which signs the question for TwiML. */
interface CallParts {
  voice: boolean
  files: DecodedCore['files']
  workspace_id: string
  key: string
}

/** Reads `POST Calls.json` as a request of the API. The TwiML at a `Url` is fetched now. */
export async function readCall(parameters: Parameters, parts: CallParts): Promise<ReadCall> {
  const given = new Given<Name>(parameters, NAMES, NEUTRAL)
  const to = given.filled('To')
  const from = given.filled('From')
  if (to === undefined) throw new TwilioError('no_to', "A 'To' phone number is required.")
  if (from === undefined) throw new TwilioError('no_from', "A 'From' phone number is required.")
  const { voice } = parts
  if (!voice) throw new TwilioError('invalid_parameter', 'The service has no provider for calls')
  const addresses = { to: readTwilioAddress(to).address, from: readTwilioAddress(from).address }
  const call = { ...addresses, channel: 'voice' }
  const schema = contentRequest({ voice })
  const status_callback = callbackOf(given)
  checkDetection(given)
  const url = given.filled('Url')
  if (url === undefined) {
    const twiml = given.filled('Twiml')
    if (twiml === undefined) {
      throw new TwilioError('invalid_parameter', "'Url' or 'Twiml' is required")
    }
    const content = await readTwiml(twiml)
    return { request: decode(schema, { ...call, content }), status_callback }
  }
  // Wrong numbers are refused before another program is asked.
  decode(schema, { ...call, content: { text: '-' } })
  const content = await twimlAt(url, methodOf(given, 'Method'), addresses, parts)
  const request = decode(schema, { ...call, content })
  // The program may answer a repeated request with another text.
  return { request, status_callback, compared: { twilio: parameters } }
}

/**
 * The content of a call that the program at the URL answers. It is asked as Twilio asks, with the signature of the API key,
 * but before the call is made: the form has no `CallSid`.
 */
async function twimlAt(
  url: string,
  method: 'GET' | 'POST',
  { to, from }: { to: string; from: string },
  { files, workspace_id, key }: CallParts,
): Promise<VoiceContent> {
  if (!URL.canParse(url) || url.includes('#')) {
    throw new TwilioError('invalid_url', "'Url' is not a valid URL")
  }
  const form = {
    AccountSid: sidOf('account', workspace_id),
    ApiVersion: API_VERSION,
    CallStatus: 'queued',
    Direction: 'outbound-api',
    From: from,
    To: to,
  }
  const asked = new URL(url)
  if (method === 'GET') {
    for (const [name, value] of Object.entries(form)) asked.searchParams.set(name, value)
  }
  const signature = signTwilio(key, asked.href, method === 'GET' ? {} : form)
  try {
    return await readTwimlDocument(
      await files.ask({
        url: asked.href,
        form: method === 'GET' ? null : `${new URLSearchParams(form)}`,
        headers: { [TWILIO_SIGNATURE_HEADER]: signature },
      }),
    )
  } catch (error) {
    if (!isFault(error)) throw error
    const isAnswer = error.details?.[0]?.path === 'answer'
    throw new TwilioError(isAnswer ? 'twiml_not_fetched' : 'invalid_url', `'Url': ${error.message}`)
  }
}

/**
 * `Enable` only reports who answered, which no provider reports here. With `DetectMessageEnd` a call waits for the end of an
 * answering machine's greeting; without that the machine would record a part of the text.
 */
function checkDetection(given: Given<Name>): void {
  const detection = given.filled('MachineDetection')
  if (detection === undefined || detection === 'Enable') return
  throw new TwilioError(
    'invalid_parameter',
    "'MachineDetection' can only be Enable: no provider waits for the end of a greeting",
  )
}

function methodOf(given: Given<Name>, name: 'Method' | 'StatusCallbackMethod'): 'GET' | 'POST' {
  const method = given.filled(name) ?? 'POST'
  if (method === 'GET' || method === 'POST') return method
  throw new TwilioError('invalid_parameter', `'${name}' must be GET or POST`)
}

function callbackOf(given: Given<Name>): StatusCallbackRequest | undefined {
  const url = given.filled('StatusCallback')
  const method = methodOf(given, 'StatusCallbackMethod')
  const events = eventsOf(given.all('StatusCallbackEvent'))
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
export function callRecord(call: Omit<Message, 'content'>): object {
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

/** Twilio's limit of the parameter `Twiml`. */
const LENGTH_MAX = 4000

/** The media types of TwiML, as Twilio takes them. */
const MEDIA_TYPES = new Set(['text/xml', 'application/xml', 'text/html'])

/** The attributes that a verb may have. */
const ATTRIBUTES = {
  Say: ['voice', 'language', ['loop', '1']],
  Play: [['loop', '1']],
  Pause: ['length'],
  Hangup: [],
} as const

/** The content of a call in the parameter `Twiml`. @throws TwilioError */
export async function readTwiml(text: string): Promise<VoiceContent> {
  if (text.length > LENGTH_MAX) {
    throw refused(`'Twiml' must be at most ${LENGTH_MAX} characters`)
  }
  return contentOf(text)
}

/** The content of a call in the answer of the program at `Url`. @throws TwilioError */
async function readTwimlDocument({
  content_type,
  bytes,
}: {
  content_type: string
  bytes: Uint8Array
}): Promise<VoiceContent> {
  const [type = ''] = content_type.toLowerCase().split(';')
  if (!MEDIA_TYPES.has(type.trim())) {
    throw new TwilioError(
      'invalid_content_type',
      `The answer of 'Url' must have the media type ${[...MEDIA_TYPES].join(', ')}`,
    )
  }
  if (!isUtf8(bytes)) throw refused("The answer of 'Url' must be UTF-8")
  return contentOf(Buffer.from(bytes).toString('utf8'))
}

/**
 * The content of a call in TwiML: `<Say>` texts with one voice, or one `<Play>`, and `<Hangup>` at the end. `<Pause>` is left
 * out, because no provider pauses. Entities other than the five of XML, document types and other verbs are refused.
 */
async function contentOf(text: string): Promise<VoiceContent> {
  const verbs = await verbsOf(text)
  const spoken = verbs.filter(({ name }) => name === 'Say')
  const [played, ...others] = verbs.filter(({ name }) => name === 'Play')
  if (verbs.slice(0, -1).some(({ name }) => name === 'Hangup')) {
    throw refused('<Hangup> must be the last verb')
  }
  if (played && (others.length > 0 || spoken.length > 0)) {
    throw refused('A call has <Say> verbs or one <Play>')
  }
  if (played) return { audio_url: played.text.trim() }
  const [first] = spoken
  if (!first) throw refused('<Response> needs <Say> or <Play>')
  const { voice, language } = first.attributes
  if (spoken.some(({ attributes: own }) => own.voice !== voice || own.language !== language)) {
    throw refused('All <Say> verbs must have the same voice and language')
  }
  return {
    text: spoken.map((one) => one.text.trim().replace(/\s+/g, ' ')).join(' '),
    ...(voice !== undefined && { voice }),
    ...(language !== undefined && { language }),
  }
}

/** The verbs, which have no verbs of their own. */
async function verbsOf(text: string) {
  try {
    const verbs = await readVerbs(text)
    for (const verb of verbs) {
      if (!Object.hasOwn(ATTRIBUTES, verb.name)) throw unsupported(verb.name)
      checkAttributes(verb, ATTRIBUTES[verb.name as keyof typeof ATTRIBUTES])
      if (verb.children[0]) throw unsupported(verb.children[0].name)
    }
    return verbs
  } catch (error) {
    throw error instanceof TwimlError ? refused(error.message) : error
  }
}

function refused(text: string): TwilioError {
  return new TwilioError('invalid_twiml', text)
}
