import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Account } from './accounts.ts'
import { openReceiver } from './receiver.ts'
import { openWorld, useWorld, type World } from './world.ts'

const world = useWorld({ dispatch: true, low_balance: '3' })

const ACCOUNT = '/api/v1/account'
const SUBJECT = 'Your credits are running low'

let receiver: Awaited<ReturnType<typeof openReceiver>>
beforeAll(async () => {
  receiver = await openReceiver()
})
afterAll(() => receiver.close())
beforeEach(() => {
  receiver.arrivals.length = 0
})

/** A workspace with credits, a webhook for credits.low, and a key to spend them. */
async function spender(
  credits: number,
  options: { world?: World; key?: Parameters<World['key']>[1] } = {},
) {
  const { world: at = world() } = options
  const owner = await at.signup({ credits })
  await at.verify(owner)
  await at.webhook(owner, { url: receiver.url, events: ['credits.low'] })
  const { key } = await at.key(owner, options.key)
  return { ...owner, key }
}

const get = async ({ token }: Account) => (await world().call('GET', ACCOUNT, { token })).body.data
const put = ({ token }: Account, json: object) => world().call('PUT', ACCOUNT, { token, json })

/** The bodies of the events and the texts of the mails about low credits so far. */
async function noticesOf({ email }: Pick<Account, 'email'>, at = world()) {
  await at.dispatcher.idle()
  await at.core.mails.idle()
  const events = receiver.arrivals.map(({ body }) => JSON.parse(body.toString()))
  const mails = at.core.mails
    .list()
    .filter(({ to, subject }) => to === email && subject === SUBJECT)
    .map(({ text }) => text)
  return { events, mails }
}

describe('credits that fall below the threshold', () => {
  it('cause one event and one mail, which show the remaining credits', async () => {
    const owner = await spender(4)
    await world().send(owner.key)
    expect(await noticesOf(owner)).toEqual({ events: [], mails: [] })
    await world().send(owner.key)
    const { events, mails } = await noticesOf(owner)
    const occurred_at = world().now().toISOString()
    expect(events).toStrictEqual([
      {
        event: 'credits.low',
        data: { credits_balance: 2, threshold: 3, livemode: true, occurred_at },
      },
    ])
    expect(mails).toEqual([
      expect.stringContaining('has 2 credits left, less than its threshold of 3.'),
    ])
    await world().send(owner.key)
    await world().advance(60_000)
    expect(await noticesOf(owner)).toEqual({ events, mails })
  })

  it('cause another event after credits were added and fall again', async () => {
    const owner = await spender(3)
    await world().send(owner.key)
    await noticesOf(owner)
    await world().grant(owner, 1)
    const { events } = await noticesOf(owner)
    expect(events).toHaveLength(1)
    await world().send(owner.key)
    const { events: both, mails } = await noticesOf(owner)
    // A mail at most each hour, an event each time.
    expect([both.length, mails.length]).toEqual([2, 1])
    await world().advance(60 * 60_000 - 1)
    await world().grant(owner, 1)
    await world().send(owner.key)
    expect((await noticesOf(owner)).mails).toHaveLength(1)
    await world().advance(1)
    await world().grant(owner, 1)
    await world().send(owner.key)
    const later = await noticesOf(owner)
    expect([later.events.length, later.mails.length]).toEqual([4, 2])
  })

  it('cause no mail to an address that is not verified', async () => {
    const owner = await world().signup({ credits: 3 })
    await world().webhook(owner, { url: receiver.url, events: ['credits.low'] })
    const { key } = await world().key(owner)
    for (let i = 0; i < 6; i++) {
      await world().send(key)
      await noticesOf(owner)
      await world().grant(owner, 1)
    }
    const { events, mails } = await noticesOf(owner)
    expect([events.length, mails.length]).toEqual([6, 0])
  })

  it('cause one event for many concurrent sends', async () => {
    const owner = await spender(10)
    const sent = await Promise.all(Array.from({ length: 10 }, () => world().send(owner.key)))
    expect(sent.map(({ status }) => status)).toEqual(Array(10).fill(201))
    await Promise.all([noticesOf(owner), noticesOf(owner)])
    const { events, mails } = await noticesOf(owner)
    expect([events.length, mails.length]).toEqual([1, 1])
  })

  it('cause a mail without any webhook, and no event at webhooks for other events', async () => {
    const owner = await world().signup({ credits: 3 })
    await world().verify(owner)
    const { id } = await world().webhook(owner, { url: receiver.url, events: ['message.failed'] })
    await world().send((await world().key(owner)).key)
    expect((await noticesOf(owner)).mails).toHaveLength(1)
    const { token } = owner
    const { body } = await world().call('GET', `/api/v1/webhooks/${id}/deliveries`, { token })
    expect(body.data.deliveries).toEqual([])
  })

  it('cause no event when a test key spends', async () => {
    const owner = await spender(3, { key: { mode: 'test' } })
    expect((await world().send(owner.key)).status).toBe(201)
    expect(await noticesOf(owner)).toEqual({ events: [], mails: [] })
  })
})

