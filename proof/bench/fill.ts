import { Svc } from '@svc/client'
import { openConnection, sendBytes } from '../stage/connection.ts'
import { openWritable } from '../stage/database.ts'
import { queryOf } from '../stage/postgres.ts'
import type { Service } from '../stage/service.ts'

/** Rows of one write: the maximum that a service on the same file waits for. */
const BLOCK = 100_000

/** The age of the oldest message. */
const DAYS = 90
const HISTORY_MS = DAYS * 86_400_000

/** The bulk with the oldest messages, and their number. */
export const BULK = { id: '01890000-0000-7000-8000-000000000000', messages: 500 }

/** Recipients with the same number of messages in a history of every length: the oldest messages of the history. */
export const RECIPIENTS = {
  few: { number: '+14155600001', messages: 50 },
  many: { number: '+14155600002', messages: 400 },
  rare: { number: '+14155600003', messages: 10 },
}
const FROM = { few: 500, many: 550, rare: 950 }

/** The recipients of the other messages: with 1,000,000 messages, each has ten of them. */
const OTHERS = 100_000

/** SQL: the recipient of a message; those of the others vary. */
function recipientOf(other: string): string {
  const of = (name: keyof typeof RECIPIENTS) => {
    const { number, messages } = RECIPIENTS[name]
    return `when i between ${FROM[name]} and ${FROM[name] + messages - 1} then '${number}'`
  }
  return `case ${of('few')} ${of('many')} ${of('rare')} else ${other} end`
}

/** SQL of a value for the number `i`, valid on both engines. */
const VALUES = {
  // The oldest few, which a walk back through the history finds last.
  status: `case when i < 5 then 'sent' when mod(i, 10) = 3 then 'failed' else 'delivered' end`,
  channel: `case when i between 10 and 14 then 'whatsapp' else 'sms' end`,
  bulk_id: `case when i < ${BULK.messages} then '${BULK.id}' end`,
}

/** What the engines write differently. `at` is the time of a message in milliseconds. */
const SQLITE = {
  values: (at: string) => ({
    ...VALUES,
    id: `printf('%08x-%04x-7000-8000-%012x', (${at}) / 65536, (${at}) % 65536, i)`,
    recipient: recipientOf(`printf('+141555%05d', i % ${OTHERS})`),
    livemode: 'mod(i, 50) <> 7',
    created_at: at,
    updated_at: at,
  }),
  startOf: (unit_ms: number) => `created_at - created_at % ${unit_ms}`,
  begin: '0',
}
const POSTGRES = {
  values: (at: string) => ({
    ...VALUES,
    id: `${hex(`(${at}) / 65536`, 8)} || '-' || ${hex(`(${at}) % 65536`, 4)} || '-7000-8000-' || ${hex('i', 12)}`,
    recipient: recipientOf(`'+141555' || lpad((i % ${OTHERS})::text, 5, '0')`),
    livemode: 'mod(i, 50) <> 7',
    created_at: `to_timestamp((${at}) / 1000.0)`,
    updated_at: `to_timestamp((${at}) / 1000.0)`,
  }),
  startOf: (unit_ms: number) =>
    `date_trunc('${unit_ms === HOUR_MS ? 'hour' : 'day'}', created_at, 'UTC')`,
  begin: 'to_timestamp(0)',
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** SQL: the totals of all messages. */
function counted({ startOf, begin }: Pick<typeof SQLITE, 'startOf' | 'begin'>): string[] {
  const periods = [
    ['all', begin],
    ['day', startOf(DAY_MS)],
    ['hour', startOf(HOUR_MS)],
  ]
  const fill = periods.map(
    ([unit, since]) => `insert into message_counts
      (workspace_id, unit, since, channel, status, count, test_count, first_id, last_id)
      select workspace_id, '${unit}', ${since}, channel, status, count(*),
        sum(case when livemode then 0 else 1 end), min(id), max(id)
      from messages group by 1, 3, 4, 5`,
  )
  return ['delete from message_counts', ...fill]
}

/** The statements that count the messages of a SQLite file again. */
export const SQLITE_COUNTS = counted(SQLITE)

/** SQL: the debit of each filled message, as the removal of old history expects it; the numbers of the entries have gaps. */
export const DEBITS = `insert into ledger_entries (id, workspace_id, seq, kind, amount, held_delta, balance_after, held_after,
    counter_account, ref_type, ref_id, ref_n, channel, created_at)
  select id, workspace_id, 1000000000 + row_number() over (order by id), 'send', -credits_used, 0, 0, 0,
    'revenue:sms', 'message', id, 0, channel, created_at
  from messages where livemode and bulk_id is null and id < (select max(id) from messages)`

/** SQL: the time of message `i` of `total`, in milliseconds. */
function timesOf(total: number): string {
  const step_ms = Math.floor(HISTORY_MS / total)
  return `${Date.now() - HISTORY_MS} + i * ${step_ms}`
}

/** The maximum of a bulk request. */
const RECIPIENTS_MAX = 1_000

/** Sends this number of messages to different recipients, in bulk requests. */
export async function queueMessages({ url, key }: Service, messages: number): Promise<void> {
  const client = new Svc({ baseUrl: url, apiKey: key })
  for (let from = 0; from < messages; from += RECIPIENTS_MAX) {
    const recipients = Array.from(
      { length: Math.min(RECIPIENTS_MAX, messages - from) },
      (_, i) => `+2557${String(20_000_000 + from + i)}`,
    )
    await client.bulks.send({ channel: 'sms', content: { text: 'A queued text' }, recipients })
  }
}

/** Sends the message that the fills multiply. */
export async function sendOne({ url, key }: Service): Promise<void> {
  const connection = await openConnection(url)
  const { status, body } = await connection.request(
    sendBytes(url, key, {
      to: '+15005550006',
      channel: 'sms',
      content: { text: 'Your order A1 is ready' },
    }),
  )
  connection.close()
  if (status !== 201) throw new Error(`answered ${status}: ${body}`)
}

/** Multiplies the one message of a SQLite file to `total`, all older than it. */
export async function fillSqlite(file: string, total: number): Promise<void> {
  const database = openWritable(file)
  const names = database.prepare(`select name from pragma_table_info('messages')`).all() as {
    name: string
  }[]
  const columns = names.map(({ name }) => name)
  const values = valuesOf(columns, SQLITE.values(timesOf(total)))
  for (let from = 0; from < total - 1; from += BLOCK) {
    const last = Math.min(from + BLOCK, total - 1) - 1
    database.exec(`insert into messages (${columns})
      with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${last})
      select ${values} from n, (select * from messages order by id desc limit 1) m`)
  }
  for (const statement of SQLITE_COUNTS) database.exec(statement)
  database.close()
}

/** The same for a PostgreSQL database. */
export async function fillPostgres(url: string, total: number): Promise<void> {
  const query = queryOf(url)
  const rows = await query<{ name: string }>(
    `select column_name as name from information_schema.columns where table_name = 'messages'`,
  )
  const columns = rows.map(({ name }) => name)
  await query(`insert into messages (${columns})
    select ${valuesOf(columns, POSTGRES.values(timesOf(total)))} from generate_series(0::bigint, ${total - 2}) i,
      (select * from messages order by id desc limit 1) m`)
  for (const statement of counted(POSTGRES)) await query(statement)
  await query('vacuum analyze messages, message_counts')
}

function hex(value: string, digits: number): string {
  return `lpad(to_hex(${value}), ${digits}, '0')`
}

function valuesOf(columns: string[], values: Record<string, string>): string {
  return columns.map((column) => values[column] ?? `m.${column}`).join(', ')
}
