import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage, only } from './bench.ts'

const ACCEPTED = { outcome: 'accepted' }
const LIMIT = { api_key_id: 'key', day: '2026-05-04', limit: units(3 * SMS_PRICE) }

/** The daily limit of a key: exact, also with simultaneous sends. */
export function dailyLimitContract(open: OpenStorage): void {
  const bench = benchFor(open)

  function send(workspaceId: string, spending: Partial<typeof LIMIT> | null = {}): AcceptRequest {
    const limited = spending && { ...LIMIT, ...spending }
    return { ...bench.make.send(workspaceId), spending: limited }
  }

  const outcomes = async (requests: AcceptRequest[]) =>
    (await bench.storage.hot.accept(requests)).map(({ outcome }) => outcome)

  it('lets a key spend its limit to the last micro-credit, and no more', async () => {
    const workspaceId = await bench.workspace()
    for (let i = 0; i < 3; i++) expect(await bench.accept(send(workspaceId))).toEqual(ACCEPTED)
    const before = await bench.account(workspaceId)
    expect(await bench.accept(send(workspaceId))).toEqual({
      outcome: 'daily_limit',
      of: 'api_key',
      required: SMS_PRICE,
      limit: LIMIT.limit,
      spent: LIMIT.limit,
    })
    expect(await bench.account(workspaceId)).toEqual(before)
    expect(await bench.storage.read.messages.count(workspaceId, {})).toBe(3)
    const limit = units(LIMIT.limit + SMS_PRICE - 1)
    expect(await bench.accept(send(workspaceId, { limit }))).toMatchObject({
      outcome: 'daily_limit',
      of: 'api_key',
    })
    const raised = units(LIMIT.limit + SMS_PRICE)
    expect(await bench.accept(send(workspaceId, { limit: raised }))).toEqual(ACCEPTED)
  })

  it('accepts three of 60 simultaneous requests', async () => {
    const workspaceId = await bench.workspace()
    const results = await Promise.all(
      Array.from({ length: 60 }, () => bench.accept(send(workspaceId))),
    )
    expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(3)
    expect(results.filter(({ outcome }) => outcome === 'daily_limit')).toHaveLength(57)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 97 * SMS_PRICE })
  })

  it('counts each key and each day of a workspace on its own', async () => {
    const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
    const three = (id: string, of = {}) => [send(id, of), send(id, of), send(id, of)]
    expect(
      await outcomes([
        ...three(workspaceId),
        ...three(workspaceId, { api_key_id: 'another' }),
        ...three(workspaceId, { day: '2026-05-05' }),
        ...three(other),
        send(workspaceId),
        send(workspaceId, { api_key_id: 'another' }),
        send(workspaceId, null),
      ]),
    ).toEqual([
      ...Array.from({ length: 12 }, () => 'accepted'),
      'daily_limit',
      'daily_limit',
      'accepted',
    ])
  })

  it('reports the credits that a key spent on a day', async () => {
    const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
    await outcomes([
      send(workspaceId),
      send(workspaceId),
      send(workspaceId, { day: '2026-05-05' }),
      send(workspaceId, { api_key_id: 'another' }),
      send(workspaceId, null),
      send(other, { limit: units(SMS_PRICE - 1) }),
    ])
    const spentOn = (id: string, of: Partial<typeof LIMIT> = {}) =>
      bench.storage.read.apiKeys.spentOn(id, { ...LIMIT, ...of })
    expect(await spentOn(workspaceId)).toBe(2 * SMS_PRICE)
    expect(await spentOn(workspaceId, { day: '2026-05-05' })).toBe(SMS_PRICE)
    expect(await spentOn(workspaceId, { api_key_id: 'another' })).toBe(SMS_PRICE)
    expect(await spentOn(workspaceId, { day: '2026-05-06' })).toBe(0)
    expect(await spentOn(other)).toBe(0)
  })

  it('does not count refused requests and test keys, and a refund does not lower it', async () => {
    const workspaceId = await bench.workspace(2)
    const tooMuch = bench.make.bulk(workspaceId, 3)
    const free = bench.make.send(workspaceId, { credits_used: units(0) })
    expect(
      await outcomes([
        { ...tooMuch, spending: LIMIT },
        { ...free, spending: LIMIT },
      ]),
    ).toEqual(['insufficient_credits', 'accepted'])
    const limit = SMS_PRICE
    const request = send(workspaceId, { limit })
    expect(await bench.accept(request)).toEqual(ACCEPTED)
    const message_ids = [only(request.messages).id]
    const at = bench.clock.now()
    const canceled = await bench.storage.hot.cancel({ workspace_id: workspaceId, message_ids, at })
    expect(canceled).toEqual(['canceled'])
    expect(await bench.accept(send(workspaceId, { limit }))).toMatchObject({
      outcome: 'daily_limit',
      of: 'api_key',
      spent: SMS_PRICE,
    })
  })
}
