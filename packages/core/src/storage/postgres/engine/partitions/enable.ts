import type { Pool, Run } from '../transaction.ts'
import {
  addDefault,
  alone,
  attach,
  bounded,
  change,
  type PartitionOptions,
  tellWith,
} from './change.ts'
import { addMonths } from './months.ts'
import {
  monthAfter,
  PARTITIONED,
  type PartitionedTable,
  partitionsOf,
  type Range,
} from './state.ts'

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

async function rowsIn(run: Run, table: string): Promise<number> {
  const { rows } = await run(
    `select greatest(reltuples, 0)::float8 as count from pg_class where oid = '${table}'::regclass`,
  )
  return rows[0]?.count
}
