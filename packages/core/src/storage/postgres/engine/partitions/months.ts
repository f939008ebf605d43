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
  type TablePartitions,
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
    ({ is_partitioned, partitions, default_rows }) =>
      is_partitioned &&
      (default_rows > 0 || lastBound(partitions) < monthAfter(options.now, options.ahead + 1)),
  )
  return isBehind ? addPartitions(pool, long, options) : []
}

/** The history whose rows refer to rows of another one, with ids of the same month: the next attempt of an old message is such a row. */
const PARENTS: Partial<Record<PartitionedTable, PartitionedTable>> = {
  message_attempts: 'messages',
  message_events: 'messages',
  delivery_attempts: 'deliveries',
}

/**
 * Drops the empty partitions with months that ended at `until` or before, where the role owns the tables, so that their space comes back at
 * once. The partitions of attempts and reports stay while their month has messages or deliveries. Returns the names of the dropped
 * ones. A row of such a month that comes later, such as an imported one, goes to the default partition.
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
      const parent = PARENTS[table]
      if (parent && (await hasRows(alone(pool), parent, { from: each.from, until: each.until })))
        continue
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
  const rest = `${table}_default`
  // Tables that were partitioned by hand have none.
  const hasDefault = state.partitions.some(({ is_default }) => is_default)
  const added: string[] = []
  if (hasDefault) added.push(...(await fillGaps(pool, state, options)))
  const from = lastBound(state.partitions)
  if (from >= target) return added
  options.onStep('months')
  const column = PARTITIONED[table]
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

/**
 * Gives rows of the default partition that are older than the last month partitions of their own: of the time between two partitions, or
 * before the first one, which were dropped. Returns the names. @throws Error when there are many such rows.
 */
async function fillGaps(
  pool: Pool,
  { table, partitions }: TablePartitions,
  options: Told,
): Promise<string[]> {
  const rest = `${table}_default`
  const filled: string[] = []
  let end: Date | null = null
  for (const { from, until } of partitions) {
    const gap = { from: end, until: from }
    end = until
    if (gap.until === null || gap.from?.getTime() === gap.until.getTime()) continue
    const range = { ...gap, until: gap.until }
    const rows = await countUpTo(
      alone(pool),
      rest,
      GAP_ROWS_MAX + 1,
      within(PARTITIONED[table], range),
    )
    if (rows === 0) continue
    if (rows > GAP_ROWS_MAX) {
      const times = `${range.from ? `from ${range.from.toISOString()} ` : ''}until ${range.until.toISOString()}`
      throw new Error(
        `${rest} has more than ${GAP_ROWS_MAX} rows ${times}, and there is no partition for them: remove the old history (SVC_HISTORY_DAYS) first`,
      )
    }
    options.onStep('months')
    filled.push(await change(pool, options, (run) => fillGap(run, table, range)))
  }
  return filled
}

/** The rows are moved while other statements wait: about 0.1 s for so many. */
const GAP_ROWS_MAX = 10_000

async function fillGap(run: Run, table: PartitionedTable, range: Range): Promise<string> {
  const name = nameOf(table, range)
  const where = within(PARTITIONED[table], range)
  await run(
    `create table ${name} (like ${table} including all, constraint ${BOUND} check (${where}))`,
  )
  await run(`lock table ${table} in access exclusive mode`)
  await run(
    `with moved as (delete from only ${table}_default where ${where} returning *) insert into ${name} select * from moved`,
  )
  await attach(run, table, name, range)
  return name
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

async function hasRows(run: Run, table: PartitionedTable, range: Range): Promise<boolean> {
  const { rows } = await run(
    `select exists (select from ${table} where ${within(PARTITIONED[table], range)}) as is_used`,
  )
  return rows[0]?.is_used
}
