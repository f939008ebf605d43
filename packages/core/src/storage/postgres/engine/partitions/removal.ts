import { isContention, textOf } from '../failure.ts'
import { eachAlone, type Pool, type Run, transact } from '../transaction.ts'
import { alone, change } from './change.ts'
import { BOOKED, type DetachedMonth, detachedMonths, schemaOf } from './detached.ts'
import {
  finish,
  leavingMonths,
  type Month,
  type RemovalOptions,
  segmentsIn,
  TABLES,
  timeOf,
} from './leaving.ts'
import { partitionsOf, type TablePartitions, within } from './state.ts'

/** The time of a statement's wait for the locks, and of the work under them. Sends wait meanwhile, so neither may be long. */
const LOCK_MS = 300
const WORK_MS = 1_000

/** SQLSTATE: the statement took too long. */
const CANCELED = '57014'

/** With more deliveries in the queue than this, a look into it takes long under the locks. */
const QUEUED_MAX = 10_000

/** What the messages of one workspace in a month are in the books. */
export interface Booked {
  workspace_id: string
  last_id: string
  messages: number
  charged: number
  refunded: number
}

/**
 * Removes the months that ended at `until` or before, each at once: one short transaction takes its partitions out of the histories and
 * its messages out of the totals. What else refers to the month is removed afterwards in small steps, and then its tables. A month that
 * is not finished stays as it is. A stopped call leaves a complete database, and the next call goes on. Returns whether this role can
 * remove months: the histories are partitioned, and it owns them.
 */
export async function removeMonths(pool: Pool, options: RemovalOptions): Promise<boolean> {
  const { until, isStopping, log } = options
  const run = alone(pool)
  const states = await partitionsOf(run)
  if (!states.every((state) => state.is_partitioned && state.is_owner)) return false
  try {
    for (const month of await leavingMonths(run)) await finish(pool, month, options)
    const detached = await detachedMonths(run)
    for (const month of detached) {
      if (isStopping()) return true
      if (month.step === 'detached' && month.until <= until)
        await removeDetached(pool, month, options)
    }
    for (const month of monthsOf(states, until)) {
      if (isStopping()) break
      // Its detachment or attachment was interrupted, or runs.
      if (detached.some(({ name }) => name === month.name)) continue
      const reason = await removeMonth(pool, month, options)
      if (reason) log?.info({ month: month.name, reason }, 'a month of old history stays')
    }
  } catch (error) {
    if (!isContention(error) && (error as { code?: unknown }).code !== CANCELED) throw error
    log?.info({ reason: textOf(error) }, 'months of old history stay for now')
  }
  return true
}

/** Removes a detached month; the totals and the books are without it already. */
async function removeDetached(
  pool: Pool,
  month: DetachedMonth,
  { write, isStopping, log, tries_max }: RemovalOptions,
): Promise<void> {
  const { schema, name } = month
  const run = alone(pool)
  const { rows } = await run(`select workspace_id as id from ${schema}.${BOOKED} order by 1`)
  for (const { id } of rows) {
    for (const number of await segmentsIn(run, month, id)) {
      if (isStopping()) return
      await write(({ recipientIndex }) => recipientIndex.recount(id, number))
    }
  }
  await change(pool, { log, tries_max }, async (run) => {
    await run(`lock table ${schema}.bulks in access exclusive mode`)
    const now = (await detachedMonths(run)).find((one) => one.name === name)
    if (now?.step === 'detached') await run(`drop schema ${schema} cascade`)
  })
  log?.info({ month: name }, 'a detached month of old history was removed')
}

/** What keeps a month: reasons, and SQL that finds rows if they apply. */
export type Reasons = Record<string, string>

/** When nothing of a month is in motion, and what else keeps it. */
export type BooksOptions = Pick<RemovalOptions, 'quiet_since' | 'isStopping'> & { bulks: Reasons }

/** The bulks of a month go first, and its messages follow. */
export const withoutBulks = ({ name }: Pick<Month, 'name'>): Reasons => ({
  'a bulk has messages that are not finished or old enough': `select from messages_${name} m
     join bulks b on b.workspace_id = m.workspace_id and b.id = m.bulk_id`,
})

/** Returns why the month stays; null if it was removed. */
async function removeMonth(
  pool: Pool,
  month: Month,
  options: RemovalOptions,
): Promise<string | null> {
  const booked = await bookedIn(pool, month, { ...options, bulks: withoutBulks(month) })
  if (typeof booked === 'string') return booked
  // A detachment can have begun since the months were read.
  const stays = {
    'it is being detached': `select from pg_namespace where nspname = '${schemaOf(month)}'`,
  }
  const reason = await takeOut(pool, month, booked, { ...options, stays }, async (run) => {
    for (const table of TABLES) {
      await run(`alter table ${table}_${month.name} rename to removed_${table}_${month.name}`)
    }
    const { name, from, until } = month
    const note = JSON.stringify({ name, from, until })
    await run(`comment on table removed_messages_${name} is '${note}'`)
  })
  if (reason) return reason
  options.log?.info({ month: month.name }, 'a month of old history was removed')
  await finish(pool, month, options)
  return null
}

