import { migrationsOf, statusOf } from '../../../migrations.ts'
import type { Storage } from '../../../ports/storage.ts'
import { appliedIn } from '../migrate.ts'
import { eachAlone, type Pool, type Run, transact } from '../transaction.ts'
import { alone, change, type PartitionOptions } from './change.ts'
import {
  BOOKED,
  COMPANIONS,
  columnsOf,
  type DetachedMonth,
  detachedMonths,
  holdFolds,
  MOVED_TABLES,
  moveRows,
  noteStep,
  schemaOf,
  shownMonth,
  some,
  unfinishedCommand,
} from './detached.ts'
import { leavingMonths, type Month, segmentsIn, TABLES, timeOf } from './leaving.ts'
import { type Booked, bookedIn, monthsOf, type Reasons, takeOut, withoutBulks } from './removal.ts'
import { BOUND, countUpTo, idOf, PARTITIONED, partitionsOf, within } from './state.ts'

/** The number of bulks, of rows, and of messages with files in one transaction. */
export const STEP_BULKS = 20
export const STEP_ROWS = 500
export const STEP_FILES = 10

/** What a detachment or an attachment of a month does now. */
export interface DetachStep {
  step: 'check' | 'bulks' | 'months' | 'rest' | 'later' | 'bound'
  month: string
}

/** The options of `detachMonth` and `attachMonth`. */
export interface DetachOptions {
  now: Date
  /** A message or a delivery that changed since this moment keeps its month. */
  quiet_since: Date
  write: Storage['write']
  /** Called before each transaction. */
  onStep?: ((step: DetachStep) => void) | undefined
  log?: PartitionOptions['log']
  tries_max?: number | undefined
}

/** Why a month cannot be detached or attached now. */
export class MonthRefusal extends Error {
  readonly code: 'not_partitioned' | 'not_found' | 'not_ready' | 'interrupted' | 'changed'
  constructor(code: MonthRefusal['code'], message: string) {
    super(message)
    this.code = code
  }
}

/**
 * The month that a detachment takes, and the number of its messages: the oldest one.
 * @throws MonthRefusal when it cannot be detached, or is not the named one.
 */
export async function detachable(
  pool: Pool,
  { name, ...options }: Pick<DetachOptions, 'now' | 'quiet_since'> & { name: string | undefined },
): Promise<{ month: Month; messages: number }> {
  const { month, begun } = await nextMonth(alone(pool), name, options.now)
  const booked =
    begun && isOut(begun)
      ? await bookedRows(alone(pool), begun)
      : await readBooks(pool, month, options.quiet_since, ofTwoMonths(month))
  return { month, messages: booked.reduce((sum, one) => sum + one.messages, 0) }
}

/**
 * Takes the oldest month out of the histories and the totals, and keeps its tables with what else belongs to it in a schema of their own.
 * Servers run meanwhile; only its end, one short transaction, makes them wait. A stopped call leaves a complete database, and the next
 * call continues.
 * @throws MonthRefusal when the month cannot be detached, or is not the named one.
 */
export async function detachMonth(
  pool: Pool,
  { name, ...options }: DetachOptions & { name: string | undefined },
): Promise<DetachedMonth> {
  const run = alone(pool)
  const { month, begun } = await nextMonth(run, name, options.now)
  if (begun) await followMigrations(pool, begun, options)
  if (begun?.step === 'attaching') await undoAttachment(pool, begun, options)
  if (begun && isOut(begun)) return moveRest(pool, begun, options)
  const tell = (step: DetachStep['step']) => options.onStep?.({ step, month: shownMonth(month) })
  tell('check')
  await readBooks(pool, month, options.quiet_since, ofTwoMonths(month))
  tell('bulks')
  const detached = begun ?? (await makeSchema(pool, month, options))
  await moveBulks(pool, detached, () => tell('bulks'), options.now)
  tell('check')
  await assertHere(run, month)
  const booked = await readBooks(pool, month, options.quiet_since, withoutBulks(month))
  tell('months')
  const { log, tries_max, now: at } = options
  const gone = { [GONE]: partsGone(month) }
  const reason = await takeOut(pool, month, booked, { log, tries_max, at, stays: gone }, (run) =>
    keepTables(run, detached, booked),
  )
  if (reason === GONE) await assertHere(run, month)
  if (reason) throw stays(month, reason)
  return moveRest(pool, { ...detached, step: 'rest' }, options)
}

/** Whether the messages of a month on its way are not in the histories. */
const isOut = ({ step }: DetachedMonth) => step === 'rest' || step === 'attaching'

