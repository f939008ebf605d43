import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDatabase } from '../../../core/test/postgres-database.ts'
import { openReceiver } from '../receiver.ts'
import { type Exposition, nonZero, readExposition } from './exposition.ts'
import { openServed, type Served } from './served.ts'

/** Test recipients. Source: contract section 9. */
const REJECTED = '+15005550001'
const UNDELIVERED = '+15005550007'
const TEXT = { text: 'A private text' }

let served: Served
let receiver: Awaited<ReturnType<typeof openReceiver>>
let busy: Awaited<ReturnType<typeof openBusy>>
let gone: Awaited<ReturnType<typeof openReceiver>>
let before: Exposition
let text: string
let after: Exposition

beforeAll(async () => {
  receiver = await openReceiver()
  busy = await openBusy()
  gone = await openReceiver({ answer: () => 410 })
  served = await openServed()
  before = readExposition(await served.scrape())
  await play()
  // State in the database is read again every two seconds.
  await vi.waitFor(
    async () => {
      const found = nonZero(readExposition(await served.scrape()), 'svc_messages')
      expect(found).not.toEqual({})
    },
    { timeout: 10_000, interval: 250 },
  )
  text = await served.scrape()
  after = readExposition(text)
})

afterAll(async () => {
  await served.close()
  await Promise.all([receiver, busy, gone].map((one) => one.close()))
})

