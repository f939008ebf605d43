import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { migrateDatabase } from '../src/maintenance/archive/open.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** The PostgreSQL server of the test run, with a user that may create databases. */
    postgresUrl: string
    /** The database there of which `createDatabase` makes copies; the first copy makes it. */
    postgresTemplate: string
  }
}

/** A database for one test file. */
export interface TestDatabase {
  url: string
  /** Another connection to it, as its owner; closed with the database. */
  connect(): Promise<pg.Client>
  /** Empties every table except the list of migrations; at request, ends all other sessions before. */
  clear(options?: { ends_sessions: boolean }): Promise<void>
  /** Ends its sessions, and removes it or gives it back. */
  drop(): Promise<void>
}

/**
 * `truncate` creates the files of a table and its indexes again, so empty tables are skipped and a few rows are deleted; rows
 * of the ledger cannot be deleted. The lock waits for writers, as `truncate` does.
 */
const CLEAR = `do $$
declare
  held record;
begin
  for held in
    select oid::regclass as name, relhastriggers as is_guarded from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'svc_migrations'
  loop
    execute format('lock table %s in access exclusive mode', held.name);
    if pg_relation_size(held.name) = 0 then
      continue;
    elsif held.is_guarded or pg_relation_size(held.name) > 65536 then
      execute format('truncate %s', held.name);
    else
      execute format('delete from %s', held.name);
    end if;
  end loop;
end $$`

/** Creates a database with all migrations and no rows. A copy takes an eighth of the time of the migrations. */
export async function createDatabase(): Promise<TestDatabase> {
  template ??= makeTemplate(inject('postgresUrl'), inject('postgresTemplate'))
  const name = await template
  return create(`${name}_${randomBytes(6).toString('hex')}`, `template ${name}`)
}

/** Keeps a database without sessions as it is now; returns what makes copies of it. It ends with the run, as those of `borrowDatabase`. */
export async function copiesOf({ url }: TestDatabase): Promise<() => Promise<TestDatabase>> {
  const server = inject('postgresUrl')
  const name = `${inject('postgresTemplate')}_${randomBytes(6).toString('hex')}`
  const [, original] = /^\w+:\/\/[^/?]*\/([^?]*)/.exec(url) ?? []
  await onServer(server, `create database ${name} template ${original}`)
  return () => create(`${name}_${randomBytes(3).toString('hex')}`, `template ${name}`)
}

/** What tests of this process gave back. */
const free: TestDatabase[] = []

/**
 * A database as `createDatabase` makes it, for tests that change no table's definition. `drop` keeps it for later tests of this
 * process, because to make and remove one takes 0.2 s of CPU. The last ones end with the server, or with the run (`drop` of
 * postgres-server.ts).
 */
export async function borrowDatabase(): Promise<TestDatabase> {
  const database = free.pop() ?? (await createDatabase())
  return {
    ...database,
    async drop() {
      await database.clear({ ends_sessions: true })
      free.push(database)
    },
  }
}

/** As `drop database … with (force)` does. */
const END_OTHERS =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

/** The name of the database to copy, once it is made. */
let template: Promise<string> | undefined

async function makeTemplate(server: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    // The first process makes it, and the others wait.
    await client.query('select pg_advisory_lock(hashtext($1))', [name])
    const made = await client.query('select from pg_database where datname = $1', [name])
    if (made.rowCount === 0) {
      await client.query(`drop database if exists ${name}_new`)
      await client.query(`create database ${name}_new`)
      await migrateDatabase(databaseUrl(server, `${name}_new`))
      await client.query(`alter database ${name}_new rename to ${name}`)
    }
    return name
  } finally {
    await client.end()
  }
}

/** Creates a database without tables on the server of the test run. */
export function createEmptyDatabase(options = ''): Promise<TestDatabase> {
  return create(`svc_test_${randomBytes(6).toString('hex')}`, options)
}

async function create(name: string, options = ''): Promise<TestDatabase> {
  const server = inject('postgresUrl')
  await onServer(server, `create database ${name} ${options}`)
  const url = databaseUrl(server, name)
  const clients: pg.Client[] = []
  const connect = async () => {
    const client = new pg.Client({ connectionString: url })
    // Some tests end connections; `drop` closes this one.
    client.on('error', () => {})
    await client.connect()
    clients.push(client)
    return client
  }
  let owner: pg.Client | undefined
  return {
    url,
    connect,
    async clear({ ends_sessions } = { ends_sessions: false }) {
      owner ??= await connect()
      if (ends_sessions) await owner.query(END_OTHERS)
      await owner.query(CLEAR)
    },
    async drop() {
      for (const client of clients) await client.end()
      await onServer(server, `drop database ${name} with (force)`)
    },
  }
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(statement)
  await client.end()
}

/** The same server and user with another database; `URL` cannot read the URL of a socket. */
export function databaseUrl(serverUrl: string, name: string): string {
  return serverUrl.replace(/^(\w+:\/\/[^/?]*)(\/[^?]*)?/, `$1/${name}`)
}
