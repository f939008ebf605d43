import { expect, it } from 'vitest'
import type { MessageRow } from '../../src/rows/rows.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

/** What operators see of all workspaces together. */
export function overviewContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const read = () => bench.storage.read.overview
  const now = () => bench.clock.now()
  const failed = (code: string) =>
    ({
      task: 'send',
      attempt: 1,
      outcome: { type: 'rejected', error_code: code, error_message: `It is ${code}` },
    }) as const

  async function fail(workspaceId: string, code: string, more: Partial<MessageRow> = {}) {
    const request = bench.make.send(workspaceId, more)
    await bench.accept(request)
    await bench.settle(only(await bench.claimMessages()), failed(code))
    return only(request.messages).id
  }

  it('is empty before anything happened', async () => {
    expect(await read().messageTotals()).toEqual([])
    expect(await read().messageQueue(now())).toEqual({
      waiting: 0,
      due: 0,
      oldest_due_at: null,
      unknown: 0,
    })
    expect(await read().creditTotals()).toEqual({ workspaces: 0, frozen: 0, balance: 0, held: 0 })
    expect(await read().failedMessages(10)).toEqual([])
    expect(await read().troubledWebhooks(10)).toEqual([])
  })

  it('adds up messages, queues and credits over all workspaces', async () => {
    const [one, two] = [await bench.workspace(5), await bench.workspace(7)]
    await bench.accept(bench.make.send(one))
    await bench.accept(bench.make.send(two))
    await bench.accept(bench.make.send(two))
    expect(await read().messageTotals()).toEqual([{ channel: 'sms', status: 'queued', count: 3 }])
    const queue = await read().messageQueue(now())
    expect(queue).toMatchObject({ waiting: 3, due: 3, unknown: 0 })
    expect(queue.oldest_due_at).toBeInstanceOf(Date)
    const before = new Date((queue.oldest_due_at as Date).getTime() - 1)
    expect(await read().messageQueue(before)).toMatchObject({
      waiting: 3,
      due: 0,
      oldest_due_at: null,
    })
    const totals = await read().creditTotals()
    const accounts = await Promise.all([one, two].map((id) => bench.account(id)))
    expect(totals).toMatchObject({ workspaces: 2, frozen: 0, held: 0 })
    expect(totals.balance).toBe(accounts.reduce((sum, { balance }) => sum + balance, 0))
  })

  it('shows the newest failures first, of whichever workspace', async () => {
    const [one, two] = [await bench.workspace(), await bench.workspace()]
    const first = await fail(one, 'unroutable')
    const second = await fail(two, 'invalid_recipient')
    const third = await fail(one, 'rejected')
    const shown = await read().failedMessages(10)
    expect(shown.map(({ id }) => id)).toEqual([third, second, first])
    expect(shown[1]).toMatchObject({
      workspace_id: two,
      channel: 'sms',
      error_code: 'invalid_recipient',
      bulk_id: null,
      bulk_name: null,
    })
    expect(shown[1]).not.toHaveProperty('content')
    expect((await read().failedMessages(2)).map(({ id }) => id)).toEqual([third, second])
  })

  it('counts canceled messages apart, and does not show them as failures', async () => {
    const workspaceId = await bench.workspace()
    const failed = await fail(workspaceId, 'unroutable')
    const request = bench.make.send(workspaceId)
    await bench.accept(request)
    const message_ids = request.messages.map(({ id }) => id)
    await bench.storage.hot.cancel({ workspace_id: workspaceId, message_ids, at: now() })
    expect(await read().messageTotals()).toEqual([
      { channel: 'sms', status: 'canceled', count: 1 },
      { channel: 'sms', status: 'failed', count: 1 },
      { channel: 'sms', status: 'queued', count: 0 },
    ])
    expect((await read().failedMessages(1)).map(({ id }) => id)).toEqual([failed])
    const { messages } = bench.storage.read
    const listed = async (status: 'failed' | 'canceled') =>
      (await messages.list(workspaceId, { status }, { limit: 10, offset: 0 })).map(({ id }) => id)
    expect(await listed('failed')).toEqual([...message_ids, failed])
    expect(await listed('canceled')).toEqual(message_ids)
    const days = await messages.countsSince(workspaceId, { unit: 'day', from: new Date(0) })
    expect(days.find(({ status }) => status === 'canceled')).toMatchObject({ count: 1 })
  })

  it('shows the failures of one channel if the request names it', async () => {
    const workspaceId = await bench.workspace()
    const sms = await fail(workspaceId, 'unroutable')
    const email = await fail(workspaceId, 'rejected', { channel: 'email' })
    const ids = async (channel?: 'sms' | 'email' | 'voice') =>
      (await read().failedMessages(10, channel)).map(({ id }) => id)
    expect(await ids()).toEqual([email, sms])
    expect(await ids('sms')).toEqual([sms])
    expect(await ids('email')).toEqual([email])
    expect(await ids('voice')).toEqual([])
  })

  it('shows the webhooks in trouble, the latest failure first, and counts all', async () => {
    const workspaceId = await bench.workspace()
    const [well, failing, disabled] = [
      await bench.webhook(workspaceId),
      await bench.webhook(workspaceId, { status: 'failing', last_failure_at: now() }),
      await bench.webhook(workspaceId, { status: 'disabled', disabled_reason: 'gone' }),
    ]
    const shown = await read().troubledWebhooks(10)
    expect(shown.map(({ id }) => id)).toEqual([failing.id, disabled.id])
    expect(shown[0]).not.toHaveProperty('secret')
    expect(shown.some(({ id }) => id === well.id)).toBe(false)
    expect(await read().webhookTotals()).toEqual({ active: 1, failing: 1, disabled: 1 })
  })

  it('counts deliveries that wait', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await fail(workspaceId, 'unroutable')
    expect(await read().deliveryQueue(now())).toMatchObject({ waiting: 1, due: 1 })
  })
}
