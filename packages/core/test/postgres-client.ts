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

/** Collects the texts of statements that the storage sends without a name, so that no connection prepares them; returns what ends it. */
export function watchNames(): () => string[] {
  const { query } = pg.Client.prototype
  const unnamed = new Set<string>()
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    for (const { statement } of sentBy(given[0])) {
      if (statement.name === '') unnamed.add(statement.text)
    }
    return Reflect.apply(query, this, given)
  } as never
  return () => {
    pg.Client.prototype.query = query
    return [...unnamed]
  }
}

/** A commit that fails as if the transaction had conflicted with another. */
const CONFLICT = "do $$ begin raise exception 'repeat' using errcode = '40001'; end $$"

/** Lets every so many commits of this process fail once, so that their transactions are repeated. Returns what ends it. */
export function failCommits(every: number): () => void {
  const { query } = pg.Client.prototype
  let commits = 0
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const batched = sentBy(given[0]).find(({ statement }) => statement.text === 'commit')
    if (batched || given[0] === 'commit') commits += 1
    if (commits === every) {
      commits = 0
      if (batched) batched.statement = { name: 'conflict', text: CONFLICT }
      else given[0] = CONFLICT
    }
    return Reflect.apply(query, this, given)
  } as never
  return () => {
    pg.Client.prototype.query = query
  }
}
