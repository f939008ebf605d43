import { describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { type Bench, benchFor, LEASE_MS, type OpenStorage, only, receipt } from './bench.ts'
import { type Expected, LOOKUPS, SENDS, STATES, type State } from './settle-cases.ts'

const HOUR_MS = 3_600_000
const withLookup = { idempotent: false, lookup: true }
const rejected = { type: 'rejected', error_code: 'unroutable', error_message: 'No route' } as const
const ambiguous = { type: 'ambiguous', error_code: 'timeout', error_message: 'No answer' } as const
const accepted = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
const retry = { type: 'retry', error_code: 'busy', error_message: 'Busy', delay_ms: null } as const

/** What a claim gave: the status, the money and the next step. */
export function settleContract(open: OpenStorage): void {
  const bench = benchFor(open)
  describe('of a send', () => sendTable(bench))
  describe('of a look-up', () => lookupTable(bench))
  describe('refunds', () => refunds(bench))
  describe('deadlines', () => deadlines(bench))
  describe('an unknown outcome', () => unknownOutcomes(bench))
}

function sendResult(outcome: Outcome, attempt = 1): Settlement['result'] {
  return { task: 'send', attempt, outcome }
}

/** The message, its attempt and the money as they were and as they are. */
async function expectSettled(
  bench: Bench,
  message: MessageRow,
  counted: boolean,
  expected: Expected,
): Promise<void> {
  const { workspace_id, id } = message
  expect(counted).toBe(expected.counted)
  expect(await bench.message(workspace_id, id)).toMatchObject({
    status: expected.status,
    credits_used: SMS_PRICE,
    credits_refunded: expected.refunded ? SMS_PRICE : 0,
  })
  const ledger = await bench.ledger(workspace_id)
  const kinds = ledger.map(({ kind }) => kind)
  expect(kinds).toEqual(expected.refunded ? ['grant', 'send', 'refund'] : ['grant', 'send'])
  expect(await bench.account(workspace_id)).toMatchObject({
    balance: (expected.refunded ? 100 : 99) * SMS_PRICE,
    seq: kinds.length,
  })
}

async function expectNext(bench: Bench, next: Expected['next']): Promise<ClaimedMessage[]> {
  const at = bench.clock.now().getTime()
  if (!next) {
    bench.clock.advance(100 * 24 * HOUR_MS)
    expect(await bench.claimMessages()).toEqual([])
    return []
  }
  const [min, max] = next.wait_ms
  if (min > 0) {
    bench.clock.set(new Date(at + min - 1))
    expect(await bench.claimMessages()).toEqual([])
  }
  bench.clock.set(new Date(at + max))
  const claimed = await bench.claimMessages()
  expect(claimed).toMatchObject([{ task: next.task, interrupted: false }])
  return claimed
}

/** Brings a claimed message into `state` before its result comes in. */
async function bring(bench: Bench, message: MessageRow, state: State): Promise<void> {
  if (state === 'held') return
  if (state !== 'lost') {
    await bench.callback(message, state)
    return
  }
  bench.clock.advance(LEASE_MS)
  only(await bench.claimMessages())
}

function sendTable(bench: Bench): void {
  const rows = Object.keys(SENDS).flatMap((name) => STATES.map((state) => [name, state] as const))

  it.each(rows)('%s, when the message is %s', async (name, state) => {
    const { result, abilities, expected } = SENDS[name] as (typeof SENDS)[string]
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    await bring(bench, message, state)
    const at = bench.clock.advance(1_500)
    const before = await bench.message(workspaceId, message.id)

    const counted = await bench.settle(claimed, sendResult(result), abilities ? { abilities } : {})

    await expectSettled(bench, message, counted, expected[state])
    const attempt = only(await bench.storage.read.messages.attempts(workspaceId, message.id))
    const journalled = result.type === 'accepted' || state !== 'lost'
    expect(attempt).toMatchObject({
      outcome: journalled ? result.type : 'started',
      error_code: journalled && 'error_code' in result ? result.error_code : null,
      error_message: journalled && 'error_message' in result ? result.error_message : null,
      finished_at: journalled ? at : null,
    })
    const after = await bench.message(workspaceId, message.id)
    if (!counted) expect(after).toEqual(before)
    if (expected[state].refunded) {
      expect(after).toMatchObject({ error_code: 'unroutable', error_message: 'No route' })
      expect(after).toMatchObject({ failed_at: at, accepted: false, sequence: 1 })
    }
    if (state !== 'lost') await expectNext(bench, expected[state].next)
  })
}

function lookupTable(bench: Bench): void {
  const rows = Object.keys(LOOKUPS).flatMap((name) => STATES.map((s) => [name, s] as const))

  it.each(rows)('%s, when the message is %s', async (name, state) => {
    const { result, expected } = LOOKUPS[name] as (typeof LOOKUPS)[string]
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const sending = only(await bench.claimMessages())
    const isPolled = state === 'sent' || state === 'delivered' || state === 'failed'
    const outcome = isPolled ? { ...accepted, lookup_after_ms: 5_000 } : ambiguous
    await bench.settle(sending, sendResult(outcome), { abilities: withLookup })
    bench.clock.advance(isPolled ? 5_000 : 2_000)
    const claimed = only(await bench.claimMessages())
    expect(claimed).toMatchObject({ task: 'lookup', attempt: 1, interrupted: false })
    await bring(bench, message, state)
    const before = await bench.message(workspaceId, message.id)

    const counted = await bench.settle(claimed, { task: 'lookup', found: result })

    await expectSettled(bench, message, counted, expected[state])
    const after = await bench.message(workspaceId, message.id)
    if (!counted) expect(after).toEqual(before)
    if (after.status !== 'queued') expect(after.accepted).toBe(true)
    if (state === 'lost') return
    await expectNext(bench, expected[state].next)
  })
}

function refunds(bench: Bench): void {
  it('refunds exactly the price, once, however often the failure is reported', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, { credits_used: units(2_300_001) })
    const claimed = only(await bench.claimMessages())
    const tellings = Array.from({ length: 10 }, () => bench.settle(claimed, sendResult(rejected)))
    expect((await Promise.all(tellings)).filter(Boolean)).toHaveLength(1)
    await bench.callback(message, 'failed')

    expect(await bench.account(workspaceId)).toMatchObject({ balance: 100 * SMS_PRICE, seq: 3 })
    expect((await bench.ledger(workspaceId)).at(-1)).toMatchObject({
      kind: 'refund',
      amount: 2_300_001,
      balance_after: 100 * SMS_PRICE,
      counter_account: 'revenue:sms',
      ref_type: 'message',
      ref_id: message.id,
      ref_n: 0,
      channel: 'sms',
    })
    expect(await bench.message(workspaceId, message.id)).toMatchObject({
      credits_used: 2_300_001,
      credits_refunded: 2_300_001,
    })
  })

  it('books the refunds of one write one after the other', async () => {
    const workspaceId = await bench.workspace()
    await bench.accept(bench.make.bulk(workspaceId, 5))
    const settlements: Settlement[] = (await bench.claimMessages()).map((claimed) => ({
      workspace_id: workspaceId,
      message_id: claimed.message_id,
      token: claimed.token,
      provider: 'carrier',
      abilities: withLookup,
      result: sendResult(rejected),
      at: bench.clock.now(),
    }))
    expect(await bench.storage.hot.settle(settlements)).toEqual(settlements.map(() => true))
    const ledger = await bench.ledger(workspaceId)
    expect(ledger.map(({ seq, balance_after }) => [seq, balance_after / SMS_PRICE])).toEqual([
      [1, 100],
      [2, 95],
      [3, 96],
      [4, 97],
      [5, 98],
      [6, 99],
      [7, 100],
    ])
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 100 * SMS_PRICE, seq: 7 })
  })

  it('gives nothing back for what cost nothing', async () => {
    const workspaceId = await bench.workspace(0)
    const message = await bench.queued(workspaceId, { credits_used: units(0), livemode: false })
    await bench.settle(only(await bench.claimMessages()), sendResult(rejected))
    expect(await bench.message(workspaceId, message.id)).toMatchObject({ status: 'failed' })
    expect(await bench.ledger(workspaceId)).toEqual([])
  })

  it('gives nothing back for a failure after a provider took the message', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    await bench.settle(only(await bench.claimMessages()), sendResult(accepted))
    await bench.callback(message, 'failed')
    expect(await bench.message(workspaceId, message.id)).toMatchObject({
      status: 'failed',
      accepted: true,
      error_code: 'undelivered',
      credits_refunded: 0,
    })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 99 * SMS_PRICE, seq: 2 })
  })

  it.each(['send', 'look-up'])(
    'lets nothing revive a refunded message: a late %s',
    async (late) => {
      const workspaceId = await bench.workspace()
      const message = await bench.queued(workspaceId)
      const lost = only(await bench.claimMessages())
      bench.clock.advance(LEASE_MS)
      const holder = only(await bench.claimMessages())
      await bench.settle(holder, sendResult(rejected))
      const found = { type: 'found', receipts: [receipt('delivered')], replies: [] } as const
      await bench.settle(
        lost,
        late === 'send'
          ? sendResult(accepted)
          : {
              task: 'lookup',
              found: {
                ...found,
                receipts: [...found.receipts],
                replies: [],
                lookup_after_ms: null,
              },
            },
      )
      await bench.callback(message, 'delivered', 'read')
      expect(await bench.message(workspaceId, message.id)).toMatchObject({
        status: 'failed',
        accepted: false,
        delivered_at: null,
        credits_refunded: SMS_PRICE,
        sequence: 1,
      })
    },
  )
}

