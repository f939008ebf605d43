import { once } from 'node:events'
import { Socket } from 'node:net'
import pg from 'pg'
import { isLoopback } from '../../../contract/fields/client-network.ts'
import type { Log } from '../../../runtime/runtime.ts'
import { textOf, withoutPassword } from './failure.ts'
import { parsers } from './parsers.ts'

/** The oldest server that is tested; older ones get no fixes any more. */
const VERSION_MIN = 15

/** How long the database may take to do one thing, unless told otherwise. */
export const ANSWER_MAX_MS = 10_000

/** How long the server may take to say goodbye. */
const GOODBYE_MAX_MS = 1_000

/** What a batch needs at once, with some to spare: every process holds this many of the server's connections. */
const HOT_CONNECTIONS = 8
const COLD_CONNECTIONS = 8
const SLOW_CONNECTIONS = 1

/** Every session's settings: none may depend on how the server, the database or the role is configured. */
const SESSION = {
  synchronous_commit: 'on',
  default_transaction_isolation: 'read committed',
  timezone: 'UTC',
  datestyle: 'ISO',
  jit: 'off',
}

/**
 * When the server gives up, so long that whoever asked still hears of it: a statement or a transaction that nobody waits
 * for any more, because the server stood still, must not be committed when it goes on. A lock that is held longer is
 * asked for again.
 */
function limits(answer_max_ms: number): Record<string, string> {
  const share = (of: number) => `${Math.ceil(answer_max_ms * of)}ms`
  return {
    // One statement may wait twice: for the same key at another server, then for the account.
    lock_timeout: share(0.35),
    idle_in_transaction_session_timeout: share(0.5),
    statement_timeout: share(0.8),
    // From PostgreSQL 17 on.
    transaction_timeout: share(0.9),
  }
}

/**
 * The verbs of the hot door look rows up by key, in the order in which they name the tables, and walk a queue in the
 * order of its index. They are planned anew each time, by the size that the tables have then: a plan that was kept from
 * when a queue was empty read the whole of one with 600,000 rows for each of its rows.
 */
const HOT_SESSION = {
  plan_cache_mode: 'force_custom_plan',
  join_collapse_limit: '1',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

/** Whether this session may write. */
export const IS_WRITABLE = `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as is_writable`

/** What one process holds of the server. */
export interface Connections {
  /** For the verbs of the hot door. */
  hot: pg.Pool
  /** For everything else. */
  cold: pg.Pool
  /** For what takes as long as it takes: nothing asked of it has a deadline. */
  slow: pg.Pool
  /** One more, outside the pools, for whoever listens. */
  connect(): Promise<pg.Client>
  /** Says goodbye to the server, and does not wait long for its answer. */
  end(): Promise<void>
}

/**
 * Opens the connections to a server, after looking at it once.
 * @throws Error in one line when it cannot be reached, or cannot keep what it is given. No password is in it.
 */
export async function connect(
  url: string,
  { log, answer_max_ms = ANSWER_MAX_MS }: { log: Log; answer_max_ms?: number },
): Promise<Connections> {
  const { config, address, password } = readUrl(url)
  const sockets = keepSockets()
  const patient = {
    ...config,
    stream: sockets.open,
    connectionTimeoutMillis: answer_max_ms / 2,
  }
  // Cuts the connection when it fires: whatever else was sent over it could not be told apart.
  const bounded = { ...patient, query_timeout: answer_max_ms }
  const session = { ...SESSION, ...limits(answer_max_ms) }
  const pool = (config: pg.ClientConfig, session: object, max: number) =>
    new pg.Pool({ ...config, max, onConnect: (client) => prepareSession(client, session) })
      .on('error', (error) => log.warn({ reason: textOf(error) }, 'a database connection was lost'))
      // Whoever uses a lost connection learns it from the next statement; an event nobody hears would end the process.
      .on('connect', (client) => client.on('error', () => {}))
  const hot = pool(bounded, { ...session, ...HOT_SESSION }, HOT_CONNECTIONS)
  const cold = pool(bounded, session, COLD_CONNECTIONS)
  const slow = pool(patient, SESSION, SLOW_CONNECTIONS)
  const end = async () => {
    await atMost(answer_max_ms, Promise.all([hot.end(), cold.end(), slow.end()]))
    await atMost(GOODBYE_MAX_MS, sockets.closed())
    sockets.destroy()
  }
  try {
    const client = await cold.connect()
    try {
      await assertFit(client)
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
      const client = new pg.Client(bounded)
      await client.connect()
      return client
    },
  }
}

/** Whether a URL leads to another host without TLS. @throws Error when the driver cannot read it. */
export function isExposed(url: string): boolean {
  const { host, ssl } = readUrl(url)
  return !ssl && !host.startsWith('/') && !isLoopback(host)
}

/** What the driver is told, and how the database may be called in a message. */
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
    // The driver's own words may quote the URL.
    const what = syscall
      ? `names a certificate that cannot be read (${code})`
      : 'is not a valid postgres:// address'
    throw new Error(`database_url ${what}`)
  }
  const { host, port, database = '', password } = client
  const place = host.startsWith('/') ? `${host} ${database}` : `${host}:${port}/${database}`
  // The driver's types leave out that false stands for no TLS.
  const ssl = Boolean((client as { ssl?: unknown }).ssl)
  return { config, address: `the PostgreSQL database ${place}`, password, host, ssl }
}

/** The sockets of all connections, so that none outlives the end. */
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

/** Resolves with the work, or so much later. */
async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}

/** Makes a new connection's session what every statement relies on, and asserts the one thing that loses data. */
async function prepareSession(client: pg.ClientBase, session: object): Promise<void> {
  // `remote_apply` promises more than `on`, so whoever has configured that keeps it. What an older server does not know
  // is passed over.
  await client.query(
    `select set_config(key, value, false) from json_each_text($1::json)
     where current_setting(key, true) <> 'remote_apply'`,
    [JSON.stringify(session)],
  )
  await assertDurable(client)
  await assertWritable(client)
}

/** @throws Error on a standby, or where only reading is allowed: after a failover the same address may lead there. */
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
