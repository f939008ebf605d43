import { expect, it } from 'vitest'
import type { LookupJob, SendJob } from '../../contract/outside/provider.ts'
import { callbackBase } from './request.ts'
import { firstPollMs, isListSettled, pollAfterMs } from './waits.ts'

const HERE = 'http://127.0.0.1:3000/callbacks/twilio'
const THERE = 'https://svc.example/callbacks/twilio'

it.each([
  [undefined, THERE, THERE],
  [undefined, HERE, null],
  [undefined, 'http://localhost:3000/callbacks/twilio', null],
  [undefined, 'http://[::1]:3000/callbacks/twilio', null],
  ['https://api.dublin.ie1.twilio.com', HERE, null],
  ['http://127.0.0.1:4010', HERE, HERE],
])('the API at %s with callbacks to %s reports to %s', (api_url, callback_url, base) => {
  expect(callbackBase({ ...(api_url && { api_url }) }, callback_url)).toBe(base)
})

const SMS = { channel: 'sms', max_duration_s: null } as SendJob
const CALL = { channel: 'voice', max_duration_s: 120 } as SendJob

it.each([
  [SMS, true, 300_000],
  [CALL, true, 240_000],
  [SMS, false, 15_000],
  [CALL, false, 15_000],
])('%j with callbacks %s is first looked up after %i ms', (job, has_callbacks, wait_ms) => {
  expect(firstPollMs(job, { has_callbacks, ring_timeout_s: 60 })).toBe(wait_ms)
})

it.each([
  [0, true, 300_000],
  [0, false, 15_000],
  [60_000, false, 60_000],
  [10_000_000, true, 7_200_000],
  [172_799_999, true, 7_200_000],
  [172_800_000, true, null],
])(
  '%i ms after the attempt, with callbacks %s, the next wait is %s ms',
  (passed_ms, has_callbacks, wait_ms) => {
    const job = { attempted_at_ms: 0, now_ms: passed_ms } as LookupJob
    expect(pollAfterMs(job, has_callbacks)).toBe(wait_ms)
  },
)

it('trusts a list after its longest lag', () => {
  const after = (now_ms: number) => ({ attempted_at_ms: 0, now_ms }) as LookupJob
  expect(isListSettled(after(179_999))).toBe(false)
  expect(isListSettled(after(180_000))).toBe(true)
  expect(isListSettled(after(9_999), 10)).toBe(false)
  expect(isListSettled(after(10_000), 10)).toBe(true)
})
