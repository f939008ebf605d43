import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

const NONE = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0 }

/** Bulks: kept with their messages or not at all, and found again by them. */
export function bulksContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** The request for a bulk of so many messages, with its row. */
  function bulkOf(workspaceId: string, count: number) {
    const request = bench.make.bulk(workspaceId, count, { channel: 'whatsapp' })
    const fields = { api_key_id: 'key', total: count + 3, rejected: 1, duplicates: 2 }
    return { ...request, bulk: bench.make.bulkRow(request.messages, fields) }
  }

  it('keeps a bulk as it was accepted, with its messages in their order', async () => {
    const workspaceId = await bench.workspace(300)
    const [first, second] = [bulkOf(workspaceId, 125), bulkOf(workspaceId, 3)]
    await bench.queued(workspaceId)
    const results = await bench.storage.hot.accept([first, second])
    expect(results).toEqual([{ outcome: 'accepted' }, { outcome: 'accepted' }])
    const { bulks, messages } = bench.storage.read
    expect(await bulks.byId(workspaceId, first.bulk.id)).toEqual(first.bulk)
    expect(await bulks.byId(workspaceId, second.bulk.id)).toEqual(second.bulk)
    expect(await messages.ofBulk(workspaceId, first.bulk.id)).toEqual(first.messages)
    expect(await messages.ofBulk(workspaceId, 'another')).toEqual([])
  })

  it('keeps the rejected recipients of a bulk, and gives them in pages', async () => {
    const workspaceId = await bench.workspace(300)
    const [request, other] = [bulkOf(workspaceId, 2), bulkOf(workspaceId, 1)]
    const texts = ['+1', null, '', `"'\\ \u{1f4e8} \n`, ...Array(200).fill('faulty')]
    const rejections = bench.make.rejections(request.bulk, texts)
    const others = bench.make.rejections(other.bulk, ['+2'])
    await bench.storage.hot.accept([
      { ...request, rejections: rejections.toReversed() },
      { ...other, rejections: others },
    ])
    const { bulks } = bench.storage.read
    const page = (limit: number, offset: number, after?: number) =>
      bulks.rejections(workspaceId, request.bulk.id, { limit, offset, after })
    expect(await page(500, 0)).toEqual(rejections)
    expect(await page(2, 1)).toEqual(rejections.slice(1, 3))
    expect(await page(3, 0, 1)).toEqual(rejections.slice(2, 5))
    expect(await page(3, 0, 203)).toEqual([])
    expect(await bulks.rejections(workspaceId, other.bulk.id, EVERYTHING)).toEqual(others)
    expect(await bulks.rejections(workspaceId, 'another', EVERYTHING)).toEqual([])
  })

  it('keeps no rejected recipient of a bulk that is refused', async () => {
    const workspaceId = await bench.workspace(0)
    const request = bulkOf(workspaceId, 2)
    const rejections = bench.make.rejections(request.bulk, ['+1'])
    const [result] = await bench.storage.hot.accept([{ ...request, rejections }])
    expect(result?.outcome).toBe('insufficient_credits')
    const { bulks } = bench.storage.read
    expect(await bulks.rejections(workspaceId, request.bulk.id, EVERYTHING)).toEqual([])
  })

  it.each([
    ['many messages', 2_500, 5],
    ['long messages', 40, 200_000],
  ])(
    'lets other work run while it accepts %s, and shows all of them or none',
    async (_, count, length) => {
      const workspaceId = await bench.workspace(10_000)
      const content = { text: 'a'.repeat(length) }
      const request = bench.make.bulk(workspaceId, count, { channel: 'whatsapp', content })
      const bulk = bench.make.bulkRow(request.messages)
      const rejections = bench.make.rejections(bulk, Array(count).fill('faulty'))
      const { bulks, messages } = bench.storage.read
      const seen: [boolean, number][] = []
      let isAccepted = false
      const accepted = bench.storage.hot.accept([{ ...request, bulk, rejections }]).finally(() => {
        isAccepted = true
      })
      for (let turns = 0; !isAccepted; turns++) {
        await nextTurn()
        if (turns % 4 > 0 || isAccepted) continue
        const found = await bulks.byId(workspaceId, bulk.id)
        const { counts } = await bulks.progress(workspaceId, bulk.id)
        seen.push([found !== null, counts.queued])
      }
      expect(await accepted).toEqual([{ outcome: 'accepted' }])
      expect(seen.filter(([isFound, queued]) => !isFound && queued === 0).length).toBeGreaterThan(0)
      const partly = seen.filter(([, queued]) => queued !== 0 && queued !== count)
      expect(partly).toEqual([])
      expect(await messages.ofBulk(workspaceId, bulk.id)).toEqual(request.messages)
      const stored = await bulks.rejections(workspaceId, bulk.id, { limit: 5_000, offset: 0 })
      expect(stored).toEqual(rejections)
    },
  )

  it('writes nothing of a large bulk if its last message cannot be stored', async () => {
    const workspaceId = await bench.workspace(10_000)
    const request = bulkOf(workspaceId, 2_500)
    const last = request.messages.at(-1)
    const [first] = request.messages
    if (!first || !last) throw new Error('2,500 messages were made')
    last.id = first.id
    const sent = bench.queued(workspaceId)
    await expect(bench.storage.hot.accept([request])).rejects.toThrow()
    const { bulks, messages } = bench.storage.read
    expect(await bulks.byId(workspaceId, request.bulk.id)).toBeNull()
    expect(await messages.ofBulk(workspaceId, request.bulk.id)).toEqual([])
    const { id } = await sent
    expect((await messages.byId(workspaceId, id))?.status).toBe('queued')
  })

  it('counts the messages of a bulk by what became of them, and finds those', async () => {
    const workspaceId = await bench.workspace(30)
    const request = bulkOf(workspaceId, 7)
    await bench.accept(request)
    const [a, b, c, d] = request.messages
    if (!a || !b || !c || !d) throw new Error('seven messages were made')
    await bench.callback(a, 'failed')
    await bench.callback(b, 'read')
    await bench.callback(c, 'sent')
    await bench.callback(d, 'failed')
    const { bulks, messages } = bench.storage.read
    expect(await bulks.progress(workspaceId, request.bulk.id)).toEqual({
      counts: { ...NONE, queued: 3, sent: 1, read: 1, failed: 2 },
      canceled: 0,
      failures: [{ error_code: 'undelivered', count: 2 }],
      retryable: 0,
      credits_refunded: 0,
    })
    expect(await bulks.progress(workspaceId, 'another')).toEqual({
      counts: NONE,
      canceled: 0,
      failures: [],
      retryable: 0,
      credits_refunded: 0,
    })
    const failed = await messages.ofBulk(workspaceId, request.bulk.id, 'failed')
    expect(failed.map(({ id }) => id)).toEqual([a.id, d.id])
  })

  it('sums the refunds of a bulk, past 32 bits', async () => {
    const workspaceId = await bench.workspace(10_000)
    const credits_used = units(1_500_000_000)
    const request = bench.make.bulk(workspaceId, 4, { credits_used })
    const bulk = bench.make.bulkRow(request.messages)
    await bench.accept({ ...request, bulk })
    await bench.accept(bulkOf(workspaceId, 2))
    const [a, b, c] = request.messages
    if (!a || !b || !c) throw new Error('four messages were made')
    const { bulks } = bench.storage.read
    const cancel = (...message_ids: string[]) =>
      bench.storage.hot.cancel({ workspace_id: workspaceId, message_ids, at: bench.clock.now() })
    await cancel(a.id, b.id)
    expect(await bulks.progress(workspaceId, bulk.id)).toEqual({
      counts: { ...NONE, queued: 2, failed: 2 },
      canceled: 2,
      failures: [],
      retryable: 0,
      credits_refunded: 3_000_000_000,
    })
    await bench.callback(c, 'failed')
    expect(await bulks.progress(workspaceId, bulk.id)).toEqual({
      counts: { ...NONE, queued: 1, failed: 3 },
      canceled: 2,
      failures: [{ error_code: 'undelivered', count: 1 }],
      retryable: 0,
      credits_refunded: 3_000_000_000,
    })
  })

  it('leaves nothing of a bulk that is refused', async () => {
    const workspaceId = await bench.workspace(4)
    const request = bulkOf(workspaceId, 5)
    expect(await bench.accept(request)).toMatchObject({ outcome: 'insufficient_credits' })
    const { bulks, messages } = bench.storage.read
    expect(await bulks.byId(workspaceId, request.bulk.id)).toBeNull()
    expect(await messages.list(workspaceId, {}, EVERYTHING)).toEqual([])
  })
}
