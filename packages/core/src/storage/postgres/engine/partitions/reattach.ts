import { migrationsOf, statusOf } from '../../../migrations.ts'
import { appliedIn } from '../migrate.ts'
import { eachAlone, type Pool, type Run, transact } from '../transaction.ts'
import { alone, attach, change } from './change.ts'
import {
  BULK_TABLES,
  bookedRows,
  CHARGED_BULK,
  copyFiles,
  type DetachOptions,
  type DetachStep,
  detachMonth,
  forgetContents,
  MonthRefusal,
  STEP_BULKS,
  STEP_FILES,
  STEP_ROWS,
} from './detach.ts'
import {
  BOOKED,
  columnsOf,
  type DetachedMonth,
  detachedMonths,
  holdFolds,
  MOVED_TABLES,
  moveRows,
  noteStep,
  shownMonth,
  some,
} from './detached.ts'
import { segmentsIn, TABLES } from './leaving.ts'
import { booksOf, lockAll } from './removal.ts'
import { BOUND, countUpTo, idOf, PARTITIONED, partitionsOf, within } from './state.ts'

/**
 * Brings the newest detached month back into the histories and the totals. Servers run meanwhile; only one short transaction makes
 * them wait. Its messages are compared with the ledger before. Positions in the log of events do not come back. A stopped call
 * leaves a complete database, and the next call continues. Returns the number of its messages.
 * @throws MonthRefusal when the month cannot be attached.
 */
export async function attachMonth(
  pool: Pool,
  { name, ...options }: DetachOptions & { name: string },
): Promise<number> {
  const run = alone(pool)
  const tell = (step: DetachStep['step']) => options.onStep?.({ step, month: shownMonth({ name }) })
  const month = await returnable(run, name)
  if (month.step === 'rest') await detachMonth(pool, { ...options, name })
  if (isOut(month)) {
    tell('check')
    const folded = await foldsOf(run, month)
    await assertBooks(run, month)
    tell('later')
    await change(pool, options, async (run) => {
      await holdSchema(run, month)
      // From here on nothing is folded until the end.
      await holdFolds(run)
      if ((await foldsOf(run, month)) !== folded) throw foldedNow(month)
      await noteStep(run, month, 'attaching')
    })
    while (await moveLater(pool, month)) tell('later')
    for (const table of TABLES) {
      tell('bound')
      await proveRange(pool, month, table, options)
    }
    tell('months')
    await bringIn(pool, month, options)
  }
  // With the messages, their bulks left the books.
  if (!(await isRemoved(run, month))) await bringRest(pool, month, options, () => tell('rest'))
  tell('rest')
  const messages = await messagesOf(run, month)
  await change(pool, options, async (run) => {
    // The bulks came back after the messages.
    await putMarksBack(run, month, `kind in ('bulk_rejections', 'bulk_texts')`)
    await run(`drop schema ${month.schema} cascade`)
  })
  return messages
}

/**
 * Retention goes through the rows of the month again: what it has not erased yet would be behind its marks. The lock keeps a step of
 * retention from setting a mark that it read before.
 */
async function putMarksBack(run: Run, { from }: DetachedMonth, where = 'true'): Promise<void> {
  await run('lock table retention_marks in access exclusive mode')
  const first = from ? idOf(from) : `''`
  await run(
    `update retention_marks set before_id = ${first} where before_id > ${first} and kind <> 'received_messages' and ${where}`,
  )
}

/** The number of messages of the month. @throws MonthRefusal when it cannot be attached. */
export async function attachable(pool: Pool, name: string): Promise<number> {
  const run = alone(pool)
  const month = await returnable(run, name)
  if (isOut(month)) await assertBooks(run, month)
  return messagesOf(run, month)
}

async function messagesOf(run: Run, month: DetachedMonth): Promise<number> {
  const booked = await bookedRows(run, month)
  return booked.reduce((sum, one) => sum + one.messages, 0)
}

