import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCore } from '../src/core.ts'
import { openTracing } from '../src/runtime/tracing.ts'
import { testRuntime } from './fixtures.ts'

const RECIPIENT = '+14155552671'
/** The sandbox rejects its messages. Source: contract section 9. */
const REJECTED = '+15005550001'
const TEXT = 'A secret of the recipient'

const exporter = new InMemorySpanExporter()
const spansOf = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)

it('openTracing returns null without a registered SDK', async () => {
  expect(await openTracing()).toBeNull()
})

describe('the spans of an embedded core', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tracing-'))
  const hook = createServer((_, response) => void response.end())
  let url: string
  let message_id: string
  let bulk_id: string
  let parent: ReadableSpan | undefined

  beforeAll(async () => {
    const processor = new SimpleSpanProcessor(exporter)
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/secret-path`
    await play()
    parent = spansOf('a request')[0]
  })
  afterAll(async () => {
    trace.disable()
    context.disable()
    await new Promise((resolve) => hook.close(resolve))
    rmSync(folder, { recursive: true, force: true })
  })

  /** One message within a span of the caller, one that fails, a bulk of two, one that is refused. */
  async function play(): Promise<void> {
    const core = await createCore({
      database_url: `file:${join(folder, 'svc.db')}`,
      signup_credits: '10',
      webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
      threads: 0,
      runtime: testRuntime('tracing'),
    })
    try {
      const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'Acme' }
      const { id: workspace_id } = await core.workspaces.signup(signup)
      await core.webhooks.create(workspace_id, { url, events: ['message.delivered'] })
      const { key } = await core.apiKeys.create(workspace_id, {
        name: 'A',
        mode: 'live',
        scopes: ['send_messages'],
      })
      const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
      const sms = { channel: 'sms', content: { text: TEXT } } as const
      const tracer = trace.getTracer('the test')
      await tracer.startActiveSpan('a request', async (span) => {
        const { data } = await core.messages.send(identity, { ...sms, to: RECIPIENT })
        message_id = data.message_id
        span.end()
      })
      const dispatcher = await core.startDispatch()
      await dispatcher.idle()
      await core.messages.send(identity, { ...sms, to: REJECTED })
      const recipients = [{ to: '+14155552672' }, { to: '+14155552673' }]
      const bulk = { ...sms, recipients, validation: 'strict' } as const
      bulk_id = (await core.messages.bulks.send(identity, bulk)).data.bulk_id
      const long = { text: 'x'.repeat(1_500) }
      const refused = core.messages.send(identity, { ...sms, to: RECIPIENT, content: long })
      await expect(refused).rejects.toThrow('Not enough credits')
      await dispatcher.idle()
    } finally {
      await core.close()
    }
  }

  it('include one for each acceptance, a child of the span of the caller', () => {
    const accepts = spansOf('svc.accept')
    expect(accepts).toHaveLength(4)
    const [first, , bulk, refused] = accepts
    expect(first).toMatchObject({
      kind: SpanKind.PRODUCER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'messaging.system': 'svc',
        'messaging.operation.name': 'accept',
        'messaging.operation.type': 'create',
        'messaging.destination.name': 'sms',
        'messaging.message.id': message_id,
        'messaging.batch.message_count': 1,
      },
    })
    expect(first?.parentSpanContext?.spanId).toBe(parent?.spanContext().spanId)
    expect(bulk?.attributes).toMatchObject({
      'svc.bulk_id': bulk_id,
      'messaging.batch.message_count': 2,
    })
    expect(refused).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'insufficient_credits' },
    })
    expect(refused?.attributes).not.toHaveProperty('messaging.message.id')
  })

  it('include one for each attempt, linked to its acceptance, without a parent', () => {
    const sends = spansOf('svc.send')
    expect(sends).toHaveLength(4)
    const accepts = spansOf('svc.accept')
    const links = sends.map(({ links }) => links.map((link) => link.context.spanId))
    const ids = accepts.map((span) => span.spanContext().spanId)
    expect(links).toEqual([[ids[0]], [ids[1]], [ids[2]], [ids[2]]])
    expect(sends.map(({ parentSpanContext }) => parentSpanContext)).toEqual(
      Array(4).fill(undefined),
    )
    expect(sends[0]).toMatchObject({
      kind: SpanKind.CLIENT,
      attributes: {
        'messaging.message.id': message_id,
        'svc.provider': 'sandbox',
        'svc.attempt': 1,
        'svc.outcome': 'accepted',
      },
    })
    expect(sends[1]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'svc.outcome': 'rejected', 'error.type': 'invalid_recipient' },
    })
  })

  it('include one for each commit of outcomes, linked to the attempts', () => {
    const settles = spansOf('svc.settle')
    const linked = settles.flatMap(({ links }) => links.map((link) => link.context.spanId))
    const sends = spansOf('svc.send').map((span) => span.spanContext().spanId)
    expect(linked.toSorted()).toEqual(sends.toSorted())
    const counts = settles.map(
      ({ attributes }) => attributes['messaging.batch.message_count'] as number,
    )
    // Four attempts; the sandbox reports each delivery with its attempt.
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(4)
  })

  it('include one for each attempt of a delivery', () => {
    const delivers = spansOf('svc.deliver')
    expect(delivers).toHaveLength(3)
    for (const span of delivers) {
      expect(span.attributes).toMatchObject({
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'svc.delivery_id': expect.any(String),
      })
    }
  })

  it('contain no content, no recipient and no URL of a webhook', () => {
    const recorded = JSON.stringify(
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, status, links }) => [
          ...[name, attributes, events, status],
          links.map((link) => link.attributes),
        ]),
    )
    expect(recorded).toContain(message_id)
    const secrets = [TEXT, RECIPIENT, REJECTED, '+1415', 'xxx', url, 'secret-path', 'example.com']
    expect(secrets.filter((secret) => recorded.includes(secret))).toEqual([])
  })
})
