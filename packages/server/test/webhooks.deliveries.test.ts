import { verify } from '@svc/core/webhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { type Arrival, openReceiver } from './receiver.ts'
import { refusal } from './refusal.ts'
import { useWorld } from './world.ts'

const world = useWorld({ dispatch: true })

const DAY_MS = 24 * 3_600_000

let receivers: Awaited<ReturnType<typeof openReceiver>>[] = []
afterEach(async () => {
  for (const receiver of receivers) await receiver.close()
  receivers = []
})

/** A workspace whose `message.failed` events go to a receiver with this answer. */
async function hooked(answer: (arrival: Arrival) => number) {
  const receiver = await openReceiver({ answer })
  receivers.push(receiver)
  const account = await world().signup({ credits: 100 })
  const { key } = await world().key(account)
  const events = ['message.failed']
  const webhook = await world().webhook(account, { url: receiver.url, events })
  const call = async (method: string, path: string, json?: object) => {
    const { token } = account
    const answered = await world().call(method, `/api/v1/webhooks/${webhook.id}${path}`, {
      token,
      json,
    })
    await world().dispatcher.idle()
    return answered
  }
  return {
    account,
    key,
    receiver,
    webhook,
    call,
    /** Sends a message that fails immediately, and waits for the end of its event's delivery. */
    async send(): Promise<void> {
      await world().send(key, { to: '+15005550001' })
      await world().dispatcher.idle()
    },
    record: async () => (await call('GET', '')).body.data.webhook,
    deliveries: async (query = '') =>
      (await call('GET', `/deliveries${query}`)).body.data.deliveries,
  }
}

const verifies = (arrival: Arrival | undefined, secret: string) => {
  const { headers = {}, body = Buffer.alloc(0) } = arrival ?? {}
  const now = world().now()
  return verify({ secret, headers, body, now }).ok
}

/** Checks the one header of the specification. */
const signedBare = (arrival: Arrival, secret: string) => {
  const { 'x-svc-signature': signature } = arrival.headers
  return verify({ secret, headers: { 'x-svc-signature': signature }, body: arrival.body }).ok
}

describe('POST /:id/test', () => {
  it('201 sends a webhook.test event, with or without a subscription', async () => {
    const { receiver, webhook, call, deliveries } = await hooked(() => 200)
    const { status, body } = await call('POST', '/test')
    expect(status).toBe(201)
    expect(body.data.delivery).toMatchObject({
      webhook_id: webhook.id,
      event: 'webhook.test',
      message_id: null,
      status: 'pending',
      trigger: 'test',
      attempt_count: 0,
      max_attempts: 1,
    })
    const [arrival] = receiver.arrivals
    expect(arrival?.headers['x-svc-event']).toBe('webhook.test')
    expect(JSON.parse(`${arrival?.body}`)).toStrictEqual({
      event: 'webhook.test',
      data: {
        webhook_id: webhook.id,
        message: 'This is a test event.',
        livemode: true,
        occurred_at: world().now().toISOString(),
      },
    })
    expect(verifies(arrival, webhook.secret)).toBe(true)
    expect(await deliveries()).toMatchObject([
      { id: body.data.delivery.id, status: 'delivered', trigger: 'test', attempt_count: 1 },
    ])
  })

  it('is attempted once, also while the webhook is disabled', async () => {
    const { receiver, call, deliveries } = await hooked(() => 500)
    await call('PUT', '', { is_active: false })
    await call('POST', '/test')
    await world().advance(2 * DAY_MS)
    expect(receiver.arrivals).toHaveLength(1)
    expect(await deliveries()).toMatchObject([
      { status: 'failed', attempt_count: 1, next_attempt_at: null, response_status: 500 },
    ])
  })
})

