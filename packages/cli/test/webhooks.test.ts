import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { sign, verify } from '@svc/core/webhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { type Running, start, svc } from './svc.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='

let server: DevServer

beforeAll(async () => {
  server = await startDevServer()
})

afterAll(() => server.close())

async function webhooksOf({ url, api_key }: DevServer): Promise<object[]> {
  const response = await fetch(`${url}/api/v1/webhooks`, { headers: { 'x-api-key': api_key } })
  return ((await response.json()) as { data: { webhooks: object[] } }).data.webhooks
}

function send(to: string) {
  return svc(['send', '--to', to, '--text', 'Hello'], server.here)
}

async function urlOf(listen: Running): Promise<string> {
  const [, url = ''] = await listen.until(/(http:\/\/127\.0\.0\.1:\d+\/)/)
  return url
}

/** Delivers an event without the service, signed with `key`. */
function deliver(url: string, key: string, data: object = {}, method = 'POST') {
  const body = JSON.stringify({ event: 'message.delivered', data })
  const ids = { event_id: 'evt_1', delivery_id: 'dlv_1', attempt: 3 }
  const headers = sign({ secret: key, body, event: 'message.delivered', at: new Date(), ...ids })
  return fetch(url, { method, headers, ...(method === 'POST' && { body }) })
}

describe('svc webhooks listen', () => {
  test('registers, verifies, prints a line for each event, and removes the webhook', async () => {
    const events = 'message.sent,message.delivered,message.failed'
    const listen = start(['webhooks', 'listen', '--events', events], server.here)
    const url = await urlOf(listen)
    expect(await webhooksOf(server)).toMatchObject([{ url, events: events.split(',') }])

    await send('+15005550006')
    await listen.until(/^✓ verified message\.sent \+15005550006 sequence 1$/m)
    await listen.until(/^✓ verified message\.delivered \+15005550006 sequence 2$/m)
    await send('+15005550007')
    await listen.until(/^✓ verified message\.failed \+15005550007 undelivered sequence 2$/m)

    const { code, stderr } = await listen.stop()
    expect(code).toBe(0)
    expect(stderr).toMatch(/^Listening on \S+, secret whsec_\S+\. Stop with Ctrl-C\.\n/)
    expect(stderr).toContain('The webhook is removed.')
    expect(await webhooksOf(server)).toEqual([])
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  })

  test('--json prints one document a line, the first with the secret', async () => {
    const listen = start(['webhooks', 'listen', '--json'], server.here)
    await listen.until(/"listening"/)
    await send('+15005550006')
    await listen.until(/message\.delivered/)
    const { stdout } = await listen.stop()
    const documents = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(documents[0]).toEqual({
      listening: {
        url: expect.stringMatching(/^http:/),
        webhook_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        secret: expect.stringMatching(/^whsec_/),
      },
    })
    expect(documents).toContainEqual({
      verified: true,
      reason: null,
      event: 'message.delivered',
      delivery_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      attempt: 1,
      forwarded: null,
      body: { event: 'message.delivered', data: expect.objectContaining({ status: 'delivered' }) },
    })
  })

  test('refuses a key without manage_webhooks, and stops listening', async () => {
    const argv = ['keys', 'create', '--name', 'x', '--scopes', 'read_messages', '--json']
    const { key } = JSON.parse((await svc(argv, server.here)).stdout) as { key: string }
    const { code, stderr } = await svc(['webhooks', 'listen', '--key', key], server.here)
    expect(code).toBe(1)
    expect(stderr).toBe('svc: API key does not have required scope: manage_webhooks\n')
  })

  test.each([
    [['--events', 'message.exploded'], /there is no event message\.exploded: choose from \*, /],
    [['--port', 'x'], /--port must be a number from 0 to 65535/],
    [['--forward-to', 'localhost:1'], /--forward-to must be an http or https address/],
    [['--no-register'], /--no-register needs --secret/],
    [['--secret', secret], /--secret is for --no-register/],
  ])('exits with 2 for %s', async (argv, text) => {
    const { code, stdout, stderr } = await svc(['webhooks', 'listen', ...argv], server.here)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(text)
  })
})

describe('svc webhooks listen --no-register', () => {
  test('reports a delivery that does not verify, and answers 403', async () => {
    const listen = start(['webhooks', 'listen', '--no-register', '--secret', secret])
    const url = await urlOf(listen)
    expect((await deliver(url, secret, { recipient: '+12\u001b[2J' })).status).toBe(200)
    await listen.until(/^✓ verified message\.delivered \+12\\u001b\[2J attempt 3$/m)
    expect((await deliver(url, 'whsec_dGVzdA==')).status).toBe(403)
    await listen.until(
      /^✗ not verified \(signature_mismatch\) message\.delivered: Check the secret/m,
    )
    expect((await deliver(url, secret, {}, 'GET')).status).toBe(405)
    expect((await listen.stop()).code).toBe(0)
  })

  test('reports a port in use in one line', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as AddressInfo
    const argv = ['webhooks', 'listen', '--no-register', '--secret', secret, '--port', String(port)]
    const { code, stderr } = await svc(argv)
    taken.close()
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `svc: port ${port} is in use: stop the program that uses it, or choose another port\n`,
    })
  })
})

describe('svc webhooks listen --forward-to', () => {
  let app: Server
  let url: string
  const seen: { headers: IncomingHttpHeaders; body: Buffer }[] = []

  beforeAll(async () => {
    app = createServer(async (request, response) => {
      seen.push({ headers: request.headers, body: await buffer(request) })
      response.writeHead(422).end()
    })
    await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/hooks`
  })

  afterAll(() => {
    app.closeAllConnections()
    app.close()
  })

  function listenTo(target: string): Running {
    const argv = ['webhooks', 'listen', '--no-register', '--secret', secret, '--forward-to', target]
    return start(argv)
  }

  test('forwards the same bytes, and returns the status of the target', async () => {
    const listen = listenTo(url)
    expect((await deliver(await urlOf(listen), secret, { sequence: 1 })).status).toBe(422)
    await listen.until(/✓ verified message\.delivered sequence 1 attempt 3 → 422$/m)
    expect(seen).toHaveLength(1)
    const [{ headers, body } = { headers: {}, body: '' }] = seen
    expect(verify({ secret, headers, body })).toMatchObject({ ok: true, scheme: 'standard' })
    await listen.stop()
  })

  test('does not forward a delivery that does not verify', async () => {
    seen.length = 0
    const listen = listenTo(url)
    expect((await deliver(await urlOf(listen), 'whsec_dGVzdA==')).status).toBe(403)
    expect(seen).toEqual([])
    await listen.stop()
  })

  test('answers 502 when the target does not answer, so that the service retries', async () => {
    const listen = listenTo('http://127.0.0.1:9/')
    expect((await deliver(await urlOf(listen), secret)).status).toBe(502)
    await listen.until(/→ 502: no answer$/m)
    await listen.stop()
  })
})
