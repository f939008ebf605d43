import { idFloor, timeOfId } from '../../../../runtime/runtime.ts'
import type { Run } from '../transaction.ts'

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

/** The time of a table's rows: from the first moment of a month, or from the beginning, until that of another. */
export interface Range {
  from: Date | null
  until: Date
}

/** Counting more rows in the default partition takes long, and tells nothing new. */
export const DEFAULT_ROWS_MAX = 100_000

/** The name of the constraint that proves the range of a table. */
export const BOUND = 'svc_partition_bound'

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

/** The number of rows of one partition, or of those that fulfil a condition, up to a limit. */
export async function countUpTo(
  run: Run,
  name: string,
  limit: number,
  where = 'true',
): Promise<number> {
  const { rows } = await run(
    `select count(*)::int as count from (select from only ${name} where ${where} limit ${limit}) r`,
  )
  return rows[0]?.count
}

export function lastBound(partitions: readonly Partition[]): Date {
  const ends = partitions.flatMap(({ until }) => until ?? [])
  return ends.at(-1) ?? new Date(0)
}

/** The first moment of the month that is so many months after that of a time (UTC). */
export function monthAfter(at: Date, months: number): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1))
}

/** Such as `messages_2027_01`; the oldest one is `messages_first`. */
export function nameOf(table: PartitionedTable, { from }: Range): string {
  return `${table}_${from ? from.toISOString().slice(0, 7).replace('-', '_') : 'first'}`
}

/** The smallest id of a row of that time, as a literal. */
export const idOf = (at: Date) => `'${idFloor(at)}'`

export function within(column: string, { from, until }: Range): string {
  return `${from ? `${column} >= ${idOf(from)} and ` : ''}${column} < ${idOf(until)}`
}
