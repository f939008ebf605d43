import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createDeliverer, type DeliverJob } from '../../src/webhooks/deliver.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

function jobTo(server: Server): DeliverJob {
  return {
    delivery_id: 'd1',
    format: 'svc',
    workspace_id: 'w1',
    message: null,
    event_id: 'e1',
    event: 'webhook.test',
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    other_secret: null,
    headers: {},
    body: '{}',
    attempt: 1,
  }
}

const acknowledged = { error: null, response_status: 200 }
const silent = { error: 'timeout', response_status: null, response_body: null }

/** A slow machine too receives the headers of an answer in this time. */
const HEADERS_MS = 3_000

it.each<[string, (response: ServerResponse) => void, number, object]>([
  [
    'a body that arrives byte by byte',
    (response) => {
      response.writeHead(200)
      const drip = setInterval(() => response.write('a'), 20)
      response.on('close', () => clearInterval(drip))
    },
    HEADERS_MS,
    acknowledged,
  ],
  [
    'a body that never begins',
    (response) => response.writeHead(200).flushHeaders(),
    HEADERS_MS,
    acknowledged,
  ],
  ['an answer that never begins', () => {}, 300, silent],
])(
  '%s ends at the deadline, which closes the connection',
  async (_, answer, deadline_ms, result) => {
    let onClose: () => void = () => {}
    const closed = new Promise<void>((resolve) => {
      onClose = resolve
    })
    const server = createServer((request, response) => {
      request.resume()
      response.on('close', onClose)
      answer(response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closing.push(() => server.close())
    const targets = { allow_http: true, allow_nets: ['127.0.0.0/8'], deadline_ms }
    const deliverer = createDeliverer({ now: () => new Date(), targets })
    closing.push(deliverer.close)
    const results = await deliverer.deliver([jobTo(server)])
    expect(results).toMatchObject([result])
    await closed
  },
)

it('rejects the deliveries in flight when the deliverer is closed', async () => {
  let onRequest: () => void = () => {}
  const requested = new Promise<void>((resolve) => {
    onRequest = resolve
  })
  const server = createServer((request) => request.resume().on('end', onRequest))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  // Longer than the test's timeout.
  const targets = { allow_http: true, allow_nets: ['127.0.0.0/8'], deadline_ms: 600_000 }
  const deliverer = createDeliverer({ now: () => new Date(), targets })
  const delivering = deliverer.deliver([jobTo(server)])
  await requested
  await Promise.all([
    deliverer.close(),
    expect(delivering).rejects.toThrow('closed while deliveries were in flight'),
  ])
})

it.each<[string, number, number]>([
  ['ends before its length', 200, 1],
  ['ends before its length', 503, 1],
])('the status of an answer counts if its body %s: %i', async (_, status, length) => {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(status, { 'content-length': length * 100 })
    response.write('x'.repeat(length * 10), () => setTimeout(() => response.destroy(), 20))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const targets = { allow_http: true, allow_nets: ['127.0.0.0/8'] }
  const deliverer = createDeliverer({ now: () => new Date(), targets })
  closing.push(deliverer.close)
  const [result] = await deliverer.deliver([jobTo(server)])
  expect(result).toMatchObject({ error: null, response_status: status })
})
