import { describe, expect, it } from 'vitest'
import { openWorld, useWorld } from './world.ts'

describe('while all is well', () => {
  const world = useWorld({ dispatch: true })

  it('GET /health says so, without the envelope', async () => {
    const { status, body } = await world().call('GET', '/health')
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      status: 'ok',
      timestamp: '2026-05-04T09:00:00.000Z',
      services: { database: 'ok', cache: 'ok', queue: 'ok' },
    })
  })

  it.each(['/health/live', '/health/ready'])('GET %s is 200', async (path) => {
    const { status, body } = await world().call('GET', path)
    expect([status, body]).toStrictEqual([200, { status: 'ok' }])
  })

  it('looks at no credential and no query', async () => {
    const answer = await world().call('GET', '/health?limit=0&x=%00', {
      key: 'svc_nonsense',
      token: 'nonsense',
    })
    expect(answer.status).toBe(200)
  })
})

describe('while nothing is dispatched', () => {
  const world = useWorld()

  it('GET /health is degraded, and still 200', async () => {
    const { status, body } = await world().call('GET', '/health')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'degraded',
      services: { database: 'ok', cache: 'ok', queue: 'stopped' },
    })
  })

  it('GET /health/ready is 200: requests are accepted', async () => {
    expect((await world().call('GET', '/health/ready')).status).toBe(200)
  })
})

describe('while the database does not answer', () => {
  const world = useWorld({
    dispatch: true,
    alter: (core) => ({ ...core, ping: () => Promise.reject(new Error('disk on fire')) }),
  })

  it('GET /health is degraded, still 200, and keeps the cause to itself', async () => {
    const { status, body, text } = await world().call('GET', '/health')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'degraded',
      services: { database: 'error', cache: 'ok', queue: 'ok' },
    })
    expect(text).not.toContain('fire')
  })

  it('GET /health/live is 200: starting again mends no disk', async () => {
    expect((await world().call('GET', '/health/live')).status).toBe(200)
  })

  it('GET /health/ready is 503, and no fault of the log', async () => {
    const { status, body } = await world().call('GET', '/health/ready')
    expect([status, body]).toStrictEqual([503, { status: 'error' }])
  })
})

it('a database that hangs counts as down after two seconds', async () => {
  const world = await openWorld({
    alter: (core) => ({ ...core, ping: () => new Promise<never>(() => {}) }),
  })
  const began = performance.now()
  const { body } = await world.call('GET', '/health')
  expect(performance.now() - began).toBeLessThan(4_000)
  expect(body.services.database).toBe('error')
  await world.close()
})
