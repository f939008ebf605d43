import { request } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type HeldService, holdSocket } from './held-socket.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const RESTARTS = 2
const CALLERS = 8

let folder: ReturnType<typeof newFolder>
let service: HeldService | undefined

beforeEach(() => {
  folder = newFolder()
})

afterEach(async () => {
  await service?.stop()
  folder.remove()
})

/** Sends on a new connection, as a proxy does by default. Resolves with the status of the answer. */
function send(url: string, key: string, text: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const outgoing = request(`${url}/api/v1/messages/send`, {
      method: 'POST',
      agent: false,
      headers,
    })
    outgoing.once('error', reject).once('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
    outgoing.end(JSON.stringify({ channel: 'sms', to: '+15005550006', content: { text } }))
  })
}

test('restarts on a held socket lose no request and refuse no connection', async () => {
  const operator = { cwd: folder.path, env: { SVC_DATA_DIR: folder.path } }
  service = await holdSocket(folder.path, { SVC_RATE_LIMIT_GENERAL: '1000000/60' })
  const { url } = service
  // The first connection waits for the start.
  expect((await fetch(`${url}/health/live`)).status).toBe(200)
  const argv = ['workspaces', 'create', '--name', 'A', '--email', 'a@b.test', '--password-stdin']
  await svcJson(argv, { ...operator, stdin: 'long enough\n' })
  await svcJson(['credits', 'grant', '100000', '--reason', 'test'], operator)
  const { key } = await svcJson<{ key: string }>(['keys', 'create', '--name', 'k'], operator)

  const statuses: number[] = []
  let isOver = false
  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    for (let n = 0; !isOver; n++) statuses.push(await send(url, key, `${i} ${n}`))
  })
  for (let n = 0; n < RESTARTS; n++) {
    const before = statuses.length
    await expect.poll(() => statuses.length, { timeout: 20_000 }).toBeGreaterThan(before + 40)
    await service.restart()
    const since = statuses.length
    await expect.poll(() => statuses.length, { timeout: 20_000 }).toBeGreaterThan(since + 40)
  }
  isOver = true
  await Promise.all(callers)

  // Clients of a server that is stopping get 429; all other requests are accepted.
  expect(statuses.filter((status) => status !== 201 && status !== 429)).toEqual([])
  const accepted = statuses.filter((status) => status === 201).length
  expect(accepted).toBeGreaterThan(160)
  const list = ['messages', 'list', '--limit', '1', '--url', url, '--key', key]
  const { pagination } = await svcJson<{ pagination: { total: number } }>(list, operator)
  expect(pagination.total).toBe(accepted)
  expect((await svc(['ledger', 'verify'], operator)).code).toBe(0)
}, 120_000)
