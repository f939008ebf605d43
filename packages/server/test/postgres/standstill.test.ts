import { type Core, createCore } from '@svc/core'
import { RATES } from '@svc/core/contract'
import type { FastifyInstance } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type PostgresServer, startPostgres } from '../../../core/test/postgres-server.ts'
import { buildApp } from '../../src/app.ts'
import { accountsOf } from '../accounts.ts'
import { type Call, callerOf } from '../call.ts'
import { JWT_SECRET } from '../world.ts'

const ANSWER_MAX_MS = 2_000

/** Rate limit, credential and work each query the database, and a busy machine adds time. */
const BOUND_MS = 3 * ANSWER_MAX_MS

let server: PostgresServer
let core: Core
let app: FastifyInstance
let call: Call
let key: string
beforeAll(async () => {
  server = await startPostgres()
  core = await createCore({
    database_url: server.url,
    threads: 0,
    answer_max_ms: ANSWER_MAX_MS,
  })
  await core.startDispatch()
  const unlimited = { max: 1_000_000, window_s: 60 }
  const rates = { ...RATES, general: unlimited, workspace: unlimited }
  app = await buildApp(core, { config: { jwt_secret: JWT_SECRET, rates, trust_proxy: [] } })
  call = callerOf(app).call
  const accounts = accountsOf(core, call)
  key = (await accounts.key(await accounts.signup({ credits: 10_000 }))).key
})
afterAll(async () => {
  await server?.resume()
  await app?.close()
  await core?.close({ grace_ms: 0 })
  await server?.stop()
})
afterEach(() => server.resume())

async function timed(method: 'GET' | 'POST', url: string, payload?: object) {
  const begun = performance.now()
  const headers = { 'x-api-key': key }
  const { statusCode, body } = await app.inject({
    method,
    url,
    headers,
    ...(payload && { payload }),
  })
  return { status: statusCode, body, ms: performance.now() - begun }
}

const send = () =>
  timed('POST', '/api/v1/messages/send', {
    to: '+255700000001',
    channel: 'sms',
    content: { text: 'Hello' },
  })

describe('while the database hangs', () => {
  it('every request is answered with 429 or 500 in limited time, and with 201 afterwards', async () => {
    expect(await send()).toMatchObject({ status: 201 })
    await server.pause()
    const answers = await Promise.all([
      ...Array.from({ length: 200 }, send),
      ...Array.from({ length: 50 }, () => timed('GET', '/api/v1/messages')),
    ])
    await server.resume()
    expect([429, 500]).toEqual(
      expect.arrayContaining([...new Set(answers.map((each) => each.status))]),
    )
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(BOUND_MS)
    await expect.poll(async () => (await send()).status, { timeout: 5_000 }).toBe(201)
  })

  it('the health is degraded, and ok again afterwards', async () => {
    await server.pause()
    const sick = await timed('GET', '/health')
    expect(JSON.parse(sick.body)).toMatchObject({
      status: 'degraded',
      services: { database: 'error' },
    })
    expect(sick.ms).toBeLessThan(BOUND_MS)
    expect(await timed('GET', '/health/ready')).toMatchObject({ status: 503 })
    expect(await timed('GET', '/health/live')).toMatchObject({ status: 200 })
    await server.resume()
    await expect
      .poll(async () => JSON.parse((await timed('GET', '/health')).body), { timeout: 5_000 })
      .toMatchObject({ status: 'ok', services: { database: 'ok' } })
    expect(await timed('GET', '/health/ready')).toMatchObject({ status: 200 })
  })
})
