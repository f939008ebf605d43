import { idFloor, type Log, timeOfId } from '../../../runtime/runtime.ts'
import { isContention, textOf } from './failure.ts'
import { LOCK_TIMEOUT, MIGRATION_LOCK } from './migrate.ts'
import { eachAlone, type Pool, type Run, transact } from './transaction.ts'

/** Each history, and the column of its key that begins with the time. */
export const PARTITIONED = {
  messages: 'id',
  message_attempts: 'message_id',
  message_events: 'message_id',
  events: 'id',
  deliveries: 'id',
  delivery_attempts: 'delivery_id',
} as const

/** A history that can be partitioned. */
export type PartitionedTable = keyof typeof PARTITIONED

/** One partition. Its bounds are the first moments of months (UTC). */
export interface Partition {
  name: string
  /** Null for the oldest one and for the default partition. */
  from: Date | null
  /** Null for the default partition. */
  until: Date | null
  /** Takes the rows for which there is no other partition. */
  is_default: boolean
  /** Approximate. */
  rows: number
  bytes: number
}

/** A history, and its partitions in the order of time, the default partition last. */
export interface TablePartitions {
  table: PartitionedTable
  is_partitioned: boolean
  /** Whether this role may change the table. */
  is_owner: boolean
  /** The rows in the default partition, up to `DEFAULT_ROWS_MAX`. */
  default_rows: number
  /** The bound that an interrupted change left: rows of that time and later are refused until the change goes on. */
  bound: { holder: string; until: Date; is_valid: boolean } | null
  partitions: Partition[]
}

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

/** Counting more rows in the default partition takes long, and tells nothing new. */
export const DEFAULT_ROWS_MAX = 100_000

const BOUND = 'svc_partition_bound'

/** A bound refuses later rows, so an interrupted change may not leave it for longer than until this time before it. */
const BOUND_MARGIN_MS = 7 * 24 * 60 * 60_000

const TRIES_MAX = 200
const PAUSE_MS = 3_000

/** The histories with their partitions. */
export async function partitionsOf(run: Run): Promise<TablePartitions[]> {
  const names = Object.keys(PARTITIONED) as PartitionedTable[]
  const tables = await run(
    `select t.name, c.relkind = 'p' as is_partitioned, pg_has_role(c.relowner, 'usage') as is_owner
     from unnest($1::text[]) with ordinality t(name, n) join pg_class c on c.oid = to_regclass(t.name) order by n`,
    [names],
  )
  const children = await run(
    `select p.relname as "table", c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bound,
       greatest(c.reltuples, 0)::float8 as rows, pg_total_relation_size(c.oid)::float8 as bytes
     from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_class p on p.oid = i.inhparent
     where i.inhparent in (select to_regclass(name) from unnest($1::text[]) name)`,
    [names],
  )
  const bounds = await run(
    `select c.relname as holder, k.convalidated as is_valid, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     where k.conname = $2 and k.conrelid in
       (select to_regclass(name || part) from unnest($1::text[]) name, unnest(array['', '_default']) part)`,
    [names, BOUND],
  )
  const states: TablePartitions[] = []
  for (const { name: table, is_partitioned, is_owner } of tables.rows) {
    const mine = children.rows.filter((row) => row.table === table).map(partitionOf)
    const rest = mine.find(({ is_default }) => is_default)
    const held = bounds.rows.find(({ holder }) => holder === (is_partitioned ? rest?.name : table))
    const [, until] = / < '([0-9a-f-]+)'/.exec(held?.definition ?? '') ?? []
    states.push({
      ...{ table, is_partitioned, is_owner },
      default_rows: rest ? await countUpTo(run, rest.name, DEFAULT_ROWS_MAX) : 0,
      bound: held && until ? { ...held, until: timeOfId(until) } : null,
      partitions: mine.sort((a, b) => endOf(a) - endOf(b)),
    })
  }
  return states
}

const endOf = ({ until }: Partition) => until?.getTime() ?? Number.POSITIVE_INFINITY

