import { once } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import { isLoopback } from '../../../contract/fields/client-network.ts'
import type { Log } from '../../../runtime/runtime.ts'
import { within } from '../../../runtime/within.ts'
import { serversOf } from '../../database-url.ts'
import { migrationsOf } from '../../migrations.ts'
import { parsers } from './database.ts'
import { textOf, withoutPassword } from './failure.ts'
import type { ReplicaPlace } from './replicas.ts'
import { eachAlone, onDoubt, type Pool, transact } from './transaction.ts'

/** The oldest tested server version. Older versions get no fixes. */
const VERSION_MIN = 15

/** The default time limit of one operation. */
export const ANSWER_MAX_MS = 10_000

/** The time limit for closing the connections. */
const GOODBYE_MAX_MS = 1_000

/** The connections that a batch needs at once, and spare connections. Every process takes this number. */
const HOT_CONNECTIONS = 8
const COLD_CONNECTIONS = 8
const SLOW_CONNECTIONS = 1
/** Only beside a pooler. */
const LONE_CONNECTIONS = 2
/** At each read replica. */
const REPLICA_CONNECTIONS = 8
/**
 * The parts of the time limit of an operation for a read at a replica: the wait for a connection, the statement, and both. A slow
 * statement ends before the connection is cut, so that it does not look like a lost replica.
 */
export const REPLICA_SHARES = { connect: 0.15, statement: 0.3, read: 0.5 }

/** The settings of every session. They must not depend on the configuration of the server, the database or the role. */
const SESSION = {
  synchronous_commit: 'on',
  default_transaction_isolation: 'read committed',
  timezone: 'UTC',
  datestyle: 'ISO',
  jit: 'off',
}

/**
 * The time limits in the server. All are shorter than the caller's limit: when a paused server resumes, it must not
 * commit a statement or a transaction for which no caller waits any more. If a lock is held longer, it is requested
 * again.
 */
function limits(answer_max_ms: number): Record<string, string> {
  const share = (of: number) => `${Math.ceil(answer_max_ms * of)}ms`
  return {
    // One statement may wait twice: for the same key at another server, then for the account.
    lock_timeout: share(0.35),
    idle_in_transaction_session_timeout: share(0.5),
    statement_timeout: share(0.8),
    // This setting exists from PostgreSQL 17 on.
    transaction_timeout: share(0.9),
  }
}

/**
 * The verbs of `hot` look up rows by key, in the order in which they name the tables, and read a queue in the order of
 * its index. Their plans fit any parameters; `database.ts` makes them again for the current size of the tables.
 */
