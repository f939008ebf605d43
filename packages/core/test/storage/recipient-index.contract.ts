import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import { units } from '../../src/contract/fields/units.ts'
import { createRecipientIndex } from '../../src/messages/index-recipients.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { MessageFilter } from '../../src/storage/ports/stores.ts'
import { type Bench, benchFor, EVERYTHING, type OpenStorage } from './bench.ts'
import { isSelected, type Random, randomOf } from './message-counts.contract.ts'

/** A batch of the sweeper in these tests, and the messages of a segment. */
const SIZES = { batch: 4, segment_max: 8 }

const RECIPIENTS = Array.from({ length: 40 }, (_, i) => `+2557000000${10 + i}`)

/** The random filters for which each state is compared with its rows. */
const COMPARISONS = RUNS_ALL_CASES ? 25 : 10

const HOUR_MS = 3_600_000

const goesOn = () => false

/** The index of recipients: lists through it are those of the rows, whatever was written when. */
export function recipientIndexContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const sweep = () =>
    createRecipientIndex({ storage: bench.storage, runtime: bench.clock }, SIZES).write(goesOn)
  const extend = (workspaceId: string) =>
    bench.storage.write(({ recipientIndex }) => recipientIndex.extend(workspaceId, '~', SIZES))
  const stateOf = (workspaceId: string) => bench.storage.read.recipientIndex.state(workspaceId)
  const send = (workspaceId: string, row: Partial<MessageRow>) =>
    bench.queued(workspaceId, { credits_used: units(0), ...row })

  /** Sends this number of messages, to each recipient in turn. */
  async function sendMany(workspaceId: string, count: number): Promise<MessageRow[]> {
    const sent: MessageRow[] = []
    for (let i = 0; i < count; i++) {
      sent.push(await send(workspaceId, { recipient: RECIPIENTS[i % RECIPIENTS.length] as string }))
      bench.clock.advance(1_000)
    }
    return sent
  }

  async function listed(workspaceId: string, filter: MessageFilter): Promise<string[]> {
    const rows = await bench.storage.read.messages.list(workspaceId, filter, EVERYTHING)
    return rows.map(({ id }) => id)
  }

  it('gets whole batches of messages of more than ten seconds', async () => {
    const workspaceId = await bench.workspace()
    await sendMany(workspaceId, 19)
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 8, total: 19, newer: 11 })
    bench.clock.advance(10_000)
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 16, total: 19, newer: 3 })
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 16, total: 19, newer: 3 })
  })

  it('of a workspace with fewer messages than a batch is not written', async () => {
    const workspaceId = await bench.workspace()
    await sendMany(workspaceId, 3)
    bench.clock.advance(HOUR_MS)
    await sweep()
    expect(await stateOf(workspaceId)).toBeNull()
  })

  it('gets the batch later that was too new at a sweep, though nothing was sent since', async () => {
    const workspaceId = await bench.workspace()
    const index = createRecipientIndex({ storage: bench.storage, runtime: bench.clock }, SIZES)
    await sendMany(workspaceId, 8)
    await index.write(goesOn)
    expect(await stateOf(workspaceId)).toBeNull()
    bench.clock.advance(60_000)
    await index.write(goesOn)
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 8, newer: 0 })
  })

  it('finds the messages of one recipient among many, in segments and after them', async () => {
    const workspaceId = await bench.workspace(200)
    const all = await sendMany(workspaceId, 165)
    bench.clock.advance(60_000)
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 164, newer: 1 })
    for (const recipient of [...RECIPIENTS, '+255700000099']) {
      const expected = all.filter((row) => row.recipient === recipient).map(({ id }) => id)
      expect(await listed(workspaceId, { recipient })).toEqual(expected.reverse())
    }
    const stranger = await bench.workspace()
    expect(await listed(stranger, { recipient: RECIPIENTS[0] })).toEqual([])
  })

  it('does not mix recipients with the same bucket', async () => {
    const [one, other] = withSameBucket()
    const workspaceId = await bench.workspace(200)
    await sendMany(workspaceId, 80)
    const sent = [
      await send(workspaceId, { recipient: one }),
      await send(workspaceId, { recipient: other }),
    ]
    await sendMany(workspaceId, 10)
    bench.clock.advance(60_000)
    await sweep()
    expect(await listed(workspaceId, { recipient: one })).toEqual([sent[0]?.id])
    expect(await bench.storage.read.messages.count(workspaceId, { recipient: other })).toBe(1)
  })

  it('gets a message that was committed after its segment, and lists have it before that', async () => {
    const workspaceId = await bench.workspace(200)
    await sendMany(workspaceId, 40)
    const [early, late] = [bench.clock.id(), bench.clock.id()]
    await sendMany(workspaceId, 42)
    bench.clock.advance(60_000)
    await sweep()
    const [recipient] = RECIPIENTS
    await send(workspaceId, { id: late, recipient: recipient as string })
    const rows = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
    const expected = () => rows.filter((row) => row.recipient === recipient).map(({ id }) => id)
    expect(expected()).toContain(late)
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 80, total: 83, newer: 2 })
    expect(await listed(workspaceId, { recipient })).toEqual(expected())
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 81, total: 83, newer: 2 })
    expect(await listed(workspaceId, { recipient })).toEqual(expected())
    // A second one, in a segment that was compared already.
    await send(workspaceId, { id: early, recipient: 'asha@example.com' })
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 82, total: 84, newer: 2 })
    expect(await listed(workspaceId, { recipient: 'asha@example.com' })).toEqual([early])
  })

  it('is continued by two servers at once, each batch once', async () => {
    const workspaceId = await bench.workspace(200)
    await sendMany(workspaceId, 50)
    bench.clock.advance(60_000)
    await Promise.all([sweep(), sweep(), sweep()])
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 48, total: 50, newer: 2 })
  })

  it('no longer finds an erased message', async () => {
    const workspaceId = await bench.workspace(200)
    const all = await sendMany(workspaceId, 80)
    bench.clock.advance(60_000)
    await sweep()
    const [first] = all
    await bench.callback(first as MessageRow, 'delivered')
    await bench.storage.write(({ erasure }) =>
      erasure.messages(workspaceId, [first?.id as string], bench.clock.now()),
    )
    const { recipient } = first as MessageRow
    expect(await listed(workspaceId, { recipient })).toEqual([all[40]?.id])
    expect(await listed(workspaceId, { recipient: 'erased' })).toEqual([first?.id])
  })

  it('forgets removed messages, and segments without messages', async () => {
    const workspaceId = await bench.workspace(200)
    const all = await sendMany(workspaceId, 80)
    bench.clock.advance(60_000)
    await sweep()
    for (const message of all.slice(0, 12)) await end(message)
    expect(await remove(bench, workspaceId, all.slice(0, 12))).toBe(12)
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 68, total: 68, late: 0 })
    const ids = all.map(({ id }) => id)
    expect(await listed(workspaceId, { recipient: all[0]?.recipient as string })).toEqual([ids[40]])
    expect(await listed(workspaceId, { recipient: all[20]?.recipient as string })).toEqual([
      ids[60],
      ids[20],
    ])
    for (const message of all.slice(12)) await end(message)
    await remove(bench, workspaceId, all.slice(12))
    expect(await stateOf(workspaceId)).toBeNull()
    await sendMany(workspaceId, 80)
    bench.clock.advance(60_000)
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 80, total: 80, late: 0 })
  })

  it('is exact again after a message was removed that was committed after its segment', async () => {
    const workspaceId = await bench.workspace(200)
    const late = bench.clock.id()
    await sendMany(workspaceId, 80)
    bench.clock.advance(60_000)
    await sweep()
    const message = await send(workspaceId, { id: late, recipient: '+255700000099' })
    await end(message)
    await remove(bench, workspaceId, [message])
    expect(await stateOf(workspaceId)).toMatchObject({ total: 80, late: 1 })
    await sweep()
    expect(await stateOf(workspaceId)).toMatchObject({ indexed: 80, total: 80, late: 0 })
  })

  async function end({ workspace_id, id }: MessageRow): Promise<void> {
    await bench.storage.hot.cancel({ workspace_id, message_ids: [id], at: bench.clock.now() })
  }

  it.each(RUNS_ALL_CASES ? [1, 2, 3, 4] : [1])(
    'lists and counts what the rows say, with every filter, while it is written: history %i',
    async (seed) => {
      const workspaceId = await bench.workspace(1_000)
      const random = randomOf(seed)
      for (let round = 0; round < 4; round++) {
        await live(bench, workspaceId, random, () => extend(workspaceId), sweep)
        const all = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
        for (let i = 0; i < COMPARISONS; i++)
          await compare(workspaceId, all, randomFilter(all, random))
      }
    },
  )

  async function compare(workspaceId: string, all: MessageRow[], filter: MessageFilter) {
    const { messages } = bench.storage.read
    const { newer_than, ...own } = filter
    const rows = all.filter((row) => isSelected(row, own) && (!newer_than || row.id > newer_than))
    const ids = rows.map(({ id }) => id)
    const [limit, offset] = [3, 2]
    const nearest = newer_than
      ? ids
          .toReversed()
          .slice(offset, offset + limit)
          .reverse()
      : ids.slice(offset, offset + limit)
    const page = await messages.list(workspaceId, filter, { limit, offset })
    const short = { limit, offset: 0, content_length: 1_000 }
    const first = await messages.listShort(workspaceId, filter, short)
    expect({
      filter,
      ids: await listed(workspaceId, filter),
      page: page.map(({ id }) => id),
      first: first.map(({ id }) => id),
      count: await messages.count(workspaceId, filter),
    }).toEqual({
      filter,
      ids,
      page: nearest,
      first: newer_than ? ids.slice(-limit) : ids.slice(0, limit),
      count: ids.length,
    })
  }
}

