import { afterEach, expect, it } from 'vitest'
import { openReceiver } from './receiver.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

let receivers: Awaited<ReturnType<typeof openReceiver>>[] = []
afterEach(async () => {
  for (const receiver of receivers) await receiver.close()
  receivers = []
})

/** A workspace whose `message.failed` events go to a receiver with this answer. */
async function hooked(answer: () => number) {
  const receiver = await openReceiver({ answer })
  receivers.push(receiver)
  const account = await world().signup({ credits: 10 })
  const { key } = await world().key(account)
  const headers = { 'X-Tenant': 'seven' }
  const events = ['message.failed']
  const webhook = await world().webhook(account, { url: receiver.url, headers, events })
  const call = (method: string, path: string) =>
    world().call(method, `/api/v1/webhooks/${webhook.id}${path}`, { token: account.token })
  return {
    receiver,
    send: (to = '+15005550001') => world().send(key, { to }),
    remove: () => call('DELETE', ''),
    record: async () => (await call('GET', '')).body.data.webhook,
    deliveries: async () => (await call('GET', '/deliveries')).body.data.deliveries,
  }
}

it('a receiver that fails gets retries with the same bytes and a new signature with its time', async () => {
  let status = 500
  const { receiver, send, record, deliveries } = await hooked(() => status)
  await send()
  await world().dispatcher.idle()
  expect(await deliveries()).toMatchObject([
    { status: 'pending', attempt_count: 1, response_status: 500, error: 'status_500' },
  ])
  expect(await record()).toMatchObject({ consecutive_failures: 1, status: 'active' })
  status = 204
  await world().advance(4_999)
  expect(receiver.arrivals).toHaveLength(1)
  await world().advance(1_000)
  expect(await deliveries()).toMatchObject([
    { status: 'delivered', attempt_count: 2, response_status: 204, error: null },
  ])
  expect(await record()).toMatchObject({ consecutive_failures: 0 })
  const [first, second] = receiver.arrivals
  expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
  expect(second?.headers['x-svc-delivery']).toBe(first?.headers['x-svc-delivery'])
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(second?.headers['x-svc-attempt']).toBe('2')
  expect(Number(second?.headers['webhook-timestamp'])).toBe(
    Math.floor(world().now().getTime() / 1000),
  )
})

it('a receiver gets only its events, with its own headers', async () => {
  const { receiver, send } = await hooked(() => 200)
  await send('+14155552671')
  await send()
  await world().dispatcher.idle()
  expect(receiver.arrivals).toHaveLength(1)
  expect(receiver.arrivals[0]?.headers).toMatchObject({
    'x-svc-event': 'message.failed',
    'x-tenant': 'seven',
  })
})

it('410 disables the webhook at once', async () => {
  const { receiver, send, record, deliveries } = await hooked(() => 410)
  await send()
  await world().dispatcher.idle()
  expect(await record()).toMatchObject({ is_active: false, status: 'disabled' })
  expect(await deliveries()).toMatchObject([{ status: 'failed', response_status: 410 }])
  await send()
  await world().advance(60_000)
  expect(receiver.arrivals).toHaveLength(1)
})

it('redirects are not followed', async () => {
  const { receiver, send, deliveries } = await hooked(() => 302)
  await send()
  await world().dispatcher.idle()
  expect(receiver.arrivals).toHaveLength(1)
  expect(await deliveries()).toMatchObject([{ status: 'pending', error: 'status_302' }])
})

it('a deleted webhook gets no more events, not even pending ones', async () => {
  const { receiver, send, remove } = await hooked(() => 503)
  await send()
  await world().dispatcher.idle()
  expect((await remove()).status).toBe(200)
  await send()
  await world().advance(24 * 60 * 60_000)
  expect(receiver.arrivals).toHaveLength(1)
})
