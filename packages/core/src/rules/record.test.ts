import { describe, expect, it } from 'vitest'
import type { DeliveryRow } from '../rows/rows.ts'
import { type DeliveryResult, planRecord, type RecordState, type WebhookHealth } from './record.ts'

const AT = new Date('2026-05-04T09:00:00.000Z')
const random = () => 0

function delivery(id: string, overrides: Partial<DeliveryRow> = {}): DeliveryRow {
  return {
    id,
    workspace_id: 'w1',
    webhook_id: 'h1',
    event_id: 'e1',
    event: 'message.sent',
    message_id: 'm1',
    status: 'pending',
    trigger: 'event',
    livemode: true,
    attempt_count: 0,
    max_attempts: 12,
    next_attempt_at: AT,
    response_status: null,
    response_time_ms: null,
    error: null,
    started_at: null,
    response_body: null,
    created_at: AT,
    updated_at: AT,
    delivered_at: null,
    ...overrides,
  }
}

function health(overrides: Partial<WebhookHealth> = {}): WebhookHealth {
  return {
    id: 'h1',
    workspace_id: 'w1',
    is_active: true,
    status: 'active',
    disabled_reason: null,
    consecutive_failures: 0,
    last_success_at: null,
    last_failure_at: null,
    failed_attempts: 0,
    failing_since: null,
    notice: 'no',
    disabled_at: null,
    accepted_secret: null,
    waits_until: null,
    gate_host: null,
    url: 'https://receiver.example/hook',
    enabled_at: null,
    created_at: AT,
    updated_at: AT,
    ...overrides,
  }
}

function result(delivery_id: string, overrides: Partial<DeliveryResult> = {}): DeliveryResult {
  return {
    workspace_id: 'w1',
    webhook_id: 'h1',
    delivery_id,
    token: 't',
    started_at: AT,
    duration_ms: 250,
    response_status: 200,
    response_body: 'ok',
    error: null,
    retry_after_ms: null,
    ...overrides,
  }
}

function state(deliveries: DeliveryRow[], webhook: WebhookHealth | null = health()): RecordState {
  return {
    deliveries: new Map(deliveries.map((each) => [each.id, each])),
    webhooks: new Map(webhook ? [[webhook.id, webhook]] : []),
    hosts: new Map(),
    failed_deliveries: new Map(),
  }
}

