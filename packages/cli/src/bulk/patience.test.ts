import { SvcError } from '@svc/core/contract'
import { expect, test } from 'vitest'
import { createPatience, type Waiting } from './patience.ts'

const HOUR_MS = 3_600_000

test.each([
  ['without end', 1e12],
  ['not at all', 0],
  ['less than nothing', -5],
])(
  'a server that asks to be left alone %s is asked again, neither at once nor never',
  async (_, retry_after_s) => {
    const began = Date.now()
    const ending = new AbortController()
    const waited: number[] = []
    let asked = 0
    const patience = createPatience({
      outage_ms: 1_000,
      signal: ending.signal,
      onWait(waiting: Waiting | null) {
        if (waiting) waited.push(waiting.until.getTime() - began)
        ending.abort()
      },
    })
    const answer = patience.ask(() => {
      asked++
      return Promise.reject(new SvcError('rate_limit_exceeded', 'wait', { retry_after_s }))
    })
    await expect(answer).rejects.toMatchObject({ code: 'interrupted' })
    expect(asked).toBe(1)
    expect(waited).toHaveLength(1)
    expect(waited[0]).toBeGreaterThan(0)
    expect(waited[0]).toBeLessThan(2 * HOUR_MS)
  },
)
