import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ownerOf } from './postgres-server.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer'
const READY_MAX_MS = 10_000

/** Whether PgBouncer is installed; `.ci/debian-peers` does that. */
export const hasPooler = existsSync(PGBOUNCER)

/** PgBouncer before a database. */
export interface Pooler {
  /** Of the database behind it. */
  url: string
  pid(): number
  /** SIGKILL: all connections on both sides are lost. */
  kill(): Promise<void>
  /** Starts it again at the same address. */
  start(): Promise<void>
  /** Stops it and removes its folder. */
  stop(): Promise<void>
}

/** Starts PgBouncer before the database of `to`, in that mode and with these settings. */
export async function startPooler(
  to: string,
  pool_mode: 'transaction' | 'session',
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Pooler> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pooler-'))
  const url = new URL(to)
  const port = await freePort()
  const name = url.pathname.slice(1)
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname)
  const password = decodeURIComponent(url.password)
  const login = `user=${decodeURIComponent(url.username)}${password && ` password=${password}`}`
  const file = join(folder, 'pgbouncer.ini')
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode,
    ...settings,
  }).map(([key, value]) => `${key} = ${value}\n`)
  writeFileSync(
    file,
    `[databases]\n${name} = host=${host} port=${url.port || 5432} dbname=${name} ${login}\n[pgbouncer]\n${lines.join('')}`,
  )
  const { uid, gid } = ownerOf(folder)
  if (uid !== undefined && gid !== undefined) {
    chownSync(folder, uid, gid)
    chownSync(file, uid, gid)
  }
  let child: ChildProcess
  const start = async () => {
    child = spawn(PGBOUNCER, [file], { uid, gid, stdio: 'ignore' })
    const until = Date.now() + READY_MAX_MS
    while (!(await listens(port))) {
      if (Date.now() > until || child.exitCode !== null) throw new Error('PgBouncer did not start')
      await pause(20)
    }
  }
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await start()
  return {
    url: `postgres://${url.username}@127.0.0.1:${port}/${name}`,
    pid: () => child.pid ?? 0,
    kill,
    start,
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