function partitionOf({
  name,
  bound,
  rows,
  bytes,
}: {
  name: string
  bound: string
  rows: number
  bytes: number
}): Partition {
  const [, from, until] =
    /^FOR VALUES FROM \((?:MINVALUE|'([^']*)')\) TO \('([^']*)'\)$/.exec(bound) ?? []
  return {
    ...{ name, rows, bytes },
    from: from ? timeOfId(from) : null,
    until: until ? timeOfId(until) : null,
    is_default: bound === 'DEFAULT',
  }
}

async function countUpTo(run: Run, name: string, limit: number): Promise<number> {
  const { rows } = await run(
    `select count(*)::int as count from (select from only ${name} limit ${limit}) r`,
  )
  return rows[0]?.count
}

/**
 * Partitions every history by month while servers write to it. The table itself becomes the first partition, with the rows up to the
 * end of the next month; no row is copied. The rows are read once, for a constraint that lets the partition be attached at once. Each
 * step is a transaction, so a stopped call leaves a database that works, and the next call goes on.
 * @throws Error when rows are from the future, or when a table is in use in each try.
 */
export async function enablePartitions(pool: Pool, options: PartitionOptions): Promise<void> {
  for (const { table, is_partitioned, partitions, bound } of await partitionsOf(alone(pool))) {
    const rows = is_partitioned
      ? partitions.reduce((sum, each) => sum + each.rows, 0)
      : await rowsIn(alone(pool), table)
    const told = { ...options, onStep: tellWith(options, table, rows) }
    if (!is_partitioned) {
      const until = monthAfter(options.now, 2)
      const range = await bounded(pool, table, { holder: table, from: null, until, bound }, told)
      told.onStep('attach')
      await change(pool, told, (run) => makePartitioned(run, table, range))
    }
    // Without `analyze`: it would note that the new partitions are empty, and statements would be planned for that.
    await addMonths(pool, pool, table, told)
  }
}

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

type Told = Omit<PartitionOptions, 'onStep'> & { onStep: (step: PartitionStep['step']) => void }

function tellWith({ onStep }: PartitionOptions, table: PartitionedTable, rows: number) {
  return (step: PartitionStep['step']) => onStep?.({ table, step, rows })
}

/** Adds the missing months of one table; returns the names of their partitions. */
async function addMonths(
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

/** The time of a table's rows: from the first moment of a month, or from the beginning, until that of another. */
interface Range {
  from: Date | null
  until: Date
}

/** Ensures that a validated constraint proves the range of a table; returns the range. */
async function bounded(
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

/** Puts a partitioned table in the place of a plain one, which becomes its first partition. */
async function makePartitioned(run: Run, table: PartitionedTable, range: Range): Promise<void> {
  const first = `${table}_first`
  await run(`lock table ${table} in access exclusive mode`)
  const { rows: before } = await run(
    `select relkind = 'p' as is_done, array(select format('grant %s on ${table} to %s', privilege_type,
       case grantee when 0 then 'public' else grantee::regrole::text end)
       from aclexplode(relacl) where grantee <> relowner) as grants
     from pg_class where oid = '${table}'::regclass`,
  )
  if (before[0]?.is_done) return
  await run(`alter table ${table} rename to ${first}`)
  const { rows: indexes } = await run(
    `select c.relname as name, i.indisunique as is_unique, k.conname as key, pg_get_constraintdef(k.oid) as key_definition,
       substring(pg_get_indexdef(c.oid) from ' USING .*') as definition
     from pg_index i join pg_class c on c.oid = i.indexrelid
       left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid
     where i.indrelid = '${first}'::regclass order by i.indisprimary desc, c.relname`,
  )
  const like = `like ${first} including all excluding constraints excluding indexes`
  await run(`create table ${table} (${like}) partition by range (${PARTITIONED[table]})`)
  for (const { name, key, key_definition, is_unique, definition } of indexes) {
    const old = name.startsWith(table) ? name.replace(table, first) : `${name}_first`
    await run(`alter index "${name}" rename to "${old}"`)
    await run(
      key
        ? `alter table ${table} add constraint "${key}" ${key_definition}`
        : `create ${is_unique ? 'unique ' : ''}index "${name}" on ${table} ${definition}`,
    )
  }
  for (const grant of before[0]?.grants ?? []) await run(grant)
  await attach(run, table, first, range)
  await addDefault(run, table)
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

/** It is made apart, because `create table … partition of` locks the parent for longer. */
async function addDefault(run: Run, table: PartitionedTable): Promise<void> {
  const rest = `${table}_default`
  await run(`create table ${rest} (like ${table} including all)`)
  await run(`alter table ${table} attach partition ${rest} default`)
}

/** Attaches a table with the constraint of its range, which it no longer needs. */
async function attach(run: Run, table: PartitionedTable, name: string, { from, until }: Range) {
  const bounds = `from (${from ? idOf(from) : 'minvalue'}) to (${idOf(until)})`
  await run(`alter table ${table} attach partition ${name} for values ${bounds}`)
  await run(`alter table ${name} drop constraint ${BOUND}`)
}

/**
 * Runs `work` as the owner of the tables in a transaction that waits at most two seconds for each lock, because other statements wait
 * behind it; tries again while the tables are in use. What only `reads` the rows lets servers start meanwhile.
 */
async function change<T>(
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

const alone =
  (pool: Pool): Run =>
  (query, values) =>
    pool.query(query as string, values)

async function rowsIn(run: Run, table: string): Promise<number> {
  const { rows } = await run(
    `select greatest(reltuples, 0)::float8 as count from pg_class where oid = '${table}'::regclass`,
  )
  return rows[0]?.count
}

function lastBound(partitions: readonly Partition[]): Date {
  const ends = partitions.flatMap(({ until }) => until ?? [])
  return ends.at(-1) ?? new Date(0)
}

const isFar = (until: Date, now: Date) => +until - +now >= BOUND_MARGIN_MS

/** The first moment of the month that is so many months after that of a time (UTC). */
function monthAfter(at: Date, months: number): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1))
}

/** Such as `messages_2027_01`; the oldest one is `messages_first`. */
function nameOf(table: PartitionedTable, { from }: Range): string {
  return `${table}_${from ? from.toISOString().slice(0, 7).replace('-', '_') : 'first'}`
}

/** The smallest id of a row of that time, as a literal. */
const idOf = (at: Date) => `'${idFloor(at)}'`

function within(column: string, { from, until }: Range): string {
  return `${from ? `${column} >= ${idOf(from)} and ` : ''}${column} < ${idOf(until)}`
}
