import { describe, expect, it } from 'vitest'
import { isInDoubt } from '../console/pages/messages/schedule.ts'
import { readAgainAt } from '../console/pages/webhooks/read-again.ts'

const NOW_MS = Date.parse('2026-05-04T10:00:00Z')

describe('a page with pending deliveries', () => {
  const waitFor = (...deliveries: [status: string, next_in_s: number | null][]) => {
    const shown = deliveries.map(([status, s]) => ({
      status,
      next_attempt_at: s === null ? null : new Date(NOW_MS + s * 1000).toISOString(),
    }))
    const at_ms = readAgainAt(shown, NOW_MS)
    return at_ms === null ? null : at_ms - NOW_MS
  }

  it.each([
    ['none is pending', [['delivered', null]], null],
    ['one is due', [['pending', -5]], 2_500],
    ['one is attempted after a request', [['pending', null]], 2_500],
    ['the next attempt is later', [['pending', 12]], 12_000],
    [
      'the first of several is soon',
      [
        ['pending', 20],
        ['pending', 4],
        ['failed', 1],
      ],
      4_000,
    ],
    ['the next attempt is far away', [['pending', 3_600]], 30_000],
  ] as const)('reads them again: %s', (_, deliveries, wait_ms) => {
    expect(
      waitFor(...deliveries.map(([status, s]) => [status, s] as [string, number | null])),
    ).toBe(wait_ms)
  })
})

describe('a message whose provider gave no answer', () => {
  const call = (outcome: string) => ({ kind: 'provider' as const, outcome })

  it.each([
    ['has had no call', 'queued', [{ kind: 'status' }], false],
    ['is retried', 'queued', [call('retry'), { kind: 'ledger' }], false],
    ['may be with its provider', 'queued', [call('retry'), call('ambiguous')], true],
    ['was sent again', 'queued', [call('ambiguous'), call('retry')], false],
    ['is settled', 'failed', [call('ambiguous'), { kind: 'status' }], false],
  ] as const)('%s', (_, status, timeline, isOpen) => {
    expect(isInDoubt(status, timeline)).toBe(isOpen)
  })
})
