import type { Run } from '../transaction.ts'
import { type Month, TABLES } from './leaving.ts'

/** A schema with the tables of a month that was taken out of the histories. The name of the month follows. */
const PREFIX = 'svc_detached_'

/**
 * How far a month is: its bulks move out (`bulks`), its partitions are out and the rest follows (`rest`), all is out (`detached`), its
 * partitions come back (`attaching`), the rest comes back (`returning`).
 */
export type DetachedStep = 'bulks' | 'rest' | 'detached' | 'attaching' | 'returning'

/** A month in a schema of its own. */
export interface DetachedMonth extends Month {
  schema: string
  step: DetachedStep
  /** When its detachment began. */
  at: Date
  /** The number of migrations that the database had then. */
  migrations: number
}

/**
 * The tables of such a schema beside the histories. Each has the name and the columns of a table of the service, so that a transaction with
 * the schema first in its search path works on the rows of the month.
 */
export const COMPANIONS = [
  'bulks',
  'bulk_rejections',
  'message_counts',
  'message_parts',
  'message_files',
  'files',
  'file_chunks',
  'retention_marks',
] as const

/** All tables that a migration may not change while a month is detached. */
export const MOVED_TABLES: readonly string[] = [...TABLES, ...COMPANIONS]

/** What the month is in the books, by workspace. */
export const BOOKED = 'booked'

/** The month as an operator writes it: `2027-01`, or `first` for the time before the first month. */
export const shownMonth = ({ name }: Pick<Month, 'name'>) => name.replace('_', '-')

/** The command that moves the month now, or was interrupted. */
export function unfinishedCommand({
  step,
}: Pick<DetachedMonth, 'step'>): 'detach' | 'attach' | null {
  if (step === 'detached') return null
  return step === 'attaching' || step === 'returning' ? 'attach' : 'detach'
}

/** The name of the schema of a month. */
export const schemaOf = ({ name }: Pick<Month, 'name'>) => `${PREFIX}${name}`

/** The months that are not in the histories, or not completely, oldest first. */
export async function detachedMonths(run: Run): Promise<DetachedMonth[]> {
  const { rows } = await run(
    `select nspname as schema, obj_description(oid, 'pg_namespace') as note from pg_namespace
     where starts_with(nspname, $1) and obj_description(oid, 'pg_namespace') is not null`,
    [PREFIX],
  )
  const months = rows.map(({ schema, note }): DetachedMonth => {
    const { name, from, until, step, at, migrations } = JSON.parse(note)
    return {
      ...{ schema, name, step, migrations, at: new Date(at) },
      ...{ from: from && new Date(from), until: new Date(until) },
    }
  })
  return months.sort((a, b) => a.until.getTime() - b.until.getTime())
}

/** SQL: whether a month is not in the histories, and not completely out of them. */
export const IS_MOVING = `exists (select from pg_namespace where starts_with(nspname, '${PREFIX}')
  and obj_description(oid, 'pg_namespace')::json ->> 'step' <> 'detached')`

/** SQL: the key of the advisory lock that folds of ledger entries share. */
export const FOLDS = `hashtextextended('folds of ledger entries', 0)`

/** Waits for the folds that began; until the end of the transaction no other one begins, and then they see its changes. */
export async function holdFolds(run: Run): Promise<void> {
  await run(`select pg_advisory_xact_lock(${FOLDS})`)
}

/** Notes how far the month is, in the transaction of the change. */
export async function noteStep(run: Run, month: DetachedMonth, step: DetachedStep): Promise<void> {
  const { schema, ...rest } = month
  await run(`comment on schema ${schema} is '${JSON.stringify({ ...rest, step })}'`)
}

/** The columns of a table in their order, for a copy from another table of the same columns. */
export async function columnsOf(run: Run, table: string): Promise<string> {
  const { rows } = await run(
    `select string_agg(format('%I', attname), ', ' order by attnum) as names from pg_attribute
     where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`,
  )
  return rows[0]?.names
}

/** Moves the rows of a table that fulfil a condition to a table with the same columns; returns their number. */
export async function moveRows(
  run: Run,
  { from, to, where, values = [] }: { from: string; to: string; where: string; values?: unknown[] },
): Promise<number> {
  const columns = await columnsOf(run, from)
  const { rowCount } = await run(
    `with gone as (delete from ${from} c where ${where} returning ${columns})
     insert into ${to} (${columns}) select ${columns} from gone`,
    values,
  )
  return rowCount ?? 0
}

/** SQL: at most so many rows of a table that fulfil a condition. */
export const some = (table: string, where: string, limit: number) =>
  `ctid = any (array(select ctid from ${table} where ${where} limit ${limit}))`

/**
 * In the rest of the transaction, the tables of the month stand for those of the service. Its attachment waits for the end of the
 * transaction. @throws Error when the month was attached or removed.
 */
export async function enterSchema(run: Run, schema: string): Promise<void> {
  await run(`lock table ${schema}.bulks in row exclusive mode`)
  await run(
    `select set_config('search_path', $1 || ', ' || current_setting('search_path'), true)`,
    [schema],
  )
}
