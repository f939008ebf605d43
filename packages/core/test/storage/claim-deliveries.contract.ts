import { expect, it } from 'vitest'
import type { MessageRow, WebhookRow } from '../../src/rows/rows.ts'
import type { ClaimedDelivery } from '../../src/rules/deliveries.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import type { DeliveryClaim } from '../../src/storage/ports/hot.ts'
import { benchFor, callback, EVERYTHING, LEASE_MS, type OpenStorage, only } from './bench.ts'

/** Due deliveries, leased, and fairly: no backlog of one webhook hides what waits for another. */
export function claimDeliveriesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** Makes `count` deliveries wait for every webhook of the workspace that wants `message.sent`. */
  async function backlog(workspaceId: string, count: number): Promise<MessageRow[]> {
    const { messages } = bench.make.bulk(workspaceId, count)
    await bench.storage.hot.accept([{ ...bench.make.request(messages), debit: null }])
    const settlements = messages.map(
      ({ id }): Settlement => ({
        workspace_id: workspaceId,
        message_id: id,
        token: null,
        provider: 'carrier',
        abilities: { idempotent: false, lookup: false },
        result: callback('sent'),
        at: bench.clock.now(),
      }),
    )
    await bench.storage.hot.settle(settlements)
    return messages
  }

  function perWebhook(claimed: ClaimedDelivery[]): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { webhook_id } of claimed) counts.set(webhook_id, (counts.get(webhook_id) ?? 0) + 1)
    return counts
  }

  it('gives no delivery to two simultaneous claims, and each to one', async () => {
    const workspaceId = await bench.workspace()
    const webhooks = [await bench.webhook(workspaceId), await bench.webhook(workspaceId)]
    await backlog(workspaceId, 45)
    const claims = await Promise.all(
      Array.from({ length: 12 }, () => bench.claimDeliveries({ limit: 10 })),
    )
    expect(Math.max(...claims.map(({ length }) => length))).toBe(10)
    const ids = claims.flat().map(({ delivery_id }) => delivery_id)
    expect(ids).toHaveLength(90)
    expect(new Set(ids).size).toBe(90)
    expect(perWebhook(claims.flat())).toEqual(new Map(webhooks.map(({ id }) => [id, 45])))
  })

  it('holds a delivery until the lease ends; then it is the same try again', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await backlog(workspaceId, 1)
    const first = only(await bench.claimDeliveries())
    bench.clock.advance(LEASE_MS - 1)
    expect(await bench.claimDeliveries()).toEqual([])
    bench.clock.advance(1)
    const second = only(await bench.claimDeliveries())
    expect(second).toEqual({ ...first, token: second.token })
    expect(second.token).not.toBe(first.token)
  })

  it('takes those of one webhook in the order in which they fell due', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const ids: string[] = []
    for (let i = 0; i < 6; i++) {
      ids.push(only(await backlog(workspaceId, 1)).id)
      bench.clock.advance(10)
    }
    const claimed = [
      ...(await bench.claimDeliveries({ limit: 4 })),
      ...(await bench.claimDeliveries({ limit: 4 })),
    ]
    expect(claimed.map(({ body }) => JSON.parse(body).data.message_id)).toEqual(ids)
  })

  it('hides no webhook behind the 1,000 deliveries of another', async () => {
    const busy = await bench.workspace(0)
    const flooded = await bench.webhook(busy)
    await backlog(busy, 1_000)
    bench.clock.advance(60_000)
    const quiet: string[] = []
    for (let i = 0; i < 3; i++) {
      const workspaceId = i === 0 ? busy : await bench.workspace(0)
      quiet.push((await bench.webhook(workspaceId)).id)
      await backlog(workspaceId, 1)
    }
    const claimed = await bench.claimDeliveries({ limit: 100, limit_per_webhook: 20 })
    const counts = perWebhook(claimed)
    expect(counts).toEqual(new Map([[flooded.id, 20], ...quiet.map((id) => [id, 1] as const)]))
  })

  it('takes the share of one webhook only, however many wait', async () => {
    const workspaceId = await bench.workspace(0)
    await bench.webhook(workspaceId)
    await backlog(workspaceId, 50)
    expect(await bench.claimDeliveries({ limit_per_webhook: 8 })).toHaveLength(8)
    expect(await bench.claimDeliveries({ limit: 5, limit_per_webhook: 8 })).toHaveLength(5)
  })

  it('takes at most the room of a webhook, if the claim names it', async () => {
    const workspaceId = await bench.workspace(0)
    const [a, b, c] = [
      await bench.webhook(workspaceId),
      await bench.webhook(workspaceId),
      await bench.webhook(workspaceId),
    ]
    await backlog(workspaceId, 30)
    const room_of_webhook = new Map([
      [a.id, 0],
      [b.id, 12],
      ['gone', 99],
    ])
    const claimed = await bench.claimDeliveries({ limit_per_webhook: 8, room_of_webhook })
    expect(perWebhook(claimed)).toEqual(
      new Map([
        [b.id, 12],
        [c.id, 8],
      ]),
    )
  })

  it('takes of a workspace its share only, however many webhooks it has, and gives others the rest', async () => {
    const greedy = await bench.workspace(0)
    for (let i = 0; i < 6; i++) await bench.webhook(greedy)
    await backlog(greedy, 20)
    const full = await bench.workspace(0)
    await bench.webhook(full)
    await backlog(full, 5)
    const modest = await bench.workspace(0)
    await bench.webhook(modest)
    await backlog(modest, 3)
    const share = () =>
      bench.claimDeliveries({
        limit: 40,
        limit_per_webhook: 10,
        limit_per_workspace: 25,
        room_of_workspace: new Map([
          [full, 2],
          ['gone', 0],
        ]),
      })
    const counts = (claimed: ClaimedDelivery[]) => {
      const of = (id: string) => claimed.filter(({ workspace_id }) => workspace_id === id).length
      return [of(greedy), of(full), of(modest)]
    }
    expect(counts(await share())).toEqual([25, 2, 3])
    expect(counts(await share())).toEqual([25, 2, 0])
  })

  it('goes on past a thousand webhooks whose workspace has no room', async () => {
    const dead = await bench.workspace(0)
    const at = bench.clock.now()
    const ids = Array.from({ length: 1_000 }, () => bench.clock.id())
    const rows = ids.map((id) => ({
      delivery_id: id,
      workspace_id: dead,
      webhook_id: `0-${id}`,
      due_at: at,
      set_at: at,
      token: null,
    }))
    await bench.storage.write(({ webhooks }) =>
      webhooks.queue({ events: [], deliveries: [], delivery_queue: rows }),
    )
    const alive = await bench.workspace(0)
    await bench.webhook(alive)
    await backlog(alive, 1)
    const claimed = await bench.claimDeliveries({
      limit: 10,
      room_of_workspace: new Map([[dead, 0]]),
    })
    expect(claimed.map(({ workspace_id }) => workspace_id)).toEqual([alive])
  })

  it('goes on with the next webhook where the last claim stopped', async () => {
    const workspaceId = await bench.workspace(0)
    const webhooks: string[] = []
    for (let i = 0; i < 5; i++) webhooks.push((await bench.webhook(workspaceId)).id)
    await backlog(workspaceId, 20)
    for (let round = 0; round < 2; round++) {
      const served: string[] = []
      for (let i = 0; i < 5; i++) {
        const claimed = await bench.claimDeliveries({ limit: 3, limit_per_webhook: 3 })
        served.push(...claimed.map(({ webhook_id }) => webhook_id))
      }
      expect(served.sort()).toEqual(webhooks.flatMap((id) => [id, id, id]).sort())
    }
  })

  it('goes on behind the last of several webhooks', async () => {
    const workspaceId = await bench.workspace(0)
    const webhooks: string[] = []
    for (let i = 0; i < 4; i++) webhooks.push((await bench.webhook(workspaceId)).id)
    await backlog(workspaceId, 9)
    const served: string[] = []
    for (let i = 0; i < 2; i++) {
      const claimed = await bench.claimDeliveries({ limit: 4, limit_per_webhook: 2 })
      served.push(...claimed.map(({ webhook_id }) => webhook_id))
    }
    expect(served).toEqual(webhooks.flatMap((id) => [id, id]))
  })

  it('serves every webhook in the end', async () => {
    const workspaceId = await bench.workspace(0)
    for (let i = 0; i < 4; i++) await bench.webhook(workspaceId)
    await backlog(workspaceId, 25)
    let got = 0
    for (let i = 0; i < 40 && got < 100; i++) {
      got += (await bench.claimDeliveries({ limit: 7, limit_per_webhook: 4 })).length
    }
    expect(got).toBe(100)
    expect(await bench.claimDeliveries()).toEqual([])
  })

  it('discards what falls due while its webhook is disabled, and keeps what does later', async () => {
    const workspaceId = await bench.workspace()
    const webhook = await bench.webhook(workspaceId)
    await backlog(workspaceId, 3)
    const [first] = await bench.claimDeliveries({ limit: 1 })
    if (!first) throw new Error('three are waiting')
    await bench.record(first, { response_status: 500 })
    const change = (is_active: boolean) =>
      bench.storage.write(({ webhooks }) => webhooks.change(workspaceId, webhook.id, { is_active }))
    await change(false)
    const now = bench.clock.advance(1_000)
    expect(await bench.claimDeliveries()).toEqual([])
    const rows = await bench.storage.read.webhooks.deliveries(workspaceId, webhook.id, EVERYTHING)
    const [kept, ...discarded] = rows.sort((a, b) => b.attempt_count - a.attempt_count)
    expect(kept).toMatchObject({ id: first.delivery_id, status: 'pending' })
    expect(discarded).toHaveLength(2)
    for (const row of discarded) {
      expect(row).toMatchObject({
        status: 'discarded',
        next_attempt_at: null,
        updated_at: now,
        attempt_count: 0,
        error: null,
      })
    }
    await change(true)
    bench.clock.advance(60_000)
    expect(only(await bench.claimDeliveries()).delivery_id).toBe(first.delivery_id)
  })

  it('hides no webhook behind discarded deliveries', async () => {
    const busy = await bench.workspace(0)
    const disabled: string[] = []
    for (let i = 0; i < 10; i++) disabled.push((await bench.webhook(busy)).id)
    await backlog(busy, 10)
    await bench.storage.write(async ({ webhooks }) => {
      for (const id of disabled) await webhooks.change(busy, id, { is_active: false })
    })
    const other = await bench.workspace(0)
    const webhook = await bench.webhook(other)
    await backlog(other, 1)
    const claimed = await bench.claimDeliveries({ limit: 20, limit_per_webhook: 8 })
    expect(only(claimed).webhook_id).toBe(webhook.id)
  })

  it('gives the previous secret for as long as it is valid', async () => {
    const workspaceId = await bench.workspace()
    const previous_secret_ends_at = new Date(bench.clock.now().getTime() + 60_000)
    await bench.webhook(workspaceId, { previous_secret: 'whsec_b2xk', previous_secret_ends_at })
    await backlog(workspaceId, 1)
    bench.clock.advance(59_999 - LEASE_MS)
    expect(only(await bench.claimDeliveries())).toMatchObject({
      secret: 'whsec_dGVzdA==',
      previous_secret: 'whsec_b2xk',
    })
    bench.clock.set(previous_secret_ends_at)
    expect(only(await bench.claimDeliveries()).previous_secret).toBeNull()
  })

  it('gives all that a try needs, and names no gate to a webhook that had a 2xx', async () => {
    const workspaceId = await bench.workspace()
    const headers = { 'x-team': 'a' }
    const webhook = await bench.webhook(workspaceId, { headers, accepted_secret: 'abc' })
    const message = await bench.queued(workspaceId)
    await bench.callback(message, 'sent')
    const delivery = only(await bench.deliveriesOf(message))
    const { webhooks } = bench.storage.read
    const bodies = await webhooks.eventBodies(workspaceId, [delivery.event_id])
    expect(await bench.claimDeliveries({ token: 'T' })).toEqual([
      {
        delivery_id: delivery.id,
        workspace_id: workspaceId,
        webhook_id: webhook.id,
        event_id: delivery.event_id,
        event: 'message.sent',
        url: webhook.url,
        secret: webhook.secret,
        previous_secret: null,
        accepted_secret: 'abc',
        headers,
        format: 'svc',
        message: null,
        body: only(bodies).body,
        attempt: 1,
        token: 'T',
      },
    ])
  })

  it('gives another format what it needs of the message', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId, { format: 'resend' })
    await bench.webhook(workspaceId, { format: 'twilio' })
    const content = { subject: 'Hello', from_address: 'a@acme.example', text: 'Hi' }
    const mail = { channel: 'email', recipient: 'b@c.example', sender: 'Acme', content } as const
    await bench.callback(await bench.queued(workspaceId, mail), 'sent')
    await bench.callback(await bench.queued(workspaceId, { sender: 'ACME' }), 'sent')
    const claimed = await bench.claimDeliveries()
    expect(new Map(claimed.map(({ format, message }) => [format, message]))).toEqual(
      new Map([
        [
          'resend',
          {
            sender: 'Acme',
            subject: 'Hello',
            from_address: 'a@acme.example',
            callback_method: null,
          },
        ],
        ['twilio', { sender: 'ACME', subject: null, from_address: null, callback_method: null }],
      ]),
    )
  })

  it('gives a status callback its own URL and method, and discards it once the message is erased', async () => {
    const workspaceId = await bench.workspace()
    const callback_origin = 'https://app.example'
    const { id: webhook_id } = await bench.webhook(workspaceId, {
      callback_origin,
      format: 'twilio',
    })
    await bench.webhook(workspaceId, { format: 'twilio' })
    const url = `${callback_origin}/a?b=1`
    const status_callback = { url, method: 'GET', webhook_id } as const
    const [kept, erased] = [
      await bench.queued(workspaceId, { status_callback }),
      await bench.queued(workspaceId, { status_callback }),
    ]
    for (const each of await bench.claimMessages()) {
      const outcome = { type: 'accepted', provider_message_id: 'P', lookup_after_ms: null } as const
      await bench.settle(each, { task: 'send', attempt: 1, outcome })
    }
    await bench.storage.write(({ erasure }) =>
      erasure.messages(workspaceId, [erased.id], bench.clock.now()),
    )
    const claimed = await bench.claimDeliveries()
    expect(claimed.filter((each) => each.webhook_id === webhook_id)).toMatchObject([
      { url, message: { callback_method: 'GET' } },
    ])
    const other = claimed.filter((each) => each.webhook_id !== webhook_id)
    for (const each of other) {
      expect(each).toMatchObject({
        url: 'https://receiver.example/hook',
        message: { callback_method: null },
      })
    }
    const statuses = await Promise.all(
      [kept, erased].map(async (message) =>
        (await bench.deliveriesOf(message)).map((row) => [row.webhook_id, row.status]),
      ),
    )
    expect(statuses.map((rows) => new Map(rows as [string, string][]).get(webhook_id))).toEqual([
      'pending',
      'discarded',
    ])
  })

  it('hides no webhook behind as many without room as it takes deliveries', async () => {
    const workspaceId = await bench.workspace(0)
    const full = [await bench.webhook(workspaceId), await bench.webhook(workspaceId)]
    const webhook = await bench.webhook(workspaceId)
    await backlog(workspaceId, 1)
    const room_of_webhook = new Map(full.map(({ id }) => [id, 0]))
    const claimed = only(await bench.claimDeliveries({ limit: 2, room_of_webhook }))
    expect(claimed.webhook_id).toBe(webhook.id)
  })

  it('takes nothing with a limit of zero', async () => {
    const workspaceId = await bench.workspace(0)
    await bench.webhook(workspaceId)
    await bench.webhook(workspaceId, { gate_host: 'receiver.example' })
    await backlog(workspaceId, 1)
    expect(await bench.claimDeliveries({ limit: 0 })).toEqual([])
    expect(await bench.claimDeliveries({ limit: 2 })).toHaveLength(2)
  })

  it('takes nothing where more is in flight than there is room for', async () => {
    const workspaceId = await bench.workspace(0)
    const { id } = await bench.webhook(workspaceId)
    await backlog(workspaceId, 3)
    const over = (of: string) => new Map([[of, -1]])
    expect(await bench.claimDeliveries({ room_of_webhook: over(id) })).toEqual([])
    expect(await bench.claimDeliveries({ room_of_workspace: over(workspaceId) })).toEqual([])
    expect(await bench.claimDeliveries()).toHaveLength(3)
  })

  it.each<[string, (webhook: WebhookRow) => Partial<DeliveryClaim>]>([
    ['the limit of a webhook', () => ({ limit_per_webhook: 2 })],
    ['the room of a webhook', ({ id }) => ({ room_of_webhook: new Map([[id, 2]]) })],
    ['the limit of a workspace', () => ({ limit_per_workspace: 2 })],
    [
      'the room of a workspace',
      ({ workspace_id }) => ({ room_of_workspace: new Map([[workspace_id, 2]]) }),
    ],
  ])('keeps to %s behind deliveries that it discards', async (_, claimOf) => {
    const [left, served] = [await bench.workspace(0), await bench.workspace(0)]
    const disabled = await bench.webhook(left)
    await backlog(left, 3)
    await bench.storage.write(({ webhooks }) =>
      webhooks.change(left, disabled.id, { is_active: false }),
    )
    const webhook = await bench.webhook(served)
    await backlog(served, 9)
    expect(await bench.claimDeliveries({ limit: 5, ...claimOf(webhook) })).toHaveLength(2)
  })
}
