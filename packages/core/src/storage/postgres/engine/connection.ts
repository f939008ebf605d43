import { once } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import { isLoopback } from '../../../contract/fields/client-network.ts'
import type { Log } from '../../../runtime/runtime.ts'
import { within } from '../../../runtime/within.ts'
import { parsers } from './database.ts'
import { textOf, withoutPassword } from './failure.ts'

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

/** The connections of one process to the server. */
export interface Connections {
  /** The pool for the verbs of `hot`. */
  hot: pg.Pool
  /** The pool for everything else. */
  cold: pg.Pool
  /** The pool for long work. Its statements have no time limit. */
  slow: pg.Pool
  /** One more connection, outside the pools, for the listener. */
  connect(): Promise<pg.Client>
  /** Closes the connections; does not wait long for the server. */
  end(): Promise<void>
}

/**
 * Checks a server once, and then opens the connections to it.
 * @throws Error in one line, without the password, when the server cannot be reached or would lose data.
 */
export async function connect(
  url: string,
  { log, answer_max_ms = ANSWER_MAX_MS }: { log: Log; answer_max_ms?: number },
): Promise<Connections> {
  const { config, address, password } = readUrl(url)
  const sockets = keepSockets()
  const patient = { ...config, stream: sockets.open, connectionTimeoutMillis: answer_max_ms / 2 }
  // This timeout cuts the connection, because the responses to later statements could not be distinguished.
  const bounded = { ...patient, query_timeout: answer_max_ms }
  const session = { ...SESSION, ...limits(answer_max_ms) }
  const pool = (config: pg.ClientConfig, session: object, max: number) =>
    new pg.Pool({ ...config, max, onConnect: (client) => prepareSession(client, session) })
      .on('error', (error) => log.warn({ reason: textOf(error) }, 'a database connection was lost'))
      // The next statement on a lost connection fails; without a listener, the error event would end the process.
      .on('connect', (client) => client.on('error', () => {}))
  const hot = pool(bounded, { ...session, ...HOT_SESSION }, HOT_CONNECTIONS)
  const cold = pool(bounded, session, COLD_CONNECTIONS)
  const slow = pool(patient, SESSION, SLOW_CONNECTIONS)
  const end = async () => {
    await within<unknown>(answer_max_ms, Promise.all([hot.end(), cold.end(), slow.end()]), () => {})
    await within(GOODBYE_MAX_MS, sockets.closed(), () => {})
    sockets.destroy()
  }
  try {
    const client = await cold.connect()
    try {
      await assertFit(client)
      const other = await cold.connect()
      try {
        await assertOwnSession(client, other)
      } finally {
        other.release()
      }
    } finally {
      client.release()
    }
  } catch (error) {
    await end()
    throw new Error(withoutPassword(`cannot use ${address}: ${textOf(error)}`, password))
  }
  return {
    hot,
    cold,
    slow,
    end,
    async connect() {
      // The server may cut the connection in the same read that completes it, before the caller can add a listener.
      const client = new pg.Client(bounded).on('error', () => {})
      await client.connect()
      return client
    },
  }
}

/**
 * Whether a URL leads to another host without TLS.
 * @throws Error when the driver cannot read the URL.
 */
export function isExposed(url: string): boolean {
  const { host, ssl } = readUrl(url)
  return !ssl && !host.startsWith('/') && !isLoopback(host)
}

/** The driver's configuration, and the name of the database for messages. */
function readUrl(url: string): {
  config: pg.ClientConfig
  address: string
  password: string | undefined
  host: string
  ssl: boolean
} {
  const config: pg.ClientConfig = {
    connectionString: url,
    application_name: 'svc',
    keepAlive: true,
    pipeline: true,
    types: parsers,
  }
  let client: pg.Client
  try {
    client = new pg.Client(config)
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException
    // The driver's own message may quote the URL.
    const what = syscall
      ? `names a certificate that cannot be read (${code})`
      : 'is not a valid postgres:// address'
    throw new Error(`database_url ${what}`)
  }
  const { host, port, database = '', password } = client
  const place = host.startsWith('/') ? `${host} ${database}` : `${host}:${port}/${database}`
  // The driver's types do not name the value false, which means no TLS.
  const ssl = Boolean((client as { ssl?: unknown }).ssl)
  return { config, address: `the PostgreSQL database ${place}`, password, host, ssl }
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
async function prepareSession(client: pg.ClientBase, session: object): Promise<void> {
  // `remote_apply` promises more than `on`, so a configured `remote_apply` stays. Settings that an older server does
  // not know are skipped.
  await client.query(
    `select set_config(key, value, false) from json_each_text($1::json)
     where current_setting(key, true) <> 'remote_apply'`,
    [JSON.stringify(session)],
  )
  await assertDurable(client)
  await assertWritable(client)
}

/** @throws Error on a standby, or where only reads are allowed: after a failover the same address may lead to one. */
async function assertWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ is_writable: boolean }>(IS_WRITABLE)
  if (!rows[0]?.is_writable) throw new Error('the database takes no writes')
}

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

/**
 * Two connections that are open at once never share a session, directly or behind a pooler of sessions. A pooler of
 * transactions lends both the session that is free, and another one while the other connection is in a transaction.
 * @throws Error behind a pooler of transactions: settings (such as `synchronous_commit`), prepared statements, listeners
 *   and advisory locks belong to a session.
 */
async function assertOwnSession(client: pg.ClientBase, other: pg.ClientBase): Promise<void> {
  const sessionOf = async (of: pg.ClientBase) =>
    (await of.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  const before = await sessionOf(client)
  await other.query('begin')
  try {
    const isShared = (await sessionOf(other)) === before || (await sessionOf(client)) !== before
    if (!isShared) return
  } finally {
    await other.query('rollback')
  }
  throw new Error(
    'a pooler gives each transaction another session, so commits might not be flushed: connect to PostgreSQL directly, or set the pooler to sessions (PgBouncer: pool_mode = session)',
  )
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
 * belongs to a connection: it ends with the process, even after a crash.
 */
export async function alone<T>(
  pool: pg.Pool,
  name: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const client = await pool.connect()
  const key = 'hashtextextended($1, 0)'
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
