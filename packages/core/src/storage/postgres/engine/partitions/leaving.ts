import type { MonthRemoval, Storage } from '../../../ports/storage.ts'
import { eachAlone, type Pool, type Run, transact } from '../transaction.ts'
import { alone, change, type PartitionOptions } from './change.ts'
import { idOf, PARTITIONED, type PartitionedTable, type Range, within } from './state.ts'

/** The number of rows in one transaction. */
const STEP_ROWS = 500
const FILES = 100

/** The histories. */
export const TABLES = Object.keys(PARTITIONED) as PartitionedTable[]

/** A month that has a partition of its own in each history. */
export interface Month extends Range {
  /** The end of the names of its tables, such as `2027_01`. */
  name: string
}

/** The options of `removeMonths`. */
export type RemovalOptions = MonthRemoval & {
  write: Storage['write']
  log: PartitionOptions['log']
  tries_max?: number | undefined
}

/** The months that were taken out of the histories, and whose tables and other rows are still to be removed. */
export async function leavingMonths(run: Run): Promise<Month[]> {
  const { rows } = await run(
    `select obj_description(oid, 'pg_class') as note from pg_class
     where relname like 'removed\\_messages\\_%' and relkind = 'r' and pg_table_is_visible(oid)
       and obj_description(oid, 'pg_class') is not null order by relname`,
  )
  return rows.map(({ note }) => {
    const { name, from, until } = JSON.parse(note)
    return { name, from: from && new Date(from), until: new Date(until) }
  })
}

/** SQL: whether a period of `message_counts` is of the month. */
export function timeOf({ from, until }: Range): string {
  return `c.since < '${until.toISOString()}'${from ? ` and c.since >= '${from.toISOString()}'` : ''}`
}

/** Removes what else belongs to a month that was taken out, workspace by workspace, and then its tables. */
export async function finish(pool: Pool, month: Month, options: RemovalOptions): Promise<void> {
  const { isStopping, log, tries_max } = options
  const run = alone(pool)
  for (let after = ''; ; ) {
    const { rows } = await run(
      `select workspace_id as id from removed_messages_${month.name} where workspace_id > $1 order by 1 limit 1`,
      [after],
    )
    if (!rows[0]) break
    after = rows[0].id
    if (!(await removeRest(pool, month, after, options))) return
  }
  if (isStopping()) return
  // They are in use only by what reads every table, such as a backup.
  await change(pool, { log, tries_max }, (run) =>
    run(`drop table ${TABLES.map((table) => `removed_${table}_${month.name}`).join(', ')}`),
  )
}

/** Removes the rest of one workspace; returns whether it was not stopped. Each step can be repeated. */
async function removeRest(
  pool: Pool,
  month: Month,
  workspaceId: string,
  { write, isStopping }: RemovalOptions,
): Promise<boolean> {
  const run = alone(pool)
  const mine = (column: string) => `workspace_id = $1 and ${within(column, month)}`
  await run(
    `delete from message_counts c where c.workspace_id = $1 and c.unit in ('day', 'hour') and ${timeOf(month)}`,
    [workspaceId],
  )
  const steps = [
    () => removeSome(run, 'message_parts', mine('message_id'), workspaceId),
    // Of the months after it, in which they were made.
    () => removeDeliveries(pool, mine('message_id'), workspaceId),
    async () => {
      const { rows } = await run(
        `select message_id as id from message_files where ${mine('message_id')} limit ${FILES}`,
        [workspaceId],
      )
      const ids = rows.map(({ id }) => id)
      if (ids.length > 0) await write(({ files }) => files.removeOf(workspaceId, ids))
      return ids.length === FILES
    },
  ]
  for (const step of steps) {
    while (await step()) if (isStopping()) return false
  }
  for (const number of await segmentsIn(run, month, workspaceId)) {
    if (isStopping()) return false
    await write(({ recipientIndex }) => recipientIndex.recount(workspaceId, number))
  }
  return !isStopping()
}

/** The segments of the index of recipients that have messages of the month, or had them. */
export async function segmentsIn(run: Run, month: Month, workspaceId: string): Promise<number[]> {
  const { rows } = await run(
    `select number from (select number, last_id, lag(last_id) over (order by number) as before
       from recipient_segments where workspace_id = $1) s
     where last_id >= ${month.from ? idOf(month.from) : `''`} and coalesce(before, '') < ${idOf(month.until)} order by number`,
    [workspaceId],
  )
  return rows.map(({ number }) => number)
}

/** Removes some rows; returns whether there may be more. */
async function removeSome(
  run: Run,
  table: string,
  where: string,
  workspaceId: string,
): Promise<boolean> {
  const { rowCount } = await run(
    `delete from ${table} where ctid = any (array(select ctid from ${table} where ${where} limit ${STEP_ROWS}))`,
    [workspaceId],
  )
  return rowCount === STEP_ROWS
}

async function removeDeliveries(pool: Pool, where: string, workspaceId: string): Promise<boolean> {
  return transact(pool, eachAlone, async (run) => {
    const { rows } = await run(
      `delete from deliveries where workspace_id = $1 and (webhook_id, id) in (
         select webhook_id, id from deliveries where ${where} and message_id is not null and status <> 'pending' limit ${STEP_ROWS})
         and status <> 'pending' returning id`,
      [workspaceId],
    )
    const ids = rows.map(({ id }) => id)
    await run('delete from delivery_attempts where workspace_id = $1 and delivery_id = any ($2)', [
      workspaceId,
      ids,
    ])
    // Fewer rows may mean that an owner retries some of them just now.
    return ids.length > 0
  })
}
