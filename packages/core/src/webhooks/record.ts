import type { DeliveryAttemptRow, DeliveryRow, WebhookRow } from '../storage/storage.ts'
import { nextWaitMs } from './schedule.ts'

/** What one try of a delivery gave. Plain data: it crosses a thread border. */
export interface DeliveryResult {
  workspace_id: string
  webhook_id: string
  delivery_id: string
  /** The token of the claim this came from. */
  token: string
  started_at: Date
  duration_ms: number
  /** The receiver's status; null when none arrived. */
  response_status: number | null
  response_body: string | null
  /** Why it failed where there is no status, as a stable word: `timeout`, `connect`, `reset`, … */
  error: string | null
  retry_after_ms: number | null
}

export interface RecordState {
  /** Deliveries still held by the claim that the result names, by id. */
  deliveries: Map<string, DeliveryRow>
  webhooks: Map<string, WebhookHealth>
}

/** The part of a webhook that its deliveries change. */
export type WebhookHealth = Pick<
  WebhookRow,
  | 'id'
  | 'workspace_id'
  | 'is_active'
  | 'status'
  | 'disabled_reason'
  | 'consecutive_failures'
  | 'last_success_at'
  | 'last_failure_at'
  | 'updated_at'
>

export interface RecordPlan {
  /** For each result, whether its claim still held the delivery. */
  counted: boolean[]
  deliveries: DeliveryRow[]
  attempts: DeliveryAttemptRow[]
  webhooks: WebhookHealth[]
  requeue: { delivery_id: string; due_at: Date }[]
  /** Ids of deliveries that need nothing more. */
  dequeue: string[]
}

/** After this many failed attempts in a row a webhook is shown as failing. */
const FAILING_AFTER = 5

/** Turns the results of a batch of tries into what is written: done, next try, or given up. */
export function planRecord(
  results: readonly DeliveryResult[],
  state: RecordState,
  context: { random: () => number },
): RecordPlan {
  const plan: RecordPlan = {
    counted: [],
    deliveries: [],
    attempts: [],
    webhooks: [],
    requeue: [],
    dequeue: [],
  }
  const touched = new Set<WebhookHealth>()
  for (const result of results) {
    const delivery = state.deliveries.get(result.delivery_id)
    plan.counted.push(delivery !== undefined)
    if (!delivery) continue
    // The first result of a claim ends it.
    state.deliveries.delete(result.delivery_id)
    const webhook = state.webhooks.get(result.webhook_id) ?? null
    const after = recordOne(result, delivery, webhook, plan, context.random)
    plan.deliveries.push(after)
    if (webhook) touched.add(webhook)
  }
  plan.webhooks = [...touched]
  return plan
}

function recordOne(
  result: DeliveryResult,
  before: DeliveryRow,
  webhook: WebhookHealth | null,
  plan: RecordPlan,
  random: () => number,
): DeliveryRow {
  const at = new Date(result.started_at.getTime() + result.duration_ms)
  const number = before.attempt_count + 1
  const status = result.response_status
  const succeeded = status !== null && status >= 200 && status < 300
  const error = succeeded ? null : (result.error ?? `status_${status}`)
  plan.attempts.push({
    workspace_id: result.workspace_id,
    delivery_id: result.delivery_id,
    number,
    started_at: result.started_at,
    duration_ms: result.duration_ms,
    response_status: status,
    response_body: result.response_body,
    error,
  })
  if (webhook) noteHealth(webhook, status, succeeded, at)
  const after: DeliveryRow = {
    ...before,
    attempt_count: number,
    response_status: status,
    response_time_ms: result.duration_ms,
    error,
    updated_at: at,
    next_attempt_at: null,
  }
  const wait =
    succeeded || status === 410 ? null : nextWaitMs(number, result.retry_after_ms, random)
  if (wait === null || !webhook?.is_active) {
    plan.dequeue.push(before.id)
    return succeeded
      ? { ...after, status: 'delivered', delivered_at: at }
      : { ...after, status: 'failed' }
  }
  const due_at = new Date(at.getTime() + wait)
  plan.requeue.push({ delivery_id: before.id, due_at })
  return { ...after, next_attempt_at: due_at }
}

function noteHealth(webhook: WebhookHealth, status: number | null, ok: boolean, at: Date): void {
  webhook.updated_at = at
  if (ok) {
    webhook.consecutive_failures = 0
    webhook.last_success_at = at
    if (webhook.status === 'failing') webhook.status = 'active'
    return
  }
  webhook.consecutive_failures += 1
  webhook.last_failure_at = at
  if (status === 410) {
    webhook.is_active = false
    webhook.status = 'disabled'
    webhook.disabled_reason = 'gone'
  } else if (webhook.status === 'active' && webhook.consecutive_failures >= FAILING_AFTER) {
    webhook.status = 'failing'
  }
}
