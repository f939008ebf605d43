import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ownerOf } from './postgres-server.ts'

/** Another version than the installed one, for a run by hand. */
const PGBOUNCER = process.env.SVC_PGBOUNCER ?? '/usr/sbin/pgbouncer'
const READY_MAX_MS = 10_000

const PGPOOL = '/usr/sbin/pgpool'

/** Whether PgBouncer is installed; `.ci/debian-peers` does that. */
export const hasPooler = existsSync(PGBOUNCER)

/** Whether Pgpool-II is installed; `.ci/debian-peers` does that. */
export const hasPgpool = existsSync(PGPOOL)

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
  const { name, user, host, at, password } = readUrl(to)
  const login = `user=${user}${password && ` password=${password}`}`
  const { folder, owner, port } = await folderWith((port) => ({
    'pgbouncer.ini': `[databases]\n${name} = host=${host} port=${at} dbname=${name} ${login}\n[pgbouncer]\n${linesOf(
      {
        listen_addr: '127.0.0.1',
        listen_port: port,
        unix_socket_dir: '',
        auth_type: 'any',
        pool_mode,
        ...settings,
      },
    )}`,
  }))
  let child: ChildProcess
  const start = async () => {
    child = spawn(PGBOUNCER, [join(folder, 'pgbouncer.ini')], { ...owner, stdio: 'ignore' })
    await ready(child, port)
  }
  const kill = () => end(child, 'SIGKILL')
  await start()
  return {
    url: `postgres://${user}@127.0.0.1:${port}/${name}`,
    pid: () => child.pid ?? 0,
    kill,
    start,
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts Pgpool-II before the database of `to`, whose user needs no password, with these settings. */
export async function startPgpool(
  to: string,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<{ url: string; stop(): Promise<void> }> {
  const { name, user, host, at } = readUrl(to)
  const { folder, owner, port } = await folderWith((port, folder) => ({
    'pgpool.conf': linesOf({
      listen_addresses: `'127.0.0.1'`,
      port,
      socket_dir: `'${folder}'`,
      pcp_socket_dir: `'${folder}'`,
      pcp_listen_addresses: `''`,
      logdir: `'${folder}'`,
      pid_file_name: `'${join(folder, 'pgpool.pid')}'`,
      backend_hostname0: `'${host}'`,
      backend_port0: at,
      backend_flag0: `'ALWAYS_PRIMARY|DISALLOW_TO_FAILOVER'`,
      backend_clustering_mode: `'streaming_replication'`,
      sr_check_period: 0,
      enable_shared_relcache: 'off',
      ...settings,
    }),
    'pcp.conf': '',
  }))
  const files = ['-f', join(folder, 'pgpool.conf'), '-F', join(folder, 'pcp.conf')]
  const child = spawn(PGPOOL, ['-n', ...files], { ...owner, stdio: 'ignore' })
  await ready(child, port)
  return {
    url: `postgres://${user}@127.0.0.1:${port}/${name}`,
    async stop() {
      // SIGINT ends its processes too, without waiting for their clients.
      await end(child, 'SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function readUrl(text: string) {
  const url = new URL(text)
  return {
    name: url.pathname.slice(1),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    host: url.searchParams.get('host') ?? decodeURIComponent(url.hostname),
    at: url.port || 5432,
  }
}

function linesOf(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key} = ${value}\n`)
    .join('')
}

/** A new folder with these files, which a program that does not run as root may use, and a free port. */
async function folderWith(files: (port: number, folder: string) => Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pooler-'))
  const port = await freePort()
  const { uid, gid } = ownerOf(folder)
  const written = Object.entries(files(port, folder)).map(([name, text]) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  })
  if (uid !== undefined && gid !== undefined) {
    for (const path of [folder, ...written]) chownSync(path, uid, gid)
  }
  return { folder, owner: { uid, gid }, port }
}

async function ready(child: ChildProcess, port: number): Promise<void> {
  const until = Date.now() + READY_MAX_MS
  while (!(await listens(port))) {
    if (Date.now() > until || child.exitCode !== null) throw new Error('the pooler did not start')
    await pause(20)
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
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
