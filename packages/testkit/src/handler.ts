import type { EventKind } from '@svc/core/contract'
import { verify } from '@svc/core/webhooks'
import { createAdapters, type WebhookAdapters } from './handler-adapters.ts'
import { createAnswering } from './handler-answer.ts'
import { createMemoryStore, type DedupeStore } from './handler-dedupe.ts'
import {
  type DeliveryContext,
  isKnown,
  type UnknownEvent,
  type WebhookEvent,
} from './handler-event.ts'

/** Far above what the service sends. */
const BODY_MAX_BYTES = 1024 * 1024

/** Within the 15 s that the service waits, with time to spare for the way. */
const ANSWER_WITHIN_MS = 10_000

const TOLERANCE_S = 300

/** Functions by kind of event. */
export type EventFunctions = {
  [Kind in EventKind]?: (event: WebhookEvent<Kind>, context: DeliveryContext) => unknown
}

/** How deliveries are received. */
export interface WebhookHandlerOptions {
  /** The webhook's secret, `whsec_…`. */
  secret?: string | undefined
  /** Instead of `secret`: several, while it is being rotated. */
  secrets?: readonly string[]
  /** What to do with an event, by its kind. One that throws or rejects is called again when the delivery is retried. */
  on?: EventFunctions
  /** What to do with events of the kinds that `on` does not name. */
  on_event?: (event: WebhookEvent, context: DeliveryContext) => unknown
  /** What to do with events of kinds newer than this package; without it they are acknowledged. */
  on_unknown_event?: (event: UnknownEvent, context: DeliveryContext) => unknown
  /** How far `webhook-timestamp` may be from now, in seconds: 300 unless told, `false` for any. */
  tolerance_s?: number | false
  /** Remembers what was handled: in memory unless told. */
  dedupe?: DedupeStore
  /** A larger body is answered 413; 1 MiB unless told. */
  max_body_bytes?: number
  /** A function that takes longer is waited for by retries, answered 503 meanwhile; 10 s unless told. */
  answer_within_ms?: number
  /** Where failures are told; `console.error` unless told. */
  log?: (line: string, error?: unknown) => void
}

/**
 * Receives deliveries in any of the frameworks: verifies the raw body, answers 403 to what does not verify, hands every event
 * out once, and answers 500 when your function fails, so that the delivery is tried again.
 *
 * @throws Error when the secret is missing or unusable, or no function is given.
 * @example
 * const hooks = webhookHandler({ secret, on: { 'message.failed': ({ data }) => alarm(data.error_message) } })
 * createServer(hooks.node)                                   // node:http
 * export const POST = hooks.fetch                            // Next, Bun, Deno: Request → Response
 * app.post('/hooks/svc', hooks.express)                      // Express, before express.json()
 * app.register(hooks.fastify, { url: '/hooks/svc' })         // Fastify
 * app.post('/hooks/svc', hooks.hono)                         // Hono
 */
export function webhookHandler(options: WebhookHandlerOptions): WebhookAdapters {
  const { on = {}, on_event, on_unknown_event } = options
  if (!on_event && !on_unknown_event && Object.keys(on).length === 0) {
    throw new Error('webhookHandler: give on_event, or functions by kind in on')
  }
  const answer = createAnswering({
    secrets: secretsOf(options),
    tolerance_s: options.tolerance_s ?? TOLERANCE_S,
    dedupe: options.dedupe ?? createMemoryStore(),
    answer_within_ms: options.answer_within_ms ?? ANSWER_WITHIN_MS,
    log: options.log ?? ((...words) => console.error(...words)),
    handle(event, context) {
      if (!isKnown(event)) return on_unknown_event?.(event, context)
      // The compiler cannot follow that the function under an event's kind takes that kind.
      const own = on[event.event] as typeof on_event
      return (own ?? on_event)?.(event, context)
    },
  })
  return createAdapters(answer, options.max_body_bytes ?? BODY_MAX_BYTES)
}

function secretsOf({
  secret,
  secrets = secret === undefined ? [] : [secret],
}: WebhookHandlerOptions) {
  const tried = verify({ secret: secrets, body: '', headers: {} })
  if (!tried.ok && tried.reason === 'secret_unusable') {
    throw new Error(`webhookHandler: there is no usable secret. ${tried.hint}`)
  }
  return secrets
}
