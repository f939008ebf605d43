import { afterEach, expect, it } from 'vitest'
import { createPerformer } from '../../src/dispatch/performer.ts'
import { createDeliverer, type DeliverJob } from '../../src/webhooks/deliver.ts'
import { answer, type HttpPlay, NO_ANSWER, openHttpPeer } from '../providers/http-peer.ts'

const TARGETS = { allow_http: true, allow_nets: ['127.0.0.0/8'] }

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(may_start?: () => boolean) {
  const peer = await openHttpPeer()
  closing.push(() => peer.close())
  const deliverer = createDeliverer({
    now: () => new Date(),
    targets: TARGETS,
    ...(may_start && { may_start }),
  })
  closing.push(() => deliverer.close())
  const job = (delivery_id: string): DeliverJob => ({
    delivery_id,
    format: 'svc',
    workspace_id: 'w1',
    message: null,
    event_id: 'e1',
    event: 'webhook.test',
    url: `${peer.url}/`,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    other_secret: null,
    headers: {},
    body: '{}',
    attempt: 1,
  })
  return {
    peer,
    job,
    deliver: async (id: string) => (await deliverer.deliver([job(id)]))[0],
    ids: () => peer.requests.map(({ headers }) => headers['x-svc-delivery']),
  }
}

const end: HttpPlay = (_, socket) => socket.end()

it.each<[string, HttpPlay]>([
  ['ends', end],
  ['resets', NO_ANSWER.reset as HttpPlay],
])(
  'repeats a request once on a kept connection that the receiver %s without an answer',
  async (_, play) => {
    const { peer, deliver, ids } = await open()
    peer.next(answer(200), play, answer(200))
    expect(await deliver('d1')).toMatchObject({ response_status: 200 })
    expect(await deliver('d2')).toMatchObject({ response_status: 200, error: null })
    expect(ids()).toEqual(['d1', 'd2', 'd2'])
  },
)

it('reports a reset after one repeat, and at once on a new connection', async () => {
  const { peer, deliver, ids } = await open()
  peer.next(end, answer(200), end, end, answer(200))
  expect(await deliver('d1')).toMatchObject({ error: 'reset' })
  expect(await deliver('d2')).toMatchObject({ response_status: 200 })
  expect(await deliver('d3')).toMatchObject({ error: 'reset' })
  expect(ids()).toEqual(['d1', 'd2', 'd3', 'd3'])
})

it('begins no request that may not start, also none that a pause meets while it connects', async () => {
  let may_start = true
  const { peer, deliver, ids } = await open(() => may_start)
  peer.next(answer(200))
  expect(await deliver('d1')).toMatchObject({ response_status: 200 })
  const begun = deliver('d2')
  may_start = false
  expect(await begun).toBeNull()
  expect(ids()).toEqual(['d1'])
})

it('asks the gate of the process, from the batch to the first byte of each request', async () => {
  const { peer, job } = await open()
  peer.next(answer(200))
  let asked = 0
  const performer = createPerformer({
    now: () => new Date(),
    targets: TARGETS,
    providers: { open: () => Promise.reject(new Error('no provider')), async close() {} },
    // A pause comes between the two.
    mayStart: (provider) => provider === null && asked++ < 1,
  })
  closing.push(performer.close)
  const late = Number.POSITIVE_INFINITY
  expect(await performer.deliver([job('d1')], late)).toEqual([null])
  expect(await performer.deliver([job('d2')], late)).toBeNull()
  expect(peer.requests).toHaveLength(0)
})
