import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { migrationsOf } from '../../core/src/storage/migrations.ts'
import { applyMigrations } from '../../core/src/storage/postgres/engine/migrate.ts'
import { connect, migrate } from '../../core/src/storage/sqlite/engine/connection.ts'
import { createEmptyDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import { type SvcProcess, spawnSvc } from './spawned.ts'
import { newFolder, svc, svcJson } from './svc.ts'

const STEPS = migrationsOf('sqlite').map(({ name }) => name)
/** Older servers do not survive this step; the next one only adds columns. */
const CANCELED = STEPS.indexOf('0046_canceled')
const TEXTS = '0047_marketing_texts'

/** What the next version could add, without and with need to stop older servers. */
const COLUMNS = [
  'alter table messages add column later text',
  'alter table message_queue add column later integer default 1 not null',
  'create table later (workspace_id text primary key)',
]

/** A database at a schema that a test chooses. */
interface Database {
  url: string
  atSteps(count: number): Promise<void>
  run(sql: string): Promise<unknown>
  drop(): Promise<void>
}

async function postgresDatabase(): Promise<Database> {
  const database: TestDatabase = await createEmptyDatabase()
  const owner = await database.connect()
  return {
    ...database,
    async atSteps(count) {
      await owner.query('begin')
      await applyMigrations((query, values) => owner.query(query as string, values), count)
      await owner.query('commit')
    },
    run: (sql) => owner.query(sql),
  }
}

async function sqliteDatabase(folder: string): Promise<Database> {
  const file = join(folder, 'there.db')
  const using = <T>(work: (connection: ReturnType<typeof connect>) => T): T => {
    const connection = connect(file)
    try {
      return work(connection)
    } finally {
      connection.close()
    }
  }
  return {
    url: `file:${file}`,
    atSteps: async (count) => void using((connection) => migrate(connection, count)),
    run: async (sql) => using((connection) => connection.exec(sql)),
    drop: async () => {},
  }
}

describe.each([
  ['SQLite', sqliteDatabase],
  ['PostgreSQL', postgresDatabase],
])('on %s', (engine, openDatabase) => {
  let folder: ReturnType<typeof newFolder>
  let database: Database
  let servers: SvcProcess[]
  beforeEach(async () => {
    servers = []
    folder = newFolder()
    database = await openDatabase(folder.path)
  })
  afterEach(async () => {
    for (const { child, ended } of servers) {
      child.kill('SIGKILL')
      await ended
    }
    await database.drop()
    folder.remove()
  })

  const at = () => ({ cwd: folder.path, env: { SVC_DATABASE_URL: database.url } })
  const check = (...options: string[]) => svc(['migrate', '--check', ...options], at())

  function serve(): SvcProcess {
    const { cwd, env } = at()
    const server = spawnSvc(['serve'], { cwd, env: { ...env, PORT: '0' } })
    servers.push(server)
    return server
  }

  /** A server that accepts and sends a message. */
  async function expectSending(): Promise<void> {
    const argv = ['workspaces', 'create', '--name', 'A', '--email', 'a@b.test']
    await svcJson([...argv, '--password-stdin'], { ...at(), stdin: 'long enough\n' })
    await svcJson(['credits', 'grant', '10', '--reason', 'test'], at())
    const { key } = await svcJson<{ key: string }>(['keys', 'create', '--name', 'k'], at())
    const [, url = ''] = await serve().until(/"url":"([^"]+)"/)
    const to = ['--to', '+15005550006', '--text', 'Hello', '--wait']
    const sent = await svc(['send', ...to, '--url', url, '--key', key], at())
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('delivered') })
    expect((await svc(['ledger', 'verify'], at())).code).toBe(0)
  }

  test('--check: nothing is missing, or older servers may run', async () => {
    await database.atSteps(STEPS.length)
    expect(await check()).toMatchObject({
      code: 0,
      stdout: "The database has this program's schema.\n",
    })
    await database.run(`delete from svc_migrations where name = '${TEXTS}'`)
    const { code, stdout } = await check()
    expect(code).toBe(0)
    expect(stdout).toContain(
      '0047_marketing_texts\tmay run\tadds the texts that end marketing messages\t\n',
    )
    expect(stdout).toMatch(/Servers of the version before may run during these migrations/)
    expect(await svcJson(['migrate', '--check'], at())).toMatchObject({
      needs_stop: false,
      pending: [{ name: TEXTS, older_servers: 'may_run' }],
    })
  })

  test('--check: a stop is needed; an empty database needs none', async () => {
    expect((await check()).code).toBe(0)
    await database.atSteps(CANCELED)
    const found = await check()
    expect(found.code).toBe(4)
    expect(found.stderr).toMatch(
      /^svc: stop all servers before the upgrade, because older servers do not survive 0046_canceled.*; no server of an older version is connected now\n$/,
    )
    expect(found.stdout).toMatch(/^0046_canceled\tmust stop\tcounts canceled messages/m)
    const before = await svcJson<{ applied: string[] }>(['migrate', '--check'], at()).catch(String)
    expect(before).toMatch(/ended with 4/)
    expect((await svc(['migrate'], at())).code).toBe(0)
    expect((await check()).code).toBe(0)
  })

  test('an older server works beside a newer schema whose steps permit it', async () => {
    await database.atSteps(STEPS.length)
    for (const sql of COLUMNS) await database.run(sql)
    await database.run(
      `insert into svc_migrations (hash, applied_at, name, is_compatible) values ('later', 0, '9999_later', ${engine === 'SQLite' ? 1 : true})`,
    )
    await expectSending()
    const status = await svcJson<object>(['migrate', '--status'], at())
    expect(status).toMatchObject({ pending: [], later: ['9999_later'], is_newer: false })
    const exported = await svc(['export', 'x.gz', '--snapshot'], at())
    expect(exported).toMatchObject({ code: 1, stderr: expect.stringContaining('newer version') })
  }, 90_000)

  test('an older server refuses a newer schema whose steps do not permit it', async () => {
    await database.atSteps(STEPS.length)
    await database.run('drop table templates')
    await database.run(
      `insert into svc_migrations (hash, applied_at, name) values ('later', 0, '9999_later')`,
    )
    const ended = await serve().ended
    expect(ended.code).toBe(1)
    expect(`${ended.stdout}${ended.stderr}`).toContain(
      'the database was made by a newer version of svc; install that version, or restore an older backup',
    )
    expect((await check()).stderr).toContain('newer version')
  })

  test('a new server does not start a step that a running older server would not survive', async () => {
    await database.atSteps(CANCELED)
    const release = await runOlder()
    const refused = await serve().ended
    expect(refused.code).toBe(1)
    expect(`${refused.stdout}${refused.stderr}`).toMatch(/0046_canceled.*[Ss]top/)
    expect((await check()).stderr).toContain('servers are connected now')
    await release()
    await serve().until(/"url":"([^"]+)"/)
  })

  /** What tells a running server of an older version: its sessions, or the lock of the file. */
  async function runOlder(): Promise<() => Promise<void>> {
    if (engine === 'SQLite') {
      const { takeDispatchLock } = await import(
        '../../core/src/storage/sqlite/engine/connection.ts'
      )
      const lock = takeDispatchLock(join(folder.path, 'there.db'))
      return async () => void lock.close()
    }
    await database.run(`set application_name = 'svc'`)
    return async () => void (await database.run('reset application_name'))
  }
})

test('--check, --status and --force exclude one another', async () => {
  for (const options of [
    ['--check', '--status'],
    ['--check', '--force'],
    ['--status', '--force'],
  ]) {
    expect((await svc(['migrate', ...options])).code).toBe(2)
  }
})
