import { createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createDatabase } from '../../core/test/postgres-database.ts'
import { holdSocket } from './held-socket.ts'
import { spawnSvc } from './spawned.ts'
import { newFolder, svcJson } from './svc.ts'

const CALLERS = 4
/** The sends that are answered before, between and after the events of a test. */
const SENDS = 30

const toStop: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop()
})

function folder(): string {
  const { path, remove } = newFolder()
  toStop.push(remove)
  return path
}

/** `svc serve` with two processes on a database of its own, which has an account with a key. */
async function serveTwo() {
  const cwd = folder()
  const database = await createDatabase()
  toStop.push(database.drop)
  const env = { SVC_DATABASE_URL: database.url }
  const argv = ['workspaces', 'create', '--name', 'A', '--email', 'a@b.test']
  await svcJson([...argv, '--password-stdin'], { cwd, env, stdin: 'long enough\n' })
  await svcJson(['credits', 'grant', '100000', '--reason', 'test'], { cwd, env })
  const { key } = await svcJson<{ key: string }>(['keys', 'create', '--name', 'k'], { cwd, env })
  const serve = spawnSvc(['serve', '--processes', '2'], {
    cwd,
    env: {
      ...env,
      PORT: '0',
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      SVC_RATE_LIMIT_GENERAL: '1000000/60',
    },
  })
  toStop.push(async () => {
    serve.child.kill('SIGKILL')
    await serve.ended
  })
  const lines = () =>
    serve
      .stdout()
      .split('\n')
      .flatMap((line): { msg: string; pid: number; url?: string; metrics_url?: string }[] =>
        line.endsWith('}') ? [JSON.parse(line)] : [],
      )
  const pids = () => lines().flatMap(({ msg, pid }) => (msg === 'listening' ? [pid] : []))
  await expect.poll(() => pids().length, { timeout: 60_000 }).toBe(2)
  const url = lines().find(({ msg }) => msg === 'listening')?.url ?? ''
  const metrics_url = lines().find((line) => line.metrics_url)?.metrics_url ?? ''
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${metrics_url}/metrics`)).text()
    const values = text.split('\n').filter((line) => line.match(new RegExp(`^${name}[ {]`)))
    return values.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  return { serve, url, key, lines, pids, metric, cwd, env }
}

/** Sends on new connections until it is stopped. */
function sendAlways(url: string, key: string) {
  const statuses: (number | string)[] = []
  let isOver = false
  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    for (let n = 0; !isOver; n++) {
      statuses.push(
        await fetch(`${url}/api/v1/messages/send`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json', connection: 'close' },
          body: JSON.stringify({
            channel: 'sms',
            to: '+15005550006',
            content: { text: `${i} ${n}` },
          }),
        }).then(
          async (answer) => {
            await answer.arrayBuffer()
            return answer.status
          },
          (error) => String(error.cause ?? error),
        ),
      )
    }
  })
  return {
    statuses,
    async more(): Promise<void> {
      const least = statuses.length + SENDS
      await expect.poll(() => statuses.length, { timeout: 30_000 }).toBeGreaterThan(least)
    },
    async stop(): Promise<void> {
      isOver = true
      await Promise.all(callers)
    },
  }
}

test('two processes share a port; SIGHUP replaces them while every send is accepted once', async () => {
  const { serve, url, key, pids, lines, metric, cwd, env } = await serveTwo()
  const sends = sendAlways(url, key)
  await sends.more()
  const old = pids()
  serve.child.kill('SIGHUP')
  await expect
    .poll(() => lines().map(({ msg }) => msg), { timeout: 90_000 })
    .toContain('the processes are replaced')
  await sends.more()
  await sends.stop()
  expect(new Set(sends.statuses)).toEqual(new Set([201]))
  expect(new Set(pids()).size).toBe(4)
  for (const pid of old) expect(() => process.kill(pid, 0)).toThrow('ESRCH')

  // The sums count the work of the ended processes too.
  expect(await metric('svc_processes')).toBe(2)
  expect(await metric('svc_messages_accepted_total')).toBe(sends.statuses.length)
  expect(await metric('svc_workspaces')).toBe(1)
  expect(await metric('svc_dispatching')).toBe(1)
  const { entries } = await svcJson<{ entries: number }>(['ledger', 'verify'], { cwd, env })
  expect(entries).toBe(sends.statuses.length + 1)

  serve.child.kill('SIGTERM')
  expect((await serve.ended).code).toBe(0)
  expect(serve.stderr()).toBe('')
}, 180_000)

test('a process that is killed is started again, and the others serve meanwhile', async () => {
  const { serve, url, key, pids, metric } = await serveTwo()
  const sends = sendAlways(url, key)
  await sends.more()
  process.kill(pids()[0] as number, 'SIGKILL')
  await sends.more()
  await expect.poll(() => pids().length, { timeout: 60_000 }).toBe(3)
  await expect.poll(() => metric('svc_processes'), { timeout: 10_000 }).toBe(2)
  await sends.stop()
  // Only the connections of the killed process are cut.
  const cut = sends.statuses.filter((status) => status !== 201)
  expect(cut.length).toBeLessThanOrEqual(CALLERS)
  serve.child.kill('SIGINT')
  expect((await serve.ended).code).toBe(0)
}, 180_000)

test('two processes use the socket that systemd holds', async () => {
  const cwd = folder()
  const database = await createDatabase()
  toStop.push(database.drop)
  const held = await holdSocket(cwd, { SVC_DATABASE_URL: database.url, SVC_PROCESSES: '2' })
  toStop.push(held.stop)
  expect((await fetch(`${held.url}/health/live`)).status).toBe(200)
  await held.restart()
  expect((await fetch(`${held.url}/health/live`)).status).toBe(200)
}, 60_000)

test('several processes on a SQLite file are refused, and auto takes one', async () => {
  const cwd = folder()
  const refused = await spawnSvc(['serve', '--processes', '2'], { cwd, env: { PORT: '0' } }).ended
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('--processes is 2, but one process owns a SQLite file')
  const one = spawnSvc(['serve', '--processes', 'auto'], { cwd, env: { PORT: '0' } })
  await one.until(/"msg":"listening"/)
  one.child.kill('SIGTERM')
  expect((await one.ended).code).toBe(0)
}, 60_000)

test('if the first process does not start, all end with its reason', async () => {
  const cwd = folder()
  const database = await createDatabase()
  toStop.push(database.drop)
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  toStop.push(() => other.close())
  const { port } = other.address() as { port: number }
  const env = { SVC_DATABASE_URL: database.url, PORT: String(port) }
  const { code, stderr } = await spawnSvc(['serve', '--processes', '2'], { cwd, env }).ended
  expect(stderr).toContain(`port ${port} is in use`)
  expect(code).toBe(1)
}, 60_000)
