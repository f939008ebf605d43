import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { type Db, dialects } from '../../../rows/dialect.ts'
import { tables } from '../../../rows/tables.ts'
import { placedReads, withErrors } from '../../placed-reads.ts'
import type { Storage } from '../../ports/storage.ts'
import type { Clock } from '../../queueing.ts'
import type { StoreDialect } from '../../stores/queries.ts'
import { inTransaction, openReads, openWrites } from '../../stores/stores.ts'
import { IS_WRITABLE } from './connection.ts'
import { parsers } from './database.ts'
import { withoutData } from './failure.ts'
import { enterSchema, FOLDS, IS_MOVING } from './partitions/detached.ts'
import type { Replicas } from './replicas.ts'
import { type Bounds, eachAlone, type Pool, type Run, worker } from './transaction.ts'

/** Rows that a change depends on are locked until its transaction ends. */
const locked = <Q>(query: Q) => lock(query, 'update')

/** The lock of `settle`: two transactions that queue deliveries for the same webhooks do not block each other. */
const kept = <Q>(query: Q) => lock(query, 'key share')

function lock<Q>(query: Q, strength: 'update' | 'key share'): Q {
  return (query as { for(strength: string): Q }).for(strength)
}

/** The first half of the advisory locks of names; a lock with one key of 64 bits is never the same as these. */
const HELD_NAMES = 1

/** While one transaction waits for a table, later ones wait too; a backup holds its tables for hours. */
const ALONE_MAX_MS = 500

function dialectFor(clock: Clock): StoreDialect {
  return {
    locked,
    kept,
    async alone(db, table) {
      await db.execute(sql.raw(`set local lock_timeout = '${ALONE_MAX_MS}ms'`))
      await db.execute(sql`lock table ${table} in access exclusive mode`)
    },
    async hold(db, name) {
      await db.execute(sql`select pg_advisory_xact_lock(${HELD_NAMES}, hashtext(${name}))`)
    },
    async mayFold(db) {
      await db.execute(sql.raw(`select pg_advisory_xact_lock_shared(${FOLDS})`))
      const [row] = await db
        .select({ is_moving: sql<boolean>`${sql.raw(IS_MOVING)}` })
        .from(sql.raw('(values (1)) one'))
      return row?.is_moving === false
    },
    present: (at) =>
      clock.now(at) ? at : sql<Date>`date_trunc('milliseconds', statement_timestamp())`,
    bucketOf: (text) =>
      sql<number>`('x' || left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 4))::bit(16)::integer`,
    messageContent: sql.raw('messages.content') as StoreDialect['messageContent'],
    messagesByBulk: sql.raw('messages'),
  }
}

/** The time limit of a health check. */
const PING_MAX_MS = 2_000

/** A commit without a table. It is flushed to disk and waits for standbys, as other commits do. */
const PROBE = `select pg_logical_emit_message(true, 'svc', '')`

const t = tables(dialects.postgres)

/**
 * `read` and `write` on PostgreSQL: the shared stores. A query of `read` runs alone, at a replica if it may and one can answer; a `write` is
 * one transaction.
 */
export function openCold(
  pool: Pool,
  {
    clock,
    onLogged,
    replicas,
    ...bounds
  }: Bounds & {
    clock: Clock
    /** Called after a commit that added events to the log. */
    onLogged: () => void
    /** Makes the read replicas, which ask the primary with this function; null without any. */
    replicas: ((primary: (text: string) => Promise<pg.QueryResult>) => Replicas) | null
  },
): Pick<Storage, 'read' | 'write'> &
  Record<'assertWritable' | 'probe', () => Promise<void>> & {
    replicas: Replicas | null
    /** `write` with the tables of a detached month in front of those of the service. */
    writeIn(schema: string): Storage['write']
  } {
  const dialect = dialectFor(clock)
  const { together, transact } = worker(pool, bounds)
  const max_ms = Math.min(PING_MAX_MS, bounds.answer_max_ms)
  const runSoon = (text: string) => together(eachAlone, (run) => run(text), max_ms)
  const run: Run = (query, values) => together(eachAlone, (run) => run(query, values))
  const reads = (run: Run) => withErrors(openReads(handle(run), t, dialect), withoutData)
  const primary = reads(run)
  const others = replicas?.(runSoon) ?? null
  const replica =
    others &&
    reads(async (query, values) => (await others.read(query, values)) ?? run(query, values))
  const writeAfter =
    (prepare: (run: Run) => Promise<void>): Storage['write'] =>
    async (work) => {
      const { result, has_logged } = await transact(eachAlone, async (run) => {
        await prepare(run)
        return inTransaction(openWrites(handle(run), t, dialect), work)
      })
      if (has_logged) onLogged()
      return result
    }
  return {
    read: replica ? placedReads({ near: primary, primary, replica }) : primary,
    replicas: others,
    write: writeAfter(async () => {}),
    writeIn: (schema) => writeAfter((run) => enterSchema(run, schema)),
    async assertWritable() {
      const { rows } = await runSoon(IS_WRITABLE)
      if (!rows[0]?.is_writable) throw new Error('the database takes no writes')
    },
    async probe() {
      await runSoon(PROBE)
    },
  }
}

/** A drizzle handle whose statements `run` executes. Its values have the same types as in `hot`. */
function handle(run: Run): Db {
  const query = (config: pg.QueryConfig, values: unknown[]) =>
    run({ ...config, types: parsers }, values)
  return drizzle({ query } as unknown as pg.Pool) as Db
}
