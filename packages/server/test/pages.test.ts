import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { api, openapi } from '@svc/core/contract'
import { describe, expect, it } from 'vitest'
import { PAGE_CSP, packageFile } from '../src/pages/page.ts'
import { openWorld, useWorld } from './world.ts'

const FILES = ['/docs', '/docs/docs.css', '/docs/docs.js', '/openapi.json']

const world = useWorld()

const get = (url: string, headers: Record<string, string> = {}) =>
  world().app.inject({ method: 'GET', url, headers })

describe.each(FILES)('%s', (path) => {
  it('is served with the headers of every answer, and a policy that allows only its own scripts', async () => {
    const { statusCode, headers } = await get(path)
    expect(statusCode).toBe(200)
    for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']) {
      expect(headers[name], name).toMatch(/^\d+$/)
    }
    expect(headers['x-request-id']).toBeTruthy()
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['cross-origin-resource-policy']).toBe('same-origin')
    expect(headers['referrer-policy']).toBe('no-referrer')
    expect(headers['content-security-policy']).toBe(PAGE_CSP)
    expect(PAGE_CSP).not.toContain('unsafe')
  })

  it('is revalidated before each use, and sent again only after a change', async () => {
    const first = await get(path)
    expect(first.headers['cache-control']).toBe('no-cache')
    const again = await get(path, { 'if-none-match': String(first.headers.etag) })
    expect([again.statusCode, again.body]).toStrictEqual([304, ''])
    const other = await get(path, { 'if-none-match': '"of another version"' })
    expect([other.statusCode, other.body]).toStrictEqual([200, first.body])
  })

  it('reads a list of tags in time proportional to its length', async () => {
    const { etag } = (await get(path)).headers
    const listed = await get(path, { 'if-none-match': `"a" ,\t${etag} , "b"` })
    expect(listed.statusCode).toBe(304)
    // 15 KB of spaces cost 100 times as much as letters when a regular expression split the list.
    const cost = async (header: string) => {
      const began = performance.now()
      await get(path, { 'if-none-match': `${header}${etag}` })
      return performance.now() - began
    }
    const letters: number[] = []
    const spaces: number[] = []
    for (let i = 0; i < 5; i++) {
      letters.push(await cost('x'.repeat(15_000)))
      spaces.push(await cost(' '.repeat(15_000)))
    }
    expect(Math.min(...spaces) / Math.min(...letters)).toBeLessThan(20)
  })

  it('is compressed for clients that accept it', async () => {
    const plain = await get(path)
    const { rawPayload, headers } = await get(path, { 'accept-encoding': 'br, gzip' })
    const isLong = plain.rawPayload.length >= 1_400
    expect(headers['content-encoding']).toBe(isLong ? 'gzip' : undefined)
    expect((isLong ? gunzipSync(rawPayload) : rawPayload).equals(plain.rawPayload)).toBe(true)
  })

  it('answers only reads', async () => {
    for (const method of ['POST', 'PUT', 'DELETE'] as const) {
      expect((await world().app.inject({ method, url: path })).statusCode).toBe(404)
    }
  })
})

it('serves the OpenAPI document of the contract, with the version of the package', async () => {
  const manifest = readFileSync(packageFile('@svc/server', 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  const { headers, body } = await get('/openapi.json')
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  expect(JSON.parse(body)).toStrictEqual(openapi(api, { version, url: 'http://127.0.0.1:3000' }))
})

describe('404', () => {
  it.each([
    '/docs/',
    '/docs/package.json',
    '/docs/index.html',
    '/docs/../package.json',
    '/docs/../src/app.ts',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/%2e%2e%2f%2e%2e%2fpackage.json',
    '/docs/..%5cpackage.json',
    '/docs/docs.js/../../package.json',
    '/docs/docs.js%00.html',
    '/docs//etc/passwd',
    '/docs/docs.js.map',
    '/dev',
    '/console/api/dev/mails',
  ])('is the answer to %s', async (path) => {
    const { statusCode, body } = await get(path)
    expect(statusCode).toBe(404)
    expect(JSON.parse(body)).toStrictEqual({
      success: false,
      error: 'not_found',
      message: 'Route not found',
    })
  })
})

describe('429', () => {
  it('counts a page as any request without a credential', async () => {
    const narrow = await openWorld({ rates: { anonymous: { max: 2, window_s: 60 } } })
    try {
      const statuses = []
      for (const url of ['/docs', '/docs/docs.js', '/openapi.json']) {
        statuses.push((await narrow.app.inject({ method: 'GET', url })).statusCode)
      }
      expect(statuses).toStrictEqual([200, 200, 429])
    } finally {
      await narrow.close()
    }
  })
})
