import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Counting } from '../../ports/hot.ts'
import { prepareCount } from './shared-rows.ts'

const MB = 1024 * 1024
const BATCH = 10_000

/** Constant: windows are measured by elapsed time, whatever the clock shows. */
const NOW = new Date(0)

let elapsed_ms = 0
beforeEach(() => {
  elapsed_ms = 0
})

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Counts batches of new keys, each batch so long after the one before. */
async function flood(
  count: ReturnType<typeof prepareCount>,
  batches: number,
  step_ms = 1_000,
): Promise<void> {
  for (let batch = 0; batch < batches; batch++) {
    elapsed_ms = batch * step_ms
    const countings = Array.from(
      { length: BATCH },
      (_, i): Counting => ({
        key: `batch ${batch} ${i}`,
        window_ms: 1_000,
        add: 1,
        now: NOW,
        elapsed_ms,
      }),
    )
    await count(countings)
  }
}

describe('counters in memory', () => {
  it('outlast a flood of others until their window ends', async () => {
    const count = prepareCount()
    const held = { key: 'held back', window_ms: 60_000, add: 1 as const }
    await count(Array.from({ length: 5 }, () => ({ ...held, now: NOW, elapsed_ms })))
    await flood(count, 50)
    elapsed_ms = 59_999
    expect(await count([{ ...held, now: NOW, elapsed_ms }])).toEqual([{ count: 6, ends_in_ms: 1 }])
    elapsed_ms = 60_000
    expect(await count([{ ...held, now: NOW, elapsed_ms }])).toEqual([
      { count: 1, ends_in_ms: 60_000 },
    ])
  })

  it('that are all in use are looked through at each doubling of their number, not with each call', async () => {
    const count = prepareCount()
    const held = { key: 'held back', window_ms: 60_000, add: 1 as const }
    // With a look at each call, the last 50,000 calls would look at six thousand million counters.
    await flood(count, 15, 0)
    expect(await count([{ ...held, now: NOW, elapsed_ms }])).toEqual([
      { count: 1, ends_in_ms: 60_000 },
    ])
  })

  it('are swept out when they have ended, before they are too many', async () => {
    const count = prepareCount()
    collect()
    const before = process.memoryUsage().heapUsed
    await flood(count, 80)
    collect()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40 * MB)
    expect(await count([{ key: 'a', window_ms: 1, add: 0, now: NOW, elapsed_ms }])).toHaveLength(1)
  })
})
