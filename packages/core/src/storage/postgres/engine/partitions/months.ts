import type { Pool, Run } from '../transaction.ts'
import {
  addDefault,
  alone,
  attach,
  bounded,
  change,
  isFar,
  type PartitionOptions,
  type Told,
  tellWith,
} from './change.ts'
import {
  BOUND,
  countUpTo,
  idOf,
  lastBound,
  monthAfter,
  nameOf,
  PARTITIONED,
  type PartitionedTable,
  partitionsOf,
  type Range,
  within,
} from './state.ts'

/**
 * Makes the partitions of the next months where the histories are partitioned. Rows that arrived in the default partition meanwhile stay where
 * they are: it becomes the partition of their months, and a new one takes its place. Returns the names of the new partitions.
 * `long` runs what takes long.
 */
export async function addPartitions(
  pool: Pool,
  long: Pool,
  options: PartitionOptions,
): Promise<string[]> {
  const added: string[] = []
  for (const state of await partitionsOf(alone(pool))) {
    if (!state.is_partitioned) continue
    const told = { ...options, onStep: tellWith(options, state.table, 0) }
    added.push(...(await addMonths(pool, long, state.table, told)))
  }
  return added
}

/**
 * What a server does by itself, where its role owns the tables: `addPartitions`, and removing a bound that an interrupted change left
 * before it refuses rows.
 */
export async function keepPartitions(
  pool: Pool,
  long: Pool,
  options: PartitionOptions,
): Promise<string[]> {
  const states = (await partitionsOf(alone(pool))).filter(({ is_owner }) => is_owner)
  for (const { bound } of states) {
    if (!bound || isFar(bound.until, options.now)) continue
    await change(pool, options, (run) =>
      run(`alter table ${bound.holder} drop constraint ${BOUND}`),
    )
  }
  const isBehind = states.some(
    ({ is_partitioned, partitions }) =>
      is_partitioned && lastBound(partitions) < monthAfter(options.now, options.ahead + 1),
  )
  return isBehind ? addPartitions(pool, long, options) : []
}

/**
 * Drops the empty partitions with months that ended at `until` or before, where the role owns the tables, so that their space comes back at
 * once. Returns their names. A row of such a month that comes later goes to the default partition.
 */
export async function dropPartitions(
  pool: Pool,
  until: Date,
  options: Pick<PartitionOptions, 'log' | 'tries_max'>,
): Promise<string[]> {
  const dropped: string[] = []
  for (const { table, is_owner, partitions } of await partitionsOf(alone(pool))) {
    for (const { name, ...each } of is_owner ? partitions : []) {
      if (each.until === null || each.until > until) continue
      if ((await countUpTo(alone(pool), name, 1)) > 0) continue
      const isGone = await change(pool, options, async (run) => {
        // Without rows and without writers.
        await run(`lock table ${table} in access exclusive mode`)
        if ((await countUpTo(run, name, 1)) > 0) return false
        await run(`drop table ${name}`)
        return true
      })
      if (isGone) dropped.push(name)
    }
  }
  if (dropped.length > 0)
    options.log?.info({ partitions: dropped }, 'empty partitions were dropped')
  return dropped
}

/** Adds the missing months of one table; returns the names of their partitions. */
export async function addMonths(
  pool: Pool,
  long: Pool,
  table: PartitionedTable,
  options: Told,
): Promise<string[]> {
  const { now, ahead } = options
  const target = monthAfter(now, ahead + 1)
  const look = async (run: Run) => {
    const state = (await partitionsOf(run)).find((one) => one.table === table)
    if (!state) throw new Error(`there is no table ${table}`)
    return state
  }
  const state = await look(alone(pool))
  const from = lastBound(state.partitions)
  if (from >= target) return []
  options.onStep('months')
  const added: string[] = []
  const column = PARTITIONED[table]
  const rest = `${table}_default`
  // Tables that were partitioned by hand have none.
  const hasDefault = state.partitions.some(({ is_default }) => is_default)
  const { rows } = hasDefault
    ? await alone(pool)(
        `select exists (select from only ${rest} where ${column} >= ${idOf(from)}) as is_used`,
      )
    : { rows: [] }
  if (rows[0]?.is_used) {
    const until = new Date(Math.max(+monthAfter(now, 2), +monthAfter(from, 1)))
    const { bound } = state
    const range = await bounded(long, table, { holder: rest, from, until, bound }, options)
    options.onStep('attach')
    added.push(await change(long, options, (run) => replaceDefault(run, table, range)))
  }
  const made = await change(pool, options, async (run) => {
    const names: string[] = []
    if (!hasDefault) await addDefault(run, table)
    for (let since = lastBound((await look(run)).partitions); since < target; ) {
      const until = monthAfter(since, 1)
      names.push(await addMonth(run, table, { from: since, until }))
      since = until
    }
    return names
  })
  return [...added, ...made]
}

/** The default partition becomes the partition of its rows, and a new one takes its place. */
async function replaceDefault(run: Run, table: PartitionedTable, range: Range): Promise<string> {
  const rest = `${table}_default`
  const name = nameOf(table, range)
  await run(`lock table ${table} in access exclusive mode`)
  await run(`alter table ${table} detach partition ${rest}`)
  await run(`alter table ${rest} rename to ${name}`)
  await attach(run, table, name, range)
  await addDefault(run, table)
  return name
}

async function addMonth(run: Run, table: PartitionedTable, range: Range): Promise<string> {
  const name = nameOf(table, range)
  const bound = `constraint ${BOUND} check (${within(PARTITIONED[table], range)})`
  await run(`create table ${name} (like ${table} including all, ${bound})`)
  await attach(run, table, name, range)
  return name
}
