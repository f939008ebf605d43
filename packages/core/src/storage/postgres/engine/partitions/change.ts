import type { Log } from '../../../../runtime/runtime.ts'
import { isContention, textOf } from '../failure.ts'
import { LOCK_TIMEOUT, MIGRATION_LOCK } from '../migrate.ts'
import { eachAlone, type Pool, type Run, transact } from '../transaction.ts'
import {
  BOUND,
  idOf,
  PARTITIONED,
  type PartitionedTable,
  type Range,
  type TablePartitions,
  within,
} from './state.ts'

/** What is done now, with one table. */
export interface PartitionStep {
  table: PartitionedTable
  step: 'bound' | 'validate' | 'attach' | 'months'
  /** The approximate number of rows of the table. */
  rows: number
}

/** The options of a change of partitions. */
export interface PartitionOptions {
  now: Date
  /** The number of months after the current one for which there are partitions afterwards. */
  ahead: number
  onStep?: ((step: PartitionStep) => void) | undefined
  log?: Pick<Log, 'info'> | undefined
  /** How often a step is tried while a table is in use; default: for ten minutes. */
  tries_max?: number | undefined
}

/** A bound refuses later rows, so an interrupted change may not leave it for longer than until this time before it. */
const BOUND_MARGIN_MS = 7 * 24 * 60 * 60_000

const TRIES_MAX = 200
const PAUSE_MS = 3_000

/**
 * Runs `work` as the owner of the tables in a transaction that waits at most two seconds for each lock, because other statements wait
 * behind it; tries again while the tables are in use. What only `reads` the rows lets servers start meanwhile.
 */
export async function change<T>(
  pool: Pool,
  {
    log,
    tries_max = TRIES_MAX,
    reads = false,
  }: Pick<PartitionOptions, 'log' | 'tries_max'> & { reads?: boolean },
  work: (run: Run) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transact(pool, eachAlone, async (run) => {
        await run(LOCK_TIMEOUT)
        await run('set local statement_timeout = 0')
        if (!reads) await assertNoMigration(run)
        const { rows } = await run(
          `select relowner::regrole::text as owner from pg_class where oid = 'messages'::regclass`,
        )
        await run(`set local role ${rows[0]?.owner}`)
        return work(run)
      })
    } catch (error) {
      if (!isContention(error) || tries === tries_max) throw error
      log?.info({ reason: textOf(error) }, 'a table is in use; the change is tried again')
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  }
}

/** @throws Error as for a table in use, while another process migrates. */
async function assertNoMigration(run: Run): Promise<void> {
  const { rows } = await run('select pg_try_advisory_xact_lock($1) as is_mine', [MIGRATION_LOCK])
  if (rows[0]?.is_mine) return
  throw Object.assign(new Error('another process migrates the database'), { code: '55P03' })
}

export const alone =
  (pool: Pool): Run =>
  (query, values) =>
    pool.query(query as string, values)

export type Told = Omit<PartitionOptions, 'onStep'> & {
  onStep: (step: PartitionStep['step']) => void
}

export function tellWith({ onStep }: PartitionOptions, table: PartitionedTable, rows: number) {
  return (step: PartitionStep['step']) => onStep?.({ table, step, rows })
}

/** Ensures that a validated constraint proves the range of a table; returns the range. */
export async function bounded(
  pool: Pool,
  table: PartitionedTable,
  { holder, from, until, bound }: Range & { holder: string; bound: TablePartitions['bound'] },
  options: Told,
): Promise<Range> {
  const kept = bound && isFar(bound.until, options.now) ? bound : null
  const range = { from, until: kept?.until ?? until }
  if (!kept) {
    options.onStep('bound')
    await change(pool, options, async (run) => {
      await run(`alter table ${holder} drop constraint if exists ${BOUND}`)
      const check = `check (${within(PARTITIONED[table], range)})`
      await run(`alter table ${holder} add constraint ${BOUND} ${check} not valid`)
    })
  }
  if (kept?.is_valid) return range
  options.onStep('validate')
  try {
    await change(pool, { ...options, reads: true }, (run) =>
      run(`alter table ${holder} validate constraint ${BOUND}`),
    )
  } catch (error) {
    if ((error as { code?: unknown }).code !== CHECK_VIOLATION) throw error
    await change(pool, options, (run) => run(`alter table ${holder} drop constraint ${BOUND}`))
    const times = `${from ? `before ${from.toISOString()}, or ` : ''}of ${range.until.toISOString()} or later`
    throw new Error(`${holder} has rows ${times}: a clock was wrong when they were written`)
  }
  return range
}

const CHECK_VIOLATION = '23514'

/** It is made apart, because `create table … partition of` locks the parent for longer. */
export async function addDefault(run: Run, table: PartitionedTable): Promise<void> {
  const rest = `${table}_default`
  await run(`create table ${rest} (like ${table} including all)`)
  await run(`alter table ${table} attach partition ${rest} default`)
}

/** Attaches a table with the constraint of its range, which it no longer needs. */
export async function attach(
  run: Run,
  table: PartitionedTable,
  name: string,
  { from, until }: Range,
) {
  const bounds = `from (${from ? idOf(from) : 'minvalue'}) to (${idOf(until)})`
  await run(`alter table ${table} attach partition ${name} for values ${bounds}`)
  await run(`alter table ${name} drop constraint ${BOUND}`)
}

export const isFar = (until: Date, now: Date) => +until - +now >= BOUND_MARGIN_MS
