import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createLoopDelay, watchLoopDelay } from '../src/admission/gate.ts'

/** The measured delay of a loop whose rounds took these milliseconds. */
function measured(rounds: readonly number[]): number {
  let at = 0
  const delay = createLoopDelay(() => at)
  for (const round_ms of rounds) {
    at += round_ms
    delay.sample()
  }
  return delay.delay_ms
}

it.each([
  ['nothing at first', [], 0],
  ['nothing of a loop in time', Array(20).fill(100), 0],
  ['nothing of one that came too early', Array(20).fill(99), 0],
  ['nothing of one long piece of work', [...Array(9).fill(100), 5_000], 0],
  ['nothing of four in a row', [...Array(9).fill(100), ...Array(4).fill(5_000)], 0],
  ['the least of five in a row', [100, 900, 700, 400, 800, 900], 300],
  ['the least of the first five', [200, 900, 700, 400, 800], 100],
  ['nothing once one is in time again', [...Array(20).fill(900), 100], 0],
])('finds %s', (_, rounds, delay_ms) => {
  expect(measured(rounds)).toBe(delay_ms)
})

it('detects that this process is overloaded', async () => {
  const watched = watchLoopDelay()
  const until = performance.now() + 10_000
  while (watched.delay_ms < 50 && performance.now() < until) {
    const begun = performance.now()
    while (performance.now() - begun < 250) {
      // Blocks the event loop.
    }
    await pause(0)
  }
  expect(watched.delay_ms).toBeGreaterThanOrEqual(50)
  await expect.poll(() => watched.delay_ms, { timeout: 10_000 }).toBeLessThan(50)
  watched.stop()
})
