// A strict TypeScript program with the code of the guides. It is compiled, not run.

import { once } from 'node:events'
import { Svc, webhookHandler } from '@svc/client'
import { type Core, createCore, type Mailer, systemRuntime } from '@svc/core'
import { decode, SvcError, sendRequest } from '@svc/core/contract'
import { countSegments, gsm7Suggestion, segments } from '@svc/core/sms'
import { type VerificationResult, verify } from '@svc/core/webhooks'
import { type Config, ConfigError, readConfig, startServer } from '@svc/server'
import {
  conformance,
  createReceiver,
  createSender,
  createTestService,
  fakeClock,
  fixture,
  type TestEvent,
} from '@svc/testkit'
import { matchers, type WebhookMatchers } from '@svc/testkit/vitest'

const secret = `whsec_${'a'.repeat(32)}`

export async function embed(mailer: Mailer): Promise<Core> {
  const core = await createCore({
    database_url: 'file:./svc.db',
    signup_credits: '100',
    prices: { sms: '1' },
    mailer,
    runtime: systemRuntime(console),
    onFailure: (error: Error) => console.error(error.message),
  })
  await core.startDispatch()
  return core
}

export async function send(core: Core, key: string, body: unknown): Promise<string> {
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const request = decode(sendRequest({ voice: core.carriedChannels.includes('voice') }), body)
  try {
    const { data, replayed } = await core.messages.send(identity, request, {
      idempotency_key: 'order-1',
    })
    const isAgain: boolean = replayed
    const at: Date = data.created_at
    return `${data.message_id} ${at.toISOString()} ${isAgain}`
  } catch (error) {
    if (error instanceof SvcError && error.code === 'insufficient_credits') return 'buy some'
    throw error
  }
}

export async function remember(core: Core, workspaceId: string, messageId: string) {
  const message = await core.messages.get(workspaceId, messageId)
  const timeline = await core.messages.timeline(workspaceId, messageId)
  const statuses: ('queued' | 'sent' | 'delivered' | 'read' | 'failed')[] = [message.status]
  return { statuses, first: timeline[0] }
}

export async function serve(env: NodeJS.ProcessEnv): Promise<string> {
  let config: Config
  try {
    config = readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  const server = await startServer({ config })
  await once(process, 'SIGTERM')
  await server.close()
  return server.url
}

export async function call(url: string, api_key: string): Promise<string> {
  const client = new Svc({ baseUrl: url, apiKey: api_key })
  const { message_id } = await client.messages.send({
    channel: 'sms',
    to: '+15005550006',
    content: { text: 'Hello' },
  })
  return message_id
}

export function measure(text: string): number {
  const { length } = gsm7Suggestion(text)?.text ?? text
  return countSegments(text) + segments(text).segments + length
}

export function check(headers: Headers, body: string): string {
  const result: VerificationResult = verify({ secret, headers, body })
  return result.ok ? (result.event_id ?? '') : result.reason
}

export async function receive(): Promise<number> {
  const event: TestEvent<'message.failed'> = fixture('message.failed', {
    error_code: 'undelivered',
  })
  const clock = fakeClock()
  await using receiver = await createReceiver({ secret, now: clock.now, script: [500] })
  const hooks = webhookHandler({
    secret,
    on: { 'message.failed': ({ data }) => console.log(data.error_code) },
  })
  const { attempts } = await createSender({ secret, clock }).deliver(hooks.fetch, event)
  const { data } = await receiver.waitFor('message.failed', { timeout_ms: 100 })
  const { ok } = await conformance(receiver.url, { secret })
  return attempts.length + (data.error_code?.length ?? 0) + Number(ok)
}

export async function tryService(): Promise<string> {
  const service = await createTestService()
  await service.advance(1000)
  await service.close()
  return service.api_key
}

export const names: (keyof WebhookMatchers)[] = ['toHaveReceivedEvent', 'toBeSignedBy']
export const own = matchers
