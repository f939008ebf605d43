import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Outcome } from '../../src/contract/outside/provider.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { CancelOutcome } from '../../src/rules/settle.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

const refusal = { error_code: 'busy', error_message: 'Busy' }

/** Cancelling: only messages that are not being sent, refunded once, reported like any other failure. */
export function cancelContract(open: OpenStorage): void {
  const bench = benchFor(open)

  function cancel(workspaceId: string, ...ids: string[]): Promise<CancelOutcome[]> {
    const at = bench.clock.now()
    return bench.storage.hot.cancel({ workspace_id: workspaceId, message_ids: ids, at })
  }

  async function attempted(message: MessageRow, outcome: Outcome): Promise<void> {
    const claimed = only(await bench.claimMessages())
    expect(claimed.message_id).toBe(message.id)
    await bench.settle(claimed, { task: 'send', attempt: claimed.attempt, outcome })
  }

  it('fails a queued message, refunds it, announces it and sends it never', async () => {
    const workspaceId = await bench.workspace(3)
    await bench.webhook(workspaceId)
    const message = await bench.queued(workspaceId)
    const at = bench.clock.advance(1_000)
    expect(await cancel(workspaceId, message.id)).toEqual(['canceled'])
    expect(await bench.message(workspaceId, message.id)).toEqual({
      ...message,
      status: 'failed',
      error_code: 'canceled',
      error_message: 'Canceled before it was sent',
      credits_refunded: SMS_PRICE,
      sequence: 1,
      updated_at: at,
      failed_at: at,
    })
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 3 * SMS_PRICE })
    expect((await bench.ledger(workspaceId)).at(-1)).toMatchObject({
      kind: 'refund',
      amount: SMS_PRICE,
      ref_id: message.id,
    })
    const events = await bench.reportsOf(workspaceId, message.id)
    expect(events).toMatchObject([{ status: 'failed', applied: true, error_code: 'canceled' }])
    const delivery = only(await bench.claimDeliveries())
    expect(JSON.parse(delivery.body)).toMatchObject({
      event: 'message.failed',
      data: { message_id: message.id, error_code: 'canceled', sequence: 1 },
    })
    bench.clock.advance(LEASE_MS)
    expect(await bench.claimMessages()).toEqual([])
  })

  it('cancels a scheduled message, and one that waits to be tried again', async () => {
    const workspaceId = await bench.workspace(3)
    const scheduled_at = new Date(bench.clock.now().getTime() + 3_600_000)
    const later = await bench.queued(workspaceId, { scheduled_at })
    const again = await bench.queued(workspaceId)
    await attempted(again, { type: 'retry', ...refusal, delay_ms: null })
    expect(await cancel(workspaceId, later.id, again.id)).toEqual(['canceled', 'canceled'])
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 3 * SMS_PRICE })
    bench.clock.advance(24 * 3_600_000)
    expect(await bench.claimMessages()).toEqual([])
  })

  it('leaves alone what is being sent, what may have arrived, and what was sent or failed', async () => {
    const workspaceId = await bench.workspace(10)
    const doubtful = await bench.queued(workspaceId)
    await attempted(doubtful, { type: 'ambiguous', ...refusal })
    const rejected = await bench.queued(workspaceId)
    await attempted(rejected, { type: 'rejected', ...refusal })
    const sent = await bench.queued(workspaceId)
    const taken = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: 5_000 } as const
    await attempted(sent, taken)
    const inFlight = await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    const messages = [doubtful, rejected, sent, inFlight]
    const now = () => Promise.all(messages.map(({ id }) => bench.message(workspaceId, id)))
    const before = [await bench.account(workspaceId), await now()]

    const ids = messages.map(({ id }) => id)
    expect(await cancel(workspaceId, ...ids)).toEqual(ids.map(() => 'not_cancelable'))
    expect([await bench.account(workspaceId), await now()]).toEqual(before)
    // The claim still stands.
    expect(await bench.settle(claimed, { task: 'send', attempt: 1, outcome: taken })).toBe(true)
  })

  it('does not believe a claim whose lease has run out to have done nothing', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    await bench.claimMessages()
    bench.clock.advance(LEASE_MS + 1)
    expect(await cancel(workspaceId, message.id)).toEqual(['not_cancelable'])
  })

  it('cancels once, for any number of requests at any moment', async () => {
    const workspaceId = await bench.workspace(5)
    const message = await bench.queued(workspaceId)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => cancel(workspaceId, message.id)),
    )
    expect(answers.flat().filter((outcome) => outcome === 'canceled')).toHaveLength(1)
    expect(await cancel(workspaceId, message.id, message.id)).toEqual([
      'not_cancelable',
      'not_cancelable',
    ])
    expect(await bench.ledger(workspaceId)).toHaveLength(3)
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 5 * SMS_PRICE })
  })

  it('either cancels a message or lets it be claimed, never both', async () => {
    const workspaceId = await bench.workspace(50)
    const request = bench.make.bulk(workspaceId, 40)
    await bench.accept(request)
    const ids = request.messages.map(({ id }) => id)
    const [claimed, outcomes] = await Promise.all([
      Promise.all(Array.from({ length: 4 }, () => bench.claimMessages({ limit: 5 }))),
      Promise.all(ids.map((id) => cancel(workspaceId, id))),
    ])
    const taken = claimed.flat().map(({ message_id }) => message_id)
    const canceled = ids.filter((_, i) => outcomes[i]?.[0] === 'canceled')
    expect([...taken, ...canceled].sort()).toEqual([...ids].sort())
    expect(await bench.account(workspaceId)).toMatchObject({
      balance: (10 + canceled.length) * SMS_PRICE,
    })
  })

  it('gives the same answer for a message that does not exist and for another workspace’s', async () => {
    const [workspaceId, stranger] = [await bench.workspace(), await bench.workspace()]
    const message = await bench.queued(workspaceId)
    expect(await cancel(stranger, message.id, 'nothing')).toEqual(['not_found', 'not_found'])
    expect(await bench.message(workspaceId, message.id)).toEqual(message)
    expect(await cancel(workspaceId)).toEqual([])
  })

  it('cancels a bulk larger than a batch, in one transaction, and refunds each message', async () => {
    const workspaceId = await bench.workspace(1_000)
    const request = bench.make.bulk(workspaceId, 1_000)
    await bench.accept(request)
    const ids = request.messages.map(({ id }) => id)
    expect(await cancel(workspaceId, ...ids)).toEqual(ids.map(() => 'canceled'))
    expect(await bench.account(workspaceId)).toMatchObject({ balance: 1_000 * SMS_PRICE })
    expect(await bench.storage.read.messages.count(workspaceId, { status: 'failed' })).toBe(1_000)
  })

  it('gives nothing back for what cost nothing', async () => {
    const workspaceId = await bench.workspace(1)
    const message = await bench.queued(workspaceId, { credits_used: units(0), livemode: false })
    expect(await cancel(workspaceId, message.id)).toEqual(['canceled'])
    expect(await bench.account(workspaceId)).toMatchObject({ balance: SMS_PRICE, seq: 1 })
  })
}