/** The months with the same bounds in every history, oldest first. */
export function monthsOf(states: readonly TablePartitions[], until: Date): Month[] {
  const keyOf = ({ from, until }: { from: Date | null; until: Date | null }) =>
    `${from?.toISOString()} ${until?.toISOString()}`
  const [messages, ...others] = states
  return (messages?.partitions ?? []).flatMap(({ name, from, until: end }) => {
    const suffix = name.slice('messages_'.length)
    if (end === null || end > until) return []
    const isEverywhere = others.every(({ table, partitions }) =>
      partitions.some(
        (one) => one.name === `${table}_${suffix}` && keyOf(one) === keyOf({ from, until: end }),
      ),
    )
    return isEverywhere ? [{ name: suffix, from, until: end }] : []
  })
}

/**
 * What the month is in the books, by workspace; or why it stays. Such a message never changes its credits again. The
 * cheap reasons come first, because an unfinished month is looked at every hour.
 */
export async function bookedIn(
  pool: Pool,
  month: Month,
  { quiet_since, isStopping, bulks }: BooksOptions,
): Promise<Booked[] | string> {
  const changed = `updated_at >= '${quiet_since.toISOString()}'`
  const reasons = {
    ...inQueues(month),
    'a message is not finished, or changed lately': `select from messages_${month.name} where ${changed}
       or not (status in ('delivered', 'read', 'failed') or status = 'sent' and accepted)`,
    'a delivery has not ended, or changed lately': `select from deliveries_${month.name} where ${changed} or status = 'pending'`,
    ...bulks,
  }
  return transact(pool, eachAlone, async (run) => {
    await run('set local statement_timeout = 0')
    const reason = await firstOf(run, reasons)
    if (reason) return reason
    const all: Booked[] = []
    for (let after = ''; ; ) {
      const next = `select workspace_id as id from messages_${month.name} where workspace_id > $1 order by 1 limit 1`
      const { rows } = await run(next, [after])
      if (!rows[0]) return all
      if (isStopping()) return 'the server stops'
      after = rows[0].id
      const { difference, ...booked } = await booksOf(run, month, after)
      if (difference) return difference
      all.push({ workspace_id: after, ...booked })
    }
  })
}

/** What refers to rows of the month and is not finished. Both queues have few rows; their keys are ids. */
function inQueues(month: Month): Reasons {
  const deliveries = `delivery_queue q join deliveries d
    on d.workspace_id = q.workspace_id and d.webhook_id = q.webhook_id and d.id = q.delivery_id`
  return {
    'a message is in the queue': `select from message_queue where ${within('message_id', month)}`,
    'credits are held for a message': `select from credit_holds where ${within('message_id', month)}`,
    'a delivery is in the queue': `select from delivery_queue where ${within('delivery_id', month)}`,
    'many deliveries wait': `select from delivery_queue offset ${QUEUED_MAX}`,
    'an event has a delivery in the queue': `select from ${deliveries}
       where ${within('d.event_id', month)} or ${within('d.message_id', month)}`,
  }
}

async function firstOf(run: Run, reasons: Reasons): Promise<string | null> {
  for (const [reason, text] of Object.entries(reasons)) {
    const { rows } = await run(`select exists (${text} limit 1) as is_so`)
    if (rows[0]?.is_so) return reason
  }
  return null
}

/** Compares the messages of one workspace with the ledger, as the removal of single messages does. */
export async function booksOf(
  run: Run,
  month: Month,
  workspaceId: string,
  table = `messages_${month.name}`,
) {
  const { from, until } = month
  const time = `created_at < '${until.toISOString()}'${from ? ` and created_at >= '${from.toISOString()}'` : ''}`
  const { rows } = await run(
    `with m as materialized (select * from ${table} where workspace_id = $1),
     e as materialized (
       select ref_id, coalesce(sum(-amount) filter (where kind = 'send'), 0) as charged,
         coalesce(sum(amount) filter (where kind = 'refund'), 0) as refunded, bool_or(kind = 'hold') as is_held,
         max(seq) filter (where kind = 'refund') as refund_seq
       from ledger_entries where workspace_id = $1 and ref_type = 'message' and ${within('ref_id', month)} group by ref_id),
     lots as (select min(counted_seq) as seq from credit_lots where workspace_id = $1 and ended_at is null)
     select count(*)::float8 as messages, max(m.id) as last_id,
       coalesce(sum(e.charged), 0)::float8 as charged, coalesce(sum(e.refunded), 0)::float8 as refunded,
       case
         when not bool_and(${time}) then 'a clock was set back'
         when bool_or(m.bulk_id is not null and e.refund_seq > (select seq from lots)) then 'a grant has to count a refund'
         when not bool_and(coalesce(e.refunded, 0) = m.credits_refunded and coalesce(e.charged, 0) =
           case when m.livemode and m.bulk_id is null and not coalesce(e.is_held, false) then m.credits_used else 0 end)
           then 'a message does not agree with the ledger'
       end as difference
     from m left join e on e.ref_id = m.id`,
    [workspaceId],
  )
  return rows[0] as Omit<Booked, 'workspace_id'> & { difference: string | null }
}

