import { api, type Endpoint } from '@svc/core/contract'
import { describe, expect, it } from 'vitest'
import { isShed, OVERLOAD, type Priority, priorityOf } from '../src/admission/gate.ts'

/** From section 1 of the contract, not derived from the code; endpoints without an entry are `lists`. */
const PRIORITIES: Record<string, Priority> = {
  'POST /api/v1/messages/bulk': 'bulk',
  'POST /api/v1/bulks/:id/retry': 'bulk',
  'POST /api/v1/broadcasts': 'bulk',
  'POST /api/v1/messages/send': 'sends',
  'POST /api/v1/verifications': 'sends',
  'POST /api/v1/verifications/:id/resend': 'sends',
  'POST /api/v1/billing/checkout': 'sends',
  'POST /api/v1/billing/webhook': 'kept',
  'GET /health': 'kept',
  'GET /health/live': 'kept',
  'GET /health/ready': 'kept',
}

const ENDPOINTS: Endpoint[] = Object.values(api).flatMap((group) => Object.values(group))

it('every endpoint has the priority of the contract', () => {
  const unusual = ENDPOINTS.flatMap((endpoint) => {
    const priority = priorityOf(endpoint)
    return priority === 'lists' ? [] : [[`${endpoint.method} ${endpoint.path}`, priority]]
  })
  expect(Object.fromEntries(unusual)).toStrictEqual(PRIORITIES)
})

describe('refused priorities', () => {
  const bounds = { requests: 100, delay_ms: 1_000 }
  const shed = (load: { requests?: number; delay_ms?: number }) =>
    (['bulk', 'lists', 'sends', 'kept'] as const).filter((priority) =>
      isShed(priority, { requests: 1, delay_ms: 0, ...load }, bounds),
    )

  it.each([
    [{}, []],
    [{ requests: 25, delay_ms: 250 }, []],
    [{ requests: 26 }, ['bulk']],
    [{ delay_ms: 251 }, ['bulk']],
    [{ requests: 50, delay_ms: 500 }, ['bulk']],
    [{ requests: 51 }, ['bulk', 'lists']],
    [{ delay_ms: 501 }, ['bulk', 'lists']],
    [{ requests: 100, delay_ms: 1_000 }, ['bulk', 'lists']],
    [{ requests: 101 }, ['bulk', 'lists', 'sends']],
    [{ delay_ms: 1_001 }, ['bulk', 'lists', 'sends']],
    [{ requests: 1e9, delay_ms: 1e9 }, ['bulk', 'lists', 'sends']],
  ])('under %j: %j', (load, priorities) => {
    expect(shed(load)).toStrictEqual(priorities)
  })

  it('are empty with 256 busy connections, by default', () => {
    expect(OVERLOAD).toEqual({ requests: 4_000, delay_ms: 1_000 })
    expect(isShed('bulk', { requests: 256, delay_ms: 0 }, OVERLOAD)).toBe(false)
  })
})
