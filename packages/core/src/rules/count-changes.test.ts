import { describe, expect, it } from 'vitest'
import { countChanges, type StatusChange } from './count-changes.ts'

function change(overrides: Partial<StatusChange>): StatusChange {
  return {
    workspace_id: 'w1',
    channel: 'sms',
    livemode: true,
    from: null,
    to: 'queued',
    ...overrides,
  }
}

describe('countChanges', () => {
  it('sums a batch to one change for each key, sorted by key', () => {
    const changes = [
      change({ workspace_id: 'w2' }),
      change({ from: 'queued', to: 'sent' }),
      change({ from: 'queued', to: 'sent' }),
      change({ channel: 'email', from: 'sent', to: 'failed' }),
    ]
    expect(countChanges(changes)).toEqual([
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
    expect(countChanges(changes)).toEqual([
      { workspace_id: 'w1', channel: 'sms', status: 'delivered', count: 1, test_count: 0 },
      { workspace_id: 'w1', channel: 'sms', status: 'queued', count: -1, test_count: -1 },
      { workspace_id: 'w1', channel: 'sms', status: 'sent', count: 0, test_count: 1 },
    ])
  })

  it('leaves out sums of zero', () => {
    const changes = [
      change({ from: 'sent', to: 'sent' }),
      change({}),
      change({ from: 'queued', to: 'sent' }),
    ]
    expect(countChanges(changes)).toEqual([
      { workspace_id: 'w1', channel: 'sms', status: 'sent', count: 1, test_count: 0 },
    ])
  })
})
