import type { Link, Span, SpanContext } from '@opentelemetry/api'
import { SvcError } from '../contract/errors.ts'
import type { Outcome } from '../contract/outside/provider.ts'
import type { Channel } from '../contract/resources/content.ts'

export type { Link }

/** The rows made within a span. */
export interface Accepted {
  message_ids: readonly string[]
  bulk_id: string | null
}

export interface Attempted {
  message_id: string
  workspace_id: string
  channel: Channel
  attempt: number
}

export interface Tried {
  workspace_id: string
  webhook_id: string
  delivery_id: string
  started_at: Date
  duration_ms: number
  response_status: number | null
  error: string | null
}

export interface Stretch {
  began_at: Date
  duration_ms: number
}

/**
 * The service's work as OpenTelemetry spans of the tracer `svc`, with ids, channels, providers and outcomes, never with
 * contents, recipients or webhook addresses.
 */
export interface Tracing {
  /** `svc.accept`, a child of the active span, around the work of a send or a bulk. */
  accept<T>(channel: Channel, work: () => Promise<T>, madeBy: (done: T) => Accepted): Promise<T>
  /** `svc.send`, one for each message of a call to a provider, linked to its `svc.accept` if known. */
  sent(
    provider: string,
    messages: readonly Attempted[],
    outcomes: readonly Outcome[],
    took: Stretch,
  ): Link[]
  /** `svc.settle`, around the commit of settlements, linked to the spans that reported them. */
  settle<T>(messages: number, learned: Link[], work: () => Promise<T>): Promise<T>
  /** `svc.deliver`, one for each try of a delivery. */
  delivered(results: readonly Tried[]): void
}

/** The symbol by which an OpenTelemetry SDK registers for every minor version of the API. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/** The number of accepted messages that are kept in memory for links. */
const REMEMBERED_MAX = 10_000

/** The default limit of links in SDKs. */
const LINKS_MAX = 128

/** Returns null if no SDK is registered: the API is not loaded then, and nothing is traced. */
export async function openTracing(): Promise<Tracing | null> {
  if (!(REGISTERED in globalThis)) return null
  return tracingWith(await import('@opentelemetry/api'))
}

function tracingWith({
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
}: typeof import('@opentelemetry/api')): Tracing {
  const tracer = trace.getTracer('svc')
  const accepts = rememberer()

  function failed(span: Span, type: string): void {
    span.setAttribute('error.type', type)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }

  /** Runs work within a span. */
  async function during<T>(span: Span, parent: typeof ROOT_CONTEXT, work: () => Promise<T>) {
    try {
      return await context.with(trace.setSpan(parent, span), work)
    } catch (error) {
      // An error's text may contain a message; its code does not.
      failed(span, error instanceof SvcError ? error.code : 'internal_error')
      throw error
    } finally {
      span.end()
    }
  }

  return {
    accept(channel, work, madeBy) {
      const span = tracer.startSpan('svc.accept', {
        kind: SpanKind.PRODUCER,
        attributes: attributesOf('accept', 'create', channel),
      })
      return during(span, context.active(), async () => {
        const done = await work()
        if (!span.isRecording()) return done
        const { message_ids, bulk_id } = madeBy(done)
        span.setAttribute('messaging.batch.message_count', message_ids.length)
        if (bulk_id !== null) span.setAttribute('svc.bulk_id', bulk_id)
        else if (message_ids[0]) span.setAttribute('messaging.message.id', message_ids[0])
        accepts.remember(message_ids, span.spanContext())
        return done
      })
    },
    sent(provider, messages, outcomes, { began_at, duration_ms }) {
      return messages.map((message, i) => {
        const { message_id, workspace_id, channel, attempt } = message
        const outcome = outcomes[i]
        const accepted = accepts.of(message_id)
        // This is a root span, because the settlements belong to other requests than the request that woke the dispatcher.
        const span = tracer.startSpan(
          'svc.send',
          {
            kind: SpanKind.CLIENT,
            startTime: began_at,
            links: accepted ? [{ context: accepted }] : [],
            attributes: {
              ...attributesOf('send', 'send', channel),
              'messaging.message.id': message_id,
              'svc.workspace_id': workspace_id,
              'svc.provider': provider,
              'svc.attempt': attempt,
              'svc.outcome': outcome?.type ?? 'ambiguous',
            },
          },
          ROOT_CONTEXT,
        )
        if (outcome && outcome.type !== 'accepted') failed(span, outcome.error_code)
        span.end(new Date(began_at.getTime() + duration_ms))
        return { context: span.spanContext() }
      })
    },
    settle(messages, learned, work) {
      const span = tracer.startSpan(
        'svc.settle',
        {
          links: learned.slice(0, LINKS_MAX),
          attributes: {
            ...attributesOf('settle', 'settle', null),
            'messaging.batch.message_count': messages,
          },
        },
        ROOT_CONTEXT,
      )
      return during(span, ROOT_CONTEXT, work)
    },
    delivered(results) {
      for (const result of results) {
        const { workspace_id, webhook_id, delivery_id, started_at, duration_ms } = result
        const { response_status, error } = result
        const attributes = {
          'http.request.method': 'POST',
          'svc.workspace_id': workspace_id,
          'svc.webhook_id': webhook_id,
          'svc.delivery_id': delivery_id,
          ...(response_status !== null && { 'http.response.status_code': response_status }),
        }
        const options = { kind: SpanKind.CLIENT, startTime: started_at, attributes }
        const span = tracer.startSpan('svc.deliver', options, ROOT_CONTEXT)
        if (error !== null) failed(span, error)
        else if (response_status !== null && response_status >= 300) {
          failed(span, String(response_status))
        }
        span.end(new Date(started_at.getTime() + duration_ms))
      }
    },
  }
}

/** Source: OpenTelemetry semantic conventions, messaging. */
function attributesOf(name: string, type: string, channel: Channel | null) {
  return {
    'messaging.system': 'svc',
    'messaging.operation.name': name,
    'messaging.operation.type': type,
    ...(channel !== null && { 'messaging.destination.name': channel }),
  }
}

/** The spans that accepted the latest messages of this process. */
function rememberer() {
  const contexts = new Map<string, SpanContext>()
  return {
    remember(messageIds: readonly string[], context: SpanContext): void {
      for (const id of messageIds) contexts.set(id, context)
      for (const id of contexts.keys()) {
        if (contexts.size <= REMEMBERED_MAX) return
        contexts.delete(id)
      }
    },
    of: (messageId: string) => contexts.get(messageId),
  }
}
