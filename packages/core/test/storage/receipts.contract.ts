import { isDeepStrictEqual } from 'node:util'
import { expect, it } from 'vitest'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { Reported } from '../../src/rules/settlement.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

/** How a message comes to stand where a receipt finds it. */
const STATES = ['queued', 'sent', 'delivered', 'read', 'failed', 'refunded'] as const
type State = (typeof STATES)[number]

/** Which statuses a receipt leads through, by where the message stands. Source: contract section 6, Status. */
const TABLE: Record<State, Record<Reported, Reported[]>> = {
  queued: {
    sent: ['sent'],
    delivered: ['delivered'],
    read: ['delivered', 'read'],
    failed: ['failed'],
  },
  sent: {
    sent: [],
    delivered: ['delivered'],
    read: ['delivered', 'read'],
    failed: ['failed'],
  },
  delivered: { sent: [], delivered: [], read: ['read'], failed: [] },
  read: { sent: [], delivered: [], read: [], failed: [] },
  failed: { sent: [], delivered: ['delivered'], read: ['delivered', 'read'], failed: [] },
  refunded: { sent: [], delivered: [], read: [], failed: [] },
}

const REPORTED = ['sent', 'delivered', 'read', 'failed'] as const

/** What providers call back: statuses forward only, each change announced once, everything kept. */
export function receiptsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** On the channel that has all statuses. */
  const queued = (workspaceId: string) => bench.queued(workspaceId, { channel: 'whatsapp' })

  async function messageIn(workspaceId: string, state: State): Promise<MessageRow> {
    const message = await queued(workspaceId)
    if (state === 'queued') return message
    const claimed = only(await bench.claimMessages())
    const outcome =
      state === 'refunded'
        ? ({ type: 'rejected', error_code: 'unroutable', error_message: 'No route' } as const)
        : ({ type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const)
    await bench.settle(claimed, { task: 'send', attempt: 1, outcome })
    if (state === 'delivered' || state === 'read') await bench.callback(message, 'delivered')
    if (state === 'read') await bench.callback(message, 'read')
    if (state === 'failed') await bench.callback(message, 'failed')
    return bench.message(workspaceId, message.id)
  }

  /** Event kind and sequence of everything that was announced about a message, as its receiver gets it. */
  async function announced(messageId: string): Promise<[string, number][]> {
    const bodies = (await bench.claimDeliveries()).map(({ body }) => JSON.parse(body))
    return bodies
      .filter(({ data }) => data.message_id === messageId)
      .map(({ event, data }): [string, number] => [event, data.sequence])
      .sort(([, a], [, b]) => a - b)
  }

  const cells = STATES.flatMap((state) => REPORTED.map((reported) => [state, reported] as const))

  it.each(cells)('%s, then %s is reported', async (state, reported) => {
    const passed = TABLE[state][reported]
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const before = await messageIn(workspaceId, state)
    const money = await bench.account(workspaceId)
    const history = await bench.reportsOf(workspaceId, before.id)
    const at = bench.clock.advance(60_000)

    expect(await bench.callback(before, reported)).toBe(true)

    const after = await bench.message(workspaceId, before.id)
    const last = passed.at(-1)
    const failed = last === 'failed'
    expect(after).toEqual({
      ...before,
      provider: 'carrier',
      provider_message_id: 'P1',
      accepted: state !== 'refunded',
      status: last ?? before.status,
      sequence: before.sequence + passed.length,
      updated_at: last ? at : before.updated_at,
      sent_at: passed.includes('sent') ? at : before.sent_at,
      delivered_at: passed.includes('delivered') ? at : before.delivered_at,
      read_at: passed.includes('read') ? at : before.read_at,
      failed_at: failed ? at : before.failed_at,
      error_code: last ? (failed ? 'undelivered' : null) : before.error_code,
      error_message: last
        ? failed
          ? 'The handset could not be reached'
          : null
        : before.error_message,
    })

    const noted = last ? passed : [reported]
    const events = await bench.reportsOf(workspaceId, before.id)
    expect(events).toHaveLength(history.length + noted.length)
    expect(events).toEqual(expect.arrayContaining(history))
    expect(
      events.filter((event) => !history.some((one) => isDeepStrictEqual(one, event))),
    ).toMatchObject(noted.map((status) => ({ status, applied: last !== undefined, at })))
    const applied = events.filter((event) => event.applied).map(({ status }) => status)
    expect(await announced(before.id)).toEqual(
      applied.map((status, i) => [`message.${status}`, i + 1]),
    )
    expect(await bench.account(workspaceId)).toEqual(money)
  })

  it('keeps a repeated receipt and changes nothing for it', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await messageIn(workspaceId, 'sent')
    await bench.callback(message, 'delivered')
    const once = await bench.message(workspaceId, message.id)
    bench.clock.advance(1_000)
    for (let i = 0; i < 3; i++) await bench.callback(message, 'delivered')
    expect(await bench.message(workspaceId, message.id)).toEqual(once)
    const events = await bench.reportsOf(workspaceId, message.id)
    expect(events.map(({ status, applied }) => [status, applied])).toEqual([
      ['sent', true],
      ['delivered', true],
      ['delivered', false],
      ['delivered', false],
      ['delivered', false],
    ])
    expect(await announced(message.id)).toEqual([
      ['message.sent', 1],
      ['message.delivered', 2],
    ])
  })

  it('keeps why an earlier failure was reported, in the history alone', async () => {
    const workspaceId = await bench.workspace()
    const message = await messageIn(workspaceId, 'failed')
    await bench.callback(message, 'delivered')
    const events = await bench.reportsOf(workspaceId, message.id)
    expect(events).toMatchObject([
      { status: 'sent', error_code: null, error_message: null },
      {
        status: 'failed',
        error_code: 'undelivered',
        error_message: 'The handset could not be reached',
      },
      { status: 'delivered', error_code: null, error_message: null },
    ])
  })

  it('passes through all that one call reports, in its order', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await queued(workspaceId)
    await bench.callback(message, 'sent', 'delivered', 'read')
    expect(await announced(message.id)).toEqual([
      ['message.sent', 1],
      ['message.delivered', 2],
      ['message.read', 3],
    ])
  })

  it('announces each change once when the same receipts arrive simultaneously', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    const message = await messageIn(workspaceId, 'sent')
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => bench.callback(message, i % 2 ? 'read' : 'delivered')),
    )
    expect(await announced(message.id)).toEqual([
      ['message.sent', 1],
      ['message.delivered', 2],
      ['message.read', 3],
    ])
  })

  it('reports that a receipt of an unknown message does not count', async () => {
    const workspaceId = await bench.workspace()
    const message = bench.make.message(workspaceId)
    expect(await bench.callback(message, 'delivered')).toBe(false)
  })

  it('leaves a message in flight to its claim', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    await bench.callback(message, 'delivered')
    bench.clock.advance(LEASE_MS - 1)
    expect(await bench.claimMessages()).toEqual([])
    const outcome = { type: 'rejected', error_code: 'late', error_message: 'No' } as const
    expect(await bench.settle(claimed, { task: 'send', attempt: 1, outcome })).toBe(true)
    expect(await bench.message(workspaceId, message.id)).toMatchObject({ status: 'delivered' })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 99 * SMS_PRICE })
  })
}
