import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import type { TestUse } from '../../src/rules/test-usage.ts'
import { benchFor, type OpenStorage } from './bench.ts'

const DAY = 20_577
const QUOTAS = { test_messages_per_day: 5, test_bytes_per_day: 1_000 }
const ACCEPTED = { outcome: 'accepted' }

/** The daily quotas of test keys: exact, also with simultaneous sends. */
export function testQuotasContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** A bulk of a test key: so many messages, of so many bytes together. */
  function testing(workspaceId: string, overrides: Partial<TestUse> = {}): AcceptRequest {
    const use = { day: DAY, messages: 1, bytes: 100, ...QUOTAS, ...overrides }
    const free = { credits_used: units(0), livemode: false }
    const rows = Array.from({ length: use.messages }, () => bench.make.message(workspaceId, free))
    return { ...bench.make.request(rows), test_use: use }
  }

  const usage = (workspaceId: string) => bench.storage.read.apiKeys.testUsage(workspaceId)
  const written = (workspaceId: string) => bench.storage.read.messages.count(workspaceId, {})
  const outcomes = async (requests: AcceptRequest[]) =>
    (await bench.storage.hot.accept(requests)).map(({ outcome }) => outcome)

  it('are used to the last message, and a request counts whole or not at all', async () => {
    const id = await bench.workspace()
    expect(await usage(id)).toBeNull()
    expect(await bench.accept(testing(id, { messages: 3, bytes: 10 }))).toEqual(ACCEPTED)
    expect(await bench.accept(testing(id, { messages: 3, bytes: 10 }))).toEqual({
      outcome: 'test_quota',
      of: 'messages',
      required: 3,
      limit: 5,
      used: 3,
    })
    expect(await usage(id)).toEqual({ workspace_id: id, day: DAY, messages: 3, bytes: 10 })
    expect(await outcomes([testing(id), testing(id), testing(id)])).toEqual([
      'accepted',
      'accepted',
      'test_quota',
    ])
    expect(await usage(id)).toEqual({ workspace_id: id, day: DAY, messages: 5, bytes: 210 })
    expect(await written(id)).toBe(5)
  })

  it('are used to the last byte', async () => {
    const id = await bench.workspace()
    expect(await bench.accept(testing(id, { bytes: 600 }))).toEqual(ACCEPTED)
    expect(await bench.accept(testing(id, { bytes: 401 }))).toEqual({
      outcome: 'test_quota',
      of: 'bytes',
      required: 401,
      limit: 1_000,
      used: 600,
    })
    expect(await bench.accept(testing(id, { bytes: 400 }))).toEqual(ACCEPTED)
  })

  it('let five of 60 simultaneous messages in', async () => {
    const id = await bench.workspace()
    const results = await Promise.all(
      Array.from({ length: 60 }, () => bench.accept(testing(id, { bytes: 1 }))),
    )
    expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(5)
    expect(results.filter(({ outcome }) => outcome === 'test_quota')).toHaveLength(55)
    expect([await written(id), (await usage(id))?.messages]).toEqual([5, 5])
  })

  it('belong to a workspace and a day, and hold back no live key', async () => {
    const [id, other] = [await bench.workspace(), await bench.workspace()]
    const all = { messages: 5, bytes: 5 }
    expect(
      await outcomes([
        testing(id, all),
        testing(other, all),
        testing(id),
        bench.make.send(id),
        testing(id, { ...all, day: DAY + 1 }),
        // A server whose clock is behind counts in the day that has begun.
        testing(id),
        testing(id, { day: DAY + 2 }),
      ]),
    ).toEqual([
      'accepted',
      'accepted',
      'test_quota',
      'accepted',
      'accepted',
      'test_quota',
      'accepted',
    ])
  })

  it('are not used by what is refused or answered from before, and outlast a restart', async () => {
    const id = await bench.workspace()
    const idempotency = { route: 'messages.send', key: 'k', request_hash: 'h', response: '{}' }
    const request = { ...testing(id, { messages: 4 }), idempotency }
    expect(await bench.accept(request)).toEqual(ACCEPTED)
    const again = { ...testing(id, { messages: 4 }), idempotency }
    expect(await bench.accept(again)).toEqual({ outcome: 'replayed', response: '{}' })
    await bench.reopen()
    expect(await usage(id)).toMatchObject({ messages: 4 })
    expect(await outcomes([testing(id), testing(id)])).toEqual(['accepted', 'test_quota'])
  })
}
