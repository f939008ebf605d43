import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { CHANNELS } from '../../src/contract/resources/content.ts'
import type { MessageStatus } from '../../src/contract/resources/messages.ts'
import { type Bench, benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const STATUSES: MessageStatus[] = ['queued', 'sent', 'delivered', 'read', 'failed']

/** The kept numbers of messages are those that counting gives. */
export async function expectCounted(bench: Bench, workspaceId: string): Promise<void> {
  const { messages } = bench.storage.read
  const rows = await messages.list(workspaceId, {}, EVERYTHING)
  const kinds = [undefined, ...CHANNELS].flatMap((channel) =>
    [undefined, ...STATUSES].map((status) => ({ channel, status })),
  )
  const counted = await Promise.all(kinds.map((kind) => messages.count(workspaceId, kind)))
  const ofKind = ({ channel, status }: (typeof kinds)[number]) =>
    rows.filter(
      (row) => (!channel || row.channel === channel) && (!status || row.status === status),
    )
  expect(counted).toEqual(kinds.map((kind) => ofKind(kind).length))
  const tests = await Promise.all(
    kinds.map((kind) => messages.count(workspaceId, { ...kind, livemode: false })),
  )
  expect(tests).toEqual(kinds.map((kind) => ofKind(kind).filter((row) => !row.livemode).length))
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
