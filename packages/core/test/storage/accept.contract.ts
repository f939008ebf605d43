import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { AcceptRequest } from '../../src/rules/accept.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, EVERYTHING, type OpenStorage, only } from './bench.ts'

/** Debit, ledger entry, messages and queue rows: each request whole, or not at all. */
export function acceptContract(open: OpenStorage): void {
  const bench = benchFor(open)

  /** What a workspace has: its money and its messages. */
  async function stateOf(workspaceId: string) {
    const messages = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
    return [await bench.account(workspaceId), await bench.ledger(workspaceId), messages]
  }

  /** The ledger must explain the balance to the last micro-credit, in whatever order things happened. */
  async function expectSound(workspaceId: string): Promise<void> {
    const ledger = await bench.ledger(workspaceId)
    const account = await bench.account(workspaceId)
    let balance = 0
    for (const [i, entry] of ledger.entries()) {
      balance += entry.amount
      expect(entry).toMatchObject({ seq: i + 1, balance_after: balance })
    }
    expect(account).toMatchObject({ balance, seq: ledger.length })
  }

  it('writes debit, entry, message and queue row together', async () => {
    const workspaceId = await bench.workspace(3)
    const request = bench.make.send(workspaceId)
    const message = only(request.messages)

    expect(await bench.storage.hot.accept([request])).toEqual([{ outcome: 'accepted' }])

    expect(await bench.account(workspaceId)).toMatchObject({ balance: 2 * SMS_PRICE, seq: 2 })
    expect((await bench.ledger(workspaceId)).at(-1)).toEqual({
      id: request.debit?.id,
      workspace_id: workspaceId,
      seq: 2,
      kind: 'send',
      amount: -SMS_PRICE,
      held_delta: 0,
      balance_after: 2 * SMS_PRICE,
      held_after: 0,
      counter_account: 'revenue:sms',
      ref_type: 'message',
      ref_id: message.id,
      ref_n: 0,
      channel: 'sms',
      quantity: 1,
      unit_price: SMS_PRICE,
      resolves: null,
      actor: null,
      description: null,
      created_at: message.created_at,
    })
    expect(await bench.message(workspaceId, message.id)).toEqual(message)
    expect(only(await bench.claimMessages())).toMatchObject({ message_id: message.id, attempt: 1 })
  })

  it('debits a bulk once and queues each of its messages', async () => {
    const workspaceId = await bench.workspace(60)
    const request = bench.make.bulk(workspaceId, 50)
    expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
    const ledger = await bench.ledger(workspaceId)
    expect(ledger).toHaveLength(2)
    expect(ledger[1]).toMatchObject({ amount: -50 * SMS_PRICE, ref_type: 'bulk', quantity: 50 })
    const claimed = await bench.claimMessages()
    expect(new Set(claimed.map(({ message_id }) => message_id))).toEqual(
      new Set(request.messages.map(({ id }) => id)),
    )
  })

  it('charges nothing where there is no debit', async () => {
    const workspaceId = await bench.workspace(1)
    const before = await bench.account(workspaceId)
    const request = bench.make.send(workspaceId, { credits_used: units(0), livemode: false })
    expect(request.debit).toBeNull()
    expect(await bench.accept(request)).toEqual({ outcome: 'accepted' })
    expect(await bench.account(workspaceId)).toEqual(before)
    expect(only(await bench.claimMessages())).toMatchObject({ livemode: false })
  })

  it('accepts one of 200 simultaneous requests where there is credit for one', async () => {
    const workspaceId = await bench.workspace(1)
    const requests = Array.from({ length: 200 }, () => bench.make.send(workspaceId))
    const results = await Promise.all(requests.map((request) => bench.accept(request)))

    const accepted = requests.filter((_, i) => results[i]?.outcome === 'accepted')
    expect(accepted).toHaveLength(1)
    const refusal = { outcome: 'insufficient_credits', required: SMS_PRICE, available: 0 }
    expect(results.filter(({ outcome }) => outcome !== 'accepted')).toEqual(
      Array.from({ length: 199 }, () => expect.objectContaining(refusal)),
    )
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 0, seq: 2 })
    const [, , messages] = await stateOf(workspaceId)
    expect(messages).toEqual(only(accepted).messages)
    expect(await bench.claimMessages()).toHaveLength(1)
  })

  it('spends a balance exactly, one tenth of a credit at a time', async () => {
    const workspaceId = await bench.workspace(1)
    const price = units(100_000)
    const requests = Array.from({ length: 12 }, () =>
      bench.make.send(workspaceId, { credits_used: price }),
    )
    const results = await bench.storage.hot.accept(requests)
    expect(results.map(({ outcome }) => outcome)).toEqual([
      ...Array.from({ length: 10 }, () => 'accepted'),
      'insufficient_credits',
      'insufficient_credits',
    ])
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 0 })
    await expectSound(workspaceId)
  })

  it('answers each of a batch as if it were alone after those before it', async () => {
    const workspaceId = await bench.workspace(3)
    const requests = [
      bench.make.send(workspaceId, { credits_used: units(2 * SMS_PRICE) }),
      bench.make.send(workspaceId, { credits_used: units(2 * SMS_PRICE) }),
      bench.make.send(workspaceId, { credits_used: SMS_PRICE }),
    ]
    expect(await bench.storage.hot.accept(requests)).toEqual([
      { outcome: 'accepted' },
      expect.objectContaining({
        outcome: 'insufficient_credits',
        required: 2 * SMS_PRICE,
        available: SMS_PRICE,
      }),
      { outcome: 'accepted' },
    ])
    await expectSound(workspaceId)
  })

  it('changes nothing for a refused request', async () => {
    const workspaceId = await bench.workspace(2)
    const before = await stateOf(workspaceId)
    const request = bench.make.bulk(workspaceId, 3)
    expect(await bench.accept(request)).toMatchObject({
      outcome: 'insufficient_credits',
      required: 3 * SMS_PRICE,
      available: 2 * SMS_PRICE,
    })
    expect(await stateOf(workspaceId)).toEqual(before)
    expect(await bench.claimMessages()).toEqual([])
  })

  it('counts what is held as spent', async () => {
    const workspaceId = await bench.workspace(2)
    const hold = bench.make.grant(units(0), { kind: 'hold', held_delta: SMS_PRICE })
    await bench.storage.write(({ credits }) => credits.post(workspaceId, hold))
    expect(await bench.accept(bench.make.bulk(workspaceId, 2))).toMatchObject({
      outcome: 'insufficient_credits',
      available: SMS_PRICE,
    })
    expect(await bench.accept(bench.make.send(workspaceId))).toEqual({ outcome: 'accepted' })
  })

  it('keeps the ledger gap-free while many workspaces send and are granted credits at once', async () => {
    const workspaces = [
      await bench.workspace(5),
      await bench.workspace(10),
      await bench.workspace(),
    ]
    const work: Promise<unknown>[] = []
    for (let i = 0; i < 40; i++) {
      for (const workspaceId of workspaces) {
        work.push(bench.accept(bench.make.send(workspaceId)))
        if (i % 4) continue
        const grant = bench.make.grant(SMS_PRICE)
        work.push(bench.storage.write(({ credits }) => credits.post(workspaceId, grant)))
      }
    }
    await Promise.all(work)
    for (const workspaceId of workspaces) {
      await expectSound(workspaceId)
      const sends = (await bench.ledger(workspaceId)).filter(({ kind }) => kind === 'send')
      const { messages } = bench.storage.read
      expect(await messages.count(workspaceId, {})).toBe(sends.length)
      expect((await bench.account(workspaceId)).balance).toBeGreaterThanOrEqual(0)
    }
  })

  it('accepts more at once than one batch holds, from one caller and from many', async () => {
    const workspaceId = await bench.workspace(2_000)
    const one = Array.from({ length: 700 }, () => bench.make.send(workspaceId))
    const many = Array.from({ length: 13 }, () =>
      Array.from({ length: 100 }, () => bench.make.send(workspaceId)),
    )
    const results = await Promise.all([one, ...many].map((b) => bench.storage.hot.accept(b)))
    expect(results.map(({ length }) => length)).toEqual([700, ...many.map(() => 100)])
    expect(results.flat()).toEqual(Array.from({ length: 2_000 }, () => ({ outcome: 'accepted' })))
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 0, seq: 2_001 })
    await expectSound(workspaceId)
    expect(await bench.claimMessages({ limit: 5_000 })).toHaveLength(2_000)
  })

  it('gives every caller of a gathered batch the results of its own requests, in their order', async () => {
    const rich = await bench.workspace(1_000)
    const poor = await bench.workspace(0)
    const patterns = Array.from({ length: 20 }, (_, i) => [i % 2, i % 3 === 0 ? 1 : 0, 1, 0])
    const answers = await Promise.all(
      patterns.map((pattern) =>
        bench.storage.hot.accept(pattern.map((pays) => bench.make.send(pays ? rich : poor))),
      ),
    )
    expect(answers.map((results) => results.map(({ outcome }) => outcome))).toEqual(
      patterns.map((pattern) =>
        pattern.map((pays) => (pays ? 'accepted' : 'insufficient_credits')),
      ),
    )
  })

  it('does nothing for an empty batch', async () => {
    expect(await bench.storage.hot.accept([])).toEqual([])
  })

  const faults: [string, (workspaceId: string, stored: AcceptRequest) => AcceptRequest][] = [
    ['whose workspace has no account', () => bench.make.send('missing')],
    [
      'whose message is stored already',
      (workspaceId, { messages }) => bench.make.send(workspaceId, { id: only(messages).id }),
    ],
    [
      'whose debit is booked already',
      (workspaceId, { debit }) => {
        const request = bench.make.send(workspaceId)
        if (!request.debit || !debit) throw new Error('both are charged')
        return { ...request, debit: { ...request.debit, reference: debit.reference } }
      },
    ],
    [
      'whose second message is stored already',
      (workspaceId, { messages }) =>
        bench.make.request([bench.make.message(workspaceId), ...messages]),
    ],
  ]

  it.each(faults)('lets a request %s fail alone, and changes nothing for it', async (_, faulty) => {
    const workspaceId = await bench.workspace(10)
    const stored = bench.make.send(workspaceId)
    await bench.accept(stored)
    const good = [bench.make.send(workspaceId), bench.make.send(workspaceId)]
    const settled = await Promise.allSettled([
      bench.accept(good[0] as AcceptRequest),
      bench.accept(faulty(workspaceId, stored)),
      bench.accept(good[1] as AcceptRequest),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])

    expect(await bench.account(workspaceId)).toMatchObject({ balance: 7 * SMS_PRICE, seq: 4 })
    await expectSound(workspaceId)
    const ids = [stored, ...good].map(({ messages }) => only(messages).id)
    const [, , messages] = await stateOf(workspaceId)
    expect(messages).toMatchObject(ids.reverse().map((id) => ({ id })))
    expect(await bench.claimMessages()).toHaveLength(3)
  })
}