/** Whether the messages of the month are not in the histories. */
const isOut = ({ step }: DetachedMonth) => step !== 'bulks' && step !== 'returning'

/** Whether a server removed the messages of the month as old history, after their bulks had moved. */
async function isRemoved(run: Run, { step, name }: DetachedMonth): Promise<boolean> {
  if (step !== 'bulks') return false
  const { rows } = await run(`select to_regclass('messages_${name}') is null as is_gone`)
  return rows[0]?.is_gone
}

/** The month, if nothing is in its place. @throws MonthRefusal */
async function returnable(run: Run, name: string): Promise<DetachedMonth> {
  const detached = await detachedMonths(run)
  const month = detached.find((one) => one.name === name)
  if (!month) throw new MonthRefusal('not_found', `${shownMonth({ name })} is not detached`)
  // What was interrupted comes first, in either direction.
  if (!isOut(month)) return month
  const later = detached.at(-1)
  if (later && later.name !== name) {
    const text = `attach ${shownMonth(later)} first: the newest detached month is the next one`
    throw new MonthRefusal('not_ready', text)
  }
  await assertUnchanged(run, month)
  await assertRoom(run, month)
  return month
}

/** @throws MonthRefusal when a migration since the detachment names a table of the month: its rows do not have that change. */
async function assertUnchanged(run: Run, month: DetachedMonth): Promise<void> {
  const { applied } = statusOf(migrationsOf('postgres'), (await appliedIn(run)) ?? new Map())
  const isNamed = new RegExp(`\\b(${MOVED_TABLES.join('|')})\\b`)
  const changed = migrationsOf('postgres')
    .filter(({ name }) => applied.indexOf(name) >= month.migrations)
    .find(({ sql }) => isNamed.test(sql.join('\n')))
  if (!changed) return
  throw differing(
    month,
    `${shownMonth(month)} was detached before the migration ${changed.name}, which changed its tables: read it with SQL in the schema ${month.schema}`,
  )
}

/** What an attachment cannot get past; one that has begun would otherwise keep erasures and folds waiting for ever. */
function differing(month: DetachedMonth, text: string): MonthRefusal {
  const undo = `; svc partitions detach ${shownMonth(month)} undoes the attachment that was interrupted`
  return new MonthRefusal('changed', month.step === 'attaching' ? `${text}${undo}` : text)
}

/** @throws MonthRefusal when a history has rows or a partition of the month. */
async function assertRoom(run: Run, month: DetachedMonth): Promise<void> {
  const { from, until } = month
  for (const { table, partitions } of await partitionsOf(run)) {
    const isFree = partitions.every(
      (each) => each.is_default || (each.from !== null && each.from >= until),
    )
    const rest = partitions.find(({ is_default }) => is_default)
    const where = within(PARTITIONED[table], { from, until })
    if (isFree && !(rest && (await countUpTo(run, rest.name, 1, where)) > 0)) continue
    throw differing(month, `${table} has other rows of ${shownMonth(month)} or older`)
  }
}

/** @throws MonthRefusal unless the ledger has exactly the entries of the messages and bulks of the month. */
async function assertBooks(run: Run, month: DetachedMonth): Promise<void> {
  const { schema } = month
  const differs = (what: string) =>
    differing(
      month,
      `${shownMonth(month)} cannot be attached: ${what} (entries that SVC_LEDGER_DAYS folded do not come back)`,
    )
  for (const { workspace_id, messages, charged, refunded } of await bookedRows(run, month)) {
    const now = await booksOf(run, month, workspace_id, `${schema}.messages`)
    if (now.difference) throw differs(now.difference)
    if (now.messages !== messages || now.charged !== charged || now.refunded !== refunded) {
      throw differs('its messages are not those that were detached')
    }
  }
  const { rows } = await run(
    `select exists (select from ${schema}.bulks b where b.livemode and b.credits_used <> ${CHARGED_BULK}) as is_so`,
  )
  if (rows[0]?.is_so) throw differs('a bulk does not agree with the ledger')
}