describe('a receiver that fails several times in a row', () => {
  it('makes later deliveries wait, and they name the time and the reason', async () => {
    let status = 500
    const { account, key, webhook, send, deliveries } = await hooked(() => status)
    const nextAt = async () => {
      const at = await world().core.webhooks.nextAttemptAt(account.id, webhook.id)
      return at?.toISOString() ?? null
    }
    expect(await nextAt()).toBeNull()
    await send()
    const retried = world().now().getTime() + 5_000
    const [first] = await deliveries()
    expect(Date.parse(first.next_attempt_at)).toBeGreaterThan(world().now().getTime())
    expect(await nextAt()).toBe(first.next_attempt_at)
    expect(first).toMatchObject({ next_attempt_reason: 'retry' })
    for (let i = 0; i < 5; i++) await send()
    const waits = {
      status: 'pending',
      next_attempt_at: new Date(world().now().getTime() + 30_000).toISOString(),
      next_attempt_reason: 'receiver_unavailable',
    }
    expect(await nextAt()).toBe(waits.next_attempt_at)
    const pending = await deliveries()
    expect(pending[0]).toMatchObject({ ...waits, attempt_count: 0 })
    expect(pending.at(-1)).toMatchObject({ ...waits, attempt_count: 1 })
    expect(Date.parse(pending.at(-1).next_attempt_at)).toBeGreaterThan(retried)
    const { message_id } = pending[0]
    const path = `/api/v1/messages/${message_id}/timeline`
    const timeline = (await world().call('GET', path, { key })).body.data.timeline
    const { status: _, ...next } = waits
    expect(timeline).toContainEqual(expect.objectContaining({ kind: 'webhook', ...next }))
    expect(await world().core.webhooks.ofMessage(account.id, message_id)).toMatchObject([
      { next_attempt_reason: 'receiver_unavailable' },
    ])
    status = 200
    await world().advance(30_000)
    await world().advance(10_000)
    expect(new Set((await deliveries()).map((one: { status: string }) => one.status))).toEqual(
      new Set(['delivered']),
    )
    expect(await nextAt()).toBeNull()
  })
})

describe('the requests of a delivery', () => {
  it('have the headers and bytes of each attempt, without the values of own headers', async () => {
    let status = 500
    const { account, receiver, webhook, call, send, deliveries } = await hooked(() => status)
    await call('PUT', '', { headers: { Authorization: 'Bearer own' } })
    await send()
    status = 200
    await world().advance(6_000)
    const [{ id }] = await deliveries()
    const requests = await world().core.webhooks.requests(account.id, webhook.id, id)
    expect(requests.map(({ number }) => number)).toEqual([1, 2])
    for (const [i, { headers, body }] of requests.entries()) {
      const arrival = receiver.arrivals[i]
      expect(body).toBe(`${arrival?.body}`)
      for (const { name, value } of headers) {
        const arrived = arrival?.headers[name.toLowerCase()]
        if (name === 'Authorization') expect([value, arrived]).toEqual([null, 'Bearer own'])
        else expect([name, value]).toEqual([name, arrived])
      }
    }
    const stranger = await world().signup()
    await expect(world().core.webhooks.requests(stranger.id, webhook.id, id)).rejects.toMatchObject(
      {
        code: 'not_found',
      },
    )
  })
})

describe('a receiver that counts as down', () => {
  it('gets the test event as its probe, before the deliveries that wait, and so a retried one', async () => {
    let status = 500
    const hook = await hooked(() => status)
    for (let i = 0; i < 12; i++) await hook.send()
    const before = hook.receiver.arrivals.length
    const { delivery } = (await hook.call('POST', '/test')).body.data
    const probes = hook.receiver.arrivals.slice(before)
    expect(probes.map(({ headers }) => headers['x-svc-event'])).toEqual(['webhook.test'])
    const [test, newest] = await hook.deliveries()
    expect(test).toMatchObject({ id: delivery.id, status: 'failed', response_status: 500 })
    expect(newest).toMatchObject({ status: 'pending', attempt_count: 0 })
    await hook.call('POST', `/deliveries/${newest.id}/retry`)
    expect((await hook.deliveries())[1]).toMatchObject({ id: newest.id, attempt_count: 1 })
    status = 200
    await hook.call('POST', '/test')
    await world().advance(10_000)
    const open = (await hook.deliveries()).filter(
      (one: { status: string }) => one.status === 'pending',
    )
    expect(open).toEqual([])
  })

  it.each([
    ['a test', 'POST', '/test'],
    ['enabling its webhook', 'POST', '/enable'],
  ])('is tried at once for %s', async (_, method, path) => {
    let status = 500
    const hook = await hooked(() => status)
    for (let i = 0; i < 6; i++) await hook.send()
    expect(hook.receiver.arrivals).toHaveLength(5)
    status = 200
    await hook.send()
    expect(hook.receiver.arrivals).toHaveLength(5)
    await hook.call(method, path)
    expect(hook.receiver.arrivals.length).toBeGreaterThan(5)
    await world().advance(10_000)
    const statuses = (await hook.deliveries()).map(
      (delivery: { status: string }) => delivery.status,
    )
    expect(new Set(statuses)).toStrictEqual(new Set(['delivered']))
  })
})

