import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { api, WireData } from '@svc/core/contract'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type DevServer, startDevServer } from './dev-server.ts'
import { type SvcProcess, spawnSvc } from './spawned.ts'
import { svc, svcJson } from './svc.ts'

type Listed = WireData<(typeof api)['messages']['list']>

const BATCHES = 20
const BATCH = 4
const RECIPIENTS = Array.from({ length: BATCHES * BATCH }, (_, i) => `+25574000${1000 + i}`)

let server: DevServer
let proxy: Server
let url: string

/** The fault that the proxy injects into a bulk request. */
type Fault = 'none' | 'before' | 'after' | 'refused' | 'cut'
let faultOf: (request: number) => Fault
let kill: () => void
let bulkRequests = 0

beforeAll(async () => {
  server = await startDevServer({ SVC_RATE_LIMIT_BULK: '8/2', SVC_SIGNUP_CREDITS: '200' })
  proxy = createServer((request, response) => void pass(request, response))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
})

beforeEach(() => {
  bulkRequests = 0
  faultOf = () => 'none'
  kill = () => {}
})

afterAll(async () => {
  proxy.closeAllConnections()
  await new Promise((resolve) => proxy.close(resolve))
  await server.close()
})

/** Forwards a request to the server and returns its answer, except for an injected fault. */
async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url: path = '/', headers } = request
  const body = await buffer(request)
  const isBulk = method === 'POST' && path === '/api/v1/messages/bulk'
  const fault = isBulk ? faultOf(++bulkRequests) : 'none'
  if (fault === 'refused') return void request.socket.destroy()
  if (fault === 'before') return void kill()
  const { 'x-api-key': key = '', 'idempotency-key': idempotency = '' } = headers
  const answer = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      'x-api-key': String(key),
      ...(idempotency !== '' && { 'idempotency-key': String(idempotency) }),
    },
    ...(method !== 'GET' && { body }),
  })
  const text = await answer.text()
  if (fault === 'after') return void kill()
  if (fault === 'cut') return void request.socket.destroy()
  const retry = answer.headers.get('retry-after')
  response.writeHead(answer.status, {
    'content-type': 'application/json',
    ...(retry !== null && { 'retry-after': retry }),
  })
  response.end(text)
}

function write(name: string, recipients: readonly string[]): string {
  const rows = recipients.map((to, i) => `${to},${i}`)
  writeFileSync(join(server.here.cwd, name), `to,n\n${rows.join('\n')}\n`)
  return name
}

function send(file: string, ...more: string[]): SvcProcess {
  const text = ['--channel', 'sms', '--text', 'Number {{n}}']
  const to = ['--url', url, '--key', server.api_key]
  const how = ['--batch', String(BATCH), '--yes', '--patience', '20s', ...more]
  const argv = ['bulk', 'send', file, ...text, ...to, ...how]
  return spawnSvc(argv, { cwd: server.here.cwd })
}

/** The recipients of all messages, sorted. */
async function sentTo(): Promise<string[]> {
  const found: string[] = []
  let cursor: string | null = null
  do {
    const more: string[] = cursor === null ? [] : ['--cursor', cursor]
    const argv = ['messages', 'list', '--limit', '100', ...more]
    const page: Listed = await svcJson<Listed>(argv, server.here)
    found.push(...page.messages.map(({ recipient }) => recipient))
    cursor = page.next_cursor
  } while (cursor !== null)
  return found.sort()
}

test('sends each row once when it is killed at any time and started again', async () => {
  const file = write('killed.csv', RECIPIENTS)
  // Before the request, after it, and at an arbitrary time.
  const deaths: Fault[] = ['before', 'after', 'none', 'after', 'none']
  for (const [round, death] of deaths.entries()) {
    const child = send(file)
    const deadly = bulkRequests + 2 + (round % 2)
    kill = () => child.child.kill('SIGKILL')
    faultOf = (request) => {
      if (request !== deadly) return 'none'
      if (death === 'none') setTimeout(kill, (round * 7) % 23)
      return death
    }
    const { code } = await child.ended
    expect(code).toBe(137)
  }
  faultOf = () => 'none'
  const last = await send(file).ended
  expect({
    code: last.code,
    stderr: last.stderr.replaceAll(/^The rate limit of the server.*\n/gm, ''),
  }).toEqual({ code: 0, stderr: '' })
  expect(last.stdout).toMatch(/^accepted\t80$/m)
  expect(await sentTo()).toEqual(RECIPIENTS)
  const results = readFileSync(join(server.here.cwd, `${file}.results.jsonl`), 'utf8')
  const lines = results.trimEnd().split('\n')
  const rows = lines.flatMap((line) => {
    const { type, line: at, message_id } = JSON.parse(line) as Record<string, unknown>
    return type === 'row' && message_id ? [at] : []
  })
  expect(rows).toEqual(RECIPIENTS.map((_, i) => i + 2))
  const { code } = await svc(['ledger', 'verify'], server.here)
  expect(code).toBe(0)
  const credits = await svcJson<{ credits_balance: number }>(['credits', 'show'], server.here)
  expect(credits.credits_balance).toBe(120)
}, 180_000)

test('waits for a server that was unreachable, and repeats requests whose answers were lost', async () => {
  const before = await sentTo()
  const recipients = ['+255750001001', '+255750001002', '+255750001003', '+255750001004']
  const file = write('outage.csv', [...recipients, '+255750001005', '+255750001006'])
  faultOf = (request) => (request === 2 ? 'cut' : request === 3 ? 'refused' : 'none')
  const { code, stderr } = await send(file).ended
  expect(code).toBe(0)
  expect(stderr.match(/cannot be reached: retrying in 0:0\d/g)).toHaveLength(2)
  expect(bulkRequests).toBeGreaterThanOrEqual(4)
  expect((await sentTo()).length).toBe(before.length + 6)
}, 60_000)

test('exits with 3 after a long outage, and continues', async () => {
  const before = await sentTo()
  const file = write('gone.csv', RECIPIENTS.slice(0, 2 * BATCH))
  faultOf = (request) => (request > 1 ? 'refused' : 'none')
  const gone = await send(file, '--patience', '1s').ended
  expect(gone.code).toBe(3)
  expect(gone.stderr).toContain('4 of 8 rows are finished; run the same command')
  faultOf = () => 'none'
  expect(await send(file).ended).toMatchObject({ code: 0 })
  expect((await sentTo()).length).toBe(before.length + 2 * BATCH)
}, 60_000)

test('stops on Ctrl-C after the batch in flight', async () => {
  const file = write('signal.csv', RECIPIENTS.slice(0, 2 * BATCH + 1))
  let child: SvcProcess | null = null
  faultOf = (request) => {
    if (request === 1) child?.child.kill('SIGINT')
    return 'none'
  }
  child = send(file)
  const { code, stderr } = await child.ended
  expect(code).toBe(1)
  expect(stderr).toContain('stopped: 4 of 9 rows are finished; run the same command')
}, 60_000)

test('stops in order when its output has no reader', async () => {
  const before = await sentTo()
  const file = write('unread.csv', RECIPIENTS.slice(0, 3 * BATCH))
  let child: SvcProcess | null = null
  faultOf = (request) => {
    if (request === 2) child?.child.stdout?.destroy()
    return 'none'
  }
  child = send(file)
  const { code, stderr } = await child.ended
  expect(code).toBe(1)
  expect(stderr).toContain('stopped: 8 of 12 rows are finished; run the same command')
  expect(await send(file).ended).toMatchObject({ code: 0 })
  expect((await sentTo()).length).toBe(before.length + 3 * BATCH)
}, 60_000)
