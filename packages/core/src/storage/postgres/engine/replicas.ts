import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Log } from '../../../runtime/runtime.ts'
import { within } from '../../../runtime/within.ts'
import type { ReplicaState } from '../../ports/storage.ts'
import { isGone, textOf, withoutPassword } from './failure.ts'
import { eachAlone, inTime, type Pool } from './transaction.ts'

/** How long a question to a replica may take before its connection is cut. */
const ASK_MAX_MS = 2_000

/** The pause before a replica that has not caught up is asked again. */
const ASK_AGAIN_MS = 5

/** How often each replica is examined. */
const EXAMINE_EVERY_MS = 1_000

/**
 * The number of good examinations in a row after which a lost replica is used again. It doubles while a replica is lost again
 * and again, so that the log does not alternate.
 */
const GOOD_MIN = 3
const GOOD_MAX = 96

/** A replica that was used this long counts as steady. */
const STEADY_MS = 600_000

/** A position in the write-ahead log of one history of a database. */
interface Position {
  /** Cluster, database and timeline: two positions can be compared only within one. Null: the server is no standby. */
  history: string | null
  at: bigint
}

/** The end of what the primary has flushed: a commit that was acknowledged, or that any client could read, is before it. */
const FLUSHED = `select concat_ws(' ', s.system_identifier, d.oid,
    ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int) as history,
  pg_current_wal_flush_lsn()::text as lsn
  from pg_control_system() s, pg_database d where d.datname = current_database()`

/**
 * The end of what a replica has replayed. Its timeline is that of the stream, which only roles with pg_read_all_stats may see,
 * or that of its last restart point, which follows a failover some minutes later. A replica joins a timeline only if it has nothing
 * from after the fork (PostgreSQL documentation, 25.3.6 "Timelines").
 */
const REPLAYED = `select case when pg_is_in_recovery() then concat_ws(' ', s.system_identifier, d.oid,
    coalesce((select received_tli from pg_stat_wal_receiver), (select timeline_id from pg_control_checkpoint()))) end as history,
  pg_last_wal_replay_lsn()::text as lsn
  from pg_control_system() s, pg_database d where d.datname = current_database()`

/** A read replica and its connections. */
export interface ReplicaPlace {
  name: string
  password: string | undefined
  pool: Pool
  /** For the questions, which must not wait for long reads. */
  asking: Pool
}

/** The read replicas of a database. */
export interface Replicas {
  /**
   * The answer of a replica that has everything that was committed before the call, by any server; null if none has it
   * in time, or a replica failed.
   */
  read(query: string | pg.QueryConfig, values?: unknown[]): Promise<pg.QueryResult | null>
  states(): ReplicaState[]
  /** Examines each replica once, now. */
  examine(): Promise<void>
  /** Examines the replicas from now on. */
  start(): void
  stop(): Promise<void>
}

interface Replica extends ReplicaPlace {
  replayed: () => Promise<Position>
  state: ReplicaState
  /** The good examinations in a row, and the number that is needed. */
  good: number
  needed: number
  used_since: number
  /** The oldest known position that has not arrived. */
  missing: { position: Position; since: number } | null
}

/**
 * Reads at replicas, without a promise less than that of the primary: each read asks the primary for the end of its log, and a
 * replica answers once it has replayed up to there. So a client reads its own write, and what any other server or a webhook told it,
 * and nothing is kept for it. A replica keeps no session, so its URL may lead through a pooler, or to several replicas.
 */
