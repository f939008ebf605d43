import { expect, test } from 'vitest'
import { reading } from '../../test/operating-readings.ts'
import { sparkline } from '../contract/fields/amounts.ts'
import { createHistory, HISTORY_MS } from './history.ts'

function history(...samples: [after_s: number, delivered: number, queued?: number][]) {
  const recorded = createHistory()
  for (const [after_s, delivered, queued = 0] of samples) {
    const messages = [
      { channel: 'sms', status: 'delivered', count: delivered },
      { channel: 'email', status: 'queued', count: queued },
    ] as const
    recorded.add(reading({ after_s, overview: { messages: [...messages] } }).overview)
  }
  return recorded
}

test('computes rates over the last five seconds', () => {
  const recorded = history([0, 0], [5, 100], [10, 110, 5])
  expect(recorded.rates(null)).toEqual({ accepted: 3, sent: 2, delivered: 2, failed: 0 })
  expect(recorded.rates('sms')).toEqual({ accepted: 2, sent: 2, delivered: 2, failed: 0 })
  expect(recorded.rates('voice')).toEqual({ accepted: 0, sent: 0, delivered: 0, failed: 0 })
})

test('has no rates before the second sample, and after the clock was set back', () => {
  expect(history([0, 7]).rates(null)).toBeNull()
  expect(history([10, 7], [5, 9]).rates(null)).toBeNull()
})

test('does not count erasures', () => {
  expect(history([0, 100], [5, 20]).rates(null)).toMatchObject({ accepted: 0, delivered: 0 })
})

test('gives the rates of equal parts, and null before the first sample', () => {
  const samples = Array.from({ length: 121 }, (_, s): [number, number] => [s, s < 60 ? 0 : s - 60])
  const parts = history(...samples).parts('delivered', null, 10)
  expect(parts).toEqual([null, null, null, null, null, null, 0, 0, 1, 1])
  expect(sparkline(parts)).toBe('      ▁▁██')
})

test('keeps some minutes only', () => {
  const recorded = history([0, 0], [1, 1000], [400, 1000], [2 * 400, 1000])
  expect(recorded.growth('delivered', null, 10 * HISTORY_MS)).toBe(0)
  expect(recorded.total('delivered', null)).toBe(1000)
})

test('a copy does not change', () => {
  const recorded = history([0, 0], [5, 10])
  const copy = recorded.copy()
  recorded.add(reading({ after_s: 10 }).overview)
  expect(copy.rates(null)).toMatchObject({ delivered: 2 })
})
