import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CallbackReading, CallbackRequest } from '../../contract/outside/provider.ts'
import { notificationReports } from './notification.ts'
import type { WhatsappCloudSettings } from './settings.ts'

type CallbackSettings = Pick<WhatsappCloudSettings, 'app_secret' | 'verify_token' | 'senders'> & {
  /** The URL of media: `<api_url>/<api_version>`. */
  graph_url: string
}

/** `X-Hub-Signature-256` of a body: `sha256=` and the hex HMAC-SHA256 of its raw bytes with the app's secret. */
export function signatureOf(app_secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac('sha256', app_secret).update(body).digest('hex')}`
}

/** Meta verifies the URL with one GET, then sends notifications with POST. Source: Meta, Webhooks, Getting started. */
export function readCallback(
  request: CallbackRequest,
  settings: CallbackSettings,
): CallbackReading {
  return request.method === 'GET'
    ? readVerification(request.url, settings)
    : readNotification(request, settings)
}

function readVerification(url: string, { verify_token }: CallbackSettings): CallbackReading {
  const params = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
  const isSubscription = only(params, 'hub.mode') === 'subscribe'
  if (!isSubscription || !isEqual(only(params, 'hub.verify_token') ?? '', verify_token)) {
    return { type: 'forged' }
  }
  const challenge = only(params, 'hub.challenge') ?? ''
  if (!/^[\x21-\x7e]{1,256}$/.test(challenge)) {
    return { type: 'unreadable', reason: 'hub.challenge is not 1 to 256 visible ASCII' }
  }
  return { type: 'read', reports: [], answer: { content_type: 'text/plain', body: challenge } }
}

/** Returns null for a parameter that is missing or repeated. */
function only(params: URLSearchParams, name: string): string | null {
  const [value, ...more] = params.getAll(name)
  return value === undefined || more.length > 0 ? null : value
}

// Meta signs the raw bytes, in which all characters that are not ASCII are escaped.
function readNotification(
  { headers, body }: CallbackRequest,
  settings: CallbackSettings,
): CallbackReading {
  const signature = headers['x-hub-signature-256'] ?? ''
  if (!isEqual(signature, signatureOf(settings.app_secret, body))) return { type: 'forged' }
  let notification: unknown
  try {
    notification = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch {
    return { type: 'unreadable', reason: 'the body is not JSON' }
  }
  const reports = notificationReports(notification, settings)
  return typeof reports === 'string'
    ? { type: 'unreadable', reason: reports }
    : { type: 'read', reports }
}

/** Compares in a time that depends neither on the place of the first difference nor on the length of the secret. */
function isEqual(actual: string, expected: string): boolean {
  return timingSafeEqual(digestOf(actual), digestOf(expected))
}

function digestOf(text: string): Buffer {
  return createHmac('sha256', 'svc').update(text).digest()
}