/** A receiver whose Retry-After is longer than any test. */
async function openBusy() {
  const server = createServer((_, response) => {
    response.writeHead(503, { 'retry-after': '3600' }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    async close(): Promise<void> {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Known numbers of requests and messages. */
async function play(): Promise<void> {
  const { client, base_url, api_key } = served
  const { messages, webhooks, bulks } = client
  await webhooks.create({ url: receiver.url, events: ['message.sent', 'message.delivered'] })
  await webhooks.create({ url: gone.url, events: ['message.failed'] })
  // The first failure, so that the receiver that answers 410 gets one event.
  await messages.send({ channel: 'sms', to: REJECTED, content: TEXT })
  await served.idle()
  await webhooks.create({ url: busy.url, events: ['message.failed'] })

  for (const to of ['+14155552671', '+14155552672', UNDELIVERED]) {
    await messages.send({ channel: 'sms', to, content: TEXT })
  }
  await messages.send({ channel: 'whatsapp', to: '+14155552671', content: TEXT })
  await bulks.send({
    channel: 'sms',
    content: TEXT,
    recipients: ['+14155552673', '+14155552674', '+14155552675'],
  })
  for (let i = 0; i < 3; i++) {
    const response = await fetch(`${base_url}/api/v1/messages/send`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': api_key,
        'idempotency-key': 'the same',
      },
      body: JSON.stringify({ channel: 'sms', to: '+14155552676', content: TEXT }),
    })
    expect(response.status).toBe(201)
  }
  const long = { text: 'x'.repeat(153 * 9) }
  const tooMany = Array.from({ length: 10 }, (_, i) => `+1415555${3000 + i}`)
  await expect(bulks.send({ channel: 'sms', content: long, recipients: tooMany })).rejects.toThrow(
    'Not enough credits',
  )
  await expect(messages.send({ channel: 'sms', to: 'unknown', content: TEXT })).rejects.toThrow()
  await served.idle()
}

describe('a scrape after known sends, failures and deliveries', () => {
  it.each([
    ['svc_accepts_total', { sms: 6, whatsapp: 1 }],
    ['svc_messages_accepted_total', { sms: 8, whatsapp: 1 }],
    ['svc_accepts_replayed_total', { sms: 2 }],
    ['svc_accepts_refused_total', { 'sms insufficient_credits': 1 }],
    ['svc_accept_duration_seconds_count', { '': 7 }],
    [
      'svc_message_status_total',
      {
        ...{ 'sms queued': 8, 'sms sent': 7, 'sms delivered': 6, 'sms failed': 2 },
        ...{ 'whatsapp queued': 1, 'whatsapp sent': 1, 'whatsapp delivered': 1 },
      },
    ],
    [
      'svc_provider_attempts_total',
      { 'sandbox sms accepted': 7, 'sandbox sms rejected': 1, 'sandbox whatsapp accepted': 1 },
    ],
    ['svc_provider_attempt_duration_seconds_count', { sandbox: 9 }],
    ['svc_provider_lookups_total', { 'sandbox found': 1 }],
    ['svc_refunds_total', { '': 1 }],
    ['svc_refunded_credits_total', { '': 1 }],
    // Eight sent and seven delivered; of the two failures, each receiver gets one.
    ['svc_delivery_attempts_total', { '2xx': 15, '5xx': 1, '4xx': 1 }],
    ['svc_delivery_attempt_duration_seconds_count', { '': 17 }],
    ['svc_deliveries_total', { delivered: 15, failed: 1 }],
    ['svc_claimed_total', { messages: 10, deliveries: 17 }],
    ['svc_messages', { 'sms delivered': 6, 'sms failed': 2, 'whatsapp delivered': 1 }],
    ['svc_queue_waiting', { deliveries: 1 }],
    ['svc_queue_due', {}],
    ['svc_queue_oldest_due_seconds', {}],
    ['svc_outcome_unknown', {}],
    // 40 at the start, minus 8 SMS, plus one refund, minus half a credit for WhatsApp.
    ['svc_credits_balance', { '': 32.5 }],
    ['svc_credits_held', {}],
    ['svc_workspaces', { '': 1 }],
    ['svc_workspaces_frozen', {}],
    ['svc_webhooks', { active: 2, disabled: 1 }],
    ['svc_dispatching', { '': 1 }],
    ['svc_dispatch_paused', {}],
    ['svc_replica_used', {}],
    ['svc_database_up', { '': 1 }],
    ['svc_thread_deaths_total', {}],
  ])('has the exact number: %s', (name, expected) => {
    expect(nonZero(after, name)).toEqual(expected)
  })

  it('counts requests by route and status', () => {
    expect(nonZero(after, 'svc_http_requests_total')).toEqual({
      'POST /api/v1/auth/signup 201': 1,
      'POST /api/v1/auth/login 200': 1,
      'POST /api/v1/api-keys 201': 1,
      'POST /api/v1/webhooks 201': 3,
      'POST /api/v1/messages/send 201': 8,
      'POST /api/v1/messages/send 400': 1,
      'POST /api/v1/messages/bulk 201': 1,
      'POST /api/v1/messages/bulk 402': 1,
    })
  })

  it('has a commit for every job, and a bucket for every commit', () => {
    const count = nonZero(after, 'svc_commit_duration_seconds_count')['']
    expect(nonZero(after, 'svc_commit_jobs_count')['']).toBe(count)
    expect(nonZero(after, 'svc_commit_jobs_sum')['']).toBeGreaterThanOrEqual(count ?? Infinity)
    const buckets = after.samples.filter(({ name }) => name === 'svc_commit_jobs_bucket')
    const values = buckets.map(({ value }) => value)
    expect(values).toEqual(values.toSorted((a, b) => a - b))
    expect(buckets.at(-1)).toMatchObject({ labels: { le: '+Inf' }, value: count })
  })

  it('contains no recipient and no content', () => {
    const secrets = [
      ...[served.workspace_id, served.api_key, served.base_url, receiver.url, 'owner@example.com'],
      ...['+1415', REJECTED, TEXT.text, 'Acme'],
    ]
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
  })
})

it('shows known label combinations from the start, at 0', () => {
  const valuesOf = (name: string) =>
    before.samples.filter((sample) => sample.name === name).map(({ value }) => value)
  const zeros = (count: number) => Array(count).fill(0)
  expect(valuesOf('svc_messages_accepted_total')).toEqual(zeros(4))
  expect(valuesOf('svc_message_status_total')).toEqual(zeros(24))
  expect(valuesOf('svc_accepts_refused_total')).toEqual(zeros(32))
  expect(valuesOf('svc_provider_attempts_total')).toEqual(zeros(16))
  expect(valuesOf('svc_provider_callbacks_total')).toEqual(zeros(3))
  expect(valuesOf('svc_delivery_attempts_total')).toEqual(zeros(12))
  expect(valuesOf('svc_deliveries_total')).toEqual(zeros(2))
  expect(valuesOf('svc_thread_deaths_total')).toEqual(zeros(1))
})

it('shows each read replica, and no password', async () => {
  const database = await createDatabase()
  const withReplica = await openServed({
    SVC_DATABASE_URL: database.url,
    SVC_DATABASE_REPLICA_URLS: 'postgres://svc:hunter2@127.0.0.1:1/svc',
  })
  const text = await withReplica.scrape()
  await withReplica.close()
  await database.drop()
  const found = readExposition(text).samples.filter(({ name }) => name.startsWith('svc_replica_'))
  const labels = { replica: '127.0.0.1:1' }
  // The lag of a replica that does not answer is not known.
  expect(found).toEqual([
    { name: 'svc_replica_used', labels, value: 0 },
    { name: 'svc_replica_reads_total', labels, value: 0 },
  ])
  expect(text).not.toContain('hunter2')
})
