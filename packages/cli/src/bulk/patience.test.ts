import { SvcError } from '@svc/core/contract'
import { expect, test } from 'vitest'
import { createPatience, type Waiting } from './patience.ts'

const HOUR_MS = 3_600_000

test.each([
  ['a very long wait', 1e12],
  ['no wait', 0],
  ['a negative wait', -5],
])('bounds the wait when the server requests %s', async (_, retry_after_s) => {
  const began = Date.now()
  const ending = new AbortController()
  const waited: number[] = []
  let requests = 0
  const patience = createPatience({
    outage_ms: 1_000,
    signal: ending.signal,
    onWait(waiting: Waiting | null) {
      if (waiting) waited.push(waiting.until.getTime() - began)
      ending.abort()
    },
  })
  const answer = patience.request(() => {
    requests++
    return Promise.reject(new SvcError('rate_limit_exceeded', 'wait', { retry_after_s }))
  })
  await expect(answer).rejects.toMatchObject({ code: 'interrupted' })
  expect(requests).toBe(1)
  expect(waited).toHaveLength(1)
  expect(waited[0]).toBeGreaterThan(0)
  expect(waited[0]).toBeLessThan(2 * HOUR_MS)
})
