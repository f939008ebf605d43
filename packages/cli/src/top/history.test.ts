import { expect, test } from 'vitest'
import { reading } from '../../test/top-readings.ts'
import { sparkline } from './amounts.ts'
import { createHistory, HISTORY_MS } from './history.ts'

function history(...samples: [after_s: number, delivered: number, queued?: number][]) {
  const made = createHistory()
  for (const [after_s, delivered, queued = 0] of samples) {
    const messages = [
      { channel: 'sms', status: 'delivered', count: delivered },
      { channel: 'email', status: 'queued', count: queued },
    ] as const
    made.add(reading({ after_s, overview: { messages: [...messages] } }).overview)
  }
  return made
}

test('rates are those of the last five seconds', () => {
  const made = history([0, 0], [5, 100], [10, 110, 5])
  expect(made.rates(null)).toEqual({ accepted: 3, sent: 2, delivered: 2, failed: 0 })
  expect(made.rates('sms')).toEqual({ accepted: 2, sent: 2, delivered: 2, failed: 0 })
  expect(made.rates('voice')).toEqual({ accepted: 0, sent: 0, delivered: 0, failed: 0 })
})

test('there is none before the second sample, nor after the clock was set back', () => {
  expect(history([0, 7]).rates(null)).toBeNull()
  expect(history([10, 7], [5, 9]).rates(null)).toBeNull()
})

test('what is erased is no rate', () => {
  expect(history([0, 100], [5, 20]).rates(null)).toMatchObject({ accepted: 0, delivered: 0 })
})

test('parts tell the rates of equal spans, and where nothing was seen', () => {
  const samples = Array.from({ length: 121 }, (_, s): [number, number] => [s, s < 60 ? 0 : s - 60])
  const parts = history(...samples).parts('delivered', null, 10)
  expect(parts).toEqual([null, null, null, null, null, null, 0, 0, 1, 1])
  expect(sparkline(parts)).toBe('      ▁▁██')
})

test('keeps a few minutes and no more', () => {
  const made = history([0, 0], [1, 1000], [400, 1000], [2 * 400, 1000])
  expect(made.growth('delivered', null, 10 * HISTORY_MS)).toBe(0)
  expect(made.total('delivered', null)).toBe(1000)
})

test('a copy stays as it is', () => {
  const made = history([0, 0], [5, 10])
  const copy = made.copy()
  made.add(reading({ after_s: 10 }).overview)
  expect(copy.rates(null)).toMatchObject({ delivered: 2 })
})