const HOT_SESSION = {
  plan_cache_mode: 'force_generic_plan',
  join_collapse_limit: '1',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

/** Whether this session may write. */
export const IS_WRITABLE = `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as is_writable`

/** The cluster of a primary, and its timeline in hexadecimal digits of the same number: each promotion begins a later one. */
const HISTORY = `select s.system_identifier::text as cluster, left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline
  from pg_control_system() s`

/**
 * The errors of a server that does not report its timeline, such as Aurora: feature_not_supported, object_not_in_prerequisite_state,
 * insufficient_privilege, undefined_function.
 */
const NOT_REPORTED = new Set(['0A000', '55000', '42501', '42883'])

/** The history that a primary continues. */
interface History {
  cluster: string
  timeline: string
}

/** The connections of one process to the server. */
export interface Connections {
  /** The pool for the verbs of `hot`. */
  hot: Pool
  /** The pool for everything else. */
  cold: Pool
  /** The pool for work that one process does alone, with sessions if there are any. */
  lone: Pool
  /** The pool for long work, with sessions if there are any. Its statements have no time limit. */
  slow: Pool
  /** The read replicas. Nothing is checked: a replica may be away. */
  replicas: ReplicaPlace[]
  /** One more connection, outside the pools, for the listener; null where no connection has a session. */
  connect: (() => Promise<pg.Client>) | null
  /** Closes the connections; does not wait long for the server. */
  end(): Promise<void>
}

/**
 * Checks a server once, and then opens the connections to it. Behind a pooler of transactions, what needs a session
 * uses `direct_url`, or does without.
 * @throws Error in one line, without the password, when the server cannot be reached or would lose data.
 */
export async function connect(
  url: string,
  {
    log,
    answer_max_ms = ANSWER_MAX_MS,
    direct_url,
    replica_urls = [],
  }: {
    log: Log
    answer_max_ms?: number
    direct_url?: string | undefined
    replica_urls?: readonly string[] | undefined
  },
): Promise<Connections> {
  const shared = readUrl(url)
  const direct = direct_url === undefined ? shared : readUrl(direct_url, 'database_direct_url')
  const replicaPlaces = replica_urls.map((each) => readUrl(each, 'database_replica_urls'))
  // Both URLs lead to one primary, so a promotion that is seen through one counts for the other.
  const admit = [shared, direct].some(({ servers }) => servers > 1) ? admission() : null
  const sockets = keepSockets()
  const patient = { stream: sockets.open, connectionTimeoutMillis: answer_max_ms / 2 }
  // This timeout cuts the connection, because the responses to later statements could not be distinguished.
  const bounded = { ...patient, query_timeout: answer_max_ms }
  const open = async ({ config, Client }: Place) => {
    // The server may cut the connection in the same read that completes it, before the caller can add a listener.
    const client = new Client({ ...config, ...bounded }).on('error', () => {})
    await client.connect()
    return client
  }
  const pools: Pool[] = []
  const end = async () => {
    await within<unknown>(answer_max_ms, Promise.all(pools.map((each) => each.end())), () => {})
    await within(GOODBYE_MAX_MS, sockets.closed(), () => {})
    sockets.destroy()
  }
  /** Runs a check, and closes everything if it fails. */
  const check = async <T>({ address, password }: Place, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      await end()
      throw new Error(withoutPassword(`cannot use ${address}: ${textOf(error)}`, password))
    }
  }
  const look = (at: Place) => check(at, () => atSomeServer(at, () => lookAt(at, () => open(at))))
  const found = await look(shared)
  const long = direct === shared ? found : await look(direct)
  if (direct !== shared) await check(direct, () => assertSame(found, long))

  const pool = (at: Place, has_sessions: boolean, limits: object, session: object, max: number) => {
    const begin = has_sessions ? undefined : beginWith(session, found.settings)
    const made = new pg.Pool({
      ...at.config,
      ...limits,
      max,
      Client: at.Client,
      onConnect: async (client) => {
        try {
          await (begin ? assertReady(client, begin, admit) : prepareSession(client, session, admit))
        } catch (error) {
          at.leave(client)
          throw error
        }
        // The other server may be the primary now.
        onDoubt(client, () => at.leave(client))
      },
    })
      .on('error', (error) => log.warn({ reason: textOf(error) }, 'a database connection was lost'))
      // The next statement on a lost connection fails; without a listener, the error event would end the process.
      .on('connect', (client) => client.on('error', () => {}))
    pools.push(made)
    return Object.assign(made, { begin })
  }
  const session = { ...SESSION, ...limits(answer_max_ms) }
  const { has_sessions } = found
  const hot = pool(shared, has_sessions, bounded, { ...session, ...HOT_SESSION }, HOT_CONNECTIONS)
  const cold = pool(shared, has_sessions, bounded, session, COLD_CONNECTIONS)
  const slow = pool(direct, long.has_sessions, patient, SESSION, SLOW_CONNECTIONS)
  const lone =
    direct === shared ? cold : pool(direct, long.has_sessions, bounded, session, LONE_CONNECTIONS)
  await check(shared, async () => (await cold.connect()).release())
  if (!has_sessions) {
    const how = long.has_sessions ? 'the direct URL is used for what needs a session' : ALONE
    log.info({}, `a pooler keeps no database session for a connection: ${how}`)
  }
  const listener = async () => {
    const client = await open(direct)
    if (!admit) return client
    // A standby has no notifications.
    try {
      await assertWritable(client, admit)
      return client
    } catch (error) {
      direct.leave(client)
      await client.end()
      throw error
    }
  }
  const replicaPool = ({ config, Client }: Place, max: number): Pool => {
    const made = new pg.Pool({
      ...config,
      stream: sockets.open,
      connectionTimeoutMillis: answer_max_ms * REPLICA_SHARES.connect,
      query_timeout: answer_max_ms * REPLICA_SHARES.read,
      max,
      Client,
    })
      .on('error', (error) => log.debug({ reason: textOf(error) }, 'a read replica was lost'))
      .on('connect', (client) => client.on('error', () => {}))
    pools.push(made)
    return Object.assign(made, { begin: readingAt(answer_max_ms) })
  }
  const replicas = replicaPlaces.map((at): ReplicaPlace => {
    const { name, password } = at
    const pool = replicaPool(at, REPLICA_CONNECTIONS)
    return { name, password, pool, asking: replicaPool(at, 1) }
  })
  return { hot, cold, lone, slow, replicas, end, connect: long.has_sessions ? listener : null }
}

