import { describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { Channel } from '../../src/contract/resources/messages.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, LEASE_MS, type OpenStorage, only } from './bench.ts'

const HOUR_MS = 3_600_000
const PHONE = '+255700000001'
const busy = { error_code: 'busy', error_message: 'Busy' }
const RETRY = { type: 'retry', ...busy, delay_ms: null } as const
const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const

/** A recipient who opted out while a message waited does not get it, and it is not charged. */
export function optedOutContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function suppress(workspaceId: string, channel: Channel, address: string): Promise<void> {
    const at = { reason: 'opt_out', created_at: bench.clock.now() } as const
    await bench.storage.write(({ suppressions }) =>
      suppressions.add([{ workspace_id: workspaceId, channel, address, ...at }]),
    )
  }

  /** A message that is due in an hour. */
  function scheduled(
    workspaceId: string,
    overrides: Partial<MessageRow> = {},
  ): Promise<MessageRow> {
    const scheduled_at = new Date(bench.clock.now().getTime() + HOUR_MS)
    return bench.queued(workspaceId, { recipient: PHONE, scheduled_at, ...overrides })
  }

  const settle = (claimed: Parameters<typeof bench.settle>[0]) =>
    bench.settle({ ...claimed, token: null }, { task: 'suppressed' })

  describe('a scheduled message', () => {
    it('is claimed as suppressed, and no attempt is journalled', async () => {
      const workspaceId = await bench.workspace()
      const message = await scheduled(workspaceId)
      await suppress(workspaceId, 'sms', PHONE)
      bench.clock.advance(HOUR_MS)
      expect(only(await bench.claimMessages())).toMatchObject({
        message_id: message.id,
        suppressed: true,
        attempt: 0,
        interrupted: false,
      })
      expect(await bench.storage.read.messages.attempts(workspaceId, message.id)).toEqual([])
      expect(await bench.claimMessages()).toEqual([])
    })

    it('is sent all the same where it answers a STOP', async () => {
      const workspaceId = await bench.workspace()
      const message = await bench.queued(workspaceId, {
        recipient: PHONE,
        api_key_id: null,
        credits_used: units(0),
      })
      await suppress(workspaceId, 'sms', PHONE)
      bench.clock.advance(HOUR_MS)
      expect(only(await bench.claimMessages())).toMatchObject({
        message_id: message.id,
        suppressed: false,
        attempt: 1,
      })
    })

    it('fails, is refunded once, is announced and never sent', async () => {
      const workspaceId = await bench.workspace(3)
      await bench.webhook(workspaceId)
      const message = await scheduled(workspaceId)
      await suppress(workspaceId, 'sms', PHONE)
      const at = bench.clock.advance(HOUR_MS)
      const claimed = only(await bench.claimMessages())
      const counted = await Promise.all([1, 2, 3].map(() => settle(claimed)))
      expect(counted.filter(Boolean)).toHaveLength(1)
      expect(await bench.message(workspaceId, message.id)).toEqual({
        ...message,
        status: 'failed',
        error_code: 'suppressed',
        error_message: 'The recipient is suppressed on this channel',
        credits_refunded: SMS_PRICE,
        sequence: 1,
        updated_at: at,
        failed_at: at,
      })
      const kinds = (await bench.ledger(workspaceId)).map(({ kind }) => kind)
      expect(kinds).toEqual(['grant', 'send', 'refund'])
      expect(await bench.account(workspaceId)).toMatchObject({ balance: 3 * SMS_PRICE })
      const events = await bench.reportsOf(workspaceId, message.id)
      expect(events).toMatchObject([{ status: 'failed', applied: true, error_code: 'suppressed' }])
      expect(JSON.parse(only(await bench.claimDeliveries()).body)).toMatchObject({
        event: 'message.failed',
        data: { message_id: message.id, error_code: 'suppressed', sequence: 1 },
      })
      bench.clock.advance(LEASE_MS)
      expect(await bench.claimMessages()).toEqual([])
    })

    it('is sent without an opt-out, or with one elsewhere', async () => {
      const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
      await scheduled(workspaceId)
      await suppress(other, 'sms', PHONE)
      await suppress(workspaceId, 'whatsapp', PHONE)
      await suppress(workspaceId, 'sms', '+255700000002')
      bench.clock.advance(HOUR_MS)
      const claimed = only(await bench.claimMessages())
      expect(claimed).toMatchObject({ suppressed: false, attempt: 1 })
      const sent = { task: 'send', attempt: 1, outcome: ACCEPTED } as const
      expect(await bench.settle(claimed, sent)).toBe(true)
    })

    it('to an e-mail address is known whatever its case', async () => {
      const workspaceId = await bench.workspace()
      await scheduled(workspaceId, { channel: 'email', recipient: 'Asha@Example.COM' })
      await suppress(workspaceId, 'email', 'asha@example.com')
      bench.clock.advance(HOUR_MS)
      expect(only(await bench.claimMessages())).toMatchObject({ suppressed: true })
    })

    it('does not count as begun: its claimant may die, and it can be canceled', async () => {
      const workspaceId = await bench.workspace(3)
      const message = await scheduled(workspaceId)
      await suppress(workspaceId, 'sms', PHONE)
      bench.clock.advance(HOUR_MS)
      const lost = only(await bench.claimMessages())
      bench.clock.advance(LEASE_MS)
      expect(only(await bench.claimMessages())).toMatchObject({
        suppressed: true,
        interrupted: false,
      })
      const wish = { workspace_id: workspaceId, message_ids: [message.id], at: bench.clock.now() }
      expect(await bench.storage.hot.cancel(wish)).toEqual(['canceled'])
      expect(await settle(lost)).toBe(false)
      expect(await bench.account(workspaceId)).toMatchObject({ balance: 3 * SMS_PRICE })
    })

    it('is sent when the suppression was lifted meanwhile, whatever an old claim still says', async () => {
      const workspaceId = await bench.workspace()
      const message = await scheduled(workspaceId)
      await suppress(workspaceId, 'sms', PHONE)
      bench.clock.advance(HOUR_MS)
      const lost = only(await bench.claimMessages())
      await bench.storage.write(({ suppressions }) =>
        suppressions.remove(workspaceId, { channel: 'sms', address: PHONE }),
      )
      bench.clock.advance(LEASE_MS)
      expect(only(await bench.claimMessages())).toMatchObject({ suppressed: false, attempt: 1 })
      expect(await settle(lost)).toBe(false)
      expect(await bench.message(workspaceId, message.id)).toMatchObject({ status: 'queued' })
    })
  })

  describe('a message that is tried again', () => {
    /** A message whose first attempt gave this, due again and more than a minute old. */
    async function triedOnce(
      workspaceId: string,
      type: 'retry' | 'ambiguous',
    ): Promise<MessageRow> {
      const message = await bench.queued(workspaceId, { recipient: PHONE })
      const outcome = type === 'retry' ? RETRY : ({ type, ...busy } as const)
      const claimed = only(await bench.claimMessages())
      const abilities = { idempotent: true, lookup: false }
      await bench.settle(claimed, { task: 'send', attempt: 1, outcome }, { abilities })
      bench.clock.advance(61_000)
      return message
    }

    it('fails and is refunded, and the attempt before stays as it was', async () => {
      const workspaceId = await bench.workspace(3)
      const message = await triedOnce(workspaceId, 'retry')
      await suppress(workspaceId, 'sms', PHONE)
      const claimed = only(await bench.claimMessages())
      expect(claimed).toMatchObject({ suppressed: true, attempt: 1 })
      expect(await settle(claimed)).toBe(true)
      expect(await bench.message(workspaceId, message.id)).toMatchObject({
        status: 'failed',
        error_code: 'suppressed',
        credits_refunded: SMS_PRICE,
      })
      const attempts = await bench.storage.read.messages.attempts(workspaceId, message.id)
      expect(only(attempts)).toMatchObject({ number: 1, outcome: 'retry' })
    })

    it('that may have arrived is not repeated, and not refunded', async () => {
      const workspaceId = await bench.workspace(3)
      const message = await triedOnce(workspaceId, 'ambiguous')
      await suppress(workspaceId, 'sms', PHONE)
      expect(await settle(only(await bench.claimMessages()))).toBe(true)
      expect(await bench.message(workspaceId, message.id)).toMatchObject({
        status: 'failed',
        error_code: 'outcome_unknown',
        credits_refunded: 0,
      })
    })

    it('and was sent after all, as a callback reported, stays sent', async () => {
      const workspaceId = await bench.workspace()
      const message = await triedOnce(workspaceId, 'retry')
      await suppress(workspaceId, 'sms', PHONE)
      const claimed = only(await bench.claimMessages())
      await bench.callback(message, 'sent')
      expect(await settle(claimed)).toBe(false)
      expect(await bench.message(workspaceId, message.id)).toMatchObject({ status: 'sent' })
    })
  })

  it('distinguishes the messages of one claim by workspace', async () => {
    const [workspaceId, other] = [await bench.workspace(), await bench.workspace()]
    const gone = await scheduled(workspaceId)
    const here = [
      await scheduled(other),
      await scheduled(workspaceId, { recipient: '+255700000002' }),
    ]
    await suppress(workspaceId, 'sms', PHONE)
    bench.clock.advance(HOUR_MS)
    const fresh = await bench.queued(other, { recipient: PHONE })
    const claimed = await bench.claimMessages()
    const ids = (suppressed: boolean) =>
      claimed.filter((message) => message.suppressed === suppressed).map((one) => one.message_id)
    expect(ids(true)).toEqual([gone.id])
    expect(ids(false).sort()).toEqual([...here, fresh].map(({ id }) => id).sort())
  })
}
