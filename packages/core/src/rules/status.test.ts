import { describe, expect, it } from 'vitest'
import { EVENT_KINDS } from '../contract/resources/events.ts'
import { MESSAGE_STATUSES, type MessageStatus } from '../contract/resources/messages.ts'
import { advance, type Reported, STATUS_EVENTS } from './settlement.ts'

const REPORTED = ['sent', 'delivered', 'read', 'failed'] as const

/** For each status, accepted or not: the statuses that each report passes through. Source: contract section 6, Status. */
const TABLE: [MessageStatus, accepted: boolean, Record<Reported, Reported[]>][] = [
  ...[true, false].map((accepted): (typeof TABLE)[number] => [
    'queued',
    accepted,
    {
      sent: ['sent'],
      delivered: ['delivered'],
      read: ['delivered', 'read'],
      failed: ['failed'],
    },
  ]),
  [
    'sent',
    true,
    { sent: [], delivered: ['delivered'], read: ['delivered', 'read'], failed: ['failed'] },
  ],
  ['delivered', true, { sent: [], delivered: [], read: ['read'], failed: [] }],
  ['read', true, { sent: [], delivered: [], read: [], failed: [] }],
  ['failed', true, { sent: [], delivered: ['delivered'], read: ['delivered', 'read'], failed: [] }],
  ['failed', false, { sent: [], delivered: [], read: [], failed: [] }],
]

const cells = TABLE.flatMap(([status, accepted, row]) =>
  REPORTED.map((reported) => ({ status, accepted, reported, passed: row[reported] })),
)

describe('advance', () => {
  it('has every status in its table', () => {
    expect(new Set(TABLE.map(([status]) => status))).toEqual(new Set(MESSAGE_STATUSES))
  })

  it.each(cells)('$status (accepted: $accepted), $reported reported: $passed', (cell) => {
    expect(advance(cell, cell.reported)).toEqual(cell.passed)
  })

  it.each(cells)(
    '$status (accepted: $accepted), $reported reported again: nothing more',
    (cell) => {
      const last = cell.passed.at(-1)
      const after = last ? { status: last, accepted: true } : cell
      expect(advance(after, cell.reported)).toEqual([])
    },
  )
})

describe('STATUS_EVENTS', () => {
  it('names an existing event for every status except `queued`', () => {
    expect(Object.keys(STATUS_EVENTS).sort()).toEqual(
      MESSAGE_STATUSES.filter((status) => status !== 'queued').sort(),
    )
    for (const [status, event] of Object.entries(STATUS_EVENTS)) {
      expect(event).toBe(`message.${status}`)
      expect(EVENT_KINDS).toContain(event)
    }
  })
})