/** Runs `work`, at the next server of the URL if it fails. @throws the error of the last server. */
async function atSomeServer<T>({ servers }: Place, work: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await work()
    } catch (error) {
      if (n >= servers) throw error
    }
  }
}

const ALONE =
  'without database_direct_url (SVC_DATABASE_DIRECT_URL), work of other servers is found by polling'

/**
 * Whether a URL leads to another host without TLS.
 * @throws Error when the driver cannot read the URL.
 */
export function isExposed(url: string): boolean {
  const { hosts, ssl } = readUrl(url)
  return !ssl && hosts.some((host) => !host.startsWith('/') && !isLoopback(host))
}

/** The driver's configuration, and the name of the database for messages. */
interface Place {
  config: pg.ClientConfig
  /** Connects to the server that is tried now. */
  Client: typeof pg.Client
  /** The number of servers in the URL. */
  servers: number
  /** Makes the next server the one that is tried, if the client is at the one that is tried now. */
  leave(client: pg.ClientBase): void
  /** The hosts with their ports. */
  name: string
  address: string
  password: string | undefined
  hosts: string[]
  ssl: boolean
}

function readUrl(url: string, option = 'database_url'): Place {
  const configs = serversOf(url).map((connectionString): pg.ClientConfig => {
    return {
      connectionString,
      // A newer version counts the sessions of older versions by this name.
      application_name: `svc/${migrationsOf('postgres').length}`,
      keepAlive: true,
      pipeline: true,
      types: parsers,
    }
  })
  const [config = {}] = configs
  let clients: pg.Client[]
  try {
    clients = configs.map((each) => new pg.Client(each))
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException
    // The driver's own message may quote the URL.
    const what = syscall
      ? `names a certificate that cannot be read (${code})`
      : 'is not a valid postgres:// address'
    throw new Error(`${option} ${what}`)
  }
  const [{ host = '', database = '', password } = {}] = clients
  const ports = clients.map((each) => `${each.host}:${each.port}`).join(',')
  const place = host.startsWith('/') ? `${host} ${database}` : `${ports}/${database}`
  return {
    config,
    ...rotation(configs),
    name: ports,
    address: `the PostgreSQL database ${place}`,
    password,
    hosts: clients.map((each) => each.host),
    // The driver's types do not name the value false, which means no TLS.
    ssl: Boolean((clients[0] as { ssl?: unknown } | undefined)?.ssl),
  }
}

/**
 * Connects to one of several servers: to the last one that could be used, and after a failure to the next. Which of them takes
 * writes is checked on each connection.
 */
