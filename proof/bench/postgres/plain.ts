import { createRequire } from 'node:module'
import type { AcceptRequest } from '../../../packages/core/src/rules/accept.ts'
import { type Account, decide } from '../../../packages/core/src/rules/decide.ts'

const core = createRequire(new URL('../../../packages/core/package.json', import.meta.url))

/** The part of the driver that is used here. */
interface Queryable {
  query<Row = unknown>(
    query: string | { name: string; text: string; values: unknown[] },
    values?: unknown[],
  ): Promise<{ rows: Row[] }>
}

export interface Pool extends Queryable {
  connect(): Promise<Queryable & { release(): void }>
  end(): Promise<void>
}

/** The driver of the service. */
export const { Pool }: { Pool: new (options: { connectionString: string; max: number }) => Pool } =
  core('pg')

/**
 * One send in the usual way: one transaction for each request, which locks the account by `SELECT … FOR UPDATE`,
 * writes the same rows as the service, and commits. Statements are prepared.
 */
export async function sendPlainly(pool: Pool, request: AcceptRequest): Promise<void> {
  const { workspace_id, debit, messages } = request
  const [message] = messages
  if (!debit || !message) throw new Error('a send has a debit and a message')
  const client = await pool.connect()
  try {
    await client.query('begin')
    const { rows } = await client.query<Account>({
      name: 'lock',
      text: `select workspace_id, balance::float8, held::float8, credit_limit::float8, seq::float8, status
             from credit_accounts where workspace_id = $1 for update`,
      values: [workspace_id],
    })
    const decision = decide(rows[0] as Account, debit)
    if (!decision.ok) throw new Error(decision.reason)
    await insert(client, 'ledger_entries', decision.entry)
    await insert(client, 'messages', message)
    await insert(client, 'message_queue', {
      message_id: message.id,
      workspace_id,
      channel: message.channel,
      task: 'send',
      due_at: message.created_at,
      token: null,
      attempt: 0,
      unknown_since: null,
    })
    const { balance, held, seq } = decision.account
    await client.query({
      name: 'debit',
      text: 'update credit_accounts set balance = $2, held = $3, seq = $4, updated_at = $5 where workspace_id = $1',
      values: [workspace_id, balance, held, seq, debit.at],
    })
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

function insert(client: Queryable, table: string, row: object): Promise<unknown> {
  const columns = Object.keys(row)
  const places = columns.map((_, i) => `$${i + 1}`)
  return client.query({
    name: `insert ${table}`,
    text: `insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`,
    values: Object.values(row),
  })
}
