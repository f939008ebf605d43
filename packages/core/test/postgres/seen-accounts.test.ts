import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

const SUPPRESSION = { reason: 'manual' as const, created_at: new Date(0) }

/** Another server on the same database. */
let other: Storage
let workspaceId: string
beforeEach(async () => {
  other = await bench.another('other')
  workspaceId = await bench.workspace(10)
  // The accounts are seen from now on.
  expect(await accept(bench.make.send(workspaceId))).toBe('accepted')
})
afterEach(() => other.close())

async function accept(
  request: AcceptRequest,
  storage = bench.storage,
): Promise<string | undefined> {
  return (await storage.hot.accept([request]))[0]?.outcome
}

/** The names of the statements that accepting a send takes. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  try {
    await work()
    const names = spy.mock.calls
      .flatMap(([query]) => sentBy(query))
      .map((sent) => sent.statement.name)
    return names.filter((name) => name !== 'notify')
  } finally {
    spy.mockRestore()
  }
}

/** The ledger is gapless, and explains the balance. */
async function expectSpent(messages: number): Promise<void> {
  const ledger = await bench.ledger(workspaceId)
  expect(ledger.map(({ seq }) => seq)).toEqual(ledger.map((_, i) => i + 1))
  expect(ledger.at(-1)?.balance_after).toBe((10 - messages) * SMS_PRICE)
  expect((await bench.account(workspaceId))?.balance).toBe((10 - messages) * SMS_PRICE)
}

it('a send on a seen account is one transaction without a look-up', async () => {
  const sent = await statementsOf(() => accept(bench.make.send(workspaceId)))
  expect(sent).toContain('assert_accounts')
  expect(sent).not.toContain('lock_accounts')
  await expectSpent(2)
})

it('a send on a seen account locks it after writing the message', async () => {
  const sent = await statementsOf(() => accept(bench.make.send(workspaceId)))
  const placeOf = (name: string) => sent.indexOf(name)
  expect(placeOf('insert_messages')).toBeGreaterThan(placeOf('begin'))
  expect(placeOf('assert_accounts')).toBeGreaterThan(placeOf('insert_messages'))
  expect(placeOf('append_entries')).toBeGreaterThan(placeOf('assert_accounts'))
})

describe('an account that another server changed', () => {
  it('is not looked up while its credits last, and its ledger stays gapless', async () => {
    const servers = [other, bench.storage, other]
    await accept(bench.make.send(workspaceId), other)
    const sent = await statementsOf(async () => {
      for (const server of servers) {
        expect(await accept(bench.make.send(workspaceId), server)).toBe('accepted')
      }
    })
    expect(sent).not.toContain('lock_accounts')
    await expectSpent(5)
  })

  it('is looked up when its credits are gone, and again when there are new ones', async () => {
    for (let i = 0; i < 9; i++) {
      expect(await accept(bench.make.send(workspaceId), other)).toBe('accepted')
    }
    const sent = await statementsOf(async () => {
      expect(await accept(bench.make.send(workspaceId))).toBe('insufficient_credits')
    })
    expect(sent).toContain('lock_accounts')
    await expectSpent(10)
    await other.write(({ credits }) => credits.post(workspaceId, bench.make.grant(SMS_PRICE)))
    expect(await accept(bench.make.send(workspaceId))).toBe('accepted')
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 0, seq: 13 })
  })

  it('accepts with new credits what the last seen ones could not pay', async () => {
    for (let i = 0; i < 9; i++) await accept(bench.make.send(workspaceId))
    expect(await accept(bench.make.send(workspaceId))).toBe('insufficient_credits')
    await other.write(({ credits }) => credits.post(workspaceId, bench.make.grant(SMS_PRICE)))
    expect(await accept(bench.make.send(workspaceId))).toBe('accepted')
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 0, seq: 13 })
  })

  it('notifies once of a low balance that both servers reach', async () => {
    await other.write(({ credits }) =>
      credits.setTerms(workspaceId, { low_balance: units(7 * SMS_PRICE) }, bench.clock.now()),
    )
    const states: (string | undefined)[] = []
    for (const server of [other, bench.storage, other, bench.storage]) {
      expect(await accept(bench.make.send(workspaceId), server)).toBe('accepted')
      states.push((await bench.account(workspaceId))?.low_state)
    }
    expect(states).toEqual(['no', 'no', 'due', 'due'])
    await expectSpent(5)
  })

  it('spends its daily limit once, however the servers share it', async () => {
    await other.write(({ credits }) =>
      credits.setTerms(workspaceId, { daily_limit: units(4 * SMS_PRICE) }, bench.clock.now()),
    )
    const outcomes: (string | undefined)[] = []
    for (const server of [other, bench.storage, other, other, bench.storage]) {
      outcomes.push(await accept(bench.make.send(workspaceId), server))
    }
    expect(outcomes).toEqual([...Array(3).fill('accepted'), ...Array(2).fill('daily_limit')])
    await expectSpent(4)
  })

  it('is spent by both at once, each time once', async () => {
    const servers = [bench.storage, other]
    const outcomes: (string | undefined)[] = []
    for (let wave = 0; wave < 6; wave++) {
      outcomes.push(
        ...(await Promise.all(
          servers.map((server) => accept(bench.make.send(workspaceId), server)),
        )),
      )
    }
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(9)
    expect(outcomes.filter((outcome) => outcome === 'insufficient_credits')).toHaveLength(3)
    await expectSpent(10)
  })

  it('is looked up at once for more sends after each change, and for few after a time without one', async () => {
    await other.write(({ credits }) =>
      credits.post(workspaceId, bench.make.grant(units(30 * SMS_PRICE))),
    )
    let limit = 100 * SMS_PRICE
    /** The sends for which the account was expected to be as seen, each after a change. */
    async function expectedOf(count: number): Promise<number[]> {
      const expected: number[] = []
      for (let number = 1; number <= count; number++) {
        limit += 1
        const terms = { daily_limit: units(limit) }
        await other.write(({ credits }) => credits.setTerms(workspaceId, terms, bench.clock.now()))
        const sent = await statementsOf(() => accept(bench.make.send(workspaceId)))
        if (sent.includes('assert_accounts')) expected.push(number)
      }
      return expected
    }
    expect(await expectedOf(13)).toEqual([1, 4, 9])
    for (let i = 0; i < 5; i++) await accept(bench.make.send(workspaceId))
    expect(await expectedOf(5)).toEqual([1, 4])
  })

  it('refuses when it was frozen or its limits changed, which adds no entry', async () => {
    const terms = async (change: object) =>
      other.write(({ credits }) => credits.setTerms(workspaceId, change, bench.clock.now()))
    await terms({ daily_limit: units(0) })
    expect(await accept(bench.make.send(workspaceId))).toBe('daily_limit')
    await terms({ daily_limit: null })
    expect(await accept(bench.make.send(workspaceId))).toBe('accepted')
    await expectSpent(2)
  })

  it('fails when it was removed', async () => {
    const owner = await bench.connect()
    await owner.query('delete from credit_accounts where workspace_id = $1', [workspaceId])
    await expect(accept(bench.make.send(workspaceId))).rejects.toThrow('no credit account')
    await owner.end()
  })
})

