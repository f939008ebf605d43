import { describe, expect, it } from 'vitest'
import type { Outcome, Receipt, Received, Report } from '../../src/contract/outside/provider.ts'
import { createReportIntake } from '../../src/messages/reports.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import type { Settlement } from '../../src/rules/settlement.ts'
import { benchFor, type OpenStorage, only, receipt } from './bench.ts'

const PERSON = '+14155552671'
const NUMBER = '+15005550006'
const MINUTE_MS = 60_000

const accepted = (...part_ids: string[]): Outcome => ({
  type: 'accepted',
  provider_message_id: part_ids[0] ?? null,
  lookup_after_ms: null,
  part_ids,
})

/** What receipts name the parts of messages by, and what becomes of those that come too early. */
export function messagePartsContract(open: OpenStorage): void {
  const bench = benchFor(open)
  const logged: object[] = []
  const received: Received[] = []

  function intake() {
    logged.length = 0
    received.length = 0
    const warn = (fields: object) => logged.push(fields)
    const { now, elapsed, id, bytes, random, log } = bench.clock
    return createReportIntake({
      storage: bench.storage,
      runtime: { now, elapsed, id, bytes, random, log: { ...log, warn } },
      codeKey: { known: async () => null },
      receive: async (_, all) => void received.push(...all),
    })
  }

  const report = (
    provider_message_id: string,
    status: Receipt['status'] = 'delivered',
  ): Report => ({
    type: 'receipt',
    about: null,
    provider_message_id,
    receipt: { ...receipt(status), provider_message_id },
  })

  async function sent(workspaceId: string, ...ids: string[]): Promise<MessageRow> {
    bench.clock.advance(1)
    const message = await bench.queued(workspaceId, { recipient: PERSON })
    const claimed = only(await bench.claimMessages())
    await settle(claimed, accepted(...ids))
    return message
  }

  const settle = (claimed: Parameters<typeof bench.settle>[0], outcome: Outcome) =>
    bench.settle(claimed, { task: 'send', attempt: 1, outcome, sender: NUMBER })
  const statusOf = async ({ workspace_id, id }: MessageRow) =>
    (await bench.message(workspace_id, id)).status
  const parts = (...ids: string[]) => bench.storage.read.messageParts.byProvider('carrier', ids)
  const parked = () => bench.storage.read.parkedReceipts.due(10)

  describe('parts', () => {
    it('are stored with what took the message, newest first', async () => {
      const workspaceId = await bench.workspace()
      const first = await sent(workspaceId, 'P1', 'P2')
      const again = await sent(workspaceId, 'P1')
      expect(await parts('P1', 'P2', 'P3')).toMatchObject([
        { message_id: again.id, number: 1, attempt: 1, status: 'sent', provider: 'carrier' },
        { message_id: first.id },
        { message_id: first.id },
      ])
      expect(await bench.storage.read.messageParts.byProvider('other', ['P1'])).toEqual([])
      expect(await parts()).toEqual([])
    })

    it('stay unchanged after a repeated report', async () => {
      const workspaceId = await bench.workspace()
      const message = await sent(workspaceId, 'P1', 'P2')
      const { receiveReports } = intake()
      await receiveReports('carrier', [report('P1')])
      const late = { workspace_id: workspaceId, message_id: message.id, token: null }
      await settle(late, accepted('P1', 'P2'))
      const found = await parts('P1', 'P2')
      expect(found.map(({ status }) => status).sort()).toEqual(['delivered', 'sent'])
    })

    it('all delivered make the message delivered; one of them does not', async () => {
      const message = await sent(await bench.workspace(), 'P1', 'P2')
      const { receiveReports } = intake()
      await receiveReports('carrier', [report('P1'), report('P1')])
      expect(await statusOf(message)).toBe('sent')
      await receiveReports('carrier', [report('P2')])
      expect(await statusOf(message)).toBe('delivered')
    })

    it('in one batch count together', async () => {
      const message = await sent(await bench.workspace(), 'P1', 'P2')
      await intake().receiveReports('carrier', [report('P2'), report('P1')])
      expect(await statusOf(message)).toBe('delivered')
    })

    it('of which one fails fail the message, until that arrives after all', async () => {
      const message = await sent(await bench.workspace(), 'P1', 'P2')
      const { receiveReports } = intake()
      await receiveReports('carrier', [report('P1', 'failed'), report('P2')])
      expect(await statusOf(message)).toBe('failed')
      await receiveReports('carrier', [report('P1'), report('P2', 'failed')])
      expect(await statusOf(message)).toBe('delivered')
    })
  })

  describe('receipts', () => {
    it('that name the message need no parts', async () => {
      const message = await sent(await bench.workspace())
      const about = { workspace_id: message.workspace_id, message_id: message.id }
      await intake().receiveReports('carrier', [
        { type: 'receipt', about, provider_message_id: null, receipt: receipt('delivered') },
      ])
      expect(await statusOf(message)).toBe('delivered')
    })

    it('of an id that was given again mean what is still open, else the newest', async () => {
      const workspaceId = await bench.workspace()
      const done = await sent(workspaceId, 'P1')
      const { receiveReports } = intake()
      await receiveReports('carrier', [report('P1')])
      const open_ = await sent(workspaceId, 'P1')
      await receiveReports('carrier', [report('P1', 'failed')])
      expect([await statusOf(done), await statusOf(open_)]).toEqual(['delivered', 'failed'])
      await receiveReports('carrier', [report('P1')])
      expect(await statusOf(open_)).toBe('delivered')
    })

    it('mean what was sent a week ago and is still open only where nothing came after it', async () => {
      const workspaceId = await bench.workspace()
      const old = await sent(workspaceId, 'P1')
      const done = await sent(workspaceId, 'P1')
      const { receiveReports } = intake()
      await receiveReports('carrier', [report('P1')])
      expect([await statusOf(old), await statusOf(done)]).toEqual(['sent', 'delivered'])
      const week_ms = 7 * 24 * 60 * MINUTE_MS
      bench.clock.set(new Date(old.created_at.getTime() + week_ms))
      await receiveReports('carrier', [report('P1')])
      expect(await statusOf(old)).toBe('sent')
      const alone = await sent(workspaceId, 'P2')
      bench.clock.advance(week_ms + 1)
      await receiveReports('carrier', [report('P2')])
      expect(await statusOf(alone)).toBe('delivered')
    })

    it('of a late refusal refund its cost', async () => {
      const workspaceId = await bench.workspace()
      const message = await bench.queued(workspaceId)
      const outcome: Outcome = { type: 'ambiguous', error_code: 'x', error_message: 'No answer' }
      await settle(only(await bench.claimMessages()), outcome)
      const about = { workspace_id: workspaceId, message_id: message.id }
      const refused = { ...receipt('failed'), provider_message_id: null }
      const late: Report = {
        type: 'receipt',
        about,
        provider_message_id: null,
        receipt: { ...refused, never_accepted: true },
      }
      const { receiveReports } = intake()
      await receiveReports('carrier', [late, late])
      await receiveReports('carrier', [late])
      const { status, accepted, ...after } = await bench.message(workspaceId, message.id)
      expect({ status, accepted }).toEqual({ status: 'failed', accepted: false })
      expect(after.credits_refunded).toBe(message.credits_used)
      const kinds = (await bench.ledger(workspaceId)).map(({ kind }) => kind)
      expect(kinds).toEqual(['grant', 'send', 'refund'])
    })

    /** A refusal of the message, as its provider reports it late. */
    const lateRefusal = ({ workspace_id, id }: MessageRow): Report => ({
      type: 'receipt',
      about: { workspace_id, message_id: id },
      provider_message_id: null,
      receipt: { ...receipt('failed'), provider_message_id: null, never_accepted: true },
    })
    const doubtful: Outcome = { type: 'ambiguous', error_code: 'x', error_message: 'No answer' }
    const attemptsOf = async ({ workspace_id, id }: MessageRow) =>
      (await bench.storage.read.messages.attempts(workspace_id, id)).map(
        ({ number, outcome, error_code, finished_at }) => ({
          ...{ number, outcome, error_code },
          isFinished: finished_at !== null,
        }),
      )
    const rejectedAttempt = { outcome: 'rejected', error_code: 'undelivered', isFinished: true }

    it('of a late refusal end the attempt of the claim that holds the message', async () => {
      const workspaceId = await bench.workspace()
      const message = await bench.queued(workspaceId)
      const claimed = only(await bench.claimMessages())
      await intake().receiveReports('carrier', [lateRefusal(message)])
      expect(await bench.message(workspaceId, message.id)).toMatchObject({
        ...{ status: 'failed', accepted: false, credits_refunded: message.credits_used },
      })
      expect(await attemptsOf(message)).toEqual([{ number: 1, ...rejectedAttempt }])
      // The claim has lost its row: its outcome changes nothing.
      expect(await settle(claimed, doubtful)).toBe(false)
      expect(await attemptsOf(message)).toEqual([{ number: 1, ...rejectedAttempt }])
      bench.clock.advance(60 * MINUTE_MS)
      expect(await bench.claimMessages()).toEqual([])
    })

    it('of a late refusal and its unknown outcome in one batch end the attempt once', async () => {
      const workspaceId = await bench.workspace()
      const orders = [
        ['unknown', 'refused'],
        ['refused', 'unknown'],
      ] as const
      for (const order of orders) {
        const message = await bench.queued(workspaceId)
        const { token } = only(await bench.claimMessages())
        const settlements = order.map((kind): Settlement => {
          const isRefusal = kind === 'refused'
          const { receipt: refused } = lateRefusal(message) as Extract<Report, { type: 'receipt' }>
          return {
            ...{ workspace_id: workspaceId, message_id: message.id, provider: 'carrier' },
            token: isRefusal ? null : token,
            abilities: { idempotent: false, lookup: false },
            result: isRefusal
              ? { task: 'refused', receipt: refused }
              : { task: 'send', attempt: 1, outcome: doubtful },
            at: bench.clock.now(),
          }
        })
        await bench.storage.hot.settle(settlements)
        const { status, credits_refunded } = await bench.message(workspaceId, message.id)
        expect({ status, credits_refunded }).toEqual({
          status: 'failed',
          credits_refunded: message.credits_used,
        })
        const [attempt, ...others] = await attemptsOf(message)
        expect(others).toEqual([])
        expect(attempt).toMatchObject({ number: 1, isFinished: true })
      }
    })

    it('of a late refusal leave a newer attempt in flight alone', async () => {
      const workspaceId = await bench.workspace()
      const message = await bench.queued(workspaceId)
      const lookup = { abilities: { idempotent: false, lookup: true } }
      const sendOf = (attempt: number, outcome: Outcome) =>
        ({ task: 'send', attempt, outcome, sender: NUMBER }) as const
      await bench.settle(only(await bench.claimMessages()), sendOf(1, doubtful), lookup)
      bench.clock.advance(2_000)
      const asking = only(await bench.claimMessages())
      const found = { type: 'not_found', certain: true } as const
      await bench.settle(asking, { task: 'lookup', found }, lookup)
      const second = only(await bench.claimMessages())
      expect(second).toMatchObject({ task: 'send', attempt: 2 })
      await intake().receiveReports('carrier', [lateRefusal(message)])
      expect(await statusOf(message)).toBe('queued')
      await bench.settle(second, sendOf(2, accepted('P1')), lookup)
      expect(await bench.message(workspaceId, message.id)).toMatchObject({
        ...{ status: 'sent', accepted: true, credits_refunded: 0 },
      })
      expect(await attemptsOf(message)).toMatchObject([
        { number: 1, outcome: 'ambiguous' },
        { number: 2, outcome: 'accepted' },
      ])
    })

    it('that come before the answer to the send wait for it', async () => {
      const workspaceId = await bench.workspace()
      const message = await bench.queued(workspaceId)
      const claimed = only(await bench.claimMessages())
      const { receiveReports, settleParked } = intake()
      await receiveReports('carrier', [report('P1')])
      expect(await parked()).toMatchObject([{ provider: 'carrier', provider_message_id: 'P1' }])
      expect(await settleParked()).toBe(1)
      expect(await statusOf(message)).toBe('queued')
      await settle(claimed, accepted('P1'))
      await settleParked()
      expect(await statusOf(message)).toBe('delivered')
      expect(await parked()).toEqual([])
      expect(logged).toEqual([])
    })

    it('of unknown messages are dropped after ten minutes, with a warning without their data', async () => {
      await bench.workspace()
      const { receiveReports, settleParked } = intake()
      await receiveReports('carrier', [report('canary-id')])
      bench.clock.advance(10 * MINUTE_MS)
      await settleParked()
      expect(await parked()).toHaveLength(1)
      bench.clock.advance(1)
      await settleParked()
      expect(await parked()).toEqual([])
      expect(logged).toEqual([{ receipts: 1, providers: ['carrier'] }])
    })

    it('of another provider with the same ids are not taken for its own', async () => {
      const message = await sent(await bench.workspace(), 'P1')
      await intake().receiveReports('other', [report('P1')])
      expect(await statusOf(message)).toBe('sent')
    })

    it('of unknown messages, however many, hide no other receipt', async () => {
      const workspaceId = await bench.workspace()
      const { receiveReports, settleParked } = intake()
      const many = Array.from({ length: 1_000 }, (_, i) => report(`unknown ${i}`))
      await receiveReports('carrier', many)
      bench.clock.advance(1)
      await receiveReports('carrier', [report('P1')])
      const message = await sent(workspaceId, 'P1')
      expect([await settleParked(), await settleParked(), await settleParked()]).toEqual([
        1_000, 1, 1_000,
      ])
      expect(await statusOf(message)).toBe('delivered')
    })
  })

  describe('other reports of a provider', () => {
    it('is kept: who wants no more, and what was written', async () => {
      const message = await sent(await bench.workspace())
      const about = { workspace_id: message.workspace_id, message_id: message.id }
      const wrote: Received = {
        type: 'received',
        channel: 'sms',
        provider_message_id: 'R1',
        sender: PERSON,
        recipient: NUMBER,
        content: { text: 'Thank you', media: [] },
      }
      await intake().receiveReports('carrier', [
        { type: 'suppress', about, reason: 'complaint' },
        wrote,
      ])
      expect(received).toEqual([wrote])
      const { suppressions } = bench.storage.read
      const found = await suppressions.of(message.workspace_id, [PERSON])
      expect(found).toMatchObject([{ channel: 'sms', reason: 'complaint' }])
    })

    it('keeps the first reason of a suppression', async () => {
      const message = await sent(await bench.workspace())
      const about = { workspace_id: message.workspace_id, message_id: message.id }
      const { receiveReports } = intake()
      const because = (reason: 'opt_out' | 'bounce'): Report => ({
        type: 'suppress',
        about,
        reason,
      })
      await receiveReports('carrier', [because('opt_out')])
      await receiveReports('carrier', [because('bounce'), because('bounce')])
      const found = await bench.storage.read.suppressions.of(message.workspace_id, [PERSON])
      expect(found).toMatchObject([{ reason: 'opt_out' }])
    })

    it('records each conversation once, with the last time', async () => {
      const workspaceId = await bench.workspace()
      await sent(workspaceId, 'P1')
      await sent(workspaceId, 'P2')
      const last_sent_at = bench.clock.now()
      const found = await bench.storage.write(({ conversations }) =>
        conversations.with({ channel: 'sms', names: [PERSON], sender: NUMBER }),
      )
      const names = { other_number: null, user_id: null }
      const row = { channel: 'sms', sender: NUMBER, address: PERSON, last_sent_at, ...names }
      expect(found).toEqual([{ workspace_id: workspaceId, ...row }])
    })
  })

  it('a postponed message keeps its attempt and is due when it was put off to', async () => {
    const workspaceId = await bench.workspace()
    const message = await bench.queued(workspaceId)
    const route = () => ({ provider: null, wait_ms: 5_000, error_message: 'Paused' }) as const
    const claimed = only(await bench.claimMessages({ route }))
    expect(claimed).toMatchObject({ attempt: 0, route: route(), unknown_since: null })
    const result: Settlement['result'] = { task: 'postponed', wait_ms: 5_000, error_message: 'x' }
    expect(await bench.settle({ ...claimed, token: null }, result)).toBe(true)
    bench.clock.advance(4_999)
    expect(await bench.claimMessages()).toEqual([])
    bench.clock.advance(1)
    expect(await bench.claimMessages()).toMatchObject([{ attempt: 1, interrupted: false }])
    expect(await statusOf(message)).toBe('queued')
  })

  it('a claim says that a part of the message is with its provider', async () => {
    const workspaceId = await bench.workspace()
    await bench.queued(workspaceId)
    const fault = { error_code: 'busy', error_message: 'Busy', delay_ms: 1_000 }
    await settle(only(await bench.claimMessages()), { type: 'retry', ...fault, partial: true })
    bench.clock.advance(1_000)
    const lookups: object[] = []
    const claimed = await bench.claimMessages({
      route(message) {
        lookups.push({ ...message })
        return { provider: 'carrier', sender: null }
      },
    })
    expect(lookups).toMatchObject([{ attempt: 1, provider: 'carrier', accepted: true }])
    expect(claimed).toMatchObject([{ attempt: 2, accepted: true, status: 'queued' }])
  })

  it('a claim says since when it is unknown whether the provider has the message', async () => {
    const workspaceId = await bench.workspace()
    await bench.queued(workspaceId)
    const claimed = only(await bench.claimMessages())
    const at = bench.clock.now()
    const outcome: Outcome = { type: 'ambiguous', error_code: 'x', error_message: 'No answer' }
    await bench.settle(
      claimed,
      { task: 'send', attempt: 1, outcome },
      { abilities: { idempotent: true, lookup: false } },
    )
    bench.clock.advance(1_000)
    const lookups: object[] = []
    await bench.claimMessages({
      route(message) {
        lookups.push({ ...message })
        return { provider: 'carrier', sender: null }
      },
    })
    expect(lookups).toMatchObject([{ attempt: 1, provider: 'carrier', unknown_since: at }])
  })
}
