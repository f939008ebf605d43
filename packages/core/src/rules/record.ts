import { LIMITS } from '../contract/limits.ts'
import type {
  DeliveryAttemptRow,
  DeliveryRow,
  ReceiverHostRow,
  WebhookFailureRow,
  WebhookHourRow,
  WebhookRow,
} from '../rows/rows.ts'
import { stepOf } from './answer-times.ts'
import { HOUR_MS } from './count-changes.ts'
import {
  GATE_CLOSES_AFTER,
  gateHostOf,
  gateOfAddress,
  hostAfter,
  MAX_ATTEMPTS,
  nextWaitMs,
  SCHEDULE_MS,
} from './delivery-times.ts'

/** The result of one try of a delivery. It is plain data, because it is passed between threads. */
export interface DeliveryResult {
  workspace_id: string
  webhook_id: string
  delivery_id: string
  /** The token of the claim. */
  token: string
  started_at: Date
  duration_ms: number
  /** The receiver's HTTP status; null without a response. */
  response_status: number | null
  response_body: string | null
  /**
   * The reason of a failure without a status, as a stable word: `timeout`, `connect`, `reset`, …; or why a reply in the answer
   * was not sent.
   */
  error: string | null
  retry_after_ms: number | null
  /** The fingerprint of the secret that signed the request, during a rotation's overlap; null otherwise. */
  signed_with?: string | null
  /** Until when this process sends nothing more to the receiver; null for no wait. */
  receiver_waits_until?: Date | null
  /** Whether the try tests a dead receiver. The receiver's other deliveries wait meanwhile. */
  is_probe?: boolean
  /** The host whose gate the claim held. */
  gate_host?: string | undefined
  /** The IP address of the receiver, if the attempt reached one. */
  address?: string | null
  /** Whether the server does not know if it sent the request. Such a try is not counted and is repeated. */
  is_unknown?: boolean
}

export interface RecordState {
  /** The deliveries that their claims still hold; the keys of this map are delivery ids. */
  deliveries: Map<string, DeliveryRow>
  webhooks: Map<string, WebhookHealth>
  /**
   * The number of failed deliveries made since a webhook's last success, at most `LIMITS.webhook_failing_deliveries`;
   * only for webhooks without a success for `LIMITS.webhook_failing_s`. Test deliveries do not count.
   */
  failed_deliveries: Map<string, number>
  /** The hosts whose gates the claims held. */
  hosts: Map<string, ReceiverHostRow>
}

/** The columns of a webhook that the recording of results writes. */
export const HEALTH = [
  'is_active',
  'status',
  'disabled_reason',
  'consecutive_failures',
  'last_success_at',
  'last_failure_at',
  'failed_attempts',
  'failing_since',
  'disabled_at',
  'notice',
  'accepted_secret',
  'waits_until',
  'gate_host',
  'updated_at',
] as const

export type WebhookHealth = Pick<
  WebhookRow,
  'id' | 'workspace_id' | 'url' | 'created_at' | 'enabled_at' | (typeof HEALTH)[number]
>

export interface RecordPlan {
  /** For each result, whether its claim still held the delivery. */
  counted: boolean[]
  deliveries: DeliveryRow[]
  attempts: DeliveryAttemptRow[]
  webhooks: WebhookHealth[]
  requeue: { delivery_id: string; due_at: Date; set_at: Date }[]
  /** The ids of deliveries that need no further try. */
  dequeue: string[]
  /** The hosts whose gates were held, free again. */
  hosts: ReceiverHostRow[]
  /** The numbers of attempts to add to the stored ones; each key once. */
  hours: WebhookHourRow[]
  /** The last failures; each slot once. */
  failures: WebhookFailureRow[]
}

/** The number of failed attempts that are kept for each webhook. */
export const FAILURE_SLOTS = 20

/** A webhook is shown as failing after this number of failed attempts in a row. */
const FAILING_AFTER = 5

/** The owner gets a mail about a failing webhook once it had no success for this time: a restart of a receiver is no cause. */
const NOTICE_AFTER_MS = 15 * 60_000

/** The wait before a try with an unknown outcome is repeated. */
const UNKNOWN_WAIT_MS = 5_000

/** The longest response, in characters, that the row of a delivery takes: lists of deliveries read the whole row. */
const RESPONSE_IN_ROW_MAX = 256

/** The only attempt of a delivery; null if there is none yet, or if `delivery_attempts` has the attempts. */
export function attemptInRow(delivery: DeliveryRow): DeliveryAttemptRow | null {
  const { id, workspace_id, started_at, response_time_ms, ...response } = delivery
  if (!started_at) return null
  const { response_status, response_body, error } = response
  return {
    workspace_id,
    delivery_id: id,
    number: 1,
    started_at,
    duration_ms: response_time_ms ?? 0,
    response_status,
    response_body,
    error,
  }
}

/** The columns of a delivery that the recording of a result writes. */
export const RECORDED = [
  'status',
  'attempt_count',
  'next_attempt_at',
  'response_status',
  'response_time_ms',
  'error',
  'started_at',
  'response_body',
  'updated_at',
  'delivered_at',
] as const satisfies (keyof DeliveryRow)[]

