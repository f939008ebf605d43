import { startChild } from '../stage/child.ts'
import { openWritable, type Query, queryFile } from '../stage/database.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure } from './figure.ts'
import { sendOne } from './fill.ts'
import type { LoadHandlers } from './processes/load.ts'
import { besideFigure, besideSweeps, type Side, startAgain } from './removal.ts'

/** Ledger entries of removed messages, of 100 days that ended 401 days ago. */
const ENTRIES = 150_000
const ENTRIES_QUICK = 30_000
const LEDGER_DAYS = 400
const DAY_MS = 86_400_000
const SPREAD_MS = 100 * DAY_MS

/** The workspace of the entries; the sends are of another one. */
const WORKSPACE = '01800000-0000-7000-8000-000000000001'
const AMOUNT = 1_000
const EMAIL = `'fold@example.com'`

/** What the engines write differently. */
const SQLITE = {
  time: (ms: string) => ms,
  id: `printf('01800000-0000-7000-8000-%012x', i)`,
  numbers: (total: number) =>
    `(with recursive n(i) as (select 2 union all select i + 1 from n where i <= ${total}) select i from n)`,
  columns: (table: string) => `select name from pragma_table_info('${table}')`,
}
const POSTGRES = {
  time: (ms: string) => `to_timestamp((${ms}) / 1000.0)`,
  id: `'01800000-0000-7000-8000-' || lpad(to_hex(i), 12, '0')`,
  numbers: (total: number) => `(select i from generate_series(2::bigint, ${total + 1}) i)`,
  columns: (table: string) =>
    `select column_name as name from information_schema.columns where table_name = '${table}'`,
}

/**
 * The entries that a fold takes in a second, and the p99 of sends beside it, until their 201, as a ratio to the same without. The rounds
 * without come before and after the fold.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage((stage) =>
    measure(stage, 'fold', quick, async (total, env) => {
      const first = await startService(stage, 'first', { dispatch: true })
      await sendOne(first)
      await first.child.request('idle', null)
      const database = openWritable(first.database)
      const query = queryFile(first.database)
      for (const text of await entriesOf(query, SQLITE, total)) database.exec(text)
      database.close()
      return { service: await again(stage, first, `file:${first.database}`, env), query }
    }),
  )
}

/** The same on PostgreSQL. */
export async function runPostgres({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage((stage) =>
    measure(stage, 'PostgreSQL, fold', quick, async (total, env) => {
      const { url, query } = await startPostgres({ stage })
      const first = await startService(stage, 'first', { dispatch: true, database_url: url })
      await sendOne(first)
      await first.child.request('idle', null)
      for (const text of await entriesOf(query, POSTGRES, total)) await query(text)
      await query('vacuum analyze ledger_entries')
      return { service: await again(stage, first, url, env), query }
    }),
  )
}

async function again(stage: Stage, first: Service, url: string, env: Record<string, string>) {
  const { key } = first
  await first.stop()
  return startAgain(stage, { key, database_url: url, env })
}

/** The statements that make a workspace with a grant and the debits of `total` removed messages. */
async function entriesOf(
  query: Query,
  { time, id, numbers, columns }: typeof SQLITE,
  total: number,
): Promise<string[]> {
  const copyOf = async (table: string, values: Record<string, string>) => {
    const names = (await query<{ name: string }>(columns(table))).map(({ name }) => name)
    const all = names.map((name) => values[name] ?? `m.${name}`)
    return `insert into ${table} (${names}) select ${all} from ${table} m limit 1`
  }
  const begin = Date.now() - (LEDGER_DAYS + 1) * DAY_MS - SPREAD_MS
  const granted = total * AMOUNT
  const names = `(id, workspace_id, seq, kind, amount, held_delta, balance_after, held_after, counter_account,
    ref_type, ref_id, ref_n, channel, created_at)`
  return [
    await copyOf('workspaces', {
      id: `'${WORKSPACE}'`,
      ...{ email: EMAIL, email_key: EMAIL },
    }),
    await copyOf('credit_accounts', {
      workspace_id: `'${WORKSPACE}'`,
      ...{ balance: '0', held: '0', seq: `${total + 1}` },
    }),
    `insert into ledger_entries ${names} values ('grant', '${WORKSPACE}', 1, 'grant', ${granted}, 0, ${granted}, 0,
       'grants', 'grant', 'grant', 0, null, ${time(`${begin}`)})`,
    `insert into ledger_entries ${names}
       select ${id}, '${WORKSPACE}', i, 'send', -${AMOUNT}, 0, ${granted} - (i - 1) * ${AMOUNT}, 0, 'revenue:sms',
         'message', ${id}, 0, 'sms', ${time(`${begin} + i * ${Math.floor(SPREAD_MS / (total + 2))}`)}
       from ${numbers(total)} n`,
    `insert into removed_history (workspace_id, last_id, messages, bulks, charged, refunded, charged_bulks, updated_at)
       values ('${WORKSPACE}', '01900000-0000-7000-8000-000000000000', ${total}, 0, ${granted}, 0, 0, ${time(`${begin}`)})`,
  ]
}

async function measure(
  stage: Stage,
  name: string,
  quick: boolean,
  open: (total: number, env: Record<string, string>) => Promise<Side>,
): Promise<Figure[]> {
  const total = quick ? ENTRIES_QUICK : ENTRIES
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
  const env = { SVC_HISTORY_DAYS: String(LEDGER_DAYS), SVC_LEDGER_DAYS: String(LEDGER_DAYS) }
  const side = await open(total, env)
  const rows = `(select count(*) from ledger_entries where workspace_id = '${WORKSPACE}')`
  const { rounds, seconds } = await besideSweeps(load, side, { rows, isShort: false })
  const [left] = await side.query<{ n: number | string }>(`select ${rows} as n`)
  const folded = total + 1 - Number(left?.n)
  const raw = `${count(folded)} of ${count(total)} entries in ${count(seconds)} s`
  return [
    { name: `${name}, entries a second`, value: folded / seconds, unit: '/s', raw },
    besideFigure(name, rounds, raw),
  ]
}
