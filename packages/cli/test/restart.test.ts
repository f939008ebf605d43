import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url))
const RESTARTS = 2
const CALLERS = 8

let folder: ReturnType<typeof newFolder>
let holder: ChildProcess | undefined

beforeEach(() => {
  folder = newFolder()
})

afterEach(async () => {
  if (holder && holder.exitCode === null) {
    writeFileSync(join(folder.path, 'enough'), '')
    process.kill(Number(readFileSync(join(folder.path, 'pid'), 'utf8')), 'SIGTERM')
    await once(holder, 'exit')
  }
  folder.remove()
})

/** What systemd does for a socket unit: holds the listening socket, and starts the service on it whenever it has ended. */
async function holdSocket(env: NodeJS.ProcessEnv): Promise<string> {
  const socket = createServer().listen(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address() as AddressInfo
  const { fd } = (socket as unknown as { _handle: { fd: number } })._handle
  const loader = `--conditions=source --import ${import.meta.resolve('tsx')}`
  const start = `echo $$ > pid; LISTEN_PID=$$ LISTEN_FDS=1 exec ${process.execPath} ${loader} ${BIN} serve >> log`
  const script = `while [ ! -e enough ]; do sh -c '${start}'; done`
  const { PATH, HOME, TMPDIR } = process.env
  holder = spawn('sh', ['-c', script], {
    cwd: folder.path,
    env: { PATH, HOME, TMPDIR, SVC_DATA_DIR: folder.path, ...env },
    stdio: ['ignore', 'ignore', 'inherit', fd],
  })
  socket.close()
  return `http://127.0.0.1:${port}`
}

/** Sends on a connection of its own, as a proxy does unless told otherwise. Resolves with the status of the answer. */
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

test('restarts on a socket that somebody holds lose no request, and none is refused a connection', async () => {
  const operator = { cwd: folder.path, env: { SVC_DATA_DIR: folder.path } }
  const url = await holdSocket({ SVC_RATE_LIMIT_GENERAL: '1000000/60', SVC_LOG_LEVEL: 'info' })
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
  const pids = new Set<string>()
  for (let n = 0; n < RESTARTS; n++) {
    const pid = readFileSync(join(folder.path, 'pid'), 'utf8')
    pids.add(pid)
    const before = statuses.length
    await expect.poll(() => statuses.length, { timeout: 20_000 }).toBeGreaterThan(before + 40)
    process.kill(Number(pid), 'SIGTERM')
    await expect
      .poll(() => readFileSync(join(folder.path, 'pid'), 'utf8'), { timeout: 20_000 })
      .not.toBe(pid)
    const since = statuses.length
    await expect.poll(() => statuses.length, { timeout: 20_000 }).toBeGreaterThan(since + 40)
  }
  isOver = true
  await Promise.all(callers)

  expect(pids.size).toBe(RESTARTS)
  // Who had connected to a server that was ending is told to come again; everybody else is served.
  expect(statuses.filter((status) => status !== 201 && status !== 429)).toEqual([])
  const accepted = statuses.filter((status) => status === 201).length
  expect(accepted).toBeGreaterThan(160)
  const list = ['messages', 'list', '--limit', '1', '--url', url, '--key', key]
  const { pagination } = await svcJson<{ pagination: { total: number } }>(list, operator)
  expect(pagination.total).toBe(accepted)
  expect((await svc(['ledger', 'verify'], operator)).code).toBe(0)
}, 120_000)