export function createReplicas({
  primary,
  places,
  max_lag_ms,
  read_max_ms,
  log,
}: {
  /** Runs a statement at the primary, within a short time. */
  primary: (text: string) => Promise<pg.QueryResult>
  places: readonly ReplicaPlace[]
  /** How long a read waits for a replica. One that is further behind is not used. */
  max_lag_ms: number
  /** The time limit of a read at a replica. */
  read_max_ms: number
  log: Log
}): Replicas {
  const now = () => performance.now()
  const flushed = sharing(async () => positionOf(await primary(FLUSHED)))
  const replicas = places.map((place): Replica => {
    const ask = () => inTime(place.asking, eachAlone, (run) => run(REPLAYED), now() + ASK_MAX_MS)
    const { name } = place
    return {
      ...place,
      replayed: sharing(async () => positionOf(await ask())),
      state: { name, lag_ms: null, is_used: false, reason: NOT_EXAMINED, answers: 0 },
      good: 0,
      needed: 1,
      used_since: 0,
      missing: null,
    }
  })
  const stopping = new AbortController()
  let turn = 0
  let examining: Promise<unknown> = Promise.resolve()

  /** Why the replica does not have this position at `until`; null once it has. */
  async function missingAt(
    { replayed, password }: Replica,
    position: Position,
    until: number,
  ): Promise<string | null> {
    let late = 'it does not answer'
    for (;;) {
      const asked = replayed().catch((error) => withoutPassword(textOf(error), password))
      const found = await within<Position | string>(until - now(), asked, () => late)
      if (typeof found === 'string') return found
      if (hasReached(found, position)) return null
      if (found.history === null) return 'it is no standby'
      if (found.history !== position.history) return 'it does not follow the primary'
      late = BEHIND
      if (until - now() < ASK_AGAIN_MS || stopping.signal.aborted) return late
      await pause(ASK_AGAIN_MS)
    }
  }

  function lose(replica: Replica, reason: string): void {
    const { state, used_since } = replica
    replica.good = 0
    state.reason = reason
    if (reason !== BEHIND) state.lag_ms = null
    if (!state.is_used) return
    state.is_used = false
    const isSteady = now() - used_since > STEADY_MS
    replica.needed = isSteady
      ? GOOD_MIN
      : Math.min(Math.max(replica.needed * 2, GOOD_MIN), GOOD_MAX)
    log.warn({ replica: state.name, reason }, 'a read replica was lost: reads go to the primary')
  }

  function keep(replica: Replica): void {
    const { state } = replica
    replica.good += 1
    if (state.is_used || replica.good < replica.needed) return
    Object.assign(state, { is_used: true, reason: null })
    replica.used_since = now()
    log.info({ replica: state.name, lag_ms: state.lag_ms }, 'a read replica is used')
  }

  async function examineOne(replica: Replica): Promise<void> {
    const since = now()
    // While the primary does not answer, nothing is known about its replicas.
    const position = await flushed().catch(() => null)
    if (!position) return
    const missing = await missingAt(replica, position, now() + max_lag_ms)
    const { state } = replica
    if (missing === null) {
      replica.missing = null
      state.lag_ms = Math.round(now() - since)
      keep(replica)
      return
    }
    if (missing === BEHIND) state.lag_ms = await lagOf(replica, { position, since })
    const isNew = !state.is_used && state.reason === NOT_EXAMINED
    if (isNew) log.warn({ replica: state.name, reason: missing }, 'a read replica cannot be used')
    lose(replica, missing)
  }

  /** How long the oldest known position has not arrived. */
  async function lagOf(
    replica: Replica,
    latest: { position: Position; since: number },
  ): Promise<number> {
    const { missing } = replica
    const found = missing && (await replica.replayed().catch(() => null))
    if (!missing || (found && hasReached(found, missing.position))) replica.missing = latest
    return Math.round(now() - (replica.missing ?? latest).since)
  }

  async function keepExamining(replica: Replica): Promise<void> {
    const { signal } = stopping
    while (!signal.aborted) {
      await examineOne(replica)
      await pause(EXAMINE_EVERY_MS, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  return {
    async read(query, values) {
      const used = replicas.filter(({ state }) => state.is_used)
      const replica = used[turn++ % used.length]
      if (!replica) return null
      const position = await flushed().catch(() => null)
      if (!position) return null
      const missing = await missingAt(replica, position, now() + max_lag_ms)
      if (missing !== null) {
        if (missing !== BEHIND) lose(replica, missing)
        return null
      }
      try {
        const answer = await inTime(
          replica.pool,
          eachAlone,
          async (run) => {
            // The connection may lead to another replica than the question did.
            const [replayed, answer] = await Promise.all([run(REPLAYED), run(query, values)])
            return hasReached(positionOf(replayed), position) ? answer : null
          },
          now() + read_max_ms,
        )
        if (answer) replica.state.answers += 1
        return answer
      } catch (error) {
        // A replica cancels queries that conflict with its replay. The primary reports what is wrong with the query itself.
        if (isGone(error)) lose(replica, withoutPassword(textOf(error), replica.password))
        return null
      }
    },
    states: () => replicas.map(({ state }) => ({ ...state })),
    examine: async () => void (await Promise.all(replicas.map(examineOne))),
    start() {
      examining = Promise.all(replicas.map(keepExamining))
    },
    async stop() {
      stopping.abort()
      await examining
    },
  }
}

const BEHIND = 'it is behind'
const NOT_EXAMINED = 'it was not examined yet'

/** @throws Error when the server does not tell its position. */
function positionOf({ rows }: pg.QueryResult): Position {
  const { history = null, lsn } = rows[0] ?? {}
  if (history === null) return { history, at: 0n }
  const [high, low] = String(lsn).split('/')
  if (!high || !low) throw new Error('it does not tell what it has replayed')
  return { history, at: (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`) }
}

function hasReached(found: Position, { history, at }: Position): boolean {
  return history !== null && found.history === history && found.at >= at
}

/**
 * Asks once for all callers that came before the question: an answer is never older than a caller. The next question waits for the
 * answer to the last.
 */
function sharing<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | null = null
  return () => {
    if (next) return next
    const asked = last.then(() => {
      next = null
      return ask()
    })
    next = asked
    last = asked.catch(() => {})
    return asked
  }
}