/** A part of a life of a workspace: new messages, some committed late, changes, erasures, batches of the index. */
async function live(
  bench: Bench,
  workspaceId: string,
  random: Random,
  extend: () => Promise<unknown>,
  sweep: () => Promise<void>,
): Promise<void> {
  const sent: MessageRow[] = []
  const kept: string[] = []
  const send = async (id: string) => {
    const row = {
      id,
      recipient: random([...RECIPIENTS, 'asha@example.com']),
      channel: random(['sms', 'email'] as const),
      credits_used: units(0),
      livemode: random([true, true, false]),
      bulk_id: random([null, null, 'bulk']),
    }
    sent.push(await bench.queued(workspaceId, row))
  }
  const steps = [
    async () => void bench.clock.advance(random([1, 977, HOUR_MS, 7 * HOUR_MS])),
    async () => void kept.push(bench.clock.id()),
    async () => {
      const id = kept.shift()
      if (id) await send(id)
    },
    async () => {
      const message = random(sent)
      if (message) await bench.callback(message, random(['sent', 'delivered', 'failed']))
    },
    async () => {
      const ids = [random(sent)?.id ?? '']
      await bench.storage.write(({ erasure }) =>
        erasure.messages(workspaceId, ids, bench.clock.now()),
      )
    },
    async () => void (await remove(bench, workspaceId, sent)),
    extend,
    sweep,
  ]
  for (let i = 0; i < 60; i++) {
    await send(bench.clock.id())
    await random(steps)()
  }
}