/** How far the ledgers of the workspaces with messages of the month are folded. */
async function foldsOf(run: Run, { schema }: DetachedMonth): Promise<string> {
  const { rows } = await run(
    `select coalesce(md5(string_agg(workspace_id || ' ' || seq, ',' order by workspace_id)), '') as folds
     from ledger_openings where workspace_id in (select workspace_id from ${schema}.${BOOKED})`,
  )
  return rows[0]?.folds
}

const foldedNow = (month: DetachedMonth) =>
  new MonthRefusal(
    'not_ready',
    `${shownMonth(month)} cannot be attached now: a server folds old ledger entries (SVC_LEDGER_DAYS): run the command again`,
  )

/** Erasures in the schema end before, or do not begin. */
async function holdSchema(run: Run, { schema }: DetachedMonth): Promise<void> {
  await run(`lock table ${schema}.bulks in access exclusive mode`)
}

/** Moves the deliveries of later months back; returns whether there may be more. */
async function moveLater(pool: Pool, month: DetachedMonth): Promise<boolean> {
  return transact(pool, eachAlone, async (run) => {
    let moved = 0
    for (const table of ['delivery_attempts', 'deliveries'] as const) {
      const from = `${month.schema}.${table}`
      const where = some(from, `${PARTITIONED[table]} >= ${idOf(month.until)}`, STEP_ROWS)
      moved += await moveRows(run, { from, to: table, where })
    }
    return moved > 0
  })
}

/** With a validated constraint the table is attached at once. */
async function proveRange(
  pool: Pool,
  month: DetachedMonth,
  table: keyof typeof PARTITIONED,
  options: DetachOptions,
): Promise<void> {
  const name = `${month.schema}.${table}`
  await change(pool, options, async (run) => {
    await run(`alter table ${name} drop constraint if exists ${BOUND}`)
    const check = `check (${within(PARTITIONED[table], month)})`
    await run(`alter table ${name} add constraint ${BOUND} ${check} not valid`)
  })
  await change(pool, { ...options, reads: true }, (run) =>
    run(`alter table ${name} validate constraint ${BOUND}`),
  )
}

/** Attaches the partitions and changes the totals in one transaction, under locks for which it waits a moment at most. */
async function bringIn(pool: Pool, month: DetachedMonth, options: DetachOptions): Promise<void> {
  const { schema, name } = month
  await change(pool, options, async (run) => {
    await holdSchema(run, month)
    await putMarksBack(run, month)
    await lockAll(run)
    await assertRoom(run, month)
    const { rows } = await run(
      `select relnamespace::regnamespace::text as home from pg_class where oid = 'messages'::regclass`,
    )
    for (const table of TABLES) {
      await run(`alter table ${schema}.${table} rename to ${table}_${name}`)
      await run(`alter table ${schema}.${table}_${name} set schema ${rows[0]?.home}`)
      await attach(run, table, `${table}_${name}`, month)
    }
    await run(
      `insert into message_counts (workspace_id, unit, since, channel, status, count, test_count)
       select workspace_id, 'all', to_timestamp(0), channel, status, sum(count), sum(test_count)
       from ${schema}.message_counts where unit = 'day' group by 1, 4, 5 order by 1, 4, 5
       on conflict (workspace_id, unit, since, channel, status) do update
         set count = message_counts.count + excluded.count, test_count = message_counts.test_count + excluded.test_count`,
    )
    await run(
      `update removed_history h set messages = h.messages - b.messages, charged = h.charged - b.charged,
         refunded = h.refunded - b.refunded, updated_at = $1
       from ${schema}.${BOOKED} b where b.workspace_id = h.workspace_id`,
      [options.now],
    )
    await noteStep(run, month, 'returning')
  })
}

