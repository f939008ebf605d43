import { readFileSync } from 'node:fs'
import { request as plainRequest, type RequestOptions } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Nginx, nginxMissing, SHIPPED, startNginx } from './nginx.ts'
import { openWorld } from './world.ts'

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

/** Requests from a chosen loopback address, so that several clients use one proxy. */
function requestFrom(
  url: string,
  { from, body = '', ...options }: RequestOptions & { from?: string; body?: string | Buffer } = {},
): Promise<Answer> {
  const request = url.startsWith('https:') ? tlsRequest : plainRequest
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, localAddress: from, ...options })
    outgoing.once('error', reject).once('response', (response) => {
      const chunks: Buffer[] = []
      response
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .once('end', () => {
          const { statusCode = 0, headers } = response
          resolve({ status: statusCode, headers, body: Buffer.concat(chunks).toString('utf8') })
        })
    })
    outgoing.end(body)
  })
}

it('the shipped configuration logs no query string, in any of its servers', () => {
  const [before = '', ...servers] = readFileSync(SHIPPED, 'utf8').split(/^server \{$/m)
  const variables = /^log_format svc (.*?);$/ms.exec(before)?.[1]?.match(/\$\w+/g) ?? []
  expect(variables).toContain('$uri')
  for (const name of ['$request', '$request_uri', '$args', '$query_string', '$http_referer']) {
    expect(variables).not.toContain(name)
  }
  expect(servers).toHaveLength(2)
  for (const server of servers) {
    expect(server.match(/access_log .*;/g)).toEqual(['access_log /var/log/nginx/access.log svc;'])
    expect(server.match(/error_log .*;/g)).toEqual(['error_log /var/log/nginx/error.log crit;'])
  }
})

describe.runIf(nginxMissing === null)(
  nginxMissing === null ? 'behind nginx as shipped' : `behind nginx: not tried, ${nginxMissing}`,
  () => {
    let world: Awaited<ReturnType<typeof openWorld>>
    let nginx: Nginx
    let key: string
    beforeAll(async () => {
      world = await openWorld({
        listen: true,
        trust_proxy: ['127.0.0.1/32'],
        rates: { anonymous: { max: 3, window_s: 60 } },
      })
      nginx = await startNginx(world.url)
      key = (await world.key(await world.signup({ credits: 100 }))).key
    })
    afterAll(async () => {
      await nginx?.stop()
      await world?.close()
    })
    const send = (text: string, headers = {}) =>
      requestFrom(`${nginx.url}/api/v1/messages/send`, {
        method: 'POST',
        ca: nginx.ca,
        headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ channel: 'sms', to: '+15005550006', content: { text } }),
      } as RequestOptions)

    it('sends over TLS, and passes on the rate headers and the request id', async () => {
      const { status, headers, body } = await send('Grüße, 世界')
      expect(status).toBe(201)
      expect(JSON.parse(body).data.status).toBe('queued')
      expect(headers).toMatchObject({
        'x-ratelimit-limit': expect.any(String),
        'x-request-id': expect.any(String),
        'strict-transport-security': 'max-age=31536000',
      })
    })

    it('logs each request, without its query string', async () => {
      for (const url of [nginx.url, nginx.plain_url]) {
        await requestFrom(`${url}/reset-password?token=canary`, {
          ca: nginx.ca,
          headers: { referer: 'https://example.com/?token=canary' },
        } as RequestOptions)
      }
      await expect.poll(() => nginx.logged().match(/GET \/reset-password HTTP/g)?.length).toBe(2)
      expect(nginx.logged()).not.toContain('canary')
    })

    it('redirects plain http to https', async () => {
      const { status, headers } = await requestFrom(`${nginx.plain_url}/docs`)
      expect([status, headers.location]).toEqual([301, 'https://127.0.0.1/docs'])
    })

    it('counts each client by its own address, not by its headers', async () => {
      const knock = async (from: string, claimed?: string) =>
        (
          await requestFrom(`${nginx.url}/nothing`, {
            from,
            ca: nginx.ca,
            headers: claimed ? { 'x-forwarded-for': claimed } : {},
          } as RequestOptions & { from: string })
        ).status
      expect([
        await knock('127.0.0.2'),
        await knock('127.0.0.2', '198.51.100.7'),
        await knock('127.0.0.2', '127.0.0.1'),
        await knock('127.0.0.2', '203.0.113.9, 127.0.0.1'),
      ]).toEqual([404, 404, 404, 429])
      expect(await knock('127.0.0.3')).toBe(404)
    })

    it('lets the service refuse a body that is too large', async () => {
      const { status, body } = await send('x'.repeat(4_300_000))
      expect(status).toBe(400)
      expect(JSON.parse(body)).toMatchObject({ success: false, error: 'validation_error' })
    })

    it('repeats no send', async () => {
      const headers = { 'idempotency-key': 'behind-nginx' }
      const [first, again] = [await send('once', headers), await send('once', headers)]
      expect(again.headers['idempotent-replayed']).toBe('true')
      expect(JSON.parse(again.body).data).toEqual(JSON.parse(first.body).data)
    })
  },
)