describe('planRecord', () => {
  it('counts the failures of a batch in order and writes the webhook once', () => {
    const ids = ['d1', 'd2', 'd3', 'd4', 'd5']
    const results = ids.map((id) => result(id, { response_status: 500 }))
    const plan = planRecord(results, state(ids.map((id) => delivery(id))), { random })
    expect(plan.webhooks).toMatchObject([{ consecutive_failures: 5, status: 'failing' }])
    expect(plan.requeue.map(({ delivery_id }) => delivery_id)).toEqual(ids)
  })

  it('counts the wait from the end of the try', () => {
    const plan = planRecord([result('d1', { response_status: 500 })], state([delivery('d1')]), {
      random,
    })
    const set_at = new Date(AT.getTime() + 250)
    const due_at = new Date(set_at.getTime() + 5_000)
    expect(plan.requeue).toEqual([{ delivery_id: 'd1', due_at, set_at }])
    expect(plan.deliveries).toMatchObject([{ next_attempt_at: due_at, status: 'pending' }])
  })

  it('repeats a try at once if a retry was requested meanwhile, but not before a Retry-After', () => {
    const requested = () => state([delivery('d1', { trigger: 'manual', next_attempt_at: null })])
    const due = (overrides: Partial<DeliveryResult>) =>
      planRecord([result('d1', { duration_ms: 0, ...overrides })], requested(), { random }).requeue
    const after = (ms: number) => [{ delivery_id: 'd1', due_at: new Date(+AT + ms), set_at: AT }]
    expect(due({ response_status: 500 })).toEqual(after(0))
    expect(due({ response_status: 503, retry_after_ms: 60_000 })).toEqual(after(60_000))
    expect(due({ response_status: 410 })).toEqual([])
  })

  it('plans nothing for a delivery that the claim no longer holds', () => {
    const plan = planRecord([result('d1')], state([]), { random })
    expect(plan).toEqual({
      counted: [false],
      deliveries: [],
      attempts: [],
      webhooks: [],
      requeue: [],
      dequeue: [],
      hosts: [],
      hours: [],
      failures: [],
    })
  })

  it('records a success of a disabled webhook without enabling it', () => {
    const off = health({ is_active: false, status: 'disabled', disabled_reason: 'manual' })
    const plan = planRecord([result('d1')], state([delivery('d1')], off), { random })
    expect(plan.deliveries).toMatchObject([{ status: 'delivered' }])
    expect(plan.webhooks).toMatchObject([
      { is_active: false, status: 'disabled', disabled_reason: 'manual' },
    ])
  })

  it('does not retry a deleted or disabled webhook', () => {
    for (const webhook of [null, health({ is_active: false })]) {
      const failed = result('d1', { response_status: null, error: 'connect' })
      const plan = planRecord([failed], state([delivery('d1')], webhook), { random })
      expect(plan.requeue).toEqual([])
      expect(plan.dequeue).toEqual(['d1'])
      expect(plan.deliveries).toMatchObject([{ status: 'failed', error: 'connect' }])
    }
  })

  it('keeps the reason of a disabled webhook after a 410', () => {
    const off = health({ is_active: false, status: 'disabled', disabled_reason: 'manual' })
    const plan = planRecord(
      [result('d1', { response_status: 410 })],
      state([delivery('d1')], off),
      {
        random,
      },
    )
    expect(plan.webhooks).toMatchObject([{ status: 'disabled', disabled_reason: 'manual' }])
  })

  it.each([
    ['a single try', { max_attempts: 1 }, null],
    ['the last of more tries', { attempt_count: 23, max_attempts: 24 }, null],
    ['the first of twelve more tries', { attempt_count: 12, max_attempts: 24 }, 5_000],
    ['a try that was made early', { attempt_count: 3, max_attempts: 13 }, 120_000],
    ['a try before the first', { attempt_count: 0, max_attempts: 13 }, 5_000],
  ])('waits after %s by the number of remaining tries', (_, overrides, wait_ms) => {
    const failed = result('d1', { response_status: 500, duration_ms: 0 })
    const plan = planRecord([failed], state([delivery('d1', overrides)]), { random })
    const due_at = wait_ms === null ? null : new Date(AT.getTime() + wait_ms)
    expect(plan.deliveries[0]?.next_attempt_at).toEqual(due_at)
    expect(plan.requeue.map((each) => each.due_at)).toEqual(due_at ? [due_at] : [])
  })

  it.each([
    ['gives up', null, null],
    ['gives up', -84, null],
    ['retries', -1, 5_000],
  ])(
    '%s a delivery older than the schedule when its probe fails, enabled %s h ago',
    (_, enabled_h, wait_ms) => {
      const hours = (count: number) => new Date(AT.getTime() + count * 3_600_000)
      const webhook = health({ enabled_at: enabled_h === null ? null : hours(enabled_h) })
      const before = delivery('d1', { created_at: hours(-100) })
      const failed = result('d1', { response_status: 500, duration_ms: 0, is_probe: true })
      const plan = planRecord([failed], state([before], webhook), { random })
      expect(plan.requeue.map(({ due_at }) => due_at.getTime() - AT.getTime())).toEqual(
        wait_ms === null ? [] : [wait_ms],
      )
    },
  )

  describe('after five days without a success', () => {
    const old = new Date(AT.getTime() - 5 * 24 * 3_600_000)
    const silent = { created_at: old, status: 'failing', consecutive_failures: 119 } as const
    const last = (overrides: Partial<DeliveryRow> = {}) =>
      delivery('d1', { attempt_count: 11, created_at: old, ...overrides })
    const planned = (webhook: Partial<WebhookHealth>, failed: number, overrides = last()) => {
      const before = state([overrides], health({ ...silent, ...webhook }))
      before.failed_deliveries.set('h1', failed)
      const refused = result('d1', { response_status: 500 })
      return planRecord([refused], before, { random }).webhooks[0]
    }

    it('disables the webhook at the tenth failed delivery', () => {
      expect(planned({}, 9)).toMatchObject({ is_active: false, disabled_reason: 'failing' })
    })

    it.each([
      ['nine failed', {}, 8, last()],
      ['the tenth is retried', {}, 9, last({ attempt_count: 10 })],
      ['the tenth is a test', {}, 9, last({ trigger: 'test' })],
      ['the tenth is older than the last success', { last_success_at: AT }, 9, last()],
      ['the webhook was enabled since', { enabled_at: AT }, 30, last()],
      ['the webhook is younger', { created_at: AT }, 30, last({ created_at: AT })],
    ])('does not disable it when %s', (_, webhook, failed, overrides) => {
      expect(planned(webhook, failed, overrides)).toMatchObject({
        is_active: true,
        status: 'failing',
      })
    })
  })
})