/** The bounds of an attachment refuse the deliveries of later months, which it has moved back. */
async function undoAttachment(
  pool: Pool,
  month: DetachedMonth,
  { log, tries_max }: DetachOptions,
): Promise<void> {
  await change(pool, { log, tries_max }, async (run) => {
    for (const table of TABLES) {
      await run(`alter table ${month.schema}.${table} drop constraint if exists ${BOUND}`)
    }
    await noteStep(run, month, 'rest')
  })
}

/**
 * Lets the tables of an interrupted month take rows of the service's tables, which migrations may have changed since: adds new columns, gives
 * columns their new types, and permits rows without the columns that are gone. The rows that are there do not get the values of a migration.
 */
async function followMigrations(
  pool: Pool,
  { schema }: DetachedMonth,
  { log, tries_max }: DetachOptions,
): Promise<void> {
  const columnsIn = (home: string) =>
    `select c.relname, a.* from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = ${home} and c.relname = any ($1) and a.attnum > 0 and not a.attisdropped`
  await change(pool, { log, tries_max }, async (run) => {
    const { rows } = await run(
      `select format('alter table ${schema}.%I ', coalesce(now.relname, kept.relname)) || case
         when kept.attname is null then format('add column %I %s', now.attname, format_type(now.atttypid, now.atttypmod))
         when now.attname is null then format('alter column %I drop not null', kept.attname)
         else format('alter column %1$I type %2$s using %1$I::%2$s', now.attname, format_type(now.atttypid, now.atttypmod)) end as text
       from (${columnsIn(SERVICE_SCHEMA)}) now
       full join (${columnsIn(`'${schema}'::regnamespace`)}) kept on kept.relname = now.relname and kept.attname = now.attname
       where (kept.attname is null or now.attname is null and kept.attnotnull
           or (now.atttypid, now.atttypmod) <> (kept.atttypid, kept.atttypmod))
         and to_regclass('${schema}.' || coalesce(now.relname, kept.relname)) is not null
       order by now.relname, now.attnum`,
      [MOVED_TABLES],
    )
    for (const { text } of rows) await run(text)
  })
}

/** SQL: the schema of the service's tables. */
const SERVICE_SCHEMA = `(select relnamespace from pg_class where oid = 'messages'::regclass)`

const GONE = 'a server removed it'

/** SQL: a row for each history that has no partition of the month. */
const partsGone = ({ name }: Month) =>
  `select from unnest(array[${TABLES.map((table) => `'${table}_${name}'`).join(', ')}]) t(name) where to_regclass(name) is null`

/** @throws MonthRefusal when a server removed the month, or a part of it, after its detachment began. */
async function assertHere(run: Run, month: Month): Promise<void> {
  const { rows } = await run(`select exists (${partsGone(month)}) as is_gone`)
  if (!rows[0]?.is_gone) return
  throw new MonthRefusal(
    'interrupted',
    `a server removed the old history of ${shownMonth(month)} while it was detached: run svc partitions attach ${shownMonth(month)}, which ends the detachment`,
  )
}

const stays = (month: Month, reason: string) =>
  new MonthRefusal('not_ready', `${shownMonth(month)} cannot be detached now: ${reason}`)

/** The oldest month, or the one whose detachment was interrupted. @throws MonthRefusal unless it is the named one. */
async function nextMonth(
  run: Run,
  name: string | undefined,
  now: Date,
): Promise<{ month: Month; begun: DetachedMonth | null }> {
  const states = await partitionsOf(run)
  if (!states.every(({ is_partitioned }) => is_partitioned)) {
    throw new MonthRefusal('not_partitioned', 'no history is partitioned yet')
  }
  const detached = await detachedMonths(run)
  const known = detached.find((one) => one.name === name)
  if (known?.step === 'detached') {
    throw new MonthRefusal('not_found', `${shownMonth(known)} is detached already`)
  }
  const back = detached.find((one) => unfinishedCommand(one) === 'attach')
  // Before its messages are back, an attachment can be undone; only by name, because its continuation is the usual way.
  if (back?.step === 'attaching' && back.name === name) return { month: back, begun: back }
  if (back) throw interrupted(back, 'attach')
  const begun = detached.find(({ step }) => step !== 'detached') ?? null
  if (begun && name !== undefined && begun.name !== name) throw interrupted(begun, 'detach')
  if (begun?.step === 'bulks') await assertHere(run, begun)
  if (begun) return { month: begun, begun }
  if ((await leavingMonths(run)).length > 0) {
    throw new MonthRefusal('interrupted', 'a server removes a month just now: try again later')
  }
  const [month] = monthsOf(states, now)
  const first = states[0]?.partitions[0]
  const firstName = first?.name.slice('messages_'.length)
  if (!month || month.name !== firstName) {
    const end = first?.until?.toISOString().slice(0, 10)
    throw new MonthRefusal(
      'not_ready',
      first?.until && first.until <= now
        ? `the partitions of the oldest month do not have the same bounds in every history`
        : `no month has ended: the oldest partition lasts until ${end ?? 'no end'}`,
    )
  }
  if (name !== undefined && name !== month.name) {
    const text = states[0]?.partitions.some((one) => one.name === `messages_${name}`)
      ? `the oldest month is ${shownMonth(month)}: detach it first`
      : 'there is no such month'
    throw new MonthRefusal('not_ready', `${name.replace('_', '-')}: ${text}`)
  }
  // Tables that were partitioned by hand may have other partitions, and rows of a wrong clock are in the default one.
  for (const { table, partitions } of states) {
    const isOldest = partitions[0]?.name === `${table}_${month.name}`
    const rest = partitions.find(({ is_default }) => is_default)
    const older = `${PARTITIONED[table]} < ${idOf(month.until)}`
    if (isOldest && !(rest && (await countUpTo(run, rest.name, 1, older)) > 0)) continue
    throw new MonthRefusal('not_ready', `${table} has older rows: run svc partitions add`)
  }
  return { month, begun: null }
}

