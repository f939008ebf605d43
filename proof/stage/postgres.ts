import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectTo } from '../../packages/core/test/postgres-client.ts'
import { hasPooler, type Pooler, startPooler } from '../../packages/core/test/postgres-pooler.ts'
import {
  ownerOf,
  type PostgresServer,
  startPostgres as startServer,
} from '../../packages/core/test/postgres-server.ts'
import type { Query } from './database.ts'
import type { Stage } from './stage.ts'

export { connectTo, hasPooler, ownerOf, type Pooler, startPooler }

/** A temporary PostgreSQL server. */
export interface Postgres extends PostgresServer {
  /** The parent of all its processes; another one after `kill` or `shutDown`. */
  pid(): number
  /** Creates an empty database; returns its URL. */
  create(name: string): Promise<string>
  /** On the database of `url`. */
  query: Query
}

/** Starts a server with the settings of a new installation and these, which ends with the stage, if there is one. */
export async function startPostgres({
  stage,
  settings = {},
  primary,
}: {
  stage?: Stage
  settings?: Record<string, string>
  /** Makes the server a standby of this one. */
  primary?: Postgres
} = {}): Promise<Postgres> {
  const server = await startServer({ settings, ...(primary && { primary }) })
  stage?.atEnd(server.stop)
  const query = queryOf(server.url)
  return {
    ...server,
    pid: () =>
      Number.parseInt(readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8'), 10),
    async create(name) {
      await query(`create database ${name}`)
      return server.url.replace(/[^/]*$/, name)
    },
    query,
  }
}

/** Runs each query on a connection of its own. */
export function queryOf(url: string): Query {
  return async <Row>(sql: string) => {
    const client = await connectTo(url)
    try {
      return (await client.query(sql)).rows as Row[]
    } finally {
      await client.end()
    }
  }
}
