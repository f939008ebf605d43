import { type Viewer, viewOf } from '../api-keys/viewer.ts'
import type { Units } from '../contract/fields/units.ts'
import type { TimelineEntry } from '../contract/resources/timeline.ts'
import type { CountedStatus } from '../rows/messages.ts'
import type { DeliveryRow, MessageAttemptRow, MessageRow } from '../rows/rows.ts'
import { HOUR_MS, hourOf, startOfDay } from '../rules/count-changes.ts'
import type { Entry } from '../rules/decide.ts'
import { type NextAttempt, nextAttempt } from '../rules/delivery-times.ts'
import { RESCHEDULED } from '../rules/reschedule.ts'
import { advance, type Reported, STATUS_EVENTS, STATUSES } from '../rules/settlement.ts'
import { reportsOf, type StatusReport } from '../rules/step.ts'
import type { Storage } from '../storage/ports/storage.ts'

export type { TimelineEntry } from '../contract/resources/timeline.ts'

/** The history of one message; `reports` has the order of `reportsOf`, the other lists that of writing. */
interface History {
  attempts: readonly MessageAttemptRow[]
  reports: readonly StatusReport[]
  entries: readonly Entry[]
  deliveries: readonly (DeliveryRow & NextAttempt)[]
}

/**
 * Merges status changes, provider attempts, ledger entries and webhook deliveries of a message, oldest first. The debit
 * of a bulk is in the timeline of each of its messages, with the credits of that message.
 */
export async function timelineOf(
  { read: { messages, credits, webhooks }, now }: Pick<Storage, 'read'> & { now: Date },
  message: MessageRow,
): Promise<TimelineEntry[]> {
  const { workspace_id, id, bulk_id } = message
  const [events, attempts, entries, rows] = await Promise.all([
    messages.events(workspace_id, id),
    messages.attempts(workspace_id, id),
    credits.entriesAbout(workspace_id, bulk_id ? [id, bulk_id] : [id]),
    webhooks.deliveriesOf(workspace_id, id),
  ])
  const reports = reportsOf(message, events)
  const pending = rows.filter(({ next_attempt_at }) => next_attempt_at !== null)
  const waits = new Map<string, Date | null>()
  for (const webhookId of new Set(pending.map(({ webhook_id }) => webhook_id))) {
    waits.set(webhookId, (await webhooks.byId(workspace_id, webhookId))?.waits_until ?? null)
  }
  const deliveries = rows.map((row) => {
    const waits_until = waits.get(row.webhook_id) ?? null
    return { ...row, ...nextAttempt(row, { waits_until, now }) }
  })
  return timelineFrom(message, { reports, attempts, entries, deliveries })
}

/** The order of entries with the same time. */
const RANKS = ['queued', 'charged', 'attempt', 'status', 'booked', 'webhook'] as const

/**
 * Sorts a message's history by time, but puts no effect before its cause, because the times come from different clocks. An
 * entry is sorted by the later of two times: its own time and the time of its cause.
 */
export function timelineFrom(
  message: Pick<MessageRow, 'created_at' | 'deferred_until' | 'credits_used'>,
  { attempts, reports, entries, deliveries }: History,
): TimelineEntry[] {
  const { created_at, deferred_until } = message
  const placed: { entry: TimelineEntry; ms: number; rank: number }[] = []
  const place = (rank: (typeof RANKS)[number], cause_ms: number, entry: TimelineEntry): number => {
    const ms = Math.max(cause_ms, entry.at.getTime())
    placed.push({ entry, ms, rank: RANKS.indexOf(rank) })
    return ms
  }
  let charged_ms = place('queued', 0, {
    at: created_at,
    kind: 'status',
    status: 'queued',
    applied: true,
    error_code: null,
    error_message: null,
  })
  for (const entry of entries.filter(isCharge)) {
    charged_ms = place('charged', charged_ms, ledgerEntry(entry, message))
  }

  // A provider is called only while the message is queued, so every attempt began before a status was applied.
  let attempts_ms = charged_ms
  let first_ms: number | null = null
  for (const attempt of attempts) {
    attempts_ms = place('attempt', attempts_ms, attemptEntry(attempt))
    first_ms ??= attempts_ms
  }

  const requeued = reports.filter(({ applied, status }) => applied && status === 'queued')
  // A message with a new time has the end of its quiet hours in the report of that change.
  if (deferred_until !== null && requeued.every(({ error_code }) => error_code !== RESCHEDULED)) {
    place('charged', charged_ms, {
      at: created_at,
      kind: 'status',
      status: 'queued',
      applied: true,
      error_code: 'quiet_hours',
      error_message: `Deferred by quiet hours to ${deferred_until.toISOString()}`,
    })
  }
  for (const report of requeued) {
    place('attempt', charged_ms, { ...report, kind: 'status' })
  }

  const applied_ms = new Map<Reported, number>()
  let status_ms = attempts_ms
  const isReached = ({ applied, status }: StatusReport) => applied && status !== 'queued'
  for (const report of reports.filter(isReached)) {
    status_ms = place('status', status_ms, { ...report, kind: 'status' })
    applied_ms.set(report.status as Reported, status_ms)
  }
  for (const report of reports.filter(({ applied }) => !applied)) {
    const cause = [...applied_ms].find(([status]) => isLate(report, status))
    place('status', cause?.[1] ?? first_ms ?? charged_ms, { ...report, kind: 'status' })
  }

  let booked_ms = attempts_ms
  for (const entry of entries.filter((each) => !isCharge(each))) {
    const failed_ms = entry.kind === 'refund' ? applied_ms.get('failed') : undefined
    booked_ms = place('booked', Math.max(booked_ms, failed_ms ?? 0), ledgerEntry(entry, message))
  }

  const statusOf = ({ event }: DeliveryRow) =>
    STATUSES.find((status) => STATUS_EVENTS[status] === event)
  for (const status of [...STATUSES, undefined]) {
    const cause_ms = (status && applied_ms.get(status)) ?? charged_ms
    for (const delivery of deliveries.filter((each) => statusOf(each) === status)) {
      place('webhook', cause_ms, webhookEntry(delivery))
    }
  }
  // The sort is stable: entries with the same time and rank keep their order.
  return placed.sort((a, b) => a.ms - b.ms || a.rank - b.rank).map(({ entry }) => entry)
}