describe('after POST /:id/rotate-secret', () => {
  const rotated = async (hook: Awaited<ReturnType<typeof hooked>>): Promise<string> =>
    (await hook.call('POST', '/rotate-secret')).body.data.webhook.secret

  it('a delivery is signed with both secrets, the old one first', async () => {
    const hook = await hooked(() => 200)
    const secret = await rotated(hook)
    await hook.send()
    const [arrival] = hook.receiver.arrivals as [Arrival]
    expect(`${arrival.headers['webhook-signature']}`.split(' ')).toHaveLength(2)
    expect(verifies(arrival, secret)).toBe(true)
    expect(verifies(arrival, hook.webhook.secret)).toBe(true)
    expect(signedBare(arrival, hook.webhook.secret)).toBe(true)
    expect(signedBare(arrival, secret)).toBe(false)
  })

  it.each([401, 403])(
    'a receiver with only the new secret that answers %d loses no event',
    async (refusing) => {
      let known = ''
      const hook = await hooked((arrival) => (signedBare(arrival, known) ? 200 : refusing))
      known = hook.webhook.secret
      known = await rotated(hook)
      await hook.send()
      expect(hook.receiver.arrivals).toHaveLength(2)
      const [first, second] = hook.receiver.arrivals
      expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true)
      expect(second?.headers['x-svc-attempt']).toBe('1')
      expect(second?.headers['x-svc-delivery']).toBe(first?.headers['x-svc-delivery'])
      expect(await hook.deliveries()).toMatchObject([{ status: 'delivered', attempt_count: 1 }])
      expect(await hook.record()).toMatchObject({ consecutive_failures: 0 })
      // The valid secret is known now.
      await hook.send()
      expect(hook.receiver.arrivals).toHaveLength(3)
    },
  )

  it('a receiver that refuses both gets retries, each with both', async () => {
    const hook = await hooked(() => 403)
    await rotated(hook)
    await hook.send()
    expect(hook.receiver.arrivals).toHaveLength(2)
    expect(await hook.deliveries()).toMatchObject([
      { status: 'pending', attempt_count: 1, response_status: 403, error: 'status_403' },
    ])
    await world().advance(6_000)
    expect(hook.receiver.arrivals).toHaveLength(4)
    expect(await hook.record()).toMatchObject({ consecutive_failures: 2 })
  })

  it('other refusals cause no attempt with the other secret', async () => {
    const hook = await hooked(() => 400)
    await rotated(hook)
    await hook.send()
    expect(hook.receiver.arrivals).toHaveLength(1)
  })

  it('the old secret is valid for 24 hours', async () => {
    const hook = await hooked(() => 200)
    const secret = await rotated(hook)
    await world().advance(DAY_MS - 1)
    await hook.send()
    await world().advance(1)
    await hook.send()
    const [before, after] = hook.receiver.arrivals as [Arrival, Arrival]
    expect(verifies({ ...before }, hook.webhook.secret)).toBe(true)
    expect(verifies(after, hook.webhook.secret)).toBe(false)
    expect(signedBare(after, secret)).toBe(true)
  })

  it('another rotation ends the oldest secret at once', async () => {
    const hook = await hooked(() => 200)
    const second = await rotated(hook)
    const third = await rotated(hook)
    await hook.send()
    const [arrival] = hook.receiver.arrivals as [Arrival]
    expect(verifies(arrival, hook.webhook.secret)).toBe(false)
    expect(signedBare(arrival, second)).toBe(true)
    expect(verifies(arrival, third)).toBe(true)
  })

  it('a 403 without a rotation causes one request', async () => {
    const hook = await hooked(() => 403)
    await hook.send()
    expect(hook.receiver.arrivals).toHaveLength(1)
  })
})

