import { SIGNATURE_HEADERS, sign as signHeaders } from '@svc/core/webhooks'
import { eventIdOf } from './fixture.ts'

/** An event to sign: a fixture or your own event. */
export interface SignableEvent {
  /** The id of the event; default: derived from event and data. */
  event_id?: string
  event: string
  data: unknown
}

/** Options of `sign`. */
export interface SignOptions {
  /** The webhook's secret, `whsec_…`. */
  secret: string
  /** The other secret during a rotation: `webhook-signature` has a signature by each secret. */
  previous_secret?: string | null | undefined
  /** The time of the attempt; default: now. */
  at?: Date | undefined
  /** The number of the attempt, from 1. */
  attempt?: number | undefined
  /** Identifies the delivery of one event to one webhook; default: derived from the event. */
  delivery_id?: string | undefined
  /** The webhook's own headers. They never replace headers of the service. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** A signed delivery as the service sends it, with the exact bytes and all headers. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Returns a fetch `Request`, for handlers that take one or for `fetch` itself. */
  toRequest(url: string | URL): Request
  /** Returns the options of `fastify.inject` and light-my-request. */
  toInject(path: string): InjectedDelivery
  /** Returns a shell command; the body must be text. */
  toCurl(url: string | URL): string
}

/** The options of `fastify.inject` and light-my-request. */
export interface InjectedDelivery {
  method: 'POST'
  url: string
  headers: Record<string, string>
  payload: Buffer
}

/**
 * Signs an event as the service does. Post the delivery to your receiver, or pass it to its
 * handler. Source: interface, Webhook signing; contract section 7.
 *
 * @throws Error when a secret is empty.
 * @example
 * const delivery = sign(fixture('message.delivered'), { secret })
 * await fetch(delivery.toRequest('http://127.0.0.1:8080/'))
 */
export function sign(event: SignableEvent, options: SignOptions): SignedDelivery {
  return signText(JSON.stringify({ event: event.event, data: event.data }), event, options)
}

/** Like `sign`, with any body, for deliveries that the service would never send. */
export function signText(
  body: string,
  { event_id, event, data }: SignableEvent,
  { secret, previous_secret, headers, ...options }: SignOptions,
): SignedDelivery {
  const id = event_id ?? eventIdOf(event, data)
  const ours = {
    'content-type': 'application/json',
    'user-agent': 'Svc-Webhooks/1',
    ...signHeaders({
      secret,
      previous_secret,
      body,
      event,
      event_id: id,
      delivery_id: options.delivery_id ?? eventIdOf(`the delivery of ${id}`, data),
      attempt: options.attempt ?? 1,
      at: options.at ?? new Date(),
    }),
  }
  return deliveryOf({ ...withoutOurs(headers), ...ours }, Buffer.from(body))
}

/** Builds a delivery from headers and bytes. */
export function deliveryOf(
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): SignedDelivery {
  return {
    headers,
    body,
    toRequest: (url) => new Request(url, { method: 'POST', headers, body: new Uint8Array(body) }),
    toInject: (path) => ({ method: 'POST', url: path, headers: { ...headers }, payload: body }),
    toCurl: (url) =>
      [
        `curl -X POST ${quoted(String(url))}`,
        ...Object.entries(headers).map(([name, value]) => `-H ${quoted(header(name, value))}`),
        `--data-raw ${quoted(body.toString('utf8'))}`,
      ].join(' \\\n  '),
  }
}

const OURS = new Set(
  ['content-type', 'user-agent', ...Object.values(SIGNATURE_HEADERS)].map((name) =>
    name.toLowerCase(),
  ),
)

function withoutOurs(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const entries = Object.entries(headers)
  return Object.fromEntries(entries.filter(([name]) => !OURS.has(name.toLowerCase())))
}

/** curl sends a header without a value only when its argument ends in a semicolon. */
function header(name: string, value: string): string {
  return value === '' ? `${name};` : `${name}: ${value}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
