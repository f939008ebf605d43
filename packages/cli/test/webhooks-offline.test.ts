import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { sign, verify } from '@svc/core/webhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, start, svc, svcJson } from './svc.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='
const folder = newFolder()
const cwd = folder.path
const env = { SVC_WEBHOOK_SECRET: secret }
const seen: { headers: IncomingHttpHeaders; body: string }[] = []

let app: Server
let url: string
let isTrusting = false
let isRepeating = false
const handled = new Map<string, number>()

/** A receiver that verifies (except with `isTrusting`), handles an event once (except with `isRepeating`), and counts. */
beforeAll(async () => {
  app = createServer(async (request, response) => {
    const [, queried] = /^\/handled\?id=(.*)$/.exec(request.url ?? '') ?? []
    if (queried !== undefined)
      return response.end(String(handled.get(decodeURIComponent(queried)) ?? 0))
    const body = await buffer(request)
    const { headers } = request
    const isVerified = isTrusting || verify({ secret, headers, body }).ok
    seen.push({ headers, body: body.toString('utf8') })
    const id = String(headers['webhook-id'])
    const times = handled.get(id) ?? 0
    if (isVerified && (times === 0 || isRepeating)) handled.set(id, times + 1)
    response.writeHead(isVerified ? 200 : 403).end(isVerified ? '' : 'no,\nit is forged')
  })
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/hooks`
})

beforeEach(() => {
  seen.length = 0
  isTrusting = false
  isRepeating = false
})

afterAll(() => {
  app.closeAllConnections()
  app.close()
  folder.remove()
})

describe('svc webhooks trigger', () => {
  const trigger = (...argv: string[]) => svc(['webhooks', 'trigger', ...argv], { env })

  test('posts a signed event with the fields of --override', async () => {
    const options = [
      '--override',
      'data.recipient=+15550100',
      '--override',
      'data.metadata.order_id=A2',
    ]
    const { code, stdout, stderr } = await trigger('message.failed', '--to', url, ...options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^message\.failed\t[0-9a-f-]{36}\t200\t\d+ ms\n$/)
    expect(JSON.parse(seen[0]?.body ?? '')).toMatchObject({
      event: 'message.failed',
      data: { recipient: '+15550100', status: 'failed', metadata: { order_id: 'A2' } },
    })
  })

  test('--count posts that many events, each with its own id', async () => {
    const { code, stdout } = await trigger('credits.low', '--to', url, '--count', '3', '--json')
    expect(code).toBe(0)
    const documents = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event_id: string })
    expect(documents).toHaveLength(3)
    expect(documents[0]).toEqual({
      event: 'credits.low',
      event_id: expect.any(String),
      status: 200,
      error: null,
      duration_ms: expect.any(Number),
      body: '',
    })
    expect(new Set(seen.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set(documents.map(({ event_id }) => event_id)),
    )
    expect(new Set(documents.map(({ event_id }) => event_id)).size).toBe(3)
  })

  test('fails when the receiver does not acknowledge', async () => {
    const options = ['--to', url, '--secret', 'whsec_dGVzdA==']
    expect(await trigger('message.sent', ...options)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('\t403\t'),
      stderr: 'Answer: no,\\nit is forged\nsvc: 1 of 1 were not acknowledged\n',
    })
  })

  test('--mutate expects a refusal, and fails when the event is accepted', async () => {
    const options = ['message.sent', '--to', url, '--mutate', 'flipped_byte']
    expect((await trigger(...options)).code).toBe(0)
    isTrusting = true
    expect(await trigger(...options)).toMatchObject({
      code: 1,
      stderr: 'svc: 1 of 1 were accepted, although invalid (flipped_byte)\n',
    })
  })

  test('reports a receiver that does not answer', async () => {
    const { code, stderr } = await trigger(
      'message.sent',
      '--to',
      'http://127.0.0.1:9/',
      '--count',
      '9',
    )
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: 'svc: http://127.0.0.1:9/ cannot be reached: is the receiver running?\n',
    })
  })

  test.each([
    [['message.exploded'], /there is no event message\.exploded: choose from message\.sent, /],
    [['message.sent', '--mutate', 'x'], /there is no mutation x: choose from wrong_secret, /],
    [['message.sent', '--count', '0'], /--count must be a number from 1 to 1000, got "0"/],
    [['message.sent', '--secret', 'whsec_'], /the secret is invalid\. Give the secret that was/],
    [['message.sent', '--override', 'x=1'], /--override must be data\.field=value, got "x=1"/],
    [['message.sent', '--to', 'localhost:1'], /--to must be an http or https address/],
  ])('exits with 2 for %s', async (argv, text) => {
    const { code, stdout, stderr } = await trigger('--to', url, ...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(text)
    expect((await svc(['webhooks', 'trigger', 'message.sent', '--to', url])).stderr).toMatch(
      /give the secret/,
    )
  })
})

describe('svc webhooks sign', () => {
  const body = '{"event":"message.sent","data":{"message_id":"1"}}'

  test('prints headers that svc webhooks verify accepts', async () => {
    writeFileSync(join(cwd, 'body.json'), body)
    const signed = await svc(['webhooks', 'sign', '--body', '@body.json'], { env, cwd })
    expect(signed).toMatchObject({ code: 0, stderr: '' })
    expect(signed.stdout).toMatch(/^X-Svc-Event: message\.sent\nX-Svc-Signature: [0-9a-f]{64}\n/)
    writeFileSync(join(cwd, 'headers.txt'), signed.stdout)
    const argv = ['webhooks', 'verify', '--headers', 'headers.txt', '--body', '@body.json']
    const verified = await svc(argv, { env, cwd })
    expect(verified.stdout).toMatch(/^✓ verified message\.sent by webhook-signature/)
    expect((await svc([...argv, '--secret', 'whsec_dGVzdA=='], { env, cwd })).code).toBe(1)
  })

  test('accepts ids, and prints JSON', async () => {
    const argv = ['webhooks', 'sign', '--id', 'evt_1', '--attempt', '3', '--event', 'credits.low']
    const text = '{"balance":1}'
    const headers = await svcJson<Record<string, string>>(argv, { env, stdin: text })
    expect(headers).toMatchObject({
      'X-Svc-Event': 'credits.low',
      'X-Svc-Attempt': '3',
      'webhook-id': 'evt_1',
    })
    expect(verify({ secret, body: text, headers }).ok).toBe(true)
  })

  test.each([
    [['--body', 'text'], /the body has no event: give it with --event/],
    [['--body', body, '--attempt', '0'], /--attempt must be a number, 1 or higher/],
    [['--body', body, '--secret', 'whsec_'], /Give the secret that was shown/],
  ])('exits with 2 for %s', async (argv, text) => {
    const { code, stderr } = await svc(['webhooks', 'sign', ...argv], { env })
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
  })
})

describe('svc webhooks replay of a file', () => {
  const ids = { event_id: 'evt_1', delivery_id: 'dlv_1', attempt: 2 }
  const body = '{"event":"message.sent","data":{"text":"zażółć"}}'
  const replay = (...argv: string[]) => svc(['webhooks', 'replay', ...argv], { cwd })

  function deliver(to: string, key: string) {
    const headers = sign({ secret: key, body, event: 'message.sent', at: new Date(), ...ids })
    return fetch(to, { method: 'POST', headers, body })
  }

  test('posts the verified deliveries of listen --save unchanged', async () => {
    const argv = ['webhooks', 'listen', '--no-register', '--print-secret', '--save', 'tape.jsonl']
    const listen = start(argv, { env, cwd })
    const [, to = ''] = await listen.until(/(http:\/\/127\.0\.0\.1:\d+\/)/)
    await deliver(to, secret)
    await deliver(to, 'whsec_dGVzdA==')
    const { stdout } = await listen.stop()
    expect(stdout.split('\n')[0]).toBe(secret)
    expect(readFileSync(join(cwd, 'tape.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1)

    const again = await replay('tape.jsonl', '--to', url)
    expect(again).toEqual({ code: 0, stdout: 'message.sent\tdlv_1\t200\n', stderr: '' })
    expect(seen).toMatchObject([{ body, headers: { 'webhook-id': 'evt_1', 'x-svc-attempt': '2' } }])
  })

  test('signs an old delivery again with --secret', async () => {
    const at = new Date(Date.now() - 3_600_000)
    const headers = sign({ secret, body, event: 'message.sent', at, ...ids })
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    writeFileSync(
      join(cwd, 'old.jsonl'),
      `${JSON.stringify({ received_at: at, headers: lower, body })}\n\n`,
    )
    expect(await replay('old.jsonl', '--to', url)).toMatchObject({
      code: 1,
      stderr: 'svc: 1 of 1 were not acknowledged\n',
    })
    const again = await svcJson(
      ['webhooks', 'replay', 'old.jsonl', '--to', url, '--secret', secret],
      { cwd },
    )
    expect(again).toEqual({ event: 'message.sent', delivery_id: 'dlv_1', status: 200 })
    expect(seen.at(-1)?.headers['webhook-id']).toBe('evt_1')
  })

  test('reports a receiver that does not answer', async () => {
    const recording = { received_at: '', headers: { 'x-svc-event': 'message.sent' }, body: '{}' }
    writeFileSync(join(cwd, 'one.jsonl'), JSON.stringify(recording))
    const argv = ['webhooks', 'replay', 'one.jsonl', '--to', 'http://127.0.0.1:9/']
    expect(await svc(argv, { cwd })).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'svc: http://127.0.0.1:9/ does not answer: is the receiver running?\n',
    })
  })

  test('listen --save refuses a file that cannot be written', async () => {
    const argv = ['webhooks', 'listen', '--no-register', '--save', 'none/tape.jsonl']
    const { code, stderr } = await svc(argv, { env, cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'svc: cannot write none/tape.jsonl: ENOENT\n',
    })
  })

  test.each([
    [['none.jsonl', '--to', 'http://x/'], /cannot read none\.jsonl: there is no such file/],
    [['broken.jsonl', '--to', 'http://x/'], /line 1 of broken\.jsonl is not a delivery/],
    [['tape.jsonl'], /give the receiver of tape\.jsonl with --to <url>/],
    [
      ['tape.jsonl', '--to', 'http://x/', '--webhook', 'x'],
      /--webhook is for the id of a delivery/,
    ],
    [
      ['01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d02', '--to', 'http://x/'],
      /--to and --secret are for a file/,
    ],
  ])('exits with 2 for %s', async (argv, text) => {
    writeFileSync(join(cwd, 'broken.jsonl'), '{"body":1}\n')
    const { code, stderr } = await replay(...argv)
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
  })
})

describe('svc webhooks conformance', () => {
  const conformance = (...argv: string[]) => svc(['webhooks', 'conformance', ...argv], { env, cwd })
  const observed = () => ['--observe', `${new URL(url).origin}/handled?id={event_id}`]

  test('prints one line for each check, and writes JUnit XML', async () => {
    const { code, stdout, stderr } = await conformance(url, ...observed(), '--junit', 'junit.xml')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^✓ acknowledges: A delivery/)
    expect(stdout).toMatch(/^- previous_secret: not tried, needs previous_secret$/m)
    expect(stdout).toMatch(/\n\d+ passed, 0 failed, 0 warned, 1 not tried\n$/)
    expect(readFileSync(join(cwd, 'junit.xml'), 'utf8')).toContain('<testsuites tests="')
  })

  test('fails a receiver that handles an event again, and one without --observe', async () => {
    isRepeating = true
    const repeating = await conformance(url, ...observed())
    expect(repeating.code).toBe(1)
    expect(repeating.stdout).toMatch(
      /^✗ handles_once: .* It handled it 3 times\. Keep the webhook-id/m,
    )
    const unknown = await conformance(url)
    expect(unknown.code).toBe(1)
    expect(unknown.stdout).toMatch(/^✗ handles_once: .* It was not checked .*--observe <url>/m)
    const allowed = await conformance(url, '--allow-unchecked')
    expect({ code: allowed.code, stderr: allowed.stderr }).toEqual({ code: 0, stderr: '' })
    expect(allowed.stdout).toMatch(/^- handles_once: not tried, needs observe$/m)
  })

  test('reports each fault with its fix, and fails', async () => {
    isTrusting = true
    const { code, stdout, stderr } = await conformance(url)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^✗ verifies: .* It answered 200\. Verify the signature first/m)
    expect(stderr).toBe(`svc: ${url} does not conform: 1 required checks failed\n`)
  })

  test('--json prints the report', async () => {
    const report = await svcJson(['webhooks', 'conformance', url, '--allow-unchecked'], { env })
    expect(report).toMatchObject({ url, ok: true, failed: 0, checks: expect.any(Array) })
  })

  test.each([
    [['nonsense'], /the receiver must be an http or https address/],
    [['http://x/', '--observe', 'http://x/'], /--observe must contain {event_id}/],
    [['http://x/', '--observe', '/{event_id}'], /--observe must be an http or https/],
    [['http://x/', '--limit', '0'], /--limit must be a number from 1 to 3600/],
  ])('exits with 2 for %s', async (argv, text) => {
    const { code, stderr } = await conformance(...argv)
    expect(code).toBe(2)
    expect(stderr).toMatch(text)
  })
})
