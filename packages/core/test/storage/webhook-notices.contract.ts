import { expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import type { WebhookRow } from '../../src/rows/rows.ts'
import type { DeliveryResult } from '../../src/rules/record.ts'
import type { WebhookChange } from '../../src/storage/ports/stores.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { benchFor, type OpenStorage } from './bench.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The notices to owners about webhooks that fail: once in each episode, and due in the commit of the result. */
export function webhookNoticesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function watched(fields: { email_verified?: boolean; webhook_mails?: boolean } = {}) {
    const row = bench.make.workspace({ email_verified: true, ...fields })
    await bench.storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, bench.clock.now())
      await credits.post(row.id, bench.make.grant(units(100 * SMS_PRICE)))
    })
    return bench.webhook(row.id)
  }

  /** The result of an attempt of a new delivery. */
  async function attempt(webhook: WebhookRow, result: Partial<DeliveryResult> = {}) {
    const { workspace_id, id } = webhook
    await bench.callback(await bench.queued(workspace_id), 'sent')
    const claimed = await bench.claimDeliveries()
    const first = claimed.find((one) => one.webhook_id === id && one.attempt === 1)
    if (!first) throw new Error('no delivery')
    await bench.record(first, { duration_ms: 0, ...result })
  }

  const refused: Partial<DeliveryResult> = { response_status: 500 }

  /** Five failures within 15 minutes, the last of them after 15 minutes. */
  async function fail(webhook: WebhookRow) {
    for (let i = 0; i < 4; i++) await attempt(webhook, refused)
    bench.clock.advance(15 * MINUTE_MS)
    await attempt(webhook, refused)
  }

  const due = () =>
    bench.storage.read.webhookNotices.due({
      now: bench.clock.now(),
      every_ms: HOUR_MS,
      limit: 10,
    })
  const take = ({ workspace_id }: WebhookRow) =>
    bench.storage.write(({ webhookNotices }) => webhookNotices.take(workspace_id))
  const tell = ({ workspace_id }: WebhookRow, told: Awaited<ReturnType<typeof take>>) =>
    bench.storage.write(({ webhookNotices }) => webhookNotices.told(workspace_id, told))
  const noticeOf = async ({ workspace_id, id }: WebhookRow) =>
    (await bench.storage.read.webhooks.byId(workspace_id, id))?.notice
  const change = ({ workspace_id, id }: WebhookRow, to: WebhookChange) =>
    bench.storage.write(({ webhooks }) => webhooks.change(workspace_id, id, to))

  it('are due after five failures in a row over 15 minutes, and not before', async () => {
    const webhook = await watched()
    for (let i = 0; i < 6; i++) await attempt(webhook, refused)
    bench.clock.advance(15 * MINUTE_MS - 1)
    await attempt(webhook, refused)
    expect(await due()).toEqual([])
    bench.clock.advance(1)
    await attempt(webhook, refused)
    expect(await due()).toEqual([webhook.workspace_id])
    const few = await watched()
    for (let i = 0; i < 4; i++) {
      await attempt(few, refused)
      bench.clock.advance(10 * MINUTE_MS)
    }
    expect(await due()).toEqual([webhook.workspace_id])
  })

  it('stay due until they are reported, and are reported once until a success', async () => {
    const webhook = await watched()
    await fail(webhook)
    const taken = await take(webhook)
    expect(taken).toMatchObject([{ id: webhook.id, notice: 'failing_due', disabled_reason: null }])
    expect(await take(webhook)).toEqual(taken)
    expect(await due()).toHaveLength(1)
    await tell(webhook, taken)
    expect([await due(), await take(webhook)]).toEqual([[], []])
    bench.clock.advance(15 * MINUTE_MS)
    await attempt(webhook, refused)
    expect(await due()).toEqual([])
    await attempt(webhook)
    expect(await noticeOf(webhook)).toBe('no')
    await fail(webhook)
    expect(await due()).toHaveLength(1)
  })

  it('are withdrawn by a success before they are reported', async () => {
    const webhook = await watched()
    await fail(webhook)
    const taken = await take(webhook)
    await attempt(webhook)
    expect(await due()).toEqual([])
    await tell(webhook, taken)
    expect(await noticeOf(webhook)).toBe('no')
  })

  it('are due again when the webhook is disabled, also after the first was reported', async () => {
    const webhook = await watched()
    await fail(webhook)
    const taken = await take(webhook)
    await attempt(webhook, { response_status: 410 })
    await tell(webhook, taken)
    const gone = await take(webhook)
    expect(gone).toMatchObject([{ notice: 'disabled_due', disabled_reason: 'gone' }])
    await tell(webhook, gone)
    expect(await due()).toEqual([])
    expect(await noticeOf(webhook)).toBe('disabled_told')
  })

  it('are not due within an hour of the last mail, and not delayed by a clock that was set back', async () => {
    const webhook = await watched()
    await fail(webhook)
    const mailed_at = bench.clock.now()
    const mail = { workspace_id: webhook.workspace_id, kind: 'webhook_failure', mailed_at } as const
    await bench.storage.write(({ ownerMails }) => ownerMails.claim(mail, HOUR_MS))
    expect(await due()).toEqual([])
    bench.clock.advance(HOUR_MS - 1)
    expect(await due()).toEqual([])
    bench.clock.advance(1)
    expect(await due()).toHaveLength(1)
    bench.clock.set(new Date(mailed_at.getTime() - HOUR_MS - 1))
    expect(await due()).toHaveLength(1)
  })

  it('are reported without a mail to owners who must not get one, and of webhooks that a member disabled', async () => {
    const unverified = await watched({ email_verified: false })
    const off = await watched({ webhook_mails: false })
    const disabled = await watched()
    for (const webhook of [unverified, off, disabled]) await fail(webhook)
    await change(disabled, { is_active: false, status: 'disabled', disabled_reason: 'manual' })
    expect(await due()).toHaveLength(3)
    for (const webhook of [unverified, off, disabled]) expect(await take(webhook)).toEqual([])
    expect(await due()).toEqual([])
  })

  it('are never due for hidden webhooks, which have no page', async () => {
    const webhook = await watched()
    await fail(webhook)
    const hidden = { api_key_id: bench.clock.id(), callback_origin: 'https://app.example.com' }
    await change(webhook, hidden)
    expect([await due(), await take(webhook)]).toEqual([[], []])
  })
}