/** Brings back what else belongs to the messages of the month, and its bulks. Each step can be repeated. */
async function bringRest(
  pool: Pool,
  month: DetachedMonth,
  { write, now }: DetachOptions,
  tell: () => void,
): Promise<void> {
  const run = alone(pool)
  const { schema } = month
  tell()
  const columns = await columnsOf(run, 'message_counts')
  await run(
    `with gone as (delete from ${schema}.message_counts returning ${columns})
     insert into message_counts (${columns}) select ${columns} from gone
     on conflict (workspace_id, unit, since, channel, status) do update
       set count = message_counts.count + excluded.count, test_count = message_counts.test_count + excluded.test_count,
         first_id = coalesce(least(message_counts.first_id, excluded.first_id), message_counts.first_id, excluded.first_id),
         last_id = coalesce(greatest(message_counts.last_id, excluded.last_id), message_counts.last_id, excluded.last_id)`,
  )
  const from = `${schema}.message_parts`
  const parts = { from, to: 'message_parts', where: some(from, 'true', STEP_ROWS) }
  while ((await moveRows(run, parts)) > 0) tell()
  while (await returnBulks(pool, month, now)) tell()
  while (await returnFiles(pool, month)) tell()
  for (const { workspace_id } of await bookedRows(run, month)) {
    for (const number of await segmentsIn(run, month, workspace_id)) {
      tell()
      await write(({ recipientIndex }) => recipientIndex.recount(workspace_id, number))
    }
  }
}

async function returnBulks(pool: Pool, { schema }: DetachedMonth, at: Date): Promise<boolean> {
  return transact(pool, eachAlone, async (run) => {
    const found = await run(
      `select b.workspace_id, b.id, b.accepted, case when b.livemode then ${CHARGED_BULK} else 0 end::float8 as charged
       from ${schema}.bulks b order by b.workspace_id, b.id limit ${STEP_BULKS}`,
    )
    if (found.rows.length === 0) return false
    const bulks = JSON.stringify(found.rows)
    // An erasure locks the message before its bulk: it ends before, or it finds the bulk.
    await run(
      `select from messages m join json_to_recordset($1) as b(workspace_id text, id text, accepted int)
         on m.workspace_id = b.workspace_id and m.bulk_id = b.id and m.bulk_id is not null
       where b.accepted = 1 order by m.id for update of m`,
      [bulks],
    )
    const isOne = (id: string) =>
      `(c.workspace_id, c.${id}) in (select workspace_id, id from json_to_recordset($1) as b(workspace_id text, id text))`
    for (const [table, id] of BULK_TABLES) {
      const from = `${schema}.${table}`
      await moveRows(run, { from, to: table, where: isOne(id), values: [bulks] })
    }
    await forgetContents(run, { where: isOne('id'), values: [bulks] })
    await run(
      `update removed_history h set bulks = h.bulks - b.bulks, charged_bulks = h.charged_bulks - b.charged, updated_at = $2
       from (select workspace_id, count(*) as bulks, sum(charged) as charged
         from json_to_recordset($1) as b(workspace_id text, charged bigint) group by 1) b
       where b.workspace_id = h.workspace_id`,
      [bulks, at],
    )
    return true
  })
}

async function returnFiles(pool: Pool, { schema }: DetachedMonth): Promise<boolean> {
  return transact(pool, eachAlone, async (run) => {
    const { rows } = await run(
      `select workspace_id, array_agg(message_id) as ids from (
         select distinct workspace_id, message_id from ${schema}.message_files order by 1, 2 limit ${STEP_FILES}) f group by 1`,
    )
    for (const { workspace_id, ids } of rows) {
      const copied = await copyFiles(run, { from: `${schema}.`, to: '' }, workspace_id, ids)
      await run(
        `update files set is_whole = true, unused_since = null where workspace_id = $1 and sha256 in (
           select sha256 from ${schema}.message_files where workspace_id = $1 and message_id = any ($2))`,
        [workspace_id, copied],
      )
      await run(
        `delete from ${schema}.message_files where workspace_id = $1 and message_id = any ($2)`,
        [workspace_id, ids],
      )
    }
    return rows.length > 0
  })
}