/** Removes messages from the history, if nothing holds them. Returns their number. */
function remove(bench: Bench, workspaceId: string, messages: MessageRow[]): Promise<number> {
  const ids = messages.map(({ id }) => id)
  const times = { until: new Date(bench.clock.now().getTime() + 1), at: bench.clock.now() }
  return bench.storage.write(({ history }) => history.removeMessages(workspaceId, ids, times))
}

function randomFilter(all: readonly MessageRow[], random: Random): MessageFilter {
  const moment = () => new Date(random(all).created_at.getTime() + random([-1, 0, 1]))
  const bound = random([{}, {}, { before_id: random(all).id }, { newer_than: random(all).id }])
  return {
    recipient: random(all).recipient,
    from: random([undefined, undefined, moment()]),
    until: random([undefined, undefined, moment()]),
    channel: random([undefined, undefined, 'sms', 'email']),
    status: random([undefined, undefined, 'queued', 'delivered']),
    livemode: random([undefined, undefined, false]),
    bulk_id: random([undefined, undefined, undefined, 'bulk']),
    ...bound,
  }
}

/** Two numbers whose hashes begin with the same 16 bits. */
function withSameBucket(): [string, string] {
  const known = new Map<number, string>()
  for (let i = 0; ; i++) {
    const number = `+25571${1_000_000 + i}`
    const bucket = createHash('sha256').update(number).digest().readUInt16BE()
    const other = known.get(bucket)
    if (other) return [other, number]
    known.set(bucket, number)
  }
}
