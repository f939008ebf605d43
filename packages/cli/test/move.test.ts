import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { promisify, stripVTControlCharacters } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../core/test/postgres-database.ts'
import { run } from '../src/program.ts'
import { BIN } from './spawned.ts'
import { newFolder, start, svc, svcJson } from './svc.ts'

interface Report {
  file?: string
  made_by: string
  created_at: string
  tables: { table: string; rows: number; sha256: string }[]
}

const password = 'correct horse battery'

/** A folder with a workspace that has credits. Each test gets a copy. */
let filled: ReturnType<typeof newFolder>
beforeAll(async () => {
  filled = newFolder()
  const there = { cwd: filled.path }
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
  await svc([...argv, '--password-stdin'], { ...there, stdin: `${password}\n` })
  await svc(['credits', 'grant', '12.345678', '--reason', '"Größe" 👋'], there)
})
afterAll(() => filled.remove())

let folder: ReturnType<typeof newFolder>
let here: { cwd: string }
let database: TestDatabase
beforeEach(async () => {
  folder = newFolder()
  here = { cwd: folder.path }
  cpSync(filled.path, folder.path, { recursive: true })
  database = await createEmptyDatabase()
})
afterEach(async () => {
  await database.drop()
  folder.remove()
})

const path = (name: string) => join(folder.path, name)
const pg = () => ['--database', database.url]
const rowsIn = ({ tables }: Report, name: string) =>
  tables.find(({ table }) => table === name)?.rows

describe('svc export and svc import', () => {
  test('move the database to PostgreSQL and back without loss', async () => {
    const out = await svcJson<Report>(['export', 'a.jsonl.gz'], here)
    expect(out).toMatchObject({ file: path('a.jsonl.gz'), made_by: 'svc 0.1.0' })
    expect(rowsIn(out, 'workspaces')).toBe(1)
    expect(rowsIn(out, 'ledger_entries')).toBe(1)
    expect(statSync(path('a.jsonl.gz')).mode & 0o777).toBe(0o600)

    const into = await svcJson<Report>(['import', 'a.jsonl.gz', ...pg()], here)
    expect(into.tables).toEqual(out.tables)
    const env = { SVC_DATABASE_URL: database.url }
    const { workspaces } = await svcJson<{ workspaces: object[] }>(['workspaces', 'list'], {
      ...here,
      env,
    })
    expect(workspaces).toMatchObject([{ email: 'ops@example.com', credits_balance: 12.345678 }])

    const again = await svcJson<Report>(['export', 'b.jsonl.gz'], { ...here, env })
    const back = await svcJson<Report>(
      ['import', 'b.jsonl.gz', '--database', 'file:back/svc.db'],
      here,
    )
    for (const { tables } of [again, back]) expect(tables).toEqual(out.tables)
    expect(existsSync(path('back/svc.db'))).toBe(true)
  })

  test('print a summary', async () => {
    const out = await svc(['export', 'a.jsonl.gz'], here)
    expect(out.code).toBe(0)
    expect(out.stdout).toMatch(
      /^Exported \d+ rows in \d+ tables to \.\/a\.jsonl\.gz\. It contains secrets[^\n]*\n$/,
    )
    expect(out.stderr).toMatch(/^workspaces\t1\n/)
    const into = await svc(['import', 'a.jsonl.gz', ...pg()], here)
    expect(into).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Imported \d+ rows in \d+ tables; every checksum matches/),
    })
    expect(into.stderr).toContain('workspaces\t1\n')
    expect(into.stderr).toContain('workspaces (verify)\t1\n')
  })

  test('show a progress bar for each table on a terminal', async () => {
    const { stderr } = await svc(['export', 'a.jsonl.gz'], { ...here, terminal: true })
    const shown = stripVTControlCharacters(stderr)
    expect(shown).toMatch(/\rledger_entries +█{24} 100% {2}1 of 1\n/)
    const names = shown.match(/[a-z_]+(?= +█+ 100%[^\n]*\n)/g)
    expect(names).toEqual([...new Set(names)])
  })

  test('work in a pipe', async () => {
    const command = `${process.execPath} ${BIN}`
    const from = `file:${path('data/svc.db')}`
    const script = `${command} export --database '${from}' - | ${command} import --database '${database.url}' - --json`
    const { stdout } = await promisify(execFile)('sh', ['-c', script], here)
    const moved = JSON.parse(stdout) as Report
    const out = await svcJson<Report>(['export', 'a.jsonl.gz'], here)
    expect(moved.tables).toEqual(out.tables)
  })

  test('name the file after the time by default', async () => {
    const { file } = await svcJson<Report>(['export'], here)
    expect(file).toMatch(/\/svc-20\d\d-\d\d-\d\dT[\d-]+Z\.jsonl\.gz$/)
    expect(readdirSync(folder.path).filter((name) => name.includes('.part-'))).toEqual([])
  })
})