function deadlines(bench: Bench): void {
  /** The result of a transient error with a delay of 1 s, this long after the message was due. */
  async function retryAt(age_ms: number, overrides: Partial<MessageRow> = {}): Promise<MessageRow> {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId, overrides)
    const due = message.scheduled_at ?? message.created_at
    bench.clock.set(new Date(due.getTime() + age_ms))
    const claimed = only(await bench.claimMessages())
    await bench.settle(claimed, sendResult({ ...retry, delay_ms: 1_000 }))
    return bench.message(workspaceId, message.id)
  }

  const gaveUp = { status: 'failed', error_code: 'retries_exhausted', credits_refunded: SMS_PRICE }
  const expired = { status: 'failed', error_code: 'expired', credits_refunded: SMS_PRICE }
  const waits = { status: 'queued', error_code: null, credits_refunded: 0 }
  const scheduled_at = new Date('2026-05-10T00:00:00.000Z')
  const expires_at = new Date('2026-05-04T09:10:00.000Z')

  it.each<[string, number, Partial<MessageRow>, object]>([
    ['an SMS is tried for four hours', 4 * HOUR_MS - 1_000, {}, waits],
    ['and then failed', 4 * HOUR_MS - 999, {}, gaveUp],
    ['an e-mail is tried for two days', 48 * HOUR_MS - 1_000, { channel: 'email' }, waits],
    ['and then failed, too', 48 * HOUR_MS - 999, { channel: 'email' }, gaveUp],
    ['a scheduled one is tried from its time on', 4 * HOUR_MS - 1_000, { scheduled_at }, waits],
    ['a scheduled one is failed, too', 4 * HOUR_MS - 999, { scheduled_at }, gaveUp],
    ['one that expires is tried until then', 599_000, { expires_at }, waits],
    ['one that expires fails then', 599_001, { expires_at }, expired],
  ])('%s', async (_, age_ms, overrides, expected) => {
    expect(await retryAt(age_ms, overrides)).toMatchObject(expected)
  })
}

