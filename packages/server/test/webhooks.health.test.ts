import { afterEach, expect, it } from 'vitest'
import { type Arrival, openReceiver } from './receiver.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })
const HOUR_MS = 3_600_000

let receivers: Awaited<ReturnType<typeof openReceiver>>[] = []
afterEach(async () => {
  for (const receiver of receivers) await receiver.close()
  receivers = []
})

/** A workspace with a webhook to a receiver with this answer, at the start of an hour: no answer lasts until the next minute. */
async function hooked(answer: (arrival: Arrival) => number) {
  await world().advance(HOUR_MS - (world().now().getTime() % HOUR_MS))
  const receiver = await openReceiver({ answer })
  receivers.push(receiver)
  const account = await world().signup({ credits: 100 })
  const webhook = await world().webhook(account, { url: receiver.url })
  const call = async (method: string, path: string, json?: object, { token } = account) => {
    const answered = await world().call(method, `/api/v1/webhooks/${webhook.id}${path}`, {
      token,
      json,
    })
    await world().dispatcher.idle()
    return answered
  }
  return { account, webhook, call }
}

/** Times of attempts include how long the answer took. */
const inMinuteOf = (at: Date) => expect.stringContaining(at.toISOString().slice(0, 17))

it('shows attempts by hour and day, the times of answers and the last failures', async () => {
  let status = 200
  const { call, webhook } = await hooked(() => status)
  await call('POST', '/test')
  await world().advance(2 * HOUR_MS)
  status = 500
  const failed = (await call('POST', '/test')).body.data.delivery
  // The time of an attempt includes its answer, and the list is in the order of times.
  await world().advance(1_000)
  await call('POST', '/test')
  const now = world().now()
  const { body } = await call('GET', '/health')
  const { health } = body.data
  const time = expect.any(Number)
  expect(health).toMatchObject({
    period: '24h',
    unit: 'hour',
    attempts: 3,
    succeeded: 1,
    success_rate: 1 / 3,
    p50_ms: time,
    p99_ms: time,
    failing_since: inMinuteOf(now),
    disabled_at: null,
    disabled_reason: null,
  })
  expect(health.points).toHaveLength(24)
  expect(health.points.slice(-4)).toMatchObject([
    { attempts: 0, succeeded: 0, p50_ms: null, p99_ms: null },
    { attempts: 1, succeeded: 1, p50_ms: time },
    { attempts: 0, succeeded: 0, p50_ms: null },
    { attempts: 2, succeeded: 0, p50_ms: time },
  ])
  const hour = new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS).toISOString()
  expect(health.points.at(-1).since).toBe(hour)
  expect(health.failures).toHaveLength(2)
  expect(health.failures.at(-1)).toEqual({
    delivery_id: failed.id,
    event: 'webhook.test',
    attempt: 1,
    at: inMinuteOf(now),
    duration_ms: time,
    response_status: 500,
    response_body: expect.any(String),
    error: 'status_500',
  })
  const { health: month } = (await call('GET', '/health?period=30d')).body.data
  expect(month.points).toHaveLength(30)
  expect(month).toMatchObject({ unit: 'day', attempts: 3 })
  expect(month.points.at(-1)).toMatchObject({
    since: `${now.toISOString().slice(0, 10)}T00:00:00.000Z`,
    attempts: 3,
  })
  expect((await call('GET', '/health?period=7d')).body.data.health.points).toHaveLength(7)
  expect((await call('GET', '')).body.data.webhook).toMatchObject({ id: webhook.id })
})

it('shows when and why a webhook was disabled, until it is enabled', async () => {
  const { call } = await hooked(() => 410)
  await call('POST', '/test')
  const at = inMinuteOf(world().now())
  const health = async () => (await call('GET', '/health')).body.data.health
  expect(await health()).toMatchObject({ disabled_reason: 'gone', disabled_at: at })
  await call('POST', '/enable')
  expect(await health()).toMatchObject({ disabled_reason: null, failing_since: null })
  await world().advance(1_000)
  await call('PUT', '', { is_active: false })
  const later = world().now().toISOString()
  expect(await health()).toMatchObject({ disabled_reason: 'manual', disabled_at: later })
})

it('is 404 for a webhook of another workspace, and 400 for an unknown period', async () => {
  const { call } = await hooked(() => 200)
  const stranger = await world().signup()
  const { status, body } = await call('GET', '/health', undefined, stranger)
  expect(status).toBe(404)
  expect(body).toStrictEqual(refusal('not_found', 'Webhook not found'))
  expect((await call('GET', '/health?period=1y')).status).toBe(400)
})