describe('PUT /:id', () => {
  it('new headers and a new URL apply from the next attempt', async () => {
    const hook = await hooked(() => 500)
    const other = await openReceiver()
    receivers.push(other)
    await hook.send()
    await hook.call('PUT', '', { url: other.url, headers: { 'X-New': 'yes' } })
    await world().advance(6_000)
    expect(hook.receiver.arrivals).toHaveLength(1)
    expect(other.arrivals.map(({ headers }) => headers['x-new'])).toStrictEqual(['yes'])
  })

  it('deliveries that are due while it is disabled are discarded, and can be recovered', async () => {
    let status = 500
    const hook = await hooked(() => status)
    await hook.send()
    await hook.call('PUT', '', { is_active: false })
    await world().advance(6_000)
    expect(await hook.deliveries()).toMatchObject([{ status: 'discarded', attempt_count: 1 }])
    status = 200
    await hook.call('POST', '/enable')
    const since = new Date(world().now().getTime() - DAY_MS).toISOString()
    const { body } = await hook.call('POST', '/recover', { since })
    expect(body.data).toStrictEqual({ recovered: 1, has_more: false })
    expect(await hook.deliveries()).toMatchObject([{ status: 'delivered', attempt_count: 2 }])
  })
})

describe('POST /:id/enable', () => {
  it('200 enables a webhook that was gone', async () => {
    let status = 500
    const hook = await hooked(() => status)
    await hook.send()
    status = 410
    await hook.send()
    expect(await hook.record()).toMatchObject({ status: 'disabled', disabled_reason: 'gone' })
    // Its pending deliveries are not sent.
    await world().advance(6_000)
    expect(hook.receiver.arrivals).toHaveLength(2)
    status = 200
    const { body } = await hook.call('POST', '/enable')
    expect(body.data.webhook).toMatchObject({
      is_active: true,
      status: 'active',
      disabled_reason: null,
      consecutive_failures: 0,
    })
    await hook.send()
    expect(hook.receiver.arrivals).toHaveLength(3)
  })
})

describe('GET /:id/deliveries/:delivery_id', () => {
  it('200 shows payload and response', async () => {
    let status = 500
    const hook = await hooked(() => status)
    await hook.send()
    status = 200
    await world().advance(6_000)
    const [listed] = await hook.deliveries()
    const { status: answered, body } = await hook.call('GET', `/deliveries/${listed.id}`)
    expect(answered).toBe(200)
    expect(body.data.delivery).toStrictEqual({
      ...listed,
      payload: JSON.parse(`${hook.receiver.arrivals[0]?.body}`),
      attempts: [
        {
          number: 1,
          started_at: listed.created_at,
          duration_ms: expect.any(Number),
          response_status: 500,
          response_body: 'thanks',
          error: 'status_500',
        },
        {
          number: 2,
          started_at: world().now().toISOString(),
          duration_ms: expect.any(Number),
          response_status: 200,
          response_body: 'thanks',
          error: null,
        },
      ],
    })
  })
})

