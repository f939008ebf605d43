import { expect, it } from 'vitest'
import type { IdempotencyRecord } from '../../src/rules/accept.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage } from './bench.ts'

/** A repeated request gets the answer of the first and is charged once. */
export function idempotencyContract(open: OpenStorage): void {
  const bench = benchFor(open)

  const answer = (overrides: Partial<IdempotencyRecord> = {}): IdempotencyRecord => ({
    route: 'messages.send',
    key: 'order-A1',
    request_hash: 'hash-1',
    response: '{"message_id":"ü","n":1.10}',
    ...overrides,
  })
  const send = (workspaceId: string, overrides: Partial<IdempotencyRecord> = {}) =>
    bench.make.send(workspaceId, {}, answer(overrides))

  async function expectCharged(workspaceId: string, times: number): Promise<void> {
    const spent = (await bench.ledger(workspaceId)).filter(({ kind }) => kind === 'send')
    expect(spent).toHaveLength(times)
    expect(await bench.account(workspaceId)).toMatchObject({
      balance: (100 - times) * SMS_PRICE,
      seq: 1 + times,
    })
    const messages = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
    expect(messages).toHaveLength(times)
    expect(await bench.claimMessages()).toHaveLength(times)
  }

  it('replays the first answer, to the byte, for the same key in one batch', async () => {
    const workspaceId = await bench.workspace()
    const [first, second] = [send(workspaceId), send(workspaceId, { response: 'another' })]
    expect(await bench.storage.hot.accept([first, second])).toEqual([
      { outcome: 'accepted' },
      { outcome: 'replayed', response: answer().response },
    ])
    await expectCharged(workspaceId, 1)
  })

  it('accepts one of many simultaneous requests with one key; the others get its answer', async () => {
    const workspaceId = await bench.workspace()
    const responses = Array.from({ length: 50 }, (_, i) => `{"n":${i}}`)
    const results = await Promise.all(
      responses.map((response) => bench.accept(send(workspaceId, { response }))),
    )
    const winner = results.findIndex(({ outcome }) => outcome === 'accepted')
    expect(results.toSpliced(winner, 1)).toEqual(
      Array.from({ length: 49 }, () => ({ outcome: 'replayed', response: responses[winner] })),
    )
    await expectCharged(workspaceId, 1)
  })

  it('replays later, and after the storage was opened again', async () => {
    const workspaceId = await bench.workspace()
    await bench.accept(send(workspaceId))
    bench.clock.advance(3_600_000)
    const replayed = { outcome: 'replayed', response: answer().response }
    expect(await bench.accept(send(workspaceId, { response: 'another' }))).toEqual(replayed)
    await bench.reopen()
    expect(await bench.accept(send(workspaceId, { response: 'another' }))).toEqual(replayed)
    await expectCharged(workspaceId, 1)
  })

  it('replays even when the credits are gone meanwhile', async () => {
    const workspaceId = await bench.workspace(1)
    await bench.accept(send(workspaceId))
    expect(await bench.accept(send(workspaceId))).toMatchObject({ outcome: 'replayed' })
  })

  it('refuses the key for another request, and charges nothing for it', async () => {
    const workspaceId = await bench.workspace()
    const first = send(workspaceId)
    const other = { request_hash: 'hash-2' }
    expect(await bench.storage.hot.accept([first, send(workspaceId, other)])).toEqual([
      { outcome: 'accepted' },
      { outcome: 'key_reused' },
    ])
    expect(await bench.accept(send(workspaceId, other))).toEqual({ outcome: 'key_reused' })
    await expectCharged(workspaceId, 1)
  })

  it('takes the same key of another workspace, of another route, and a key of another case', async () => {
    const [mine, theirs] = [await bench.workspace(), await bench.workspace()]
    const requests = [
      send(mine),
      send(mine, { route: 'messages.bulk' }),
      send(mine, { key: 'ORDER-a1' }),
      send(theirs, { request_hash: 'hash-2' }),
    ]
    const results = await bench.storage.hot.accept(requests)
    expect(results).toEqual(requests.map(() => ({ outcome: 'accepted' })))
  })

  it('remembers no refusal: the same key works once there are credits', async () => {
    const workspaceId = await bench.workspace(0)
    const refused = await bench.accept(send(workspaceId))
    expect(refused).toMatchObject({ outcome: 'insufficient_credits' })
    const grant = bench.make.grant(SMS_PRICE)
    await bench.storage.write(({ credits }) => credits.post(workspaceId, grant))
    expect(await bench.accept(send(workspaceId))).toEqual({ outcome: 'accepted' })
  })

  it('remembers no request that failed with a fault', async () => {
    const workspaceId = await bench.workspace()
    const first = bench.make.send(workspaceId)
    await bench.accept(first)
    const faulty = { ...first, idempotency: answer() }
    await expect(bench.accept(faulty)).rejects.toThrow()
    expect(await bench.accept(send(workspaceId))).toEqual({ outcome: 'accepted' })
  })

  it('replays for requests that cost nothing too', async () => {
    const workspaceId = await bench.workspace(0)
    const free = () => ({ ...send(workspaceId), debit: null })
    expect(await bench.accept(free())).toEqual({ outcome: 'accepted' })
    expect(await bench.accept(free())).toMatchObject({ outcome: 'replayed' })
    expect(await bench.claimMessages()).toHaveLength(1)
  })

  it('deletes the oldest first, a few at a time, and none that is younger than the limit', async () => {
    const workspaceId = await bench.workspace()
    for (const key of ['a', 'b', 'c', 'd']) {
      await bench.accept(send(workspaceId, { key }))
      bench.clock.advance(1_000)
    }
    const before = new Date(bench.clock.now().getTime() - 1_000)
    const forget = (limit: number) =>
      bench.storage.write(({ messages }) => messages.forgetAnswers(before, limit))
    const kept = async (key: string) =>
      (await bench.accept(send(workspaceId, { key, request_hash: 'other' }))).outcome ===
      'key_reused'

    expect(await forget(2)).toBe(2)
    expect(await forget(2)).toBe(1)
    expect(await forget(2)).toBe(0)
    expect(await kept('d')).toBe(true)
    expect(await kept('c')).toBe(false)
  })
}
