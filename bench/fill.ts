import { createRequire } from 'node:module'
import { Sqlite } from '../packages/core/src/storage/sqlite/engine/driver.ts'

const core = createRequire(new URL('../packages/core/package.json', import.meta.url))

/** Rows of one write: the maximum that a service on the same file waits for. */
const BLOCK = 100_000

/** SQL of a value for the number `i`, valid on both engines. */
const VALUES = {
  // The oldest few, which a walk back through the history finds last.
  status: `case when i < 5 then 'sent' when mod(i, 10) = 3 then 'failed' else 'delivered' end`,
  channel: `case when i between 10 and 14 then 'whatsapp' else 'sms' end`,
}
const COUNTED = `insert into message_counts (workspace_id, channel, status, count)
  select workspace_id, channel, status, count(*) from messages group by workspace_id, channel, status`

/** Multiplies the one message of a SQLite file to `total`, all older than it. */
export async function fillSqlite(file: string, total: number): Promise<void> {
  const database = new Sqlite(file) as unknown as SqliteFile
  const id = `printf('%08x-%04x-7000-8000-000000000000', i / 65536, i % 65536)`
  const names = database.prepare(`select name from pragma_table_info('messages')`).all()
  const columns = names.map(({ name }) => name)
  for (let from = 0; from < total - 1; from += BLOCK) {
    const last = Math.min(from + BLOCK, total - 1) - 1
    database.exec(`insert into messages (${columns})
      with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${last})
      select ${valuesOf(columns, id)} from n, (select * from messages order by id desc limit 1) m`)
  }
  database.exec(`delete from message_counts; ${COUNTED}`)
  database.close()
}

/** The same for a PostgreSQL database. */
export async function fillPostgres(url: string, total: number): Promise<void> {
  const { Client }: { Client: new (url: string) => PostgresClient } = core('pg')
  const client = new Client(url)
  await client.connect()
  const hex = (value: string, digits: number) => `lpad(to_hex(${value}), ${digits}, '0')`
  const id = `${hex('i / 65536', 8)} || '-' || ${hex('i % 65536', 4)} || '-7000-8000-000000000000'`
  const { rows } = await client.query(
    `select column_name as name from information_schema.columns where table_name = 'messages'`,
  )
  const columns = rows.map(({ name }) => name)
  await client.query(`insert into messages (${columns})
    select ${valuesOf(columns, id)} from generate_series(0, ${total - 2}) i,
      (select * from messages order by id desc limit 1) m`)
  await client.query('delete from message_counts')
  await client.query(COUNTED)
  await client.query('vacuum analyze messages')
  await client.end()
}

function valuesOf(columns: string[], id: string): string {
  const values: Record<string, string> = { ...VALUES, id }
  return columns.map((column) => values[column] ?? `m.${column}`).join(', ')
}

interface SqliteFile {
  prepare(sql: string): { all(): { name: string }[] }
  exec(sql: string): void
  close(): void
}

interface PostgresClient {
  connect(): Promise<void>
  query(sql: string): Promise<{ rows: { name: string }[] }>
  end(): Promise<void>
}
