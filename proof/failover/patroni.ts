import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { ask } from '../stage/ask.ts'
import { type Running, start } from '../stage/command.ts'
import { ownerOf, queryOf } from '../stage/postgres.ts'
import type { Stage } from '../stage/stage.ts'
import { until } from '../stage/until.ts'
import { openLink } from './link.ts'
import { type Member, type Pair, urlOf } from './pair.ts'

/** The programs of the Debian packages. */
const PATRONI = '/usr/bin/patroni'
const ETCD = '/usr/bin/etcd'
const PROGRAMS = '/usr/lib/postgresql/15/bin'
const PACKAGES = 'patroni etcd-server python3-etcd postgresql-15'

const READY_MAX_MS = 120_000
const STOP_MAX_MS = 60_000

/** Patroni promotes after `ttl` seconds without its leader; its documentation asks for at least 20. */
const DCS = {
  ttl: 20,
  loop_wait: 1,
  retry_timeout: 5,
  synchronous_mode: true,
  postgresql: {
    use_pg_rewind: true,
    use_slots: true,
    parameters: { max_connections: 200, wal_log_hints: 'on' },
  },
}

/** A server that Patroni runs. */
interface Node extends Member {
  /** Of the REST API of Patroni. */
  api: string
  /** What Patroni wrote since its last start. */
  output(): string
}

/**
 * Starts two servers under Patroni, with etcd, in synchronous mode. Patroni promotes, and makes the old primary a standby when it is started
 * again. All ends with the stage.
 * @throws Error when the Debian packages are not installed.
 */
export async function openPatroniPair(stage: Stage): Promise<Pair> {
  if (![PATRONI, ETCD, PROGRAMS].every(existsSync)) {
    throw new Error(`not installed: apt-get install ${PACKAGES}`)
  }
  // The servers run as an account with few rights.
  chmodSync(stage.folder, 0o755)
  const [client, peer, ...ports] = await freePorts(6)
  const etcd = startAs(stage, 'etcd', (folder) => [
    ETCD,
    ...['--data-dir', folder],
    ...['--listen-client-urls', `http://127.0.0.1:${client}`],
    ...['--advertise-client-urls', `http://127.0.0.1:${client}`],
    ...['--listen-peer-urls', `http://127.0.0.1:${peer}`],
    ...['--initial-advertise-peer-urls', `http://127.0.0.1:${peer}`],
    ...['--initial-cluster', `default=http://127.0.0.1:${peer}`],
    '--enable-v2',
  ])
  stage.atEnd(() => etcd.stop(STOP_MAX_MS))
  const first = await openNode(stage, 'a', `127.0.0.1:${client}`, ports.slice(0, 2))
  await untilAnswered(first, 'primary')
  const second = await openNode(stage, 'b', `127.0.0.1:${client}`, ports.slice(2))
  await untilAnswered(second, 'synchronous')
  let [primary, other] = [first, second]
  return {
    url: urlOf(first.link, second.link),
    primary: () => primary,
    async failOver() {
      await untilAnswered(other, 'primary')
      ;[primary, other] = [other, primary]
      return other
    },
    rebuild: () => untilAnswered(other, 'synchronous'),
  }
}

