import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig, startServer } from '../../src/index.ts'
import { serveMetrics } from '../../src/metrics/metrics-server.ts'
import { overviewMetrics } from '../../src/metrics/overview-metrics.ts'
import { requestText, speak } from '../raw-http.ts'
import { nonZero, readExposition } from './exposition.ts'
import { openServed, type Served } from './served.ts'

describe('the address of the metrics', () => {
  let served: Served
  beforeAll(async () => {
    served = await openServed()
  })
  afterAll(() => served.close())

  it('serves the text format at /metrics, and a hint at /', async () => {
    const metrics = await fetch(served.metricsUrl)
    expect(metrics.status).toBe(200)
    expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(readExposition(await metrics.text()).samples.length).toBeGreaterThan(300)
    const index = await fetch(new URL('/', served.metricsUrl))
    expect(await index.text()).toContain('/metrics')
  })

  it.each([
    ['GET', '/api/v1/health'],
    ['GET', '/health'],
    ['GET', '/metrics/'],
    ['GET', '//metrics'],
    ['GET', '/%6detrics'],
    ['POST', '/metrics'],
    ['DELETE', '/'],
    ['GET', '/docs'],
  ])('answers 404 to %s %s', async (method, path) => {
    const { origin } = new URL(served.metricsUrl)
    expect((await fetch(`${origin}${path}`, { method })).status).toBe(404)
  })

  it('is the only address that serves the metrics', async () => {
    const headers = { 'x-api-key': served.api_key }
    for (const path of ['/metrics', '/api/v1/metrics', '/health/metrics']) {
      expect((await fetch(`${served.base_url}${path}`, { headers })).status).toBe(404)
    }
  })

  it('closes the connection of a client that sends too large a request', async () => {
    const long = requestText('GET /metrics HTTP/1.1', [`x-long: ${'x'.repeat(20_000)}`])
    const { statuses } = await speak(served.metricsUrl, (socket) => socket.write(long))
    expect(statuses).toEqual([431])
  })
})

it('counts hostile requests in at most one series for each route', async () => {
  const served = await openServed({
    SVC_RATE_LIMIT_GENERAL: '100000/60',
    SVC_RATE_LIMIT_ANONYMOUS: '100000/60',
  })
  try {
    const request = (line: string) => {
      const text = requestText(`${line} HTTP/1.1`, [`x-api-key: ${served.api_key}`])
      return speak(served.base_url, (socket) => socket.write(text))
    }
    const paths = [
      '/api/v1/messages/"}%0Asvc_fake{x="1',
      '/%22%7D%0A',
      '/metrics{le="1"}',
      '/api/v1/messages/+14155552671',
      `/${'x'.repeat(4_000)}`,
      ...Array.from({ length: 60 }, (_, i) => `/api/v1/messages/${i}-of-unknown`),
      ...Array.from({ length: 60 }, (_, i) => `/no/such/route/${i}`),
    ]
    for (const path of paths) await request(`GET ${path}`)
    for (const method of ['PROPFIND', 'PURGE', 'M-SEARCH', 'TRACE']) await request(`${method} /x`)
    const counts = nonZero(readExposition(await served.scrape()), 'svc_http_requests_total')
    const { 'GET /api/v1/messages/:id 404': unknown = 0, 'none none 404': nowhere = 0 } = counts
    expect(unknown).toBeGreaterThanOrEqual(61)
    expect(nowhere).toBeGreaterThanOrEqual(66)
    expect(Object.keys(counts).length).toBeLessThanOrEqual(6)
  } finally {
    await served.close()
  }
})