function rotation(
  configs: readonly pg.ClientConfig[],
): Pick<Place, 'Client' | 'servers' | 'leave'> {
  const servers = configs.length
  if (servers === 1) return { Client: pg.Client, servers, leave: () => {} }
  let current = 0
  const places = new WeakMap<pg.ClientBase, number>()
  function leave(client: pg.ClientBase): void {
    if (places.get(client) === current) current = (current + 1) % servers
  }
  class Client extends pg.Client {
    constructor(config: pg.ClientConfig) {
      super({ ...config, ...configs[current] })
      places.set(this, current)
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const opening = super.connect().catch((error) => {
        leave(this)
        throw error
      })
      if (!callback) return opening
      opening.then(() => callback(undefined as unknown as Error), callback)
      return undefined
    }
  }
  return { Client, servers, leave }
}

/** Whether a primary is the present one, as far as this process has seen. The connections to the ones before are cut. */
type Admit = (client: pg.ClientBase, history: History) => boolean

/**
 * Admits the latest timeline of a cluster. Another cluster, as after a restore or an upgrade by replication, takes the place of the one
 * before, to which nothing goes back.
 */
function admission(): Admit {
  let latest: History | null = null
  const left = new Set<string>()
  const clients = new Map<pg.Client, History>()
  return (base, history) => {
    const { cluster, timeline } = history
    if (left.has(cluster)) return false
    if (latest && latest.cluster !== cluster) left.add(latest.cluster)
    else if (latest && timeline < latest.timeline) return false
    latest = history
    const client = base as pg.Client
    clients.set(client, history)
    client.once('end', () => clients.delete(client))
    for (const [other, its] of clients) {
      const isBefore = its.cluster !== cluster || its.timeline < timeline
      if (isBefore) other.connection.stream.destroy()
    }
    return true
  }
}

