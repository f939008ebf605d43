import { describe, expect, it } from 'vitest'
import { countChanges, type StatusChange } from './count-changes.ts'

const NO_IDS = { first_id: null, last_id: null }
const WHOLE = { unit: 'all', since: new Date(0), ...NO_IDS } as const
const DAY = { unit: 'day', since: new Date('2026-05-04T00:00:00Z'), ...NO_IDS } as const
const HOUR = { unit: 'hour', since: new Date('2026-05-04T09:00:00Z'), ...NO_IDS } as const

function change(overrides: Partial<StatusChange>): StatusChange {
  return {
    id: 'm1',
    workspace_id: 'w1',
    channel: 'sms',
    livemode: true,
    created_at: new Date('2026-05-04T09:30:00Z'),
    from: null,
    to: 'queued',
    ...overrides,
  }
}

/** The changes of the whole history, without ids and periods. */
function wholeChanges(changes: readonly StatusChange[]) {
  return countChanges(changes)
    .filter(({ unit }) => unit === 'all')
    .map(({ unit: _, since: __, first_id: ___, last_id: ____, ...rest }) => rest)
}

describe('countChanges', () => {
  it('sums a batch to one change for each key, sorted by key', () => {
    const changes = [
      change({ workspace_id: 'w2' }),
      change({ from: 'queued', to: 'sent' }),
      change({ from: 'queued', to: 'sent' }),
      change({ channel: 'email', from: 'sent', to: 'failed' }),
    ]
    expect(wholeChanges(changes)).toEqual([
      { workspace_id: 'w1', channel: 'email', status: 'failed', count: 1, test_count: 0 },
      { workspace_id: 'w1', channel: 'email', status: 'sent', count: -1, test_count: 0 },
      { workspace_id: 'w1', channel: 'sms', status: 'queued', count: -2, test_count: 0 },
      { workspace_id: 'w1', channel: 'sms', status: 'sent', count: 2, test_count: 0 },
      { workspace_id: 'w2', channel: 'sms', status: 'queued', count: 1, test_count: 0 },
    ])
  })

  it('counts test messages separately, also when the total stays the same', () => {
    const changes = [
      change({ livemode: false, from: 'queued', to: 'sent' }),
      change({ from: 'sent', to: 'delivered' }),
    ]
    expect(wholeChanges(changes)).toEqual([
      { workspace_id: 'w1', channel: 'sms', status: 'delivered', count: 1, test_count: 0 },
      { workspace_id: 'w1', channel: 'sms', status: 'queued', count: -1, test_count: -1 },
      { workspace_id: 'w1', channel: 'sms', status: 'sent', count: 0, test_count: 1 },
    ])
  })

  it('sums the test messages of several hours, in days and in the whole history', () => {
    const test = { livemode: false }
    const next = new Date('2026-05-04T10:00:00Z')
    const changes = [change(test), change(test), change({ ...test, created_at: next })]
    expect(
      countChanges(changes).map(({ unit, count, test_count }) => [unit, count, test_count]),
    ).toEqual([
      ['all', 3, 3],
      ['day', 3, 3],
      ['hour', 2, 2],
      ['hour', 1, 1],
    ])
  })

  it('leaves out sums of zero', () => {
    const changes = [
      change({ from: 'sent', to: 'sent' }),
      change({}),
      change({ from: 'queued', to: 'sent' }),
    ]
    expect(wholeChanges(changes)).toEqual([
      { workspace_id: 'w1', channel: 'sms', status: 'sent', count: 1, test_count: 0 },
    ])
  })

  it('counts a message in the hour and the day of its creation', () => {
    const key = { workspace_id: 'w1', channel: 'sms', status: 'queued', test_count: 0 }
    const ids = { first_id: 'm1', last_id: 'm3' }
    const changes = [
      change({ id: 'm3' }),
      change({ id: 'm1', created_at: new Date('2026-05-04T09:59:59.999Z') }),
      change({ id: 'm2', created_at: new Date('2026-05-04T10:00:00Z') }),
    ]
    expect(countChanges(changes)).toEqual([
      { ...key, ...WHOLE, count: 3 },
      { ...key, ...DAY, count: 3, ...ids },
      { ...key, ...HOUR, count: 2, ...ids },
      {
        ...key,
        ...HOUR,
        since: new Date('2026-05-04T10:00:00Z'),
        count: 1,
        first_id: 'm2',
        last_id: 'm2',
      },
    ])
  })

  it('counts a change of status in the period of the creation, without ids', () => {
    const changes = countChanges([change({ from: 'queued', to: 'sent' })])
    expect(changes.map(({ status, unit, count }) => `${unit} ${status} ${count}`)).toEqual([
      'all queued -1',
      'all sent 1',
      'day queued -1',
      'day sent 1',
      'hour queued -1',
      'hour sent 1',
    ])
    expect(changes).toMatchObject([WHOLE, WHOLE, DAY, DAY, HOUR, HOUR])
  })
})
