import { expect, it } from 'vitest'
import { deliveryOutcome } from './deliver.ts'

it.each([
  [200, null, '2xx'],
  [204, null, '2xx'],
  [302, null, '3xx'],
  [410, null, '4xx'],
  [503, null, '5xx'],
  [999, null, '5xx'],
  [100, null, 'failed'],
  [null, 'timeout', 'timeout'],
  [null, 'connect', 'connect'],
  [null, 'blocked_target', 'blocked_target'],
  [null, 'interrupted', 'interrupted'],
  [null, 'unknown', 'failed'],
  [null, null, 'failed'],
])('counts status %j or error %j as %s', (response_status, error, outcome) => {
  expect(deliveryOutcome({ response_status, error })).toBe(outcome)
})
