import type { EventKind } from '../generated/types.ts'
import { UNUSABLE_HINT } from '../generated/verdict.ts'
import { createAdapters, type WebhookAdapters } from './adapters.ts'
import { createAnswering, type IncomingDelivery } from './answer.ts'
import { createMemoryStore, type DedupeStore } from './dedupe.ts'
import { type DeliveryContext, isKnown, type UnknownEvent, type WebhookEvent } from './event.ts'
import { isUsableSecret, type Secrets } from './verify.ts'

/** Far larger than the largest delivery of the service. */
const BODY_MAX_BYTES = 1024 * 1024

/** The service waits 15 s for an answer, so 5 s remain for the network. */
const ANSWER_WITHIN_MS = 10_000

const TOLERANCE_S = 300

/** The function for each kind of event. */
export type EventFunctions = {
  [Kind in EventKind]?: (event: WebhookEvent<Kind>, context: DeliveryContext) => unknown
}

/** What a delivery says about itself before it is verified: any client can claim it. */
export interface ClaimedDelivery {
  /** The address of the request: in Node its path and query. */
  readonly url: string
  /** The id of the event. */
  readonly event_id: string | null
  /** The id of the delivery. */
  readonly delivery_id: string | null
  readonly headers: { get(name: string): string | null }
}

/**
 * Chooses the secret, or several secrets, of the webhook that a delivery claims to belong to, for a receiver of several
 * webhooks. Without a secret the delivery is answered 403.
 */
export type ChooseSecret = (
  delivery: ClaimedDelivery,
) => Secrets | null | undefined | Promise<Secrets | null | undefined>

/** Options of `webhookHandler`. */
export interface WebhookHandlerOptions {
  /** The webhook's secret, `whsec_…`, or a function that chooses it for each delivery. */
  secret?: string | ChooseSecret | undefined
  /** Several secrets in place of `secret`, during a rotation. */
  secrets?: readonly string[]
  /**
   * The function for each kind of event. A function that throws or rejects is called again when
   * the delivery is retried.
   */
  on?: EventFunctions
  /** Called for kinds that `on` does not name. */
  on_event?: (event: WebhookEvent, context: DeliveryContext) => unknown
  /** Called for kinds newer than this package; default: such an event is acknowledged. */
  on_unknown_event?: (event: UnknownEvent, context: DeliveryContext) => unknown
  /**
   * The largest difference between `webhook-timestamp` and now, in seconds; default: 300. `false`
   * allows any difference.
   */
  tolerance_s?: number | false
  /** Remembers the handled events; default: in memory. */
  dedupe?: DedupeStore
  /** The maximum size of a body; a larger body is answered 413; default: 1 MiB. */
  max_body_bytes?: number
  /** While the function runs longer than this, the answer is 503; default: 10 s. */
  answer_within_ms?: number
  /** Called on failures; default: `console.error`. */
  log?: (line: string, error?: unknown) => void
}

/**
 * Receives deliveries in any of the frameworks: verifies the raw body, answers 403 to an invalid
 * signature, calls your function once for every event, and answers 500 when the function fails, so
 * that the delivery is retried.
 *
 * @throws Error when the secret is missing or unusable, or when there is no function.
 * @example
 * const hooks = webhookHandler({ secret, on: { 'message.failed': ({ data }) => alarm(data.error_message) } })
 * createServer(hooks.node)                                   // node:http
 * export const POST = hooks.fetch                            // Next, Bun: Request → Response
 * app.post('/hooks/svc', hooks.express)                      // Express, before express.json()
 * app.register(hooks.fastify, { url: '/hooks/svc' })         // Fastify
 * app.post('/hooks/svc', hooks.hono)                         // Hono
 */
export function webhookHandler(options: WebhookHandlerOptions): WebhookAdapters {
  const { on = {}, on_event, on_unknown_event } = options
  if (!on_event && !on_unknown_event && Object.keys(on).length === 0) {
    throw new Error('webhookHandler: set on_event, or functions by kind in on')
  }
  const answer = createAnswering({
    secretsOf: secretsFrom(options),
    tolerance_s: options.tolerance_s ?? TOLERANCE_S,
    dedupe: options.dedupe ?? createMemoryStore(),
    answer_within_ms: options.answer_within_ms ?? ANSWER_WITHIN_MS,
    log: options.log ?? ((...words) => console.error(...words)),
    handle(event, context) {
      if (!isKnown(event)) return on_unknown_event?.(event, context)
      // The compiler cannot derive that the function for a kind takes that kind.
      const own = on[event.event] as typeof on_event
      return (own ?? on_event)?.(event, context)
    },
  })
  return createAdapters(answer, options.max_body_bytes ?? BODY_MAX_BYTES)
}

/** @throws Error when there is no usable secret, and no function that chooses one. */
function secretsFrom({
  secret,
  secrets = typeof secret === 'string' ? [secret] : [],
}: WebhookHandlerOptions): (delivery: IncomingDelivery) => Promise<readonly string[]> {
  if (typeof secret === 'function') {
    return async ({ url, header }) => {
      const chosen = await secret({
        url,
        event_id: header('webhook-id'),
        delivery_id: header('X-Svc-Delivery'),
        headers: { get: header },
      })
      return chosen === null || chosen === undefined ? [] : [chosen].flat()
    }
  }
  if (secrets.length === 0 || !secrets.every(isUsableSecret)) {
    throw new Error(`webhookHandler: there is no usable secret. ${UNUSABLE_HINT}`)
  }
  return async () => secrets
}