const interrupted = (month: Month, command: 'attach' | 'detach') =>
  new MonthRefusal(
    'interrupted',
    `the ${command === 'attach' ? 'attachment' : 'detachment'} of ${shownMonth(month)} was interrupted: run svc partitions ${command} ${shownMonth(month)} first`,
  )

async function readBooks(
  pool: Pool,
  month: Month,
  quiet_since: Date,
  bulks: Reasons,
): Promise<Booked[]> {
  const booked = await bookedIn(pool, month, { quiet_since, isStopping: () => false, bulks })
  if (typeof booked === 'string') throw stays(month, booked)
  return booked
}

/** A bulk moves with all its messages. */
function ofTwoMonths(month: Month): Reasons {
  const { name, until } = month
  return {
    'a bulk has messages of two months': `select from bulks b join messages m
         on m.workspace_id = b.workspace_id and m.bulk_id = b.id and m.bulk_id is not null
       where ${within('b.id', month)} and m.id >= ${idOf(until)}
       union all select from messages_${name} m join bulks b
         on b.workspace_id = m.workspace_id and b.id = m.bulk_id where not (${within('b.id', month)})`,
    'a broadcast has not ended': `select from bulks b join broadcasts c
         on c.workspace_id = b.workspace_id and c.id = b.broadcast_id
       where ${within('b.id', month)} and c.finished_at is null`,
    'a bulk does not agree with the ledger': `select from bulks b
       where ${within('b.id', month)} and b.livemode and b.credits_used <> ${CHARGED_BULK}`,
  }
}

/** SQL: what the ledger has charged for a bulk `b`. */
export const CHARGED_BULK = `coalesce((select sum(-e.amount) from ledger_entries e
  where e.workspace_id = b.workspace_id and e.ref_id = b.id and e.ref_type = 'bulk' and e.kind = 'send'), 0)`

/** Makes the schema with its empty tables, for the roles that may use the tables of the service. */
async function makeSchema(
  pool: Pool,
  month: Month,
  { now, log, tries_max }: DetachOptions,
): Promise<DetachedMonth> {
  const schema = schemaOf(month)
  return change(pool, { log, tries_max }, async (run) => {
    const { applied } = statusOf(migrationsOf('postgres'), (await appliedIn(run)) ?? new Map())
    const { name, from, until } = month
    const made: DetachedMonth = {
      ...{ name, from, until, schema },
      ...{ step: 'bulks', at: now, migrations: applied.length },
    }
    await run(`create schema ${schema}`)
    for (const table of COMPANIONS) {
      await run(`create table ${schema}.${table} (like ${table} including all)`)
    }
    // Before any row leaves: later marks may have passed rows that are not erased.
    await run(`insert into ${schema}.retention_marks select * from retention_marks`)
    await run(
      `create table ${schema}.${BOOKED} (workspace_id text primary key, last_id text not null, messages bigint not null,
         charged bigint not null, refunded bigint not null)`,
    )
    const { rows: grants } = await run(
      `select distinct case grantee when 0 then 'public' else grantee::regrole::text end as role
       from pg_class c, aclexplode(c.relacl) where c.oid = 'messages'::regclass and grantee <> relowner`,
    )
    for (const { role } of grants) {
      await run(`grant usage on schema ${schema} to ${role}`)
      await run(`grant select, insert, update, delete on all tables in schema ${schema} to ${role}`)
    }
    await holdFolds(run)
    await noteStep(run, made, 'bulks')
    return made
  })
}

