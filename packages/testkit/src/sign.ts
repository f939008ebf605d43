import { SIGNATURE_HEADERS, sign as signHeaders } from '@svc/core/webhooks'
import { eventIdOf } from './fixture.ts'

/** What can be signed: a fixture, or an event of your own making. */
export interface SignableEvent {
  /** Follows from event and data unless told. */
  event_id?: string
  event: string
  data: unknown
}

/** How a delivery is signed. */
export interface SignOptions {
  /** The webhook's secret, `whsec_…`. */
  secret: string
  /** While a rotation overlaps: the other secret, by which `webhook-signature` is signed as well. */
  previous_secret?: string | null | undefined
  /** The time of the attempt; now unless told. */
  at?: Date | undefined
  /** Which attempt it is, counted from 1. */
  attempt?: number | undefined
  /** One event to one webhook; follows from the event unless told. */
  delivery_id?: string | undefined
  /** Headers of the webhook's own, which never replace those of the service. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** A signed delivery as the service sends it: exact bytes, every header. */
export interface SignedDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** As a fetch `Request`, for handlers that take one, or for `fetch` itself. */
  toRequest(url: string | URL): Request
  /** As `fastify.inject` and light-my-request take it. */
  toInject(path: string): InjectedDelivery
  /** As a line for a shell; the body must be text. */
  toCurl(url: string | URL): string
}

/** A delivery as `fastify.inject` and light-my-request take it. */
export interface InjectedDelivery {
  method: 'POST'
  url: string
  headers: Record<string, string>
  payload: Buffer
}

/**
 * Signs an event as the service does: post it to your receiver, or hand it to its handler.
 * Source: interface, Webhook signing; contract section 7.
 *
 * @throws Error when a secret is empty.
 * @example
 * const delivery = sign(fixture('message.delivered'), { secret })
 * await fetch(delivery.toRequest('http://127.0.0.1:8080/'))
 */
export function sign(event: SignableEvent, options: SignOptions): SignedDelivery {
  return signText(JSON.stringify({ event: event.event, data: event.data }), event, options)
}

/** As `sign`, of a body that need not be the event's: for what the service would never send. */
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

/** Headers and bytes in every form that they are wanted in. */
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

/** curl sends a header without a value only when it ends in a semicolon. */
function header(name: string, value: string): string {
  return value === '' ? `${name};` : `${name}: ${value}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
