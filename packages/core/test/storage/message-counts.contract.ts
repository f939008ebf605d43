import { expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import { units } from '../../src/contract/fields/units.ts'
import { CHANNELS } from '../../src/contract/resources/content.ts'
import type { MessageStatus } from '../../src/contract/resources/messages.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import { countedAs, countNew } from '../../src/rules/count-changes.ts'
import type { ListedStatus, MessageFilter } from '../../src/storage/ports/stores.ts'
import { type Bench, benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const STATUSES: ListedStatus[] = [
  ...(['queued', 'sent', 'delivered', 'read', 'failed', 'canceled'] as const),
  ...(['delivered_or_read', 'failed_only'] as const),
]

/** Whether a filter by status selects a message: `failed` includes canceled ones, `failed_only` does not. */
function isOf(row: MessageRow, status: ListedStatus): boolean {
  if (status === 'delivered_or_read') return ['delivered', 'read'].includes(row.status)
  if (status === 'failed_only') return countedAs(row) === 'failed'
  return row.status === status || countedAs(row) === status
}

/** The kept numbers of messages are those that counting gives. */
export async function expectCounted(bench: Bench, workspaceId: string): Promise<void> {
  const { messages } = bench.storage.read
  const rows = await messages.list(workspaceId, {}, EVERYTHING)
  const kinds = [undefined, ...CHANNELS].flatMap((channel) =>
    [undefined, ...STATUSES].map((status) => ({ channel, status })),
  )
  const counted = await Promise.all(kinds.map((kind) => messages.count(workspaceId, kind)))
  const ofKind = ({ channel, status }: (typeof kinds)[number]) =>
    rows.filter((row) => (!channel || row.channel === channel) && (!status || isOf(row, status)))
  expect(counted).toEqual(kinds.map((kind) => ofKind(kind).length))
  const tests = await Promise.all(
    kinds.map((kind) => messages.count(workspaceId, { ...kind, livemode: false })),
  )
  expect(tests).toEqual(kinds.map((kind) => ofKind(kind).filter((row) => !row.livemode).length))
}

const HOUR_MS = 3_600_000

export type Random = <T>(values: readonly T[]) => T

/** A choice among values that depends only on the seed. */
export function randomOf(seed: number): Random {
  let state = seed
  return (values) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return values[Math.floor((state / 2 ** 32) * values.length)] as (typeof values)[number]
  }
}

/**
 * Messages of several days in every status, some erased, some of a clock that was set back. Returns the rows, newest id
 * first.
 */
async function randomHistory(
  bench: Bench,
  workspaceId: string,
  random: Random,
): Promise<MessageRow[]> {
  const sent: MessageRow[] = []
  const steps = [
    () =>
      void bench.clock.advance(random([1, 977, HOUR_MS / 2, HOUR_MS, 7 * HOUR_MS, 30 * HOUR_MS])),
    () => void bench.clock.step(-random([1, HOUR_MS, 26 * HOUR_MS])),
    async () => {
      const channel = random(['sms', 'email'] as const)
      const created_at = new Date(bench.clock.now().getTime() - random([0, 0, 3, HOUR_MS]))
      const of = { channel, created_at, credits_used: units(0), bulk_id: random([null, 'bulk']) }
      const recipient = random(['+255700000001', '+255700000002'])
      const livemode = random([true, true, false])
      sent.push(await bench.queued(workspaceId, { ...of, recipient, livemode }))
    },
    async () => {
      const message = random(sent)
      if (message) await bench.callback(message, random(['sent', 'delivered', 'failed', 'read']))
    },
    async () => {
      const message_ids = [random(sent)?.id ?? '']
      const request = { workspace_id: workspaceId, message_ids, at: bench.clock.now() }
      await bench.storage.hot.cancel(request)
    },
    async () => {
      const ids = [random(sent)?.id ?? '']
      await bench.storage.write(({ erasure }) =>
        erasure.messages(workspaceId, ids, bench.clock.now()),
      )
    },
    async () => {
      const reply = bench.make.message(workspaceId, { livemode: random([true, false]) })
      await bench.storage.write(({ receivedMessages }) =>
        receivedMessages.reply([reply], countNew([reply])),
      )
      sent.push(reply)
    },
  ]
  for (let i = 0; i < 150; i++) await random([...steps, steps[2] as () => Promise<void>])()
  return bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
}

/** A filter, with bounds at, beside and between the times of the messages. */
function randomFilter(all: readonly MessageRow[], random: Random): MessageFilter {
  const moment = () => {
    const at_ms = random(all).created_at.getTime()
    const hour_ms = at_ms - (at_ms % HOUR_MS)
    return new Date(random([at_ms, at_ms + 1, at_ms - 1, hour_ms, hour_ms - 1, hour_ms + HOUR_MS]))
  }
  return {
    from: random([undefined, moment(), moment()]),
    until: random([undefined, moment(), moment()]),
    channel: random([undefined, undefined, 'sms', 'email']),
    status: random([undefined, undefined, ...STATUSES]),
    livemode: random([undefined, undefined, false]),
    bulk_id: random([undefined, undefined, undefined, 'bulk']),
    recipient: random([undefined, undefined, undefined, '+255700000001']),
    before_id: random([undefined, undefined, undefined, random(all).id]),
  }
}

/** Whether a filter selects a message, without any index. */
export function isSelected(row: MessageRow, filter: MessageFilter): boolean {
  return (
    (!filter.from || row.created_at >= filter.from) &&
    (!filter.until || row.created_at <= filter.until) &&
    (!filter.channel || row.channel === filter.channel) &&
    (!filter.status || isOf(row, filter.status)) &&
    (filter.livemode === undefined || row.livemode === filter.livemode) &&
    (!filter.bulk_id || row.bulk_id === filter.bulk_id) &&
    (!filter.recipient || row.recipient === filter.recipient) &&
    (!filter.before_id || row.id < filter.before_id)
  )
}

/** Totals that cost the same however long the history is: kept up by every verb that changes a status. */
export function messageCountsContract(open: OpenStorage): void {
  const bench = benchFor(open)

  it('follow messages of every channel through every status', async () => {
    const workspaceId = await bench.workspace()
    await expectCounted(bench, workspaceId)
    const steps: [MessageStatus[], 'sms' | 'email' | 'whatsapp'][] = [
      [[], 'sms'],
      [['sent'], 'email'],
      [['sent', 'delivered'], 'sms'],
      [['read'], 'whatsapp'],
      [['sent', 'failed'], 'email'],
      [['failed', 'delivered'], 'sms'],
      [['delivered', 'delivered', 'sent'], 'email'],
    ]
    for (const [i, [statuses, channel]] of steps.entries()) {
      const message = await bench.queued(workspaceId, { channel, livemode: i % 2 === 0 })
      await expectCounted(bench, workspaceId)
      for (const status of statuses) {
        if (status !== 'queued') await bench.callback(message, status)
        await expectCounted(bench, workspaceId)
      }
    }
    const { messages } = bench.storage.read
    expect(await messages.count(workspaceId, {})).toBe(7)
    expect(await messages.count(workspaceId, { channel: 'email' })).toBe(3)
    expect(await messages.count(workspaceId, { status: 'delivered' })).toBe(3)
    expect(await messages.count(workspaceId, { livemode: false })).toBe(3)
  })

  it('are exact when many workspaces change at the same moment', async () => {
    const workspaces = await Promise.all(Array.from({ length: 4 }, () => bench.workspace(200)))
    const rounds = Array.from({ length: 12 }, async (_, round) => {
      // In another order each time: locking in the order of arrival would deadlock.
      const order = round % 2 ? workspaces : workspaces.toReversed()
      const requests = order.flatMap((id) => [
        bench.make.send(id),
        bench.make.send(id, { channel: 'email', livemode: round % 3 === 0 }),
      ])
      await bench.storage.hot.accept(requests)
      const sent = requests.flatMap(({ messages }) => messages)
      await Promise.all(
        sent.map((message, i) =>
          i % 3 === 0
            ? bench.storage.hot.cancel({
                workspace_id: message.workspace_id,
                message_ids: [message.id],
                at: bench.clock.now(),
              })
            : bench.callback(message, i % 3 === 1 ? 'read' : 'failed'),
        ),
      )
    })
    await Promise.all(rounds)
    for (const id of workspaces) {
      expect(await bench.storage.read.messages.count(id, {})).toBe(24)
      await expectCounted(bench, id)
    }
  })

  it.each(RUNS_ALL_CASES ? [1, 2, 3] : [1])(
    'are those of the rows for all dates, kinds and modes, history %i',
    async (seed) => {
      const workspaceId = await bench.workspace(1_000)
      const random = randomOf(seed)
      const all = await randomHistory(bench, workspaceId, random)
      await expectCounted(bench, workspaceId)
      const { messages } = bench.storage.read
      for (let i = 0; i < 60; i++) {
        const filter = randomFilter(all, random)
        const expected = all.filter((row) => isSelected(row, filter)).map(({ id }) => id)
        const listed = await messages.list(workspaceId, filter, EVERYTHING)
        expect({ filter, ids: listed.map(({ id }) => id) }).toEqual({ filter, ids: expected })
        expect({ filter, n: await messages.count(workspaceId, filter) }).toEqual({
          filter,
          n: expected.length,
        })
      }
    },
  )

  it('leave the refused and the rolled back uncounted', async () => {
    const workspaceId = await bench.workspace(1)
    const results = await bench.storage.hot.accept([
      bench.make.send(workspaceId),
      bench.make.send(workspaceId),
    ])
    expect(results.map(({ outcome }) => outcome)).toEqual(['accepted', 'insufficient_credits'])
    const twice = bench.make.send(workspaceId, { credits_used: units(0) })
    await bench.accept(twice)
    await expect(bench.accept(twice)).rejects.toThrow()
    await expectCounted(bench, workspaceId)
  })
}