/** Bulks go before their messages, so that a bulk is never without some of them. */
async function moveBulks(
  pool: Pool,
  month: DetachedMonth,
  tell: () => void,
  at: Date,
): Promise<void> {
  const { schema } = month
  while (await transact(pool, eachAlone, next)) tell()

  async function next(run: Run): Promise<boolean> {
    const found = await run(
      `select b.workspace_id, b.id, case when b.livemode then ${CHARGED_BULK} else 0 end::float8 as charged
       from bulks b where ${within('b.id', month)} order by b.workspace_id, b.id limit ${STEP_BULKS} for update`,
    )
    const bulks = JSON.stringify(found.rows)
    if (found.rows.length === 0) return false
    const isOne = (id: string) =>
      `(c.workspace_id, c.${id}) in (select workspace_id, id from json_to_recordset($1) as b(workspace_id text, id text))`
    for (const [table, id] of BULK_TABLES) {
      const [from, to] = [table, `${schema}.${table}`]
      await moveRows(run, { from, to, where: isOne(id), values: [bulks] })
    }
    await run(
      `insert into removed_history (workspace_id, last_id, messages, bulks, charged, refunded, charged_bulks, updated_at)
       select workspace_id, max(id), 0, count(*), 0, 0, sum(charged), $2
       from json_to_recordset($1) as b(workspace_id text, id text, charged bigint) group by 1
       on conflict (workspace_id) do update set last_id = greatest(removed_history.last_id, excluded.last_id),
         bulks = removed_history.bulks + excluded.bulks, charged_bulks = removed_history.charged_bulks + excluded.charged_bulks,
         updated_at = excluded.updated_at`,
      [bulks, at],
    )
    return true
  }
}

/** The tables of bulks, and their columns with the id of the bulk: the rejections go first. */
export const BULK_TABLES = [
  ['bulk_rejections', 'bulk_id'],
  ['bulks', 'id'],
] as const

/** Puts the tables of the month into its schema, under the names of the histories. */
async function keepTables(run: Run, month: DetachedMonth, booked: readonly Booked[]) {
  const { schema, name } = month
  for (const table of TABLES) {
    await run(`alter table ${table}_${name} set schema ${schema}`)
    await run(`alter table ${schema}.${table}_${name} rename to ${table}`)
  }
  await run(
    `insert into ${schema}.${BOOKED} select * from json_to_recordset($1)
       as b(workspace_id text, last_id text, messages bigint, charged bigint, refunded bigint)`,
    [JSON.stringify(booked)],
  )
  await noteStep(run, month, 'rest')
}

/** Moves what else belongs to the messages of the month. Each step can be repeated. */
async function moveRest(
  pool: Pool,
  month: DetachedMonth,
  { write, onStep, log, tries_max }: DetachOptions,
): Promise<DetachedMonth> {
  const run = alone(pool)
  const { schema } = month
  const tell = () => onStep?.({ step: 'rest', month: shownMonth(month) })
  await forgetContents(run, { place: `${schema}.` })
  for (const { workspace_id } of await bookedRows(run, month)) {
    const values = [workspace_id]
    const mine = (column: string) => `workspace_id = $1 and ${within(column, month)}`
    tell()
    await moveRows(run, {
      ...{ from: 'message_counts', to: `${schema}.message_counts`, values },
      where: `c.workspace_id = $1 and c.unit in ('day', 'hour') and ${timeOf(month)}`,
    })
    const parts = {
      ...{ from: 'message_parts', to: `${schema}.message_parts`, values },
      where: some('message_parts', mine('message_id'), STEP_ROWS),
    }
    while ((await moveRows(run, parts)) > 0) tell()
    while (await moveDeliveries(pool, month, workspace_id)) tell()
    while (await moveFiles(pool, month, workspace_id, write)) tell()
    for (const number of await segmentsIn(run, month, workspace_id)) {
      tell()
      await write(({ recipientIndex }) => recipientIndex.recount(workspace_id, number, 'keep'))
    }
  }
  await change(pool, { log, tries_max }, (run) => noteStep(run, month, 'detached'))
  return { ...month, step: 'detached' }
}

/** The workspaces with messages of the month. */
export async function bookedRows(run: Run, { schema }: DetachedMonth): Promise<Booked[]> {
  const { rows } = await run(
    `select workspace_id, last_id, messages::float8, charged::float8, refunded::float8 from ${schema}.${BOOKED} order by 1`,
  )
  return rows
}

