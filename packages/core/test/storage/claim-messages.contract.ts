import { expect, it } from 'vitest'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

/** Due messages, leased: each to one claim at a time, the oldest first, and none too early. */
export function claimMessagesContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const ids = (claimed: { message_id: string }[]) => claimed.map(({ message_id }) => message_id)
  const retry = {
    type: 'retry',
    error_code: 'busy',
    error_message: 'busy',
    delay_ms: 5_000,
  } as const

  it('hands out everything that is needed to send, and journals the attempt first', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, {
      sender: 'Acme',
      livemode: false,
      expires_at: new Date('2026-05-04T10:00:00.001Z'),
    })
    const now = bench.clock.advance(250)
    const claimed = await bench.claimMessages({
      token: 'token-1',
      route: ({ channel, livemode }) => ({
        provider: `carrier of ${livemode ? 'live' : 'test'} ${channel}`,
        sender: null,
      }),
    })
    expect(claimed).toEqual([
      {
        message_id: message.id,
        workspace_id: workspaceId,
        channel: 'sms',
        api_key_id: message.api_key_id,
        bulk_id: null,
        credits_used: message.credits_used,
        sender: 'Acme',
        recipient: message.recipient,
        content: message.content,
        livemode: false,
        status: 'queued',
        accepted: false,
        provider: null,
        provider_message_id: null,
        created_at: message.created_at,
        scheduled_at: null,
        expires_at: message.expires_at,
        sent_at: null,
        task: 'send',
        attempt: 1,
        unknown_since: null,
        token: 'token-1',
        interrupted: false,
        suppressed: false,
        left_out: [],
        recipients: null,
        route: { provider: 'carrier of test sms', sender: null },
      },
    ])
    expect(await bench.storage.read.messages.attempts(workspaceId, message.id)).toEqual([
      {
        workspace_id: workspaceId,
        message_id: message.id,
        number: 1,
        provider: 'carrier of test sms',
        outcome: 'started',
        provider_message_id: null,
        error_code: null,
        error_message: null,
        started_at: now,
        finished_at: null,
      },
    ])
  })

  it('gives no message to two simultaneous claims, and each to one', async () => {
    const workspaceId = await bench.workspace()
    const request = bench.make.bulk(workspaceId, 90)
    await bench.accept(request)
    const claims = await Promise.all(
      Array.from({ length: 12 }, () => bench.claimMessages({ limit: 10 })),
    )
    expect(Math.max(...claims.map(({ length }) => length))).toBe(10)
    expect(ids(claims.flat()).sort()).toEqual(request.messages.map(({ id }) => id).sort())
  })

  it('takes at most the limit, the earliest due first', async () => {
    const workspaceId = await bench.workspace()
    const waits = [40, 10, 30, 20, 50]
    const due: [number, string][] = []
    for (const wait of waits) {
      const scheduled_at = new Date(bench.clock.now().getTime() + wait * 1_000)
      due.push([wait, (await bench.queued(workspaceId, { scheduled_at })).id])
    }
    const order = due.sort(([a], [b]) => a - b).map(([, id]) => id)
    bench.clock.advance(60_000)
    expect(ids(await bench.claimMessages({ limit: 2 }))).toEqual(order.slice(0, 2))
    expect(ids(await bench.claimMessages({ limit: 2 }))).toEqual(order.slice(2, 4))
    expect(ids(await bench.claimMessages({ limit: 2 }))).toEqual(order.slice(4))
    expect(await bench.claimMessages({ limit: 2 })).toEqual([])
  })

  it('hands out a scheduled message at its time, not a millisecond before', async () => {
    const workspaceId = await bench.workspace()
    const scheduled_at = new Date('2026-05-06T00:00:00.000Z')
    const message = await bench.queued(workspaceId, { scheduled_at })
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.set(new Date(scheduled_at.getTime() - 1))
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.set(scheduled_at)
    expect(ids(await bench.claimMessages())).toEqual([message.id])
  })

  it('holds a message until the lease ends; then it is an interrupted attempt, not a new one', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const first = only(await bench.claimMessages())
    bench.clock.advance(LEASE_MS - 1)
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.advance(1)
    const second = only(
      await bench.claimMessages({ route: () => ({ provider: 'another', sender: null }) }),
    )
    // Only the provider that may have the message can tell what became of it.
    const route = { provider: 'carrier', sender: null }
    expect(second).toMatchObject({ message_id: message.id, attempt: 1, interrupted: true, route })
    expect(second.token).not.toBe(first.token)
    const attempts = await bench.storage.read.messages.attempts(workspaceId, message.id)
    expect(only(attempts)).toMatchObject({ number: 1, provider: 'carrier', outcome: 'started' })
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.advance(LEASE_MS)
    expect(only(await bench.claimMessages())).toMatchObject({ attempt: 1, interrupted: true })
  })

  it('counts an attempt for each time that is not interrupted', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    for (const attempt of [1, 2, 3]) {
      const claimed = only(await bench.claimMessages())
      expect(claimed).toMatchObject({ attempt, interrupted: false, task: 'send' })
      await bench.settle(claimed, { task: 'send', attempt, outcome: retry })
      bench.clock.advance(5_000)
    }
    const attempts = await bench.storage.read.messages.attempts(workspaceId, message.id)
    expect(attempts).toMatchObject([1, 2, 3].map((number) => ({ number, outcome: 'retry' })))
  })

  it('starts no attempt for a message that a callback has moved on', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const attempt = 1
    const first = only(await bench.claimMessages())
    await bench.settle(first, { task: 'send', attempt, outcome: retry })
    await bench.callback(message, 'sent')
    bench.clock.advance(5_000)
    for (const again of await bench.claimMessages()) {
      expect(again).toMatchObject({ status: 'sent', attempt: 1, interrupted: false })
    }
    const attempts = await bench.storage.read.messages.attempts(workspaceId, message.id)
    expect(only(attempts)).toMatchObject({ number: 1, outcome: 'retry' })
  })

  it('ignores what a lost claim says, and hears who holds the message', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const lost = only(await bench.claimMessages())
    bench.clock.advance(LEASE_MS)
    const holder = only(await bench.claimMessages())
    const before = await bench.message(workspaceId, message.id)
    const money = await bench.account(workspaceId)

    const outcomes = [
      { type: 'rejected', error_code: 'unroutable', error_message: 'no' },
      retry,
      { type: 'ambiguous', error_code: 'timeout', error_message: 'no answer' },
    ] as const
    for (const outcome of outcomes) {
      for (const token of [lost.token, 'made up']) {
        const claimed = { ...lost, token }
        expect(await bench.settle(claimed, { task: 'send', attempt: 1, outcome })).toBe(false)
      }
    }
    expect(await bench.message(workspaceId, message.id)).toEqual(before)
    expect(await bench.account(workspaceId)).toEqual(money)
    const { messages } = bench.storage.read
    expect(only(await messages.attempts(workspaceId, message.id)).outcome).toBe('started')

    const [rejected] = outcomes
    expect(await bench.settle(holder, { task: 'send', attempt: 1, outcome: rejected })).toBe(true)
    expect(await bench.message(workspaceId, message.id)).toMatchObject({ status: 'failed' })
    expect(await bench.settle(holder, { task: 'send', attempt: 1, outcome: rejected })).toBe(false)
  })

  it('records that a provider accepted the message, even from a lost claim', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const lost = only(await bench.claimMessages())
    bench.clock.advance(LEASE_MS)
    const holder = only(await bench.claimMessages())
    const accepted = {
      type: 'accepted',
      provider_message_id: 'P-late',
      lookup_after_ms: null,
    } as const
    expect(await bench.settle(lost, { task: 'send', attempt: 1, outcome: accepted })).toBe(true)
    const sent = { status: 'sent', accepted: true, provider_message_id: 'P-late' }
    expect(await bench.message(workspaceId, message.id)).toMatchObject(sent)

    const outcome = { type: 'rejected', error_code: 'duplicate', error_message: 'again?' } as const
    await bench.settle(holder, { task: 'send', attempt: 1, outcome })
    expect(await bench.message(workspaceId, message.id)).toMatchObject({
      ...sent,
      credits_refunded: 0,
    })
    bench.clock.advance(24 * 3_600_000)
    expect(await bench.claimMessages()).toEqual([])
  })

  it('leaves a message to the claim that holds it when a lost claim reports it as accepted', async () => {
    const workspaceId = await bench.workspace()
    await bench.queued(workspaceId)
    const lost = only(await bench.claimMessages())
    bench.clock.advance(LEASE_MS)
    const holder = only(await bench.claimMessages())
    const accepted = {
      type: 'accepted',
      provider_message_id: null,
      lookup_after_ms: 1_000,
    } as const
    await bench.settle(lost, { task: 'send', attempt: 1, outcome: accepted })
    bench.clock.advance(LEASE_MS - 1)
    expect(await bench.claimMessages()).toEqual([])
    expect(await bench.settle(holder, { task: 'send', attempt: 1, outcome: accepted })).toBe(true)
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.advance(1_000)
    expect(only(await bench.claimMessages())).toMatchObject({ task: 'lookup', status: 'sent' })
  })
}