describe('svc export refuses', () => {
  test('an existing file, except with --force', async () => {
    writeFileSync(path('a.jsonl.gz'), 'mine')
    const ended = await svc(['export', 'a.jsonl.gz'], here)
    expect(ended).toMatchObject({
      code: 2,
      stderr: 'svc: ./a.jsonl.gz exists: choose another name, or overwrite it with --force\n',
    })
    expect(readFileSync(path('a.jsonl.gz'), 'utf8')).toBe('mine')
    expect((await svc(['export', 'a.jsonl.gz', '--force'], here)).code).toBe(0)
    expect(statSync(path('a.jsonl.gz')).mode & 0o777).toBe(0o600)
  })

  test('a database with a running server, except with --snapshot', async () => {
    const server = start(['dev', '--json'], { ...here, env: { PORT: '0' } })
    await server.until(/^\{.*\}$/m)
    const ended = await svc(['export', 'b.jsonl.gz'], here)
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(
      /^svc: a server runs on \S+svc\.db: stop it first, or use --snapshot[^\n]*\n$/,
    )
    expect(readdirSync(folder.path).filter((name) => name.startsWith('b.'))).toEqual([])
    const snapshot = await svcJson<Report>(['export', 'c.jsonl.gz', '--snapshot'], here)
    expect(rowsIn(snapshot, 'workspaces')).toBe(2)
    const into = await svc(['import', 'c.jsonl.gz'], here)
    expect(into.stderr).toContain('a server runs on')
    await server.stop()
  })

  test('a missing or unmigrated database, with advice', async () => {
    const missing = await svc(['export', '--database', 'file:other.db'], here)
    expect(missing.code).toBe(1)
    expect(missing.stderr).toMatch(/^svc: the database is none of svc[^\n]*or give --database\n$/)
    expect(existsSync(path('other.db'))).toBe(false)
    const behind = await svc(['export', ...pg()], here)
    expect(behind.stderr).toContain('the database is none of svc')
    expect((await svc(['export', '--database', 'mysql://x'], here)).code).toBe(2)
  })

  test('to write an archive to a terminal, or beside JSON', async () => {
    expect(await svc(['export', '-'], { ...here, terminal: true })).toMatchObject({ code: 2 })
    expect(await svc(['export', '-', '--json'], here)).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('svc import refuses', () => {
  test('a database that has rows', async () => {
    await svc(['export', 'a.jsonl.gz'], here)
    const ended = await svc(['import', 'a.jsonl.gz'], here)
    expect(ended).toMatchObject({
      code: 1,
      stderr:
        'svc: the database is not empty: there are rows in workspaces: import into a new database, set with --database or SVC_DATABASE_URL\n',
    })
  })

  test.each([
    [
      'another file',
      (bytes: Buffer) => Buffer.concat([Buffer.from('x'), bytes]),
      'foreign',
      'this is not an archive of svc',
    ],
    [
      'a truncated archive',
      (bytes: Buffer) => bytes.subarray(0, -40),
      'truncated',
      'the archive is truncated',
    ],
  ])('%s, and writes nothing', async (_, edit, code, text) => {
    await svc(['export', 'a.jsonl.gz'], here)
    const stdin = edit(readFileSync(path('a.jsonl.gz')))
    const argv = ['import', '-', '--database', 'file:new/svc.db']
    const ended = await svc(argv, { ...here, stdin })
    expect(ended.code).toBe(1)
    expect(ended.stderr.trimEnd().split('\n').at(-1)).toMatch(
      new RegExp(`^svc: ${text}.*: nothing was written$`),
    )
    const { stderr } = await svc([...argv, '--json'], { ...here, stdin })
    expect(JSON.parse(stderr)).toMatchObject({ error: code })
    expect(existsSync(path('new/svc.db'))).toBe(false)
  })

  test('a missing file', async () => {
    const ended = await svc(['import', 'b.jsonl.gz'], here)
    expect(ended).toMatchObject({
      code: 2,
      stderr: 'svc: cannot read b.jsonl.gz: there is no such file\n',
    })
  })

  test('to continue after a stop signal, and leaves no file', async () => {
    await svc(['export', 'a.jsonl.gz'], here)
    const stdin = new PassThrough()
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const stopping = new AbortController()
    const ended = run(['import', '-', '--database', 'file:new/svc.db'], {
      env: {},
      cwd: folder.path,
      stdin,
      stdout,
      stderr,
      stopSignal: () => stopping.signal,
    })
    stdin.write(readFileSync(path('a.jsonl.gz')).subarray(0, -40))
    await expect.poll(() => existsSync(path('new/svc.db')), { timeout: 15_000 }).toBe(true)
    stopping.abort()
    expect(await ended).toBe(1)
    expect(String(stderr.read())).toMatch(/svc: stopped; nothing was written\n$/)
    expect(readdirSync(path('new'))).toEqual([])
  })
})

describe('svc migrate', () => {
  test('lists the missing migrations, and applies them', async () => {
    const before = await svc(['migrate', '--status', ...pg()], here)
    expect(before.code).toBe(1)
    expect(before.stdout).toMatch(/^0000_init\tpending$/m)
    expect(before.stderr).toMatch(/^svc: \d+ migrations are missing: svc migrate applies them\n$/)
    const ran = await svc(['migrate', ...pg()], here)
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^✓ 0000_init$/m) })
    const after = await svcJson<{ pending: string[]; is_newer: boolean }>(
      ['migrate', '--status', ...pg()],
      here,
    )
    expect(after).toMatchObject({ pending: [], is_newer: false })
    expect(await svcJson(['migrate', ...pg()], here)).toEqual({ applied: [] })
  })

  test('refuses a newer database', async () => {
    await svc(['migrate', ...pg()], here)
    const client = await database.connect()
    await client.query("insert into svc_migrations values ('of the future', 0)")
    for (const argv of [['migrate'], ['migrate', '--status']]) {
      const { code, stderr } = await svc([...argv, ...pg()], here)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^svc: the database was made by a newer version of svc[^\n]*\n$/)
    }
  })

  test('--status does not create a file', async () => {
    const { code } = await svc(['migrate', '--status', '--database', 'file:x.db'], here)
    expect({ code, exists: existsSync(path('x.db')) }).toEqual({ code: 1, exists: false })
    expect((await svc(['migrate', '--database', 'file:x.db'], here)).code).toBe(0)
    expect(existsSync(path('x.db'))).toBe(true)
  })
})