/**
 * Moves ended deliveries of later months that are about messages of this one, without the answers of the receivers: retention erases
 * answers with the events of their time, which are not here. Returns whether there may be more.
 */
async function moveDeliveries(
  pool: Pool,
  month: DetachedMonth,
  workspaceId: string,
): Promise<boolean> {
  const { schema } = month
  return transact(pool, eachAlone, async (run) => {
    const columns = await columnsOf(run, 'deliveries')
    const { rows } = await run(
      `with gone as (
         delete from deliveries where workspace_id = $1 and status <> 'pending' and (webhook_id, id) in (
           select webhook_id, id from deliveries where workspace_id = $1 and ${within('message_id', month)}
             and message_id is not null and status <> 'pending' limit ${STEP_ROWS})
         returning ${columns}),
       kept as (insert into ${schema}.deliveries (${columns}) select ${columns} from gone)
       select id from gone`,
      [workspaceId],
    )
    const ids = rows.map(({ id }) => id)
    if (ids.length === 0) return false
    const values = [workspaceId, ids]
    const where = 'c.workspace_id = $1 and c.delivery_id = any ($2)'
    await moveRows(run, {
      ...{ from: 'delivery_attempts', to: `${schema}.delivery_attempts`, where, values },
    })
    for (const [table, id] of [
      ['deliveries', 'id'],
      ['delivery_attempts', 'delivery_id'],
    ]) {
      await run(
        `update ${schema}.${table} set response_body = null
         where workspace_id = $1 and ${id} = any ($2) and response_body is not null`,
        values,
      )
    }
    return true
  })
}

/** SQL: whether a message `m` was erased or redacted. */
const IS_ERASED = `(m.erased_at is not null or m.content::text = '{}')`

/**
 * Removes what names bulks to one recipient whose message was erased or redacted while the bulk was elsewhere, as an erasure does with
 * those that it finds. `place`: what stands before the names of the tables.
 */
export async function forgetContents(
  run: Run,
  {
    place = '',
    where = 'true',
    values = [],
  }: { place?: string; where?: string; values?: unknown[] },
): Promise<void> {
  await run(
    `update ${place}bulks c set name = null, sender = null, content = null
     where c.accepted = 1 and coalesce(c.content::text, c.name, c.sender) is not null and ${where} and exists (select from ${place}messages m
       where m.workspace_id = c.workspace_id and m.bulk_id = c.id and m.bulk_id is not null and ${IS_ERASED})`,
    values,
  )
}

/** Copies files, which other messages may have too, and then takes them from the messages. */
async function moveFiles(
  pool: Pool,
  month: DetachedMonth,
  workspaceId: string,
  write: Storage['write'],
): Promise<boolean> {
  const { schema } = month
  const { rows } = await alone(pool)(
    `select distinct message_id as id from message_files where workspace_id = $1 and ${within('message_id', month)}
     limit ${STEP_FILES}`,
    [workspaceId],
  )
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return false
  await transact(pool, eachAlone, (run) =>
    copyFiles(run, { from: '', to: `${schema}.` }, workspaceId, ids),
  )
  await write(({ files }) => files.removeOf(workspaceId, ids))
  return true
}

/**
 * Copies the files of messages, except of erased and redacted ones; `from` and `to`: what stands before the names of the tables. The messages
 * are already at `to`. An erasure locks them too, so it ends before the copy, or it finds the copy. Returns the ids of the messages.
 */
export async function copyFiles(
  run: Run,
  { from, to }: { from: string; to: string },
  workspaceId: string,
  messageIds: readonly string[],
): Promise<string[]> {
  const { rows } = await run(
    `select m.id from ${to}messages m where m.workspace_id = $1 and m.id = any ($2) and not ${IS_ERASED}
     order by m.id for update`,
    [workspaceId, messageIds],
  )
  const ids = rows.map(({ id }) => id)
  const used = `select sha256 from ${from}message_files where workspace_id = $1 and message_id = any ($2)`
  const copies = {
    files: `sha256 in (${used})`,
    file_chunks: `sha256 in (${used})`,
    message_files: 'message_id = any ($2)',
  }
  for (const [table, where] of Object.entries(copies)) {
    const columns = await columnsOf(run, `${from}${table}`)
    await run(
      `insert into ${to}${table} (${columns}) select ${columns} from ${from}${table} where workspace_id = $1 and ${where}
       on conflict do nothing`,
      [workspaceId, ids],
    )
  }
  return ids
}