describe('an address that the server cannot listen on', () => {
  const settings = (folder: string, listen: string) =>
    readConfig({
      PORT: '0',
      SVC_DATA_DIR: folder,
      SVC_LOG_LEVEL: 'silent',
      SVC_METRICS_LISTEN: listen,
    })

  it('is reported in one line, and the database is free for the next server', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-metrics-'))
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    try {
      await expect(
        startServer({ config: settings(folder, `127.0.0.1:${port}`) }),
      ).rejects.toMatchObject({
        name: 'ConfigError',
        message: `SVC_METRICS_LISTEN: cannot listen on 127.0.0.1:${port}: the address is taken`,
      })
      const server = await startServer({ config: settings(folder, '127.0.0.1:0') })
      await server.close()
    } finally {
      taken.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it.each([
    '9464',
    '127.0.0.1',
    ':9464',
    '127.0.0.1:70000',
    '::1:9464',
    '[unknown]:1',
    'http://a:1',
  ])('is refused when it is invalid: %s', (listen) => {
    expect(() => settings('.', listen)).toThrow(
      'SVC_METRICS_LISTEN must be host:port, for example 127.0.0.1:9464',
    )
  })

  it('may be an IPv6 address or a host name', () => {
    expect(settings('.', '[::1]:9464').metrics_listen).toEqual({ host: '::1', port: 9464 })
    expect(settings('.', 'localhost:0').metrics_listen).toEqual({ host: 'localhost', port: 0 })
    expect(readConfig({}).metrics_listen).toBeNull()
  })
})

describe('a database that does not answer', () => {
  const silent = () => new Promise<never>(() => {})

  async function scrapeOf(overview: () => Promise<never>) {
    const registry = new Registry()
    const queries = { times: 0 }
    const metrics = overviewMetrics(registry, {
      overviews: {
        overview: () => {
          queries.times += 1
          return overview()
        },
        troubles: silent,
        queues: silent,
      },
      providers: { status: async () => [] } as never,
    })
    return {
      queries,
      registry,
      refresh: metrics.refresh,
      async up() {
        await metrics.refresh()
        return readExposition(await registry.metrics())
      },
    }
  }

  it.each([
    ['fails', () => Promise.reject(new Error('down'))],
    ['hangs', silent],
  ])('has only svc_database_up in a scrape when it %s', async (_, overview) => {
    const { up } = await scrapeOf(overview)
    expect((await up()).samples).toEqual([{ name: 'svc_database_up', labels: {}, value: 0 }])
  })

  it('gets one query for several scrapes while it hangs', async () => {
    const { refresh, queries } = await scrapeOf(silent)
    await Promise.all([refresh(), refresh(), refresh()])
    await refresh()
    expect(queries.times).toBe(1)
  })

  it('is shown again after it recovers', async () => {
    const served = await openServed()
    try {
      const registry = new Registry()
      let isDown = true
      const { overview } = served.core.overviews
      const { refresh } = overviewMetrics(registry, {
        ...served.core,
        overviews: {
          ...served.core.overviews,
          overview: () => (isDown ? Promise.reject(new Error('down')) : overview()),
        },
      })
      await refresh()
      isDown = false
      await refresh()
      expect(nonZero(readExposition(await registry.metrics()), 'svc_database_up')).toEqual({
        '': 1,
      })
    } finally {
      await served.close()
    }
  })
})

it('closes the connection of a client that does not read', async () => {
  // More than the system's buffers hold.
  const text = 'x'.repeat(32 * 1024 * 1024)
  const { port, close } = await serveMetrics(
    { host: '127.0.0.1', port: 0 },
    { type: 'text/plain', scrape: async () => text, idle_max_ms: 300 },
  )
  const cut = new Promise<void>((resolve) => {
    subscribe('net.server.socket', function accepted(given) {
      unsubscribe('net.server.socket', accepted)
      const { socket } = given as { socket: Socket }
      socket.once('close', () => resolve())
    })
  })
  try {
    let read = 0
    await speak(
      `http://127.0.0.1:${port}`,
      (socket) => {
        socket.pause()
        socket.write(requestText('GET /metrics HTTP/1.1'))
        cut.then(() => socket.resume())
        socket.on('data', (chunk) => {
          read += chunk.length
        })
      },
      { max_ms: 20_000 },
    )
    expect(read).toBeLessThan(text.length)
  } finally {
    await close()
  }
}, 30_000)

it('answers concurrent scrapes with one reading, and a failed reading with 500', async () => {
  let readings = 0
  let isBroken = false
  let requests = 0
  let allAreHere = () => {}
  const here = new Promise<void>((resolve) => {
    allAreHere = resolve
  })
  const arrived = () => {
    requests += 1
    if (requests === 3) allAreHere()
  }
  subscribe('http.server.request.start', arrived)
  const { port, close } = await serveMetrics(
    { host: '127.0.0.1', port: 0 },
    {
      type: 'text/plain',
      async scrape() {
        readings += 1
        await here
        if (isBroken) throw new Error('/secret/path')
        return 'up 1\n'
      },
    },
  )
  const request = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`)
    return `${response.status} ${await response.text()}`
  }
  try {
    expect(await Promise.all([request(), request(), request()])).toEqual(
      Array(3).fill('200 up 1\n'),
    )
    expect(readings).toBe(1)
    isBroken = true
    expect(await request()).toBe('500 the metrics could not be read\n')
  } finally {
    unsubscribe('http.server.request.start', arrived)
    await close()
  }
})