it('a send with a file finds the file, though the send beside it needs no look-up', async () => {
  const sha256 = 'ab'.repeat(32)
  await bench.storage.write(async ({ files }) => {
    await files.begin(
      { workspace_id: workspaceId, sha256, size_bytes: 3, chunks: 1 },
      bench.clock.now(),
    )
    await files.addChunk(workspaceId, sha256, 0, 'AAAA')
    await files.complete(workspaceId, sha256)
  })
  const [plain, request] = [bench.make.send(workspaceId), bench.make.send(workspaceId)]
  const message_id = request.messages[0]?.id ?? ''
  const files = [{ workspace_id: workspaceId, message_id, number: 0, sha256 }]
  const results = await bench.storage.hot.accept([plain, { ...request, files }])
  expect(results.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted'])
})

it('a recipient that was suppressed at another server is refused', async () => {
  const send = bench.make.send(workspaceId)
  const [message] = send.messages
  if (!message) throw new Error('a send has a message')
  const { channel, recipient: address } = message
  const suppression = { workspace_id: workspaceId, channel, address, ...SUPPRESSION }
  await other.write(({ suppressions }) => suppressions.add([suppression]))
  expect(await accept(send)).toBe('suppressed')
  await expectSpent(1)
})

it('a request that another server answered gets the same answer', async () => {
  const answer = { route: 'send', key: 'k', request_hash: 'h', response: '{"a":1}' }
  expect(await accept(bench.make.send(workspaceId, {}, answer), other)).toBe('accepted')
  const again = await bench.storage.hot.accept([bench.make.send(workspaceId, {}, answer)])
  expect(again).toEqual([{ outcome: 'replayed', response: '{"a":1}' }])
  for (let i = 0; i < 8; i++) await accept(bench.make.send(workspaceId))
  expect(await accept(bench.make.send(workspaceId))).toBe('insufficient_credits')
  // The account is seen again. A new debit would be refused.
  expect(await accept(bench.make.send(workspaceId, {}, answer))).toBe('replayed')
  await expectSpent(10)
})

it('requests with one key at two servers are accepted once, also if they cost nothing', async () => {
  const free = { livemode: false, credits_used: units(0) }
  for (let i = 0; i < 10; i++) {
    const answer = { route: 'send', key: `free ${i}`, request_hash: 'h', response: '{}' }
    const outcomes = await Promise.all(
      [bench.storage, other].map((server) =>
        accept(bench.make.send(workspaceId, free, answer), server),
      ),
    )
    expect(outcomes.sort()).toEqual(['accepted', 'replayed'])
  }
})