/** Whether a receiver's status acknowledges a delivery. Source: contract section 7. */
export function isSuccess(status: number | null): boolean {
  return status !== null && status >= 200 && status < 300
}

type Since = Pick<WebhookHealth, 'last_success_at' | 'created_at' | 'enabled_at'>

/** The latest of these times of a webhook: last success, creation, enabling. */
export function silentSince({ last_success_at, created_at, enabled_at }: Since): Date {
  const times = [last_success_at ?? created_at, enabled_at ?? created_at]
  return new Date(Math.max(...times.map((time) => time.getTime())))
}

/** Whether a webhook has had no success for so long that failed deliveries may disable it. */
export function isSilent(webhook: Since, at: Date): boolean {
  return at.getTime() - silentSince(webhook).getTime() >= LIMITS.webhook_failing_s * 1000
}

export function endOf(results: readonly DeliveryResult[]): Date {
  const ends = results.map(({ started_at, duration_ms }) => started_at.getTime() + duration_ms)
  return new Date(Math.max(0, ...ends))
}

/** Plans the rows for a batch of results: each delivery is delivered, retried or failed. */
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
    hosts: [],
    hours: [],
    failures: [],
  }
  const hours = new Map<string, WebhookHourRow>()
  const failures = new Map<string, WebhookFailureRow>()
  const touched = new Set<WebhookHealth>()
  for (const result of results) {
    const delivery = state.deliveries.get(result.delivery_id)
    plan.counted.push(delivery !== undefined)
    if (!delivery) continue
    // The first result of a claim ends the claim.
    state.deliveries.delete(result.delivery_id)
    const host = noteHost(result, state, plan)
    const webhook = state.webhooks.get(result.webhook_id) ?? null
    if (result.is_unknown) {
      plan.deliveries.push(tryAgain(result, delivery, plan))
      continue
    }
    // A failed attempt at a gate is a probe of its host.
    const is_probe = result.is_probe || host !== null
    const after = recordOne({ ...result, is_probe }, delivery, webhook, plan, context.random)
    plan.deliveries.push(after)
    if (!webhook) continue
    if (host && webhook.gate_host !== null) {
      webhook.waits_until = laterWait(webhook, host, after)
      webhook.gate_host = gateOfAddress(result.address ?? '') ?? webhook.gate_host
    }
    touched.add(webhook)
    countAttempt(hours, result, after)
    if (!isSuccess(result.response_status)) noteFailure(failures, webhook, after)
    if (after.status === 'failed') noteFailed(webhook, after, state.failed_deliveries)
  }
  plan.webhooks = [...touched]
  plan.hours = [...hours.values()]
  plan.failures = [...failures.values()]
  return plan
}

/** Adds an attempt to the counts of its hour. */
function countAttempt(
  hours: Map<string, WebhookHourRow>,
  { workspace_id, webhook_id, duration_ms, response_status: status }: DeliveryResult,
  { updated_at }: DeliveryRow,
): void {
  const hour = Math.floor(updated_at.getTime() / HOUR_MS)
  const outcome = status === null ? 'unanswered' : isSuccess(status) ? 'succeeded' : 'refused'
  const step = status === null ? 0 : stepOf(duration_ms)
  const key = `${webhook_id} ${hour} ${outcome} ${step}`
  const known = hours.get(key)
  if (known) known.count += 1
  else hours.set(key, { workspace_id, webhook_id, hour, outcome, step, count: 1 })
}

/** Keeps a failed attempt in the place of the oldest kept one. */
function noteFailure(
  failures: Map<string, WebhookFailureRow>,
  webhook: WebhookHealth,
  { workspace_id, webhook_id, id, attempt_count, updated_at }: DeliveryRow,
): void {
  const slot = webhook.failed_attempts % FAILURE_SLOTS
  webhook.failed_attempts += 1
  const kept = { delivery_id: id, number: attempt_count, at: updated_at }
  failures.set(`${webhook_id} ${slot}`, { workspace_id, webhook_id, slot, ...kept })
}

/** Ends the hold of the gate. Returns the host, or null if the result is of no delivery at a gate. */
function noteHost(
  result: DeliveryResult,
  { hosts }: RecordState,
  plan: RecordPlan,
): ReceiverHostRow | null {
  const before = result.gate_host ? hosts.get(result.gate_host) : undefined
  if (!before) return null
  const at = result.started_at
  const succeeded = result.is_unknown ? null : isSuccess(result.response_status)
  const after = hostAfter(before, { succeeded, at })
  hosts.set(after.host, after)
  plan.hosts.push(after)
  return after
}

/** Until when the receiver gets nothing: the host's wait, if it is longer than the webhook's own. */
function laterWait(
  { waits_until: own }: WebhookHealth,
  { waits_until: ofHost }: ReceiverHostRow,
  { updated_at: at }: DeliveryRow,
): Date | null {
  if (ofHost <= at) return own
  return own && own > ofHost ? own : ofHost
}

