import { expect, it } from 'vitest'
import { WEBHOOK_RETRY_DELAYS_S } from '../../src/contract/limits.ts'
import type { ClaimedDelivery, DeliveryRow, WebhookRow } from '../../src/storage/storage.ts'
import type { DeliveryResult } from '../../src/webhooks/record.ts'
import { benchFor, EVERYTHING, LEASE_MS, type OpenStorage, only } from './bench.ts'

const refused: Partial<DeliveryResult> = { response_status: 500, response_body: 'no' }
const silent: Partial<DeliveryResult> = {
  response_status: null,
  response_body: null,
  error: 'timeout',
}

/** What the tries of deliveries gave: done, tried again on schedule, or given up. */
export function recordDeliveriesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  async function claimed(): Promise<ClaimedDelivery> {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await bench.callback(await bench.queued(workspaceId), 'sent')
    return only(await bench.claimDeliveries())
  }

  async function delivery({ workspace_id, webhook_id }: ClaimedDelivery): Promise<DeliveryRow> {
    const { webhooks } = bench.storage.read
    return only(await webhooks.deliveries(workspace_id, webhook_id, EVERYTHING))
  }

  async function webhook({ workspace_id, webhook_id }: ClaimedDelivery): Promise<WebhookRow> {
    const row = await bench.storage.read.webhooks.byId(workspace_id, webhook_id)
    if (!row) throw new Error('the webhook is gone')
    return row
  }

  function attempts({ workspace_id, delivery_id }: ClaimedDelivery) {
    return bench.storage.read.webhooks.attempts(workspace_id, delivery_id)
  }

  async function expectNoMore(): Promise<void> {
    bench.clock.advance(100 * 24 * 3_600_000)
    expect(await bench.claimDeliveries()).toEqual([])
  }

  /** The next try of the only delivery, claimed when it is due. */
  async function nextTry(given: ClaimedDelivery): Promise<ClaimedDelivery> {
    const { next_attempt_at } = await delivery(given)
    if (!next_attempt_at) throw new Error('no further try is planned')
    bench.clock.set(next_attempt_at)
    return only(await bench.claimDeliveries())
  }

  it.each([200, 201, 204, 299])('is done with a %d', async (response_status) => {
    const given = await claimed()
    const before = await delivery(given)
    const started_at = bench.clock.advance(7)
    expect(await bench.record(given, { response_status, duration_ms: 123 })).toBe(true)
    const at = new Date(started_at.getTime() + 123)
    expect(await delivery(given)).toEqual({
      ...before,
      status: 'delivered',
      attempt_count: 1,
      next_attempt_at: null,
      response_status,
      response_time_ms: 123,
      updated_at: at,
      delivered_at: at,
    })
    expect(await attempts(given)).toEqual([
      {
        workspace_id: given.workspace_id,
        delivery_id: given.delivery_id,
        number: 1,
        started_at,
        duration_ms: 123,
        response_status,
        response_body: 'ok',
        error: null,
      },
    ])
    expect(await webhook(given)).toMatchObject({
      status: 'active',
      consecutive_failures: 0,
      last_success_at: at,
      last_failure_at: null,
      updated_at: at,
    })
    await expectNoMore()
  })

  it.each<[string, Partial<DeliveryResult>, string]>([
    ['a 500', refused, 'status_500'],
    ['a 404', { response_status: 404 }, 'status_404'],
    ['a redirect', { response_status: 302 }, 'status_302'],
    ['an interim answer', { response_status: 199 }, 'status_199'],
    ['no answer', silent, 'timeout'],
  ])('tries again after %s, on schedule and never early', async (_, result, error) => {
    const given = await claimed()
    await bench.record(given, result)
    const at = bench.clock.now().getTime() + 40
    const row = await delivery(given)
    expect(row).toMatchObject({ status: 'pending', attempt_count: 1, error, delivered_at: null })
    const due = row.next_attempt_at?.getTime() ?? 0
    expect(due - at).toBeGreaterThanOrEqual(5_000)
    expect(due - at).toBeLessThanOrEqual(5_500)
    expect(await webhook(given)).toMatchObject({
      consecutive_failures: 1,
      last_failure_at: new Date(at),
      last_success_at: null,
    })

    bench.clock.set(new Date(due - 1))
    expect(await bench.claimDeliveries()).toEqual([])
    bench.clock.set(new Date(due))
    const again = only(await bench.claimDeliveries())
    expect(again).toMatchObject({ delivery_id: given.delivery_id, attempt: 2 })
    await bench.record(again)
    expect(await delivery(given)).toMatchObject({
      status: 'delivered',
      attempt_count: 2,
      error: null,
      response_status: 200,
    })
    expect(await attempts(given)).toMatchObject([
      { number: 1, error },
      { number: 2, error: null },
    ])
  })

  it('keeps to the whole schedule and gives up after the last try', async () => {
    let given = await claimed()
    for (const delay_s of WEBHOOK_RETRY_DELAYS_S.slice(1)) {
      const started_at = bench.clock.now()
      await bench.record(given, { ...silent, started_at, duration_ms: 15_000 })
      const { next_attempt_at } = await delivery(given)
      const wait_s = ((next_attempt_at?.getTime() ?? 0) - started_at.getTime() - 15_000) / 1_000
      expect(wait_s).toBeGreaterThanOrEqual(delay_s)
      expect(wait_s).toBeLessThanOrEqual(delay_s * 1.1)
      given = await nextTry(given)
    }
    expect(given.attempt).toBe(12)
    await bench.record(given, refused)
    expect(await delivery(given)).toMatchObject({
      status: 'failed',
      attempt_count: 12,
      max_attempts: 12,
      next_attempt_at: null,
      response_status: 500,
      error: 'status_500',
      delivered_at: null,
    })
    const numbers = (await attempts(given)).map(({ number }) => number)
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    await expectNoMore()
  })

  it.each([
    ['lengthens the wait', 60_000, 60_000, 60_500],
    ['never shortens it', 1_000, 5_000, 5_500],
    ['counts for a day at the most', 30 * 24 * 3_600_000, 24 * 3_600_000, 24 * 3_600_000 + 500],
  ])("a receiver's Retry-After %s", async (_, retry_after_ms, min, max) => {
    const given = await claimed()
    await bench.record(given, { response_status: 503, retry_after_ms, duration_ms: 0 })
    const due = (await delivery(given)).next_attempt_at?.getTime() ?? 0
    const wait = due - bench.clock.now().getTime()
    expect(wait).toBeGreaterThanOrEqual(min)
    expect(wait).toBeLessThanOrEqual(max)
  })

  it('disables a webhook that answers 410 at once, and tells it of nothing more', async () => {
    const given = await claimed()
    await bench.record(given, { response_status: 410 })
    expect(await delivery(given)).toMatchObject({ status: 'failed', next_attempt_at: null })
    expect(await webhook(given)).toMatchObject({
      is_active: false,
      status: 'disabled',
      disabled_reason: 'gone',
    })
    const message = await bench.queued(given.workspace_id)
    await bench.callback(message, 'delivered')
    expect(await bench.deliveriesOf(message)).toEqual([])
    await expectNoMore()
  })

  it('gives up what fails at a webhook that was disabled meanwhile', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await bench.callback(await bench.queued(workspaceId), 'sent', 'delivered')
    const [first, second] = await bench.claimDeliveries()
    if (!first || !second) throw new Error('two are waiting')
    await bench.record(first, { response_status: 410 })
    await bench.record(second, refused)
    const { webhooks } = bench.storage.read
    const rows = await webhooks.deliveries(workspaceId, first.webhook_id, EVERYTHING)
    expect(rows.map(({ status }) => status)).toEqual(['failed', 'failed'])
    await expectNoMore()
  })

  it('shows a webhook as failing after five failures in a row, and as active after a success', async () => {
    let given = await claimed()
    for (let failures = 1; failures <= 6; failures++) {
      await bench.record(given, refused)
      expect(await webhook(given)).toMatchObject({
        is_active: true,
        consecutive_failures: failures,
        status: failures < 5 ? 'active' : 'failing',
      })
      given = await nextTry(given)
    }
    await bench.record(given)
    expect(await webhook(given)).toMatchObject({ status: 'active', consecutive_failures: 0 })
  })

  it('ignores the late result of a lost claim', async () => {
    const lost = await claimed()
    bench.clock.advance(LEASE_MS)
    const holder = only(await bench.claimDeliveries())
    const before = [await delivery(lost), await webhook(lost)]
    for (const result of [{}, refused, { response_status: 410 }]) {
      expect(await bench.record(lost, result)).toBe(false)
      expect(await bench.record({ ...lost, token: 'made up' }, result)).toBe(false)
    }
    expect([await delivery(lost), await webhook(lost)]).toEqual(before)
    expect(await attempts(lost)).toEqual([])
    expect(await bench.record(holder)).toBe(true)
    expect(await bench.record(holder)).toBe(false)
  })

  it('counts the results of a batch each on its own, the second of a pair not at all', async () => {
    const workspaceId = await bench.workspace()
    await bench.webhook(workspaceId)
    await bench.callback(await bench.queued(workspaceId), 'sent', 'delivered')
    const [first, second] = await bench.claimDeliveries()
    if (!first || !second) throw new Error('two are waiting')
    const result = (from: ClaimedDelivery): DeliveryResult => ({
      workspace_id: workspaceId,
      webhook_id: from.webhook_id,
      delivery_id: from.delivery_id,
      token: from.token,
      started_at: bench.clock.now(),
      duration_ms: 1,
      response_status: 200,
      response_body: null,
      error: null,
      retry_after_ms: null,
    })
    const batch = [result(first), { ...result(second), token: 'lost' }, result(first)]
    expect(await bench.storage.hot.recordDeliveries(batch)).toEqual([true, false, false])
    expect(await attempts(first)).toHaveLength(1)
    expect(await bench.record(second)).toBe(true)
  })
}
