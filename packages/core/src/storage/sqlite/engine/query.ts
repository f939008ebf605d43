import type Database from 'better-sqlite3'
import type { Connection } from './connection.ts'

/** Runs one statement of drizzle. All values are plain data, so that they can pass between threads. */
export type Query = (
  text: string,
  parameters: unknown[],
  method: 'run' | 'all' | 'values' | 'get',
) => Promise<{ rows: unknown[] }>

/** Runs statements on a connection, each prepared once. */
export function queryOver(connection: Connection): Query {
  const statements = new Map<string, Database.Statement>()
  const prepared = (text: string) => {
    const known = statements.get(text)
    if (known) return known
    const statement = connection.prepare(text)
    if (statement.reader) statement.raw()
    statements.set(text, statement)
    return statement
  }
  return async (text, parameters, method) => {
    const statement = prepared(text)
    if (!statement.reader) {
      statement.run(...parameters)
      return { rows: [] }
    }
    if (method === 'get') return { rows: statement.get(...parameters) as unknown[] }
    return { rows: statement.all(...parameters) }
  }
}