async function openNode(
  stage: Stage,
  name: string,
  etcd: string,
  [port, apiPort]: readonly (number | undefined)[],
): Promise<Node> {
  let folder = ''
  const run = () =>
    startAs(stage, name, (own) => {
      folder = own
      const file = join(own, 'patroni.json')
      const listen = `127.0.0.1:${port}`
      const api = `127.0.0.1:${apiPort}`
      const config = {
        scope: 'svc',
        name,
        restapi: { listen: api, connect_address: api },
        // With the API v3, Patroni 3.0.2 sets the key of the leader without a look at its holder: a primary that was frozen at that moment
        // took it back from the one that was promoted, which then lost its commits.
        etcd: { hosts: etcd },
        bootstrap: { dcs: DCS, initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'] },
        postgresql: {
          listen,
          connect_address: listen,
          data_dir: join(own, 'data'),
          bin_dir: PROGRAMS,
          pgpass: join(own, 'pgpass'),
          authentication: {
            superuser: { username: 'svc', password: 'svc' },
            replication: { username: 'replicator', password: 'replicator' },
          },
          parameters: { unix_socket_directories: own },
          pg_hba: [
            'local all all trust',
            'host all all 127.0.0.1/32 trust',
            'host replication all 127.0.0.1/32 trust',
          ],
        },
      }
      // JSON is YAML.
      writeFileSync(file, JSON.stringify(config))
      return [PATRONI, file]
    })
  let patroni = run()
  /** Sends a signal to Patroni and to all processes of its server, which is paused meanwhile, so that it starts no process. */
  const signal = (name: NodeJS.Signals) => {
    send(patroni.pid, name)
    const server = serverIn(folder)
    if (server === null) return
    send(server, 'SIGSTOP')
    for (const pid of childrenOf(server)) send(pid, name)
    send(server, name)
  }
  // Patroni starts the server in a process group of its own.
  const atExit = () => signal('SIGKILL')
  process.prependListener('exit', atExit)
  stage.atEnd(async () => {
    signal('SIGCONT')
    // Patroni stops its server.
    await patroni.stop(STOP_MAX_MS).catch(() => signal('SIGKILL'))
    process.off('exit', atExit)
  })
  const link = await openLink(join(folder, `.s.PGSQL.${port}`))
  stage.atEnd(link.close)
  const url = `postgres://svc@${encodeURIComponent(folder)}/postgres?port=${port}`
  return {
    api: `http://127.0.0.1:${apiPort}`,
    output: () => patroni.output(),
    link,
    postgres: {
      url,
      query: queryOf(url),
      async kill() {
        signal('SIGKILL')
        await patroni.ended()
      },
      pause: async () => signal('SIGSTOP'),
      resume: async () => signal('SIGCONT'),
      async start() {
        // In some containers nothing takes away a process that ended, so its number would seem to be in use.
        rmSync(join(folder, PID_FILE), { force: true })
        patroni = run()
      },
    },
  }
}

/** Resolves when the REST API of Patroni answers `GET /<state>` of a server with 200. */
async function untilAnswered({ api, output }: Node, state: string): Promise<void> {
  let last = ''
  const isSo = async () => {
    const { status, text } = await ask(`${api}/${state}`)
    last = `${status} ${text}`
    return status === 200
  }
  if (await until(isSo, { max_ms: READY_MAX_MS, every_ms: 100 })) return
  throw new Error(
    `no ${state} server within ${READY_MAX_MS / 1_000} s: ${last}\n${output().slice(-4_000)}`,
  )
}

/** Starts a program in a folder of that name, as an account that may run PostgreSQL. It ends when this process ends, even if that was killed. */
function startAs(
  stage: Stage,
  name: string,
  commandIn: (folder: string) => readonly string[],
): Running {
  const folder = join(stage.folder, name)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { uid, gid } = ownerOf(folder)
  const account = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  const command = ['setpriv', '--pdeathsig=KILL', ...account, ...commandIn(folder)]
  return start(command, { cwd: folder, env: { ...process.env, HOME: folder } })
}

const PID_FILE = 'data/postmaster.pid'

/** The first process of a running server. The file of a killed one stays, and another program may have its number. */
function serverIn(folder: string): number | null {
  const file = join(folder, PID_FILE)
  if (!existsSync(file)) return null
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10)
  const command = `/proc/${pid}/cmdline`
  return existsSync(command) && readFileSync(command, 'utf8').includes(folder) ? pid : null
}

function childrenOf(parent: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', `${parent}`], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => (line.trim() ? [Number(line)] : []))
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has just ended.
  }
}

/** Ports on loopback that are free now. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}