/** Keeps the sockets of all connections, so that `end` can close each of them. */
function keepSockets() {
  const sockets = new Set<Socket>()
  return {
    open(): Socket {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    async closed(): Promise<void> {
      await Promise.all([...sockets].map((socket) => once(socket, 'close')))
    },
    destroy(): void {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Sets up the session of a new connection, and asserts that its commits are durable and that it can write. */
async function prepareSession(
  client: pg.ClientBase,
  session: object,
  admit: Admit | null,
): Promise<void> {
  // `remote_apply` promises more than `on`, so a configured `remote_apply` stays. Settings that an older server does
  // not know are skipped.
  await client.query(
    `select set_config(key, value, false) from json_each_text($1::json)
     where current_setting(key, true) <> 'remote_apply'`,
    [JSON.stringify(session)],
  )
  await assertDurable(client)
  await assertWritable(client, admit)
}

/**
 * The statements that open a transaction and set it up, behind a pooler of transactions. Other clients of the pooler share the
 * sessions, so what a session has is not relied on. A server that does not flush refuses the value, and with it the transaction.
 */
function beginWith(session: object, settings: ReadonlySet<string>): string[] {
  const values = Object.entries(session)
    // `begin` names the isolation level.
    .filter(([name]) => settings.has(name) && name !== 'default_transaction_isolation')
    .map(([name, value]) => {
      const text = name === 'synchronous_commit' ? DURABLE : `'${value}'`
      return `set_config('${name}', ${text}, true)`
    })
  return ['begin isolation level read committed', `select ${values.join(', ')}`]
}

/** The statements that open a transaction of a replica, behind a pooler or not. */
function readingAt(answer_max_ms: number): string[] {
  const { timezone, datestyle, jit } = SESSION
  const settings = {
    timezone,
    datestyle,
    jit,
    statement_timeout: `${Math.ceil(answer_max_ms * REPLICA_SHARES.statement)}ms`,
  }
  const values = Object.entries(settings).map(
    ([k, value]) => `set_config('${k}', '${value}', true)`,
  )
  return ['begin isolation level read committed read only', `select ${values.join(', ')}`]
}

const DURABLE = `case when current_setting('fsync') <> 'on' then 'not possible with fsync=off'
  when current_setting('synchronous_commit') = 'remote_apply' then 'remote_apply' else 'on' end`

/** Asserts on a new connection that the commits of its transactions are durable and that it can write. */
async function assertReady(
  client: pg.ClientBase,
  begin: readonly string[],
  admit: Admit | null,
): Promise<void> {
  for (const text of begin) await client.query(text)
  await assertDurable(client)
  await assertWritable(client, admit)
  await client.query('commit')
}

/**
 * @throws Error on a standby, or where only reads are allowed: after a failover the same address may lead to one. With `admit` also on a
 *   primary that was replaced, and does not know it.
 */
async function assertWritable(client: pg.ClientBase, admit: Admit | null): Promise<void> {
  const { rows } = await client.query<{ is_writable: boolean }>(IS_WRITABLE)
  if (!rows[0]?.is_writable) throw notWritable('the database takes no writes')
  const history = admit && (await historyOf(client))
  if (history && !admit(client, history)) {
    throw notWritable('another server was promoted in place of this one')
  }
}

/** Null where the server does not report it. The error then ends the transaction that checks a connection, which changes nothing. */
async function historyOf(client: pg.ClientBase): Promise<History | null> {
  try {
    return (await client.query<History>(HISTORY)).rows[0] ?? null
  } catch (error) {
    if (NOT_REPORTED.has((error as { code?: string }).code ?? '')) return null
    throw error
  }
}

/** The work is tried again, as after the same error (read_only_sql_transaction) of a statement: a standby may be promoted meanwhile. */
const notWritable = (text: string) => Object.assign(new Error(text), { code: '25006' })

/** @throws Error unless a commit of this session is on disk when it returns. */
export async function assertDurable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ fsync: string; synchronous_commit: string }>(
    `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit`,
  )
  const { fsync, synchronous_commit } = rows[0] ?? { fsync: '?', synchronous_commit: '?' }
  if (fsync === 'on' && /^(on|remote_apply)$/.test(synchronous_commit)) return
  throw new Error(
    `PostgreSQL would not flush commits to disk (fsync=${fsync}, synchronous_commit=${synchronous_commit})`,
  )
}

/** What is behind a URL. */
interface Found {
  /** Whether each connection has a session of its own, which keeps its prepared statements. */
  has_sessions: boolean
  /** Distinguishes databases, and servers. */
  identity: string
  /** The names of the server's settings that svc sets. */
  settings: ReadonlySet<string>
}

/** The number of comparisons of two sessions: other clients of a busy pooler may disturb one. */
const ROUNDS = 5

/** Looks with connections of its own, which change no session. */
async function lookAt({ leave }: Place, open: () => Promise<pg.Client>): Promise<Found> {
  const client = await open()
  try {
    await assertFit(client)
    const names = Object.keys({ ...SESSION, ...limits(1), ...HOT_SESSION })
    const { rows } = await client.query<{ identity: string; pid: number; settings: string[] }>(
      `select concat_ws(' ', extract(epoch from pg_postmaster_start_time()), d.oid) as identity, pg_backend_pid() as pid,
              array(select name from unnest($1::text[]) name
                    where current_setting(name, true) is not null) as settings
       from pg_database d where d.datname = current_database()`,
      [names],
    )
    const { identity = '', pid, settings = [] } = rows[0] ?? {}
    // A pooler gives its clients numbers of its own; the same number is the server's own answer.
    const is_direct = (client as { processID?: unknown }).processID === pid
    const has_own = is_direct || !(await sharesSessions(client, open))
    // This comes last, because the connection may end with it.
    const has_sessions = has_own && (await keepsStatements(client))
    if (!has_sessions) await assertNoBalancing(open)
    return { has_sessions, identity, settings: new Set(settings) }
  } catch (error) {
    leave(client)
    throw error
  } finally {
    await client.end()
  }
}

/**
 * Two connections that are open at once never share a session, directly or behind a pooler of sessions. A pooler of
 * transactions lends both the session that is free, and another one while the other connection is in a transaction.
 */
async function sharesSessions(
  client: pg.ClientBase,
  open: () => Promise<pg.Client>,
): Promise<boolean> {
  const sessionOf = async (of: pg.ClientBase) =>
    (await of.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  const other = await open()
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = await sessionOf(client)
      await other.query('begin')
      const isShared = (await sessionOf(other)) === before || (await sessionOf(client)) !== before
      await other.query('rollback')
      if (isShared) return true
    }
    return false
  } finally {
    await other.end()
  }
}

/**
 * Whether a prepared statement is still there when its plans are made again. Pgpool-II forgets all statements of a connection at
 * any `DISCARD`, and ends the connection that uses one of them.
 */
async function keepsStatements(client: pg.ClientBase): Promise<boolean> {
  const statement = { name: 'svc_look', text: 'select 1' }
  try {
    for (const query of [statement, 'discard plans', statement]) await client.query(query)
    return true
  } catch (error) {
    if (STATEMENT_LOST.has((error as { code?: string }).code ?? '')) return false
    throw error
  }
}

/** Pgpool-II's internal_error, and PostgreSQL's invalid_sql_statement_name. */
const STATEMENT_LOST: ReadonlySet<string> = new Set(['XX000', '26000'])

/** @throws Error if Pgpool-II sends reads to standbys, which may not have the last commits yet. */
async function assertNoBalancing(open: () => Promise<pg.Client>): Promise<void> {
  const client = await open()
  try {
    const { rows } = await client.query<{ load_balance_mode: string }>(
      'pgpool show load_balance_mode',
    )
    if (rows[0]?.load_balance_mode !== 'on') return
  } catch {
    // Another pooler takes it for an error.
    return
  } finally {
    await client.end()
  }
  throw new Error(
    'Pgpool-II sends reads to standbys, which may lag behind: set load_balance_mode = off',
  )
}

/** @throws Error when the direct URL leads to another database, or has no sessions either. */
async function assertSame(found: Found, direct: Found): Promise<void> {
  if (found.identity !== direct.identity) {
    throw new Error('database_direct_url must lead to the database of database_url')
  }
  if (!direct.has_sessions) {
    throw new Error(
      'database_direct_url leads through a pooler that keeps no session for a connection: it must lead to PostgreSQL itself',
    )
  }
}

async function assertFit(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: number; encoding: string; is_standby: boolean }>(
    `select current_setting('server_version_num')::int / 10000 as version,
            current_setting('server_encoding') as encoding, pg_is_in_recovery() as is_standby`,
  )
  const { version = 0, encoding = '', is_standby = false } = rows[0] ?? {}
  if (version < VERSION_MIN) {
    throw new Error(`PostgreSQL ${version} is too old; svc needs ${VERSION_MIN} or newer`)
  }
  if (encoding !== 'UTF8') throw new Error(`its encoding is ${encoding}; svc needs UTF8`)
  if (is_standby) throw new Error('it is a standby, which takes no writes')
}

/**
 * Runs `work` while holding the advisory lock of that name, or returns null when another process holds it. The lock
 * belongs to a session, or to an open transaction where there is none: it ends with the process, even after a crash.
 */
export async function alone<T>(
  pool: Pool,
  name: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const key = 'hashtextextended($1, 0)'
  if (pool.begin) {
    return transact(pool, eachAlone, async (run) => {
      await run(NO_LIMITS)
      const { rows } = await run(`select pg_try_advisory_xact_lock(${key}) as is_mine`, [name])
      return rows[0]?.is_mine ? work() : null
    })
  }
  const client = await pool.connect()
  let fault: Error | undefined
  try {
    const { rows } = await client.query(`select pg_try_advisory_lock(${key}) as is_mine`, [name])
    if (!rows[0]?.is_mine) return null
    try {
      return await work()
    } finally {
      await client.query(`select pg_advisory_unlock(${key})`, [name]).catch((lost: Error) => {
        fault = lost
      })
    }
  } finally {
    client.release(fault)
  }
}

/** A transaction that only holds a lock may last. */
const NO_LIMITS = `select set_config(name, '0', true)
  from unnest(array['idle_in_transaction_session_timeout', 'transaction_timeout']) name
  where current_setting(name, true) is not null`
