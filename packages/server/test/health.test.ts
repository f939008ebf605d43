import { describe, expect, it } from 'vitest'
import { writerOf } from '../../core/test/storage/writer-of.ts'
import { openWorld, useWorld } from './world.ts'

describe('while the service is healthy', () => {
  const world = useWorld({ dispatch: true })

  it('GET /health is ok, without the envelope', async () => {
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

  it('ignores credentials and the query', async () => {
    const answer = await world().call('GET', '/health?limit=0&x=%00', {
      key: 'svc_nonsense',
      token: 'nonsense',
    })
    expect(answer.status).toBe(200)
  })
})

describe('while dispatch is stopped', () => {
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

  it('GET /health is degraded, still 200, and does not show the cause', async () => {
    const { status, body, text } = await world().call('GET', '/health')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'degraded',
      services: { database: 'error', cache: 'ok', queue: 'ok' },
    })
    expect(text).not.toContain('fire')
  })

  it('GET /health/live is 200, because a restart would not help', async () => {
    expect((await world().call('GET', '/health/live')).status).toBe(200)
  })

  it('GET /health/ready is 503, without a fault in the log', async () => {
    const { status, body } = await world().call('GET', '/health/ready')
    expect([status, body]).toStrictEqual([503, { status: 'error' }])
  })
})

it('a database that accepts no writes is an error, although it answers', async () => {
  const { opened: world, writer } = await writerOf(() => openWorld())
  const { key } = await world.key(await world.signup({ credits: 10 }))
  const healthOf = async () => {
    const { status, body } = await world.call('GET', '/health')
    return [status, body.status, body.services.database]
  }
  expect(await healthOf()).toStrictEqual([200, 'degraded', 'ok'])
  // No page can be added to the file.
  writer.pragma('max_page_count = 1')
  const mail = { subject: 'Long', text: 'x'.repeat(100_000) }
  const sent = await world.send(key, { channel: 'email', to: 'a@sandbox.svc', content: mail })
  expect(sent.status).toBe(500)
  expect(await healthOf()).toStrictEqual([200, 'degraded', 'error'])
  const ready = await world.call('GET', '/health/ready')
  expect([ready.status, ready.body]).toStrictEqual([503, { status: 'error' }])
  writer.pragma('max_page_count = 1000000')
  world.takeFaults()
  await world.close()
})

describe('while SQLite cannot write its log back', () => {
  const world = useWorld({
    dispatch: true,
    alter: (core) => ({ ...core, databaseFault: () => 'SQLITE_IOERR_WRITE' }),
  })

  it('GET /health is degraded and names the fault, without the code', async () => {
    const { status, body } = await world().call('GET', '/health')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      status: 'degraded',
      services: { database: 'checkpoint_error', cache: 'ok', queue: 'ok' },
    })
  })

  it('GET /health/ready is 200: requests are accepted', async () => {
    expect((await world().call('GET', '/health/ready')).status).toBe(200)
  })
})

it('a database that hangs counts as an error after two seconds', async () => {
  const world = await openWorld({
    alter: (core) => ({ ...core, ping: () => new Promise<never>(() => {}) }),
  })
  const { body } = await world.call('GET', '/health')
  expect(body.services.database).toBe('error')
  await world.close()
})