function unknownOutcomes(bench: Bench): void {
  async function unknown(abilities: Settlement['abilities']) {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    await bench.settle(only(await bench.claimMessages()), sendResult(ambiguous), { abilities })
    return message
  }
  const failed = { status: 'failed', error_code: 'outcome_unknown', credits_refunded: 0 }

  it('fails after ten minutes without an answer, and is not refunded', async () => {
    const message = await unknown(withLookup)
    const start = bench.clock.now().getTime()
    let questions = 0
    for (;;) {
      bench.clock.advance(10_000)
      const [claimed] = await bench.claimMessages()
      if (claimed) {
        expect(claimed.task).toBe('lookup')
        questions += 1
        await bench.settle(claimed, { task: 'lookup', found: { type: 'unavailable' } })
      }
      const { status } = await bench.message(message.workspace_id, message.id)
      if (status !== 'queued') break
    }
    expect(bench.clock.now().getTime() - start).toBeGreaterThanOrEqual(600_000)
    expect(bench.clock.now().getTime() - start).toBeLessThanOrEqual(1_200_000)
    expect(questions).toBeGreaterThan(5)
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject(failed)
    expect(await bench.account(message.workspace_id)).toMatchObject({ balance: 99 * SMS_PRICE })
    await expectNext(bench, null)
  })

  it('fails after ten minutes without a look-up, and is not refunded', async () => {
    const message = await unknown({ idempotent: false, lookup: false })
    bench.clock.advance(600_000)
    const claimed = only(await bench.claimMessages())
    await bench.settle(claimed, { task: 'lookup', found: { type: 'unavailable' } })
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject(failed)
  })

  it('fails after ten minutes of harmless repetitions, and is not refunded', async () => {
    const abilities = { idempotent: true, lookup: false }
    const message = await unknown(abilities)
    bench.clock.advance(600_000)
    for (const [attempt, status] of [
      [2, 'queued'],
      [3, 'failed'],
    ] as const) {
      const claimed = only(await bench.claimMessages())
      expect(claimed).toMatchObject({ task: 'send', attempt })
      await bench.settle(claimed, sendResult(ambiguous, attempt), { abilities })
      expect(await bench.message(message.workspace_id, message.id)).toMatchObject({ status })
      bench.clock.advance(10_000)
    }
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject(failed)
  })

  it('is refunded when a provider that recognises repetitions refuses one, not when time runs out', async () => {
    const abilities = { idempotent: true, lookup: false }
    for (const outcome of [rejected, retry] as const) {
      const isRefused = outcome === rejected
      const message = await unknown(abilities)
      bench.clock.advance(5_000)
      const second = only(await bench.claimMessages())
      await bench.settle(second, sendResult(retry, 2), { abilities })
      bench.clock.advance(4 * HOUR_MS)
      const third = only(await bench.claimMessages())
      await bench.settle(third, sendResult(outcome, 3), { abilities })
      expect(await bench.message(message.workspace_id, message.id)).toMatchObject(
        isRefused ? { status: 'failed', error_code: 'unroutable' } : failed,
      )
      const balance = (isRefused ? 100 : 99) * SMS_PRICE
      expect(await bench.account(message.workspace_id)).toMatchObject({ balance })
    }
  })

  it('is not refunded when it expires before the repetition', async () => {
    const abilities = { idempotent: true, lookup: false }
    const message = await unknown(abilities)
    bench.clock.advance(5_000)
    const second = only(await bench.claimMessages())
    const expired = { ...sendResult(rejected, 2), by_service: true } as const
    await bench.settle(second, expired, { abilities })
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject(failed)
  })

  it('is known when the attempt turns out never to have been made, while another claim holds it', async () => {
    const message = await bench.queued(await bench.workspace(100))
    const lost = only(await bench.claimMessages())
    bench.clock.advance(60_000)
    const takeover = only(await bench.claimMessages())
    expect(takeover).toMatchObject({ interrupted: true, attempt: 1 })
    const uncalled = { ...sendResult(retry, 1), never_accepted: true } as const
    const counted = await Promise.all([
      bench.settle(lost, uncalled),
      bench.settle(takeover, sendResult(ambiguous, 1)),
    ])
    expect(counted.flat()).toContain(true)
    bench.clock.advance(2_000)
    const again = only(await bench.claimMessages())
    expect(again).toMatchObject({ task: 'send', attempt: 2, unknown_since: null })
    await bench.settle(again, sendResult(rejected, 2))
    expect(await bench.account(message.workspace_id)).toMatchObject({ balance: 100 * SMS_PRICE })
  })

  it('is settled by a callback, without a further look-up', async () => {
    const message = await unknown(withLookup)
    await bench.callback(message, 'delivered')
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject({
      status: 'delivered',
      accepted: true,
    })
    await expectNext(bench, null)
  })

  it('is refunded when the provider never saw it and the repetition is refused', async () => {
    const message = await unknown(withLookup)
    bench.clock.advance(2_000)
    const asking = only(await bench.claimMessages())
    await bench.settle(asking, { task: 'lookup', found: { type: 'not_found' } })
    // It may not have come round to the request yet: that counts a minute after the answer was lost.
    bench.clock.advance(58_000)
    const askingAgain = only(await bench.claimMessages())
    expect(askingAgain.task).toBe('lookup')
    await bench.settle(askingAgain, { task: 'lookup', found: { type: 'not_found' } })
    const again = only(await bench.claimMessages())
    expect(again).toMatchObject({ task: 'send', attempt: 2 })
    await bench.settle(again, sendResult(rejected, again.attempt))
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject({
      status: 'failed',
      error_code: 'unroutable',
      credits_refunded: SMS_PRICE,
    })
  })

  it('once failed, still becomes delivered when the receipt comes after all', async () => {
    const message = await unknown({ idempotent: false, lookup: false })
    bench.clock.advance(600_000)
    const claimed = only(await bench.claimMessages())
    await bench.settle(claimed, { task: 'lookup', found: { type: 'unavailable' } })
    await bench.callback(message, 'delivered')
    expect(await bench.message(message.workspace_id, message.id)).toMatchObject({
      status: 'delivered',
      error_code: null,
      error_message: null,
      credits_refunded: 0,
    })
  })
}
