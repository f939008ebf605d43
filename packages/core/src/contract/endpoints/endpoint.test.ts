import { describe, expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { api } from '../api.ts'
import { timestamp } from '../fields/fields.ts'
import type { Units } from '../fields/units.ts'
import { LIMITS, RATES, WEBHOOK_RETRY_DELAYS_S } from '../limits.ts'
import {
  type Api,
  type Body,
  type Data,
  type Endpoint,
  endpoint,
  type Params,
  type Query,
  type WireBody,
  type WireData,
} from './endpoint.ts'

const table: Api = api
const endpoints = Object.entries(table).flatMap(([group, each]) =>
  Object.entries(each).map(([name, endpoint]) => ({ name: `${group}.${name}`, endpoint })),
)

const example = endpoint({
  method: 'PUT',
  path: '/things/:id',
  auth: 'jwt',
  rate: 'general',
  status: 200,
  params: z.object({ id: z.string() }),
  query: z.object({ since: timestamp.optional() }),
  body: z.object({ at: timestamp }),
  data: z.object({ at: timestamp }),
  summary: 'Change a thing',
})

describe('the types of an endpoint', () => {
  test('are decoded for handlers and encoded in JSON', () => {
    type E = typeof example
    expectTypeOf<Params<E>>().toEqualTypeOf<{ id: string }>()
    expectTypeOf<Query<E>>().toEqualTypeOf<{ since?: Date | undefined }>()
    expectTypeOf<Body<E>>().toEqualTypeOf<{ at: Date }>()
    expectTypeOf<WireBody<E>>().toEqualTypeOf<{ at: string }>()
    expectTypeOf<Data<E>>().toEqualTypeOf<{ at: Date }>()
    expectTypeOf<WireData<E>>().toEqualTypeOf<{ at: string }>()
    expect(example.enveloped).toBe(true)
  })

  test('are undefined if the endpoint has none', () => {
    expectTypeOf<Body<typeof api.messages.get>>().toEqualTypeOf<undefined>()
    expectTypeOf<Query<typeof api.messages.send>>().toEqualTypeOf<undefined>()
    expectTypeOf<Data<typeof api.messages.send>['credits_used']>().toEqualTypeOf<Units>()
    expect(api.health.check.enveloped).toBe(false)
  })
})

describe.each(endpoints)('$name', ({ endpoint }: { endpoint: Endpoint }) => {
  test('follows the rules of the interface', () => {
    const inPath = [...endpoint.path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    expect(inPath).toEqual(Object.keys(endpoint.params?.shape ?? {}))
    expect(endpoint.path.startsWith('/api/v1/')).toBe(!endpoint.path.startsWith('/health'))
    expect(endpoint.scope !== undefined).toBe(endpoint.auth.includes('api_key'))
    expect(endpoint.not_found !== undefined).toBe(endpoint.params !== undefined)
    if (endpoint.body) expect(['POST', 'PUT']).toContain(endpoint.method)
    if (endpoint.method === 'PUT') expect(endpoint.body).toBeDefined()
    expect(endpoint.summary).toMatch(/^[A-Z].*[^.]$/)
  })
})

test('no two endpoints answer the same request', () => {
  const routes = endpoints.map(({ endpoint }) => `${endpoint.method} ${endpoint.path}`)
  expect(new Set(routes).size).toBe(routes.length)
})

describe('the numbers of the contract', () => {
  test('rates', () => {
    expect(RATES).toEqual({
      general: { max: 100, window_s: 60 },
      workspace: { max: 500, window_s: 60 },
      console: { max: 600, window_s: 60 },
      bulk: { max: 10, window_s: 300 },
      bulk_estimate: { max: 60, window_s: 300 },
      auth: { max: 5, window_s: 900 },
      anonymous: { max: 100, window_s: 60 },
      failed_auth: { max: 60, window_s: 900 },
      login_all: { max: 1000, window_s: 900 },
      signup_all: { max: 1000, window_s: 900 },
    })
  })

  test('retries: twelve attempts in less than 76 hours', () => {
    expect(WEBHOOK_RETRY_DELAYS_S).toHaveLength(12)
    const total_s = WEBHOOK_RETRY_DELAYS_S.reduce((sum, delay) => sum + delay, 0)
    expect(total_s / 3600).toBeCloseTo(75.71, 2)
  })

  test.each([
    ['body_bytes', 262_144],
    ['send_body_bytes', 4_194_304],
    ['jwt_lifetime_s', 2_592_000],
    ['schedule_ahead_s', 3_024_000],
    ['webhook_capture_bytes', 16_384],
    ['idempotency_lifetime_s', 86_400],
  ] as const)('%s is %d', (name, value) => {
    expect(LIMITS[name]).toBe(value)
  })
})
