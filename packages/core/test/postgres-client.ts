import pg from 'pg'
import { parsers } from '../src/storage/postgres/engine/database.ts'

/** A separate connection with the value parsers of the storage; after its loss the next query fails. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, types: parsers })
  client.on('error', () => {})
  await client.connect()
  return client
}

/** A statement that the storage sends in a batch. */
export interface SentStatement {
  statement: { name: string; text: string }
  values: readonly unknown[]
}

/** The statements of a call of `Client.query`: of the batch that the call sends, or the one statement that it names. */
export function sentBy(query: unknown, values: unknown[] = []): SentStatement[] {
  const { statements, name, text } = query as Partial<pg.QueryConfig> & {
    statements?: SentStatement[]
  }
  if (statements) return statements
  return name && text ? [{ statement: { name, text }, values }] : []
}