/** Requeues a delivery without counting the try. */
function tryAgain(result: DeliveryResult, before: DeliveryRow, plan: RecordPlan): DeliveryRow {
  const at = new Date(result.started_at.getTime() + result.duration_ms)
  const due_at = new Date(at.getTime() + UNKNOWN_WAIT_MS)
  plan.requeue.push({ delivery_id: before.id, due_at, set_at: at })
  return { ...before, next_attempt_at: due_at, updated_at: at }
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
  const succeeded = isSuccess(status)
  const error = result.error ?? (succeeded ? null : `status_${status}`)
  const isInRow = number === 1 && (result.response_body ?? '').length <= RESPONSE_IN_ROW_MAX
  if (!isInRow) {
    const earlier = attemptInRow(before)
    if (earlier) plan.attempts.push(earlier)
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
  }
  if (webhook) noteHealth(webhook, result, at)
  const after: DeliveryRow = {
    ...before,
    attempt_count: number,
    response_status: status,
    response_time_ms: result.duration_ms,
    error,
    started_at: isInRow ? result.started_at : null,
    response_body: isInRow ? result.response_body : null,
    updated_at: at,
    next_attempt_at: null,
  }
  if (succeeded) {
    plan.dequeue.push(before.id)
    return { ...after, status: 'delivered', delivered_at: before.delivered_at ?? at }
  }
  const left = before.max_attempts - number
  const isRequested = isRetryRequested(before)
  const wait =
    status === 410 || (result.is_probe && !isRequested && isOverdue(before, webhook, at))
      ? null
      : nextWaitMs(
          isRequested ? 0 : Math.max(1, MAX_ATTEMPTS - left),
          result.retry_after_ms,
          random,
        )
  if (wait === null || !webhook?.is_active) {
    plan.dequeue.push(before.id)
    // A failed repetition does not undo an acknowledged delivery.
    return { ...after, status: before.delivered_at ? 'delivered' : 'failed' }
  }
  const due_at = new Date(at.getTime() + wait)
  plan.requeue.push({ delivery_id: before.id, due_at, set_at: at })
  return { ...after, next_attempt_at: due_at }
}

/**
 * Whether a retry was requested while the try was in flight: the delivery waits, and its next try has no time yet. The
 * retry then follows the failed try at once.
 */
function isRetryRequested({ status, next_attempt_at }: DeliveryRow): boolean {
  return status === 'pending' && next_attempt_at === null
}

/**
 * Whether a delivery is older than the whole schedule. This limit ends the deliveries to a dead receiver. Enabling the
 * webhook restarts the age.
 */
function isOverdue(
  { created_at }: DeliveryRow,
  webhook: Pick<WebhookHealth, 'enabled_at'> | null,
  at: Date,
): boolean {
  const since = webhook?.enabled_at ?? created_at
  return at.getTime() - Math.max(since.getTime(), created_at.getTime()) > SCHEDULE_MS
}

function noteHealth(
  webhook: WebhookHealth,
  { response_status: status, signed_with = null, receiver_waits_until = null }: DeliveryResult,
  at: Date,
): void {
  webhook.updated_at = at
  webhook.waits_until = receiver_waits_until
  if (isSuccess(status)) {
    if (signed_with !== null) webhook.accepted_secret = signed_with
    webhook.consecutive_failures = 0
    webhook.last_success_at = at
    webhook.failing_since = null
    webhook.gate_host = null
    if (webhook.status === 'failing') webhook.status = 'active'
    if (webhook.is_active) webhook.notice = 'no'
    return
  }
  webhook.consecutive_failures += 1
  webhook.last_failure_at = at
  webhook.failing_since ??= at
  if (webhook.consecutive_failures >= GATE_CLOSES_AFTER) {
    webhook.gate_host ??= gateHostOf(webhook.url)
  }
  if (isNoticeDue(webhook, at)) webhook.notice = 'failing_due'
  if (status === 410) disable(webhook, 'gone', at)
  else if (webhook.status === 'active' && webhook.consecutive_failures >= FAILING_AFTER) {
    webhook.status = 'failing'
  }
}

/** Whether the owner must be notified that the webhook fails: once until the next success. */
function isNoticeDue(
  { notice, is_active, consecutive_failures, failing_since }: WebhookHealth,
  at: Date,
): boolean {
  if (notice !== 'no' || !is_active || consecutive_failures < FAILING_AFTER) return false
  return failing_since !== null && at.getTime() - failing_since.getTime() >= NOTICE_AFTER_MS
}

function noteFailed(
  webhook: WebhookHealth,
  { trigger, created_at, updated_at }: DeliveryRow,
  failed: Map<string, number>,
): void {
  if (trigger === 'test' || created_at < silentSince(webhook) || !isSilent(webhook, updated_at))
    return
  const count = (failed.get(webhook.id) ?? 0) + 1
  failed.set(webhook.id, count)
  if (count >= LIMITS.webhook_failing_deliveries) disable(webhook, 'failing', updated_at)
}

function disable(webhook: WebhookHealth, reason: 'gone' | 'failing', at: Date): void {
  if (!webhook.is_active) return
  webhook.is_active = false
  webhook.status = 'disabled'
  webhook.disabled_reason = reason
  webhook.disabled_at = at
  webhook.notice = 'disabled_due'
}
