import { expect, it } from 'vitest'
import { WEBHOOK_RETRY_DELAYS_S } from '../../src/contract/limits.ts'
import type { DeliveryRow, WebhookRow } from '../../src/rows/rows.ts'
import { stepOf } from '../../src/rules/answer-times.ts'
import type { ClaimedDelivery } from '../../src/rules/deliveries.ts'
import type { DeliveryResult } from '../../src/rules/record.ts'
import { benchFor, EVERYTHING, LEASE_MS, type OpenStorage, only } from './bench.ts'

const refused: Partial<DeliveryResult> = { response_status: 500, response_body: 'no' }
const silent: Partial<DeliveryResult> = {
  response_status: null,
  response_body: null,
  error: 'timeout',
}

/** The results of the tries of deliveries: delivered, retried on schedule, or failed. */
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

  async function webhook({
    workspace_id,
    webhook_id,
  }: Pick<ClaimedDelivery, 'workspace_id' | 'webhook_id'>): Promise<WebhookRow> {
    const row = await bench.storage.read.webhooks.byId(workspace_id, webhook_id)
    if (!row) throw new Error('the webhook is gone')
    return row
  }

  function attempts({ workspace_id, webhook_id, delivery_id }: ClaimedDelivery) {
    return bench.storage.read.webhooks.attempts(workspace_id, webhook_id, delivery_id)
  }

  /** A 200 within a millisecond. */
  const result = (from: ClaimedDelivery): DeliveryResult => ({
    workspace_id: from.workspace_id,
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

  async function expectNoMore(): Promise<void> {
    bench.clock.advance(100 * 24 * 3_600_000)
    expect(await bench.claimDeliveries()).toEqual([])
  }

  /** The next try of the only delivery, claimed when it is due. */
  async function nextTry(delivered: ClaimedDelivery): Promise<ClaimedDelivery> {
    const { next_attempt_at } = await delivery(delivered)
    if (!next_attempt_at) throw new Error('no further try is planned')
    bench.clock.set(next_attempt_at)
    return only(await bench.claimDeliveries())
  }

  it.each([200, 201, 204, 299])('is done with a %d', async (response_status) => {
    const delivered = await claimed()
    const before = await delivery(delivered)
    const started_at = bench.clock.advance(7)
    expect(await bench.record(delivered, { response_status, duration_ms: 123 })).toBe(true)
    const at = new Date(started_at.getTime() + 123)
    expect(await delivery(delivered)).toEqual({
      ...before,
      status: 'delivered',
      attempt_count: 1,
      next_attempt_at: null,
      response_status,
      response_time_ms: 123,
      started_at,
      response_body: 'ok',
      updated_at: at,
      delivered_at: at,
    })
    expect(await attempts(delivered)).toEqual([
      {
        workspace_id: delivered.workspace_id,
        delivery_id: delivered.delivery_id,
        number: 1,
        started_at,
        duration_ms: 123,
        response_status,
        response_body: 'ok',
        error: null,
      },
    ])
    expect(await webhook(delivered)).toMatchObject({
      status: 'active',
      consecutive_failures: 0,
      last_success_at: at,
      last_failure_at: null,
      updated_at: at,
    })
    await expectNoMore()
  })

  it('keeps the only attempt of a delivery in its row, and all attempts once there are two', async () => {
    const delivered = await claimed()
    await bench.record(delivered, refused)
    const [first] = await attempts(delivered)
    expect(first).toMatchObject({ number: 1, response_status: 500, response_body: 'no' })
    expect(await delivery(delivered)).toMatchObject({ response_body: 'no' })
    await bench.record(await nextTry(delivered))
    const both = await attempts(delivered)
    expect(both).toMatchObject([first, { number: 2, response_status: 200, response_body: 'ok' }])
    expect(await delivery(delivered)).toMatchObject({ started_at: null, response_body: null })
    const { workspace_id } = delivered
    await bench.storage.write(({ retention }) =>
      retention.forgetResponses(workspace_id, { from_id: '', before_id: '~' }),
    )
    expect(await attempts(delivered)).toEqual(both.map((row) => ({ ...row, response_body: null })))
  })

  it.each([256, 257])('returns a response of %d characters to the only attempt', async (length) => {
    const delivered = await claimed()
    const response_body = 'a'.repeat(length)
    await bench.record(delivered, { response_body })
    expect(await attempts(delivered)).toMatchObject([{ number: 1, response_body }])
    const isInRow = length === 256
    expect(await delivery(delivered)).toMatchObject({
      response_body: isInRow ? response_body : null,
    })
    const { workspace_id } = delivered
    await bench.storage.write(({ retention }) =>
      retention.forgetResponses(workspace_id, { from_id: '', before_id: '~' }),
    )
    expect(await attempts(delivered)).toMatchObject([{ number: 1, response_body: null }])
  })

  it.each<[string, Partial<DeliveryResult>, string]>([
    ['a 500', refused, 'status_500'],
    ['a 404', { response_status: 404 }, 'status_404'],
    ['a redirect', { response_status: 302 }, 'status_302'],
    ['an interim answer', { response_status: 199 }, 'status_199'],
    ['no answer', silent, 'timeout'],
  ])('tries again after %s, on schedule and never early', async (_, result, error) => {
    const delivered = await claimed()
    await bench.record(delivered, result)
    const at = bench.clock.now().getTime() + 40
    const row = await delivery(delivered)
    expect(row).toMatchObject({ status: 'pending', attempt_count: 1, error, delivered_at: null })
    const due = row.next_attempt_at?.getTime() ?? 0
    expect(due - at).toBeGreaterThanOrEqual(5_000)
    expect(due - at).toBeLessThanOrEqual(5_500)
    expect(await webhook(delivered)).toMatchObject({
      consecutive_failures: 1,
      last_failure_at: new Date(at),
      last_success_at: null,
    })

    bench.clock.set(new Date(due - 1))
    expect(await bench.claimDeliveries()).toEqual([])
    bench.clock.set(new Date(due))
    const again = only(await bench.claimDeliveries())
    expect(again).toMatchObject({ delivery_id: delivered.delivery_id, attempt: 2 })
    await bench.record(again)
    expect(await delivery(delivered)).toMatchObject({
      status: 'delivered',
      attempt_count: 2,
      error: null,
      response_status: 200,
    })
    expect(await attempts(delivered)).toMatchObject([
      { number: 1, error },
      { number: 2, error: null },
    ])
  })

  it('keeps to the whole schedule and gives up after the last try', async () => {
    let delivered = await claimed()
    for (const delay_s of WEBHOOK_RETRY_DELAYS_S.slice(1)) {
      const started_at = bench.clock.now()
      await bench.record(delivered, { ...silent, started_at, duration_ms: 15_000 })
      const { next_attempt_at } = await delivery(delivered)
      const wait_s = ((next_attempt_at?.getTime() ?? 0) - started_at.getTime() - 15_000) / 1_000
      expect(wait_s).toBeGreaterThanOrEqual(delay_s)
      expect(wait_s).toBeLessThanOrEqual(delay_s * 1.1)
      delivered = await nextTry(delivered)
    }
    expect(delivered.attempt).toBe(12)
    await bench.record(delivered, refused)
    expect(await delivery(delivered)).toMatchObject({
      status: 'failed',
      attempt_count: 12,
      max_attempts: 12,
      next_attempt_at: null,
      response_status: 500,
      error: 'status_500',
      delivered_at: null,
    })
    const numbers = (await attempts(delivered)).map(({ number }) => number)
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    await expectNoMore()
  })

  it.each([
    ['lengthens the wait', 60_000, 60_000, 60_500],
    ['never shortens it', 1_000, 5_000, 5_500],
    ['counts for at most a day', 30 * 24 * 3_600_000, 24 * 3_600_000, 24 * 3_600_000 + 500],
  ])("a receiver's Retry-After %s", async (_, retry_after_ms, min, max) => {
    const delivered = await claimed()
    await bench.record(delivered, { response_status: 503, retry_after_ms, duration_ms: 0 })
    const due = (await delivery(delivered)).next_attempt_at?.getTime() ?? 0
    const wait = due - bench.clock.now().getTime()
    expect(wait).toBeGreaterThanOrEqual(min)
    expect(wait).toBeLessThanOrEqual(max)
  })

  it('disables a webhook that answers 410 at once, and sends it nothing more', async () => {
    const delivered = await claimed()
    await bench.record(delivered, { response_status: 410 })
    expect(await delivery(delivered)).toMatchObject({ status: 'failed', next_attempt_at: null })
    expect(await webhook(delivered)).toMatchObject({
      is_active: false,
      status: 'disabled',
      disabled_reason: 'gone',
    })
    const message = await bench.queued(delivered.workspace_id)
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
    let delivered = await claimed()
    for (let failures = 1; failures <= 6; failures++) {
      await bench.record(delivered, refused)
      expect(await webhook(delivered)).toMatchObject({
        is_active: true,
        consecutive_failures: failures,
        status: failures < 5 ? 'active' : 'failing',
      })
      delivered = await nextTry(delivered)
    }
    await bench.record(delivered)
    expect(await webhook(delivered)).toMatchObject({ status: 'active', consecutive_failures: 0 })
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
    const batch = [result(first), { ...result(second), token: 'lost' }, result(first)]
    expect(await bench.storage.hot.recordDeliveries(batch)).toEqual([true, false, false])
    expect(await attempts(first)).toHaveLength(1)
    expect(await bench.record(second)).toBe(true)
  })
  it.each([
    ['before', [0, 1]],
    ['after', [1, 0]],
  ])(
    "takes the holder's result when that of a lost claim stands %s it in a batch",
    async (_, order) => {
      const lost = await claimed()
      bench.clock.advance(LEASE_MS)
      const holder = only(await bench.claimDeliveries())
      const pair = [{ ...result(lost), response_status: 410 }, result(holder)]
      const batch = order.map((i) => pair[i] as DeliveryResult)
      const counted = await bench.storage.hot.recordDeliveries(batch)
      expect(counted).toEqual(batch.map(({ token }) => token === holder.token))
      expect(await delivery(holder)).toMatchObject({ status: 'delivered', response_status: 200 })
      expect(await webhook(holder)).toMatchObject({ is_active: true, consecutive_failures: 0 })
      expect(await attempts(holder)).toHaveLength(1)
    },
  )

  /** Makes `count` deliveries wait for the webhook, and lets each fail until its last try; returns the webhook. */
  async function giveUp(
    { workspace_id, id }: WebhookRow,
    count: number,
    step_ms: number | null = null,
  ): Promise<WebhookRow> {
    for (let i = 0; i < count; i++) await bench.callback(await bench.queued(workspace_id), 'sent')
    for (let n = 1; n <= 12; n++) {
      const tried = await bench.claimDeliveries()
      expect(tried).toHaveLength(count)
      const failed = tried.map((each) => ({ ...result(each), response_status: 500 }))
      await bench.storage.hot.recordDeliveries(failed)
      const rows = await bench.storage.read.webhooks.deliveries(workspace_id, id, EVERYTHING)
      const due = rows.map(({ next_attempt_at }) => next_attempt_at?.getTime() ?? 0)
      if (step_ms === null) bench.clock.set(new Date(Math.max(bench.clock.now().getTime(), ...due)))
      else bench.clock.advance(step_ms)
    }
    return webhook({ workspace_id, webhook_id: id })
  }

  const SLOWLY_MS = 27 * 3_600_000

  it('disables a webhook without success for five days once ten deliveries have failed', async () => {
    const made = await bench.webhook(await bench.workspace())
    expect(await giveUp(made, 10, SLOWLY_MS)).toMatchObject({
      is_active: false,
      status: 'disabled',
      disabled_reason: 'failing',
      consecutive_failures: 120,
    })
  })

  it('disables none for nine that failed', async () => {
    const made = await bench.webhook(await bench.workspace())
    expect(await giveUp(made, 9, SLOWLY_MS)).toMatchObject({ is_active: true, status: 'failing' })
  })

  it('disables none within five days of its last success', async () => {
    const workspaceId = await bench.workspace()
    const created_at = new Date(bench.clock.now().getTime() - 100 * 24 * 3_600_000)
    const last_success_at = bench.clock.now()
    const made = await bench.webhook(workspaceId, { created_at, last_success_at })
    const after = await giveUp(made, 10)
    expect(after).toMatchObject({ is_active: true, status: 'failing', consecutive_failures: 120 })
  })

  it('disables none for what failed before it was enabled again', async () => {
    const made = await bench.webhook(await bench.workspace())
    const disabled = await giveUp(made, 10, SLOWLY_MS)
    await bench.storage.write(({ webhooks }) =>
      webhooks.change(made.workspace_id, made.id, {
        is_active: true,
        status: 'active',
        disabled_reason: null,
        consecutive_failures: 0,
        enabled_at: bench.clock.now(),
      }),
    )
    expect(disabled.is_active).toBe(false)
    expect(await giveUp(made, 10)).toMatchObject({ is_active: true, status: 'failing' })
  })

  it('tries again what may never have been sent, as if it had not been tried', async () => {
    const delivered = await claimed()
    const [before, healthy] = [await delivery(delivered), await webhook(delivered)]
    const unknown = { ...silent, error: 'interrupted', duration_ms: 0, is_unknown: true }
    const at = bench.clock.now()
    expect(await bench.record(delivered, unknown)).toBe(true)
    const due = new Date(at.getTime() + 5_000)
    expect(await delivery(delivered)).toEqual({ ...before, next_attempt_at: due, updated_at: at })
    expect(await webhook(delivered)).toEqual(healthy)
    expect(await attempts(delivered)).toEqual([])
    bench.clock.advance(4_999)
    expect(await bench.claimDeliveries()).toEqual([])
    bench.clock.advance(1)
    expect(only(await bench.claimDeliveries())).toMatchObject({ attempt: 1 })
  })

  it('gives up a probe that has waited for longer than the schedule takes, and no other try', async () => {
    const waited = await claimed()
    await bench.record(waited, { ...refused, is_probe: true })
    expect(await delivery(waited)).toMatchObject({ status: 'pending', attempt_count: 1 })
    bench.clock.advance(84 * 3_600_000)
    const again = only(await bench.claimDeliveries())
    await bench.record(again, { ...refused, is_probe: false })
    expect(await delivery(waited)).toMatchObject({ status: 'pending', attempt_count: 2 })
    const probe = await nextTry(again)
    await bench.record(probe, { ...refused, is_probe: true })
    expect(await delivery(waited)).toMatchObject({ status: 'failed', attempt_count: 3 })
    await expectNoMore()
  })

  it('remembers which secret got the last 2xx, and forgets none for a refusal', async () => {
    const delivered = await claimed()
    expect(delivered.accepted_secret).toBeNull()
    await bench.record(delivered, { ...refused, signed_with: 'whsec_new' })
    const second = await nextTry(delivered)
    expect(second.accepted_secret).toBeNull()
    await bench.record(second, { signed_with: 'whsec_new' })
    await bench.callback(await bench.queued(delivered.workspace_id), 'sent')
    const third = only(await bench.claimDeliveries())
    expect(third.accepted_secret).toBe('whsec_new')
    await bench.record(third)
    expect(await webhook(delivered)).toMatchObject({ accepted_secret: 'whsec_new' })
  })
  it('counts the attempts of each hour by outcome and time, with their repetitions', async () => {
    const first = await claimed()
    const { workspace_id, webhook_id } = first
    const hour = Math.floor(bench.clock.now().getTime() / 3_600_000)
    const counts = (hours_each = 1) =>
      bench.storage.read.webhooks.attemptCounts(workspace_id, webhook_id, {
        from: hour - (hour % hours_each),
        until: hour + 48,
        hours_each,
      })
    expect(await counts()).toEqual([])
    await bench.record(first, { ...silent, duration_ms: 15_000 })
    await bench.record(await nextTry(first), { ...refused, duration_ms: 100 })
    const third = await nextTry(first)
    await bench.record(third, { is_unknown: true })
    const { next_attempt_at } = await delivery(first)
    bench.clock.set(next_attempt_at as Date)
    await bench.record(only(await bench.claimDeliveries()), { duration_ms: 100 })
    for (let i = 0; i < 3; i++) await bench.callback(await bench.queued(workspace_id), 'sent')
    for (const more of await bench.claimDeliveries()) await bench.record(more, { duration_ms: 101 })
    const step = stepOf(100)
    expect(await counts()).toEqual([
      { period: hour, outcome: 'refused', step, count: 1 },
      { period: hour, outcome: 'succeeded', step, count: 4 },
      { period: hour, outcome: 'unanswered', step: 0, count: 1 },
    ])
    bench.clock.advance(24 * 3_600_000)
    await bench.callback(await bench.queued(workspace_id), 'sent')
    await bench.record(only(await bench.claimDeliveries()))
    const day = Math.floor(hour / 24)
    const byDay = (await counts(24)).map(({ period, count }) => [period - day, count])
    expect(byDay).toEqual([
      [0, 1],
      [0, 4],
      [0, 1],
      [1, 1],
    ])
    const forget = (before: number, limit: number) =>
      bench.storage.write(({ webhooks }) => webhooks.forgetHours(before, limit))
    expect(await forget(hour, 10)).toBe(0)
    expect(await forget(hour + 1, 2)).toBe(2)
    expect(await forget(hour + 1, 2)).toBe(1)
    expect((await counts()).map(({ period }) => period)).toEqual([hour + 24])
    await bench.storage.write(({ webhooks }) => webhooks.remove(workspace_id, webhook_id))
    expect(await counts()).toEqual([])
  })

  it('keeps the last twenty failed attempts, newest first, also those whose delivery succeeded later', async () => {
    const first = await claimed()
    const { workspace_id, webhook_id } = first
    const failures = (livemode?: boolean) =>
      bench.storage.read.webhooks.lastFailures(workspace_id, webhook_id, { livemode, body_max: 5 })
    const long = 'x'.repeat(300)
    await bench.record(first, { ...refused, response_body: 'a fault' })
    await bench.record(await nextTry(first), { ...refused, response_body: long })
    await bench.record(await nextTry(first), { response_body: 'ok' })
    const shown = async () =>
      (await failures()).map(({ delivery, attempt: { number, response_body } }) => [
        delivery.id,
        number,
        response_body,
      ])
    expect(await shown()).toEqual([
      [first.delivery_id, 2, 'xxxxx'],
      [first.delivery_id, 1, 'a fau'],
    ])
    expect(await failures(false)).toEqual([])
    expect(await failures(true)).toHaveLength(2)
    const later: string[] = []
    for (let i = 0; i < 21; i++) {
      bench.clock.advance(1)
      await bench.callback(await bench.queued(workspace_id), 'sent')
      const due = (await bench.claimDeliveries()).filter(({ attempt }) => attempt === 1)
      await bench.record(only(due), silent)
      later.unshift(only(due).delivery_id)
    }
    expect((await shown()).map(([id]) => id)).toEqual(later.slice(0, 20))
    expect(await webhook(first)).toMatchObject({ failed_attempts: 23 })
    await bench.storage.write(({ webhooks }) => webhooks.remove(workspace_id, webhook_id))
    expect(await failures()).toEqual([])
  })

  it('knows since when a webhook fails, and when it was disabled', async () => {
    const first = await claimed()
    const failed = new Date(bench.clock.now().getTime() + 40)
    await bench.record(first, refused)
    const second = await nextTry(first)
    await bench.record(second, refused)
    expect(await webhook(first)).toMatchObject({ failing_since: failed, disabled_at: null })
    await bench.record(await nextTry(second))
    expect(await webhook(first)).toMatchObject({ failing_since: null })
    await bench.callback(await bench.queued(first.workspace_id), 'sent')
    const gone = new Date(bench.clock.now().getTime() + 40)
    await bench.record(only(await bench.claimDeliveries()), { ...refused, response_status: 410 })
    expect(await webhook(first)).toMatchObject({ failing_since: gone, disabled_at: gone })
  })
}