/** Whether the entry was booked at acceptance: the debit, or the first hold for a call. */
function isCharge({ kind, ref_n }: Entry): boolean {
  return kind === 'send' || (kind === 'hold' && ref_n === 0)
}

/** Whether a report changes nothing for a message with this status. */
function isLate({ status }: StatusReport, current: Reported): boolean {
  return advance({ status: current, accepted: false }, status as Reported).length === 0
}

function attemptEntry({ started_at, number, ...row }: MessageAttemptRow): TimelineEntry {
  return { ...row, kind: 'provider', at: started_at, attempt: number }
}

/** The debit of a bulk is one entry for all its messages; a message shows its own credits. */
function ledgerEntry(
  entry: Entry,
  { credits_used }: Pick<MessageRow, 'credits_used'>,
): TimelineEntry {
  const isOfBulk = entry.kind === 'send' && entry.ref_type === 'bulk'
  return {
    kind: 'ledger',
    at: entry.created_at,
    type: entry.kind,
    credits: (isOfBulk ? 0 - credits_used : entry.amount - entry.held_delta) as Units,
    balance_after: (entry.balance_after - entry.held_after) as Units,
    reference: { type: entry.ref_type, id: entry.ref_id },
  }
}

function webhookEntry(row: DeliveryRow & NextAttempt): TimelineEntry {
  const at = row.delivered_at ?? row.updated_at
  return { ...row, kind: 'webhook', at, delivery_id: row.id }
}

/** Numbers of messages by what became of them. */
export interface Outcomes {
  /** All of them. */
  accepted: number
  /** Delivered or read. */
  delivered: number
  /** Without canceled messages. */
  failed: number
  canceled: number
}

/** The messages that were created in one period, by their status now. */
export interface HistoryPoint extends Outcomes {
  /** The start of the period (UTC). */
  since: Date
}

/** The length of the periods of a history. */
export type HistoryUnit = 'day' | 'hour'

const UNITS = {
  day: { startOf: startOfDay, length_ms: 24 * HOUR_MS, periods: 30 },
  hour: { startOf: hourOf, length_ms: HOUR_MS, periods: 48 },
}

/** The start of the first period of a history that ends now. */
export function historyStart(unit: HistoryUnit, now: Date): Date {
  const { startOf, length_ms, periods } = UNITS[unit]
  return new Date(startOf(now).getTime() - (periods - 1) * length_ms)
}

/** The history of the last days or hours, with a point for each period, also for those without messages. */
export async function historyOf(
  storage: Pick<Storage, 'read'>,
  viewer: Viewer,
  { unit, now }: { unit: HistoryUnit; now: Date },
): Promise<HistoryPoint[]> {
  const { workspace_id, livemode } = viewOf(viewer)
  const { length_ms, periods } = UNITS[unit]
  const from = historyStart(unit, now)
  const points = new Map(
    Array.from({ length: periods }, (_, i): [number, HistoryPoint] => {
      const since = new Date(from.getTime() + i * length_ms)
      return [since.getTime(), { since, ...none() }]
    }),
  )
  for (const row of await storage.read.messages.countsSince(workspace_id, { unit, from })) {
    const point = points.get(row.since.getTime())
    if (!point) continue
    const n = livemode === false ? row.test_count : row.count - row.test_count
    add(point, row.status, n)
  }
  return [...points.values()]
}

/** No messages. */
export function none(): Outcomes {
  return { accepted: 0, delivered: 0, failed: 0, canceled: 0 }
}

/** Counts messages with a status. */
export function add(outcomes: Outcomes, status: CountedStatus, count: number): void {
  outcomes.accepted += count
  if (status === 'delivered' || status === 'read') outcomes.delivered += count
  if (status === 'failed') outcomes.failed += count
  if (status === 'canceled') outcomes.canceled += count
}