describe('GET /:id/deliveries', () => {
  it('200 filters by status and event', async () => {
    let status = 200
    const hook = await hooked(() => status)
    await hook.send()
    status = 500
    await hook.send()
    await hook.call('POST', '/test')
    const events = async (query: string) =>
      (await hook.deliveries(query)).map(({ event }: { event: string }) => event)
    expect(await events('?status=delivered')).toStrictEqual(['message.failed'])
    expect(await events('?status=failed')).toStrictEqual(['webhook.test'])
    expect(await events('?status=pending&event=message.failed')).toHaveLength(1)
    expect(await events('?event=message.read')).toStrictEqual([])
    const { body } = await hook.call('GET', '/deliveries?event=message.failed&limit=1')
    expect(body.data.pagination).toStrictEqual({ total: 2, page: 1, pages: 2, limit: 1 })
  })

  it.each([
    ['status=lost', 'status must be one of: pending, delivered, failed, discarded'],
    ['event=*', /^event must be one of: message\.sent, /],
  ])('400 refuses %s', async (query, message) => {
    const { call } = await hooked(() => 200)
    const { status, body } = await call('GET', `/deliveries?${query}`)
    expect(status).toBe(400)
    expect(body.message).toMatch(message)
  })
})

describe('POST /:id/deliveries/:delivery_id/retry', () => {
  it('200 tries a pending delivery at once', async () => {
    let status = 500
    const hook = await hooked(() => status)
    await hook.send()
    const [{ id }] = await hook.deliveries()
    status = 200
    const { status: answered, body } = await hook.call('POST', `/deliveries/${id}/retry`)
    expect(answered).toBe(200)
    expect(body.data.delivery).toMatchObject({ id, status: 'pending', trigger: 'manual' })
    expect(await hook.deliveries()).toMatchObject([
      { id, status: 'delivered', trigger: 'manual', attempt_count: 2 },
    ])
    await world().advance(DAY_MS)
    expect(hook.receiver.arrivals).toHaveLength(2)
  })

  it('200 sends a delivered event again, with the same event id', async () => {
    const hook = await hooked(() => 200)
    await hook.send()
    const [{ id }] = await hook.deliveries()
    await hook.call('POST', `/deliveries/${id}/retry`)
    const [first, second] = hook.receiver.arrivals
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(second?.headers['x-svc-attempt']).toBe('2')
    expect(await hook.deliveries()).toMatchObject([{ id, status: 'delivered', attempt_count: 2 }])
  })

  it('400 while the webhook is disabled', async () => {
    const hook = await hooked(() => 410)
    await hook.send()
    const [{ id }] = await hook.deliveries()
    const { status, body } = await hook.call('POST', `/deliveries/${id}/retry`)
    const message = 'Webhook is disabled. Enable it first.'
    expect([status, body]).toStrictEqual([400, refusal('validation_error', message, 'id')])
    expect(hook.receiver.arrivals).toHaveLength(1)
  })
})

describe('POST /:id/recover', () => {
  it('200 queues only the failed deliveries of this time', async () => {
    let status = 410
    const hook = await hooked(() => status)
    /** A delivery that fails permanently at once. */
    async function lose(): Promise<Date> {
      const at = world().now()
      await hook.send()
      await hook.call('POST', '/enable')
      await world().advance(60_000)
      return at
    }
    await lose()
    const since = await lose()
    const until = await lose()
    await lose()
    const timesRecorded = async () => {
      const page = { limit: 50, offset: 0 }
      const found = await world().core.audit.ofAll({ workspace_id: hook.account.id }, page)
      return found.filter(({ action }) => action === 'webhook.recovered').length
    }
    status = 200
    await hook.send()
    const window = { since: since.toISOString(), until: until.toISOString() }
    const { status: answered, body } = await hook.call('POST', '/recover', window)
    expect([answered, body.data]).toStrictEqual([200, { recovered: 2, has_more: false }])
    const statuses = (await hook.deliveries()).map((row: { status: string }) => row.status)
    expect(statuses).toStrictEqual(['delivered', 'failed', 'delivered', 'delivered', 'failed'])
    expect(hook.receiver.arrivals).toHaveLength(7)
    expect(await timesRecorded()).toBe(1)
    const again = await hook.call('POST', '/recover', window)
    expect(again.body.data).toStrictEqual({ recovered: 0, has_more: false })
    // Nothing was changed.
    expect(await timesRecorded()).toBe(1)
  })
})