describe('the threshold', () => {
  it("is the service's default for a new workspace, until its owner sets one", async () => {
    const owner = await spender(5)
    expect(await get(owner)).toMatchObject({ low_balance: 3 })
    expect((await put(owner, { low_balance: 4.5 })).body.data).toMatchObject({ low_balance: 4.5 })
    await world().send(owner.key)
    const { events } = await noticesOf(owner)
    expect(events).toMatchObject([{ data: { credits_balance: 4, threshold: 4.5 } }])
  })

  it('is off after its owner sets null', async () => {
    const owner = await spender(3)
    expect((await put(owner, { low_balance: null })).body.data).toMatchObject({ low_balance: null })
    await world().send(owner.key)
    expect(await noticesOf(owner)).toEqual({ events: [], mails: [] })
  })
})

describe('after a restart', () => {
  let folder: string
  let database_url: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-low-'))
    database_url = `file:${join(folder, 'svc.db')}`
    return () => rmSync(folder, { recursive: true })
  })

  async function during<T>(options: object, work: (world: World) => Promise<T>): Promise<T> {
    const opened = await openWorld({ database_url, ...options })
    try {
      return await work(opened)
    } finally {
      await opened.close()
    }
  }

  it('owners are notified once of a fall before the restart', async () => {
    const owner = await during({ low_balance: '3' }, async (before) => {
      const owner = await spender(3, { world: before })
      await before.send(owner.key)
      return owner
    })
    const dispatching = { low_balance: '3', dispatch: true }
    const { events, mails } = await during(dispatching, (after) => noticesOf(owner, after))
    expect([events.length, mails.length]).toEqual([1, 1])
    const again = await during(dispatching, (after) => noticesOf(owner, after))
    expect([again.events.length, again.mails.length]).toEqual([1, 0])
  })

  it("the service's new threshold applies to owners without a threshold of their own", async () => {
    const thresholdOf = async (at: World, { token }: Account) =>
      (await at.call('GET', ACCOUNT, { token })).body.data.low_balance
    const owners = await during({ low_balance: '3', dispatch: true }, async (first) => {
      const [follower, own] = [await first.signup(), await first.signup()]
      await first.call('PUT', ACCOUNT, { token: own.token, json: { low_balance: 7 } })
      return [follower, own]
    })
    const seen = (options: object) =>
      during(options, (later) => Promise.all(owners.map((owner) => thresholdOf(later, owner))))
    expect(await seen({ low_balance: '5', dispatch: true })).toEqual([5, 7])
    // Neither a command beside the server nor a service without the setting changes it.
    expect(await seen({ low_balance: '6' })).toEqual([5, 7])
    expect(await seen({ dispatch: true })).toEqual([5, 7])
    expect(await seen({ low_balance: null, dispatch: true })).toEqual([null, 7])
  })
})

it("a new workspace may spend at most the service's daily limit", async () => {
  const capped = await openWorld({ signup_daily_limit: '1.5' })
  const owner = await capped.signup({ credits: 5 })
  const { key } = await capped.key(owner)
  expect((await capped.send(key)).status).toBe(201)
  const estimate = await capped.call('POST', '/api/v1/messages/estimate', {
    key,
    json: { to: '+14155552671', channel: 'sms', content: { text: 'Hello' } },
  })
  expect(estimate.body.data).toMatchObject({ can_send: false, block_reason: 'daily_limit' })
  const { status, body } = await capped.send(key)
  expect([status, body.error]).toEqual([402, 'insufficient_credits'])
  expect(body.message).toBe('Not enough credits. You need 1 credits but have 0.5 left today.')
  await capped.advance(24 * 60 * 60_000)
  expect((await capped.send(key)).status).toBe(201)
  await capped.close()
})
