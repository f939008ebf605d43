import { describe, expect, it } from 'vitest'
import { units } from '../contract/fields/units.ts'
import type { TimelineEntry } from '../contract/resources/timeline.ts'
import type { EntryKind } from '../rows/credits.ts'
import type { DeliveryRow, MessageAttemptRow } from '../rows/rows.ts'
import type { Entry } from '../rules/decide.ts'
import type { NextAttempt } from '../rules/delivery-times.ts'
import { reportsOf, type StatusReport } from '../rules/step.ts'
import { timelineFrom } from './timeline.ts'

const NOON = Date.parse('2026-05-04T12:00:00.000Z')
const HOUR_MS = 3_600_000

/** The history of a message: `times` has milliseconds from noon by the name that `nameOf` gives an entry. */
function historyAt(times: Readonly<Record<string, number>>) {
  const at = (name: string) => new Date(NOON + (times[name] ?? 0))
  const named = (kind: string) => Object.keys(times).filter((name) => name.startsWith(`${kind} `))
  const what = (name: string) => name.split(' ')[1] ?? ''
  const none = { error_code: null, error_message: null }
  const attempts = named('attempt').map((name): MessageAttemptRow => {
    const number = Number(what(name))
    const ids = { workspace_id: 'w', message_id: 'm', provider_message_id: null }
    const times = { started_at: at(name), finished_at: at(name) }
    return { ...ids, ...none, ...times, number, provider: 'sandbox', outcome: 'retry' }
  })
  const reports = named('status').map((name): StatusReport => {
    const status = what(name) as StatusReport['status']
    return { ...none, status, applied: !name.endsWith('late'), at: at(name) }
  })
  const entries = named('ledger').map((name, i): Entry => {
    const kind = what(name) as EntryKind
    const amounts = { amount: units(1), held_delta: units(0) }
    const after = { balance_after: units(1), held_after: units(0) }
    const reference = { ref_type: 'message', ref_id: 'm', ref_n: 0 }
    const other = { channel: null, quantity: null, unit_price: null, resolves: null, actor: null }
    const ids = { id: `l${i}`, workspace_id: 'w', seq: i + 1, counter_account: 'revenue:sms' }
    const rest = { description: null, created_at: at(name) }
    return { ...ids, ...amounts, ...after, ...reference, ...other, ...rest, kind }
  })
  const deliveries = named('webhook').map((name, i): DeliveryRow & NextAttempt => {
    const ids = { id: `d${i}`, workspace_id: 'w', webhook_id: 'h', event_id: 'v', message_id: 'm' }
    const counts = { attempt_count: 1, max_attempts: 12 }
    const next = { next_attempt_at: null, next_attempt_reason: null }
    const answer = { response_status: 200, response_time_ms: 1, error: null, response_body: null }
    const times = {
      created_at: at(name),
      updated_at: at(name),
      delivered_at: at(name),
      started_at: null,
    }
    const kind = { event: what(name), status: 'delivered', trigger: 'event' } as const
    return { livemode: true, ...ids, ...counts, ...next, ...answer, ...times, ...kind }
  })
  const none_at = { sent_at: null, delivered_at: null, read_at: null }
  const history = { attempts, reports: reportsOf(none_at, reports), entries, deliveries }
  return timelineFrom(
    { created_at: at('queued'), deferred_until: null, credits_used: units(1) },
    history,
  )
}

function nameOf(entry: TimelineEntry): string {
  switch (entry.kind) {
    case 'status':
      return entry.status === 'queued'
        ? 'queued'
        : `status ${entry.status}${entry.applied ? '' : ' late'}`
    case 'provider':
      return `attempt ${entry.attempt}`
    case 'ledger':
      return `ledger ${entry.type}`
    case 'webhook':
      return `webhook ${entry.event}`
  }
}

const SENT = [
  'queued',
  'ledger send',
  'attempt 1',
  'attempt 2',
  'status sent',
  'status delivered',
  'status sent late',
  'webhook message.sent',
  'webhook message.delivered',
]

const FAILED = [
  'queued',
  'ledger send',
  'attempt 1',
  'status failed',
  'ledger refund',
  'webhook message.failed',
]

const CAUSES = [
  ['queued', 'ledger send'],
  ['ledger send', 'attempt 1'],
  ['attempt 1', 'attempt 2'],
  ['attempt 2', 'status sent'],
  ['status sent', 'status delivered'],
  ['status sent', 'status sent late'],
  ['status sent', 'webhook message.sent'],
  ['status delivered', 'webhook message.delivered'],
  ['attempt 1', 'status failed'],
  ['status failed', 'ledger refund'],
  ['status failed', 'webhook message.failed'],
] as const

const together = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]))

describe('a timeline', () => {
  it.each([SENT, FAILED])('sorts entries with the same time by cause and effect', (...names) => {
    expect(historyAt(together(names)).map(nameOf)).toEqual(names)
  })

  it.each([SENT, FAILED])(
    'puts no effect before its cause when the clock is set back',
    (...names) => {
      for (const back of names) {
        const times = Object.fromEntries(
          names.map((name, i) => [name, i >= names.indexOf(back) ? i - HOUR_MS : i]),
        )
        const timeline = historyAt(times)
        const order = timeline.map(nameOf)
        expect([...order].sort()).toEqual([...names].sort())
        for (const [cause, effect] of CAUSES.filter((pair) =>
          pair.every((one) => names.includes(one)),
        )) {
          expect(order.indexOf(cause), `${cause}, ${effect}, back at ${back}`).toBeLessThan(
            order.indexOf(effect),
          )
        }
        for (const entry of timeline) {
          expect(entry.at.getTime() - NOON, 'its own time').toBe(times[nameOf(entry)])
        }
      }
    },
  )

  it('sorts independent entries by time', () => {
    const late = {
      ...together(FAILED),
      'ledger refund': 20,
      'webhook message.failed': 10,
      'status sent late': 30,
    }
    expect(historyAt(late).map(nameOf)).toEqual([
      'queued',
      'ledger send',
      'attempt 1',
      'status failed',
      'webhook message.failed',
      'ledger refund',
      'status sent late',
    ])
  })

  it('sorts statuses of two servers into their possible order', () => {
    const apart = {
      queued: 0,
      'ledger send': 0,
      'attempt 1': 1,
      // The clock of the server that stored `sent` is ahead.
      'status delivered': 2,
      'status read': 3,
      'status failed': 4,
      'status sent': HOUR_MS,
    }
    expect(historyAt(apart).map(nameOf)).toEqual([
      'queued',
      'ledger send',
      'attempt 1',
      'status sent',
      'status failed',
      'status delivered',
      'status read',
    ])
  })

  it('has no attempt for a canceled message', () => {
    const canceled = FAILED.filter((name) => name !== 'attempt 1')
    expect(historyAt(together(canceled)).map(nameOf)).toEqual(canceled)
  })
})
