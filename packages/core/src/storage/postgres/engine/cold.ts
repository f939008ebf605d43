import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import type pg from 'pg'
import { type Db, dialects } from '../../../rows/dialect.ts'
import { tables } from '../../../rows/tables.ts'
import type { Reads, Storage } from '../../ports/storage.ts'
import type { StoreDialect } from '../../stores/dialect.ts'
import { openStores } from '../../stores/stores.ts'
import type { Clock } from './clock.ts'
import { IS_WRITABLE } from './connection.ts'
import { withoutData } from './failure.ts'
import { parsers } from './parsers.ts'
import { type Ask, askOnce, type OnCommit, retrying, transact } from './transaction.ts'

/** Rows that a change depends on are locked until its transaction ends. */
const locked = <Q>(query: Q) => lock(query, 'update')

/** As `settle` has them: two that queue deliveries for the same webhooks need not wait for each other. */
const kept = <Q>(query: Q) => lock(query, 'key share')

function lock<Q>(query: Q, strength: 'update' | 'key share'): Q {
  return (query as { for(strength: string): Q }).for(strength)
}

function dialectFor(clock: Clock): StoreDialect {
  return {
    locked,
    kept,
    present: (at) =>
      clock.now(at) ? at : sql<Date>`date_trunc('milliseconds', statement_timestamp())`,
  }
}

/** Whoever asks whether the database is there does not wait for long. */
const PING_MAX_MS = 2_000

/** A commit that is flushed to disk, and waits for standbys where commits do, without a table. */
const PROBE = `select pg_logical_emit_message(true, 'svc', '')`

const t = tables(dialects.postgres)

/** The cold door on PostgreSQL: the shared stores, each reading by itself or all in one transaction. */
export function openCold(
  pool: pg.Pool,
  {
    clock,
    onCommit,
    ...bounds
  }: {
    clock: Clock
    random: () => number
    answer_max_ms: number
    onCommit?: OnCommit | undefined
    onError?: ((error: unknown) => void) | undefined
  },
): Pick<Storage, 'read' | 'write'> & Record<'assertWritable' | 'probe', () => Promise<void>> {
  const dialect = dialectFor(clock)
  const again = retrying(bounds)
  const max_ms = Math.min(PING_MAX_MS, bounds.answer_max_ms)
  const askSoon = (text: string) => again((fate) => askOnce(pool, text, undefined, fate), max_ms)
  const ask: Ask = (query, values) => again((fate) => askOnce(pool, query, values, fate))
  return {
    read: discreet(openStores(handle(ask), t, dialect)),
    write: (work) =>
      again((fate) =>
        transact(pool, (ask) => work(openStores(handle(ask), t, dialect)), fate, onCommit),
      ),
    async assertWritable() {
      const { rows } = await askSoon(IS_WRITABLE)
      if (!rows[0]?.is_writable) throw new Error('the database takes no writes')
    },
    async probe() {
      await askSoon(PROBE)
    },
  }
}

/** drizzle over somebody who answers statements; values arrive as the hot door has them. */
function handle(ask: Ask): Db {
  const query = (config: pg.QueryConfig, values: unknown[]) =>
    ask({ ...config, types: parsers }, values)
  return drizzle({ query } as unknown as pg.Pool) as Db
}

/** The stores, with errors that do not tell the values they are about. */
function discreet(stores: Reads): Reads {
  type Verbs = Record<string, (...values: unknown[]) => Promise<unknown>>
  const wrapped = Object.entries(stores).map(([name, store]: [string, Verbs]) => {
    const verbs = Object.entries(store).map(([verb, ask]) => [
      verb,
      async (...values: unknown[]) => {
        try {
          return await ask(...values)
        } catch (error) {
          throw withoutData(error)
        }
      },
    ])
    return [name, Object.fromEntries(verbs)]
  })
  return Object.fromEntries(wrapped)
}