/**
 * Detaches the partitions and changes the totals in one transaction, under locks for which it waits a moment at most. The totals of the
 * days prove that no message came or went since the month was read. `keep` puts the tables elsewhere. Returns why the month stays
 * after all: also for one of the reasons of `stays`.
 */
export async function takeOut(
  pool: Pool,
  month: Month,
  booked: readonly Booked[],
  {
    log,
    at,
    tries_max,
    stays,
  }: Pick<RemovalOptions, 'log' | 'at' | 'tries_max'> & { stays: Reasons },
  keep: (run: Run) => Promise<void>,
): Promise<string | null> {
  return change(pool, { log, tries_max }, async (run) => {
    await lockAll(run)
    const reason = await firstOf(run, { ...stays, ...inQueues(month) })
    if (reason) return reason
    if (!(await takeFromTotals(run, month, booked))) return 'messages came or went'
    await run(
      `insert into removed_history (workspace_id, last_id, messages, bulks, charged, refunded, charged_bulks, updated_at)
       select workspace_id, last_id, messages, 0, charged, refunded, 0, $2
       from json_to_recordset($1) as b(workspace_id text, last_id text, messages bigint, charged bigint, refunded bigint)
       on conflict (workspace_id) do update set last_id = greatest(removed_history.last_id, excluded.last_id),
         messages = removed_history.messages + excluded.messages, charged = removed_history.charged + excluded.charged,
         refunded = removed_history.refunded + excluded.refunded, updated_at = excluded.updated_at`,
      [JSON.stringify(booked), at],
    )
    for (const table of TABLES) {
      await run(`alter table ${table} detach partition ${table}_${month.name}`)
    }
    await keep(run)
    return null
  })
}

/** Locks the histories, for which it waits a moment at most; the statements that follow have little time. */
export async function lockAll(run: Run): Promise<void> {
  await run(`set local lock_timeout = '${LOCK_MS}ms'`)
  await run(`set local statement_timeout = '${LOCK_MS}ms'`)
  try {
    await run(
      `lock table ${TABLES.map((table) => `only ${table}`).join(', ')} in access exclusive mode`,
    )
  } catch (error) {
    // The wait for all locks together was too long.
    if ((error as { code?: unknown }).code !== CANCELED) throw error
    throw Object.assign(new Error('the tables are in use'), { code: '55P03' })
  }
  await run(`set local statement_timeout = '${WORK_MS}ms'`)
}

/**
 * Returns false, and changes nothing, if the totals have other numbers of messages. The totals of days and hours are removed later, because
 * there are many: `leavingMonths` names their time.
 */
async function takeFromTotals(run: Run, month: Month, booked: readonly Booked[]): Promise<boolean> {
  const days = `message_counts c where c.workspace_id = w.id and c.unit = 'day' and ${timeOf(month)}`
  const { rows } = await run(
    `select w.id as workspace_id, coalesce((select sum(c.count) from ${days}), 0)::float8 as messages
     from unnest($1::text[]) w(id)`,
    [booked.map(({ workspace_id }) => workspace_id)],
  )
  // A workspace whose first message of the month came since.
  const all = await run(
    `with recursive w(id) as ((select min(workspace_id) from messages_${month.name})
       union all select (select min(workspace_id) from messages_${month.name} where workspace_id > w.id) from w where w.id is not null)
     select count(id)::int as workspaces from w`,
  )
  if (all.rows[0]?.workspaces !== booked.length) return false
  const counted = new Map(rows.map((row) => [row.workspace_id, row.messages]))
  if (booked.some(({ workspace_id, messages }) => counted.get(workspace_id) !== messages)) {
    return false
  }
  await run(
    `insert into message_counts (workspace_id, unit, since, channel, status, count, test_count)
     select w.id, 'all', to_timestamp(0), s.channel, s.status, -s.n, -s.tests
     from unnest($1::text[]) w(id) cross join lateral (
       select c.channel, c.status, sum(c.count) as n, sum(c.test_count) as tests from ${days} group by 1, 2) s
     where s.n <> 0 or s.tests <> 0 order by w.id, s.channel, s.status
     on conflict (workspace_id, unit, since, channel, status) do update
       set count = message_counts.count + excluded.count, test_count = message_counts.test_count + excluded.test_count`,
    [booked.map(({ workspace_id }) => workspace_id)],
  )
  return true
}
