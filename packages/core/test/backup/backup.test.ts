import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { backupDatabase } from '../../src/maintenance/backup/backup.ts'
import { restoreDatabase, verifyBackup } from '../../src/maintenance/backup/restore.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { Sqlite, takeFileLock } from '../../src/storage/sqlite/engine/connection.ts'

import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { builders, SMS_PRICE, testRuntime } from '../fixtures.ts'
import { makeMigratedFile } from '../migrated-file.ts'

const runtime = testRuntime('backup')
const make = builders(runtime)
let folder: string
let database: string
let to: string
let storage: Storage
let workspaceId: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-backup-'))
  database = join(folder, 'data', 'svc.db')
  to = join(folder, 'backups')
  mkdirSync(to)
  mkdirSync(join(folder, 'data'), { mode: 0o700 })
  await makeMigratedFile(database)
  storage = openSqlite(database, runtime)
  const row = make.workspace()
  workspaceId = row.id
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now())
    await credits.post(row.id, make.grant(units(100 * SMS_PRICE)))
  })
  await storage.hot.accept([make.send(workspaceId)])
})
afterEach(async () => {
  await storage.close().catch(() => {})
  rmSync(folder, { recursive: true })
})

const back = (overrides: Partial<Parameters<typeof backupDatabase>[0]> = {}) =>
  backupDatabase({ database, to, keep: null, verify: 'full', made_by: 'svc 1.2.3', ...overrides })
const backups = () => readdirSync(to).filter((name) => !name.startsWith('.'))
const verify = (file: string) => verifyBackup(file, { verify: 'full' })

/** The rows of a query on a closed file. */
function rowsOf(file: string, query: string): unknown[] {
  const connection = new Sqlite(file, { readonly: true })
  try {
    return connection.prepare(query).all()
  } finally {
    connection.close()
  }
}

describe('a backup', () => {
  it('is one file of its time, whole, for its owner alone, of what was committed', async () => {
    const steps = new Set<string>()
    const before = new Date()
    const report = await back({ onProgress: ({ name }) => steps.add(name) })
    expect(backups()).toEqual([report.file.slice(to.length + 1)])
    expect(report.file).toMatch(/\/svc-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z\.db$/)
    expect(statSync(report.file).mode & 0o777).toBe(0o600)
    expect(report).toMatchObject({
      as_of_from: 'mark',
      made_by: 'svc 1.2.3',
      migrations_missing: [],
      verified: 'full',
      ledger: { workspaces: 1, entries: 2, messages: 1 },
      removed: [],
      bytes: statSync(report.file).size,
      sha256: createHash('sha256').update(readFileSync(report.file)).digest('hex'),
    })
    expect(report.as_of.getTime()).toBeGreaterThanOrEqual(before.getTime())
    expect([...steps]).toEqual(expect.arrayContaining(['structure', 'messages']))
    const { file: _, removed: __, duration_ms: ___, ...check } = report
    expect(await verify(report.file)).toMatchObject(check)
    expect(readdirSync(to).filter((name) => name.includes('partial'))).toEqual([])
  })

  it('pauses a server started on it, even if it was copied by hand', async () => {
    const { file, as_of } = await back()
    const copied = join(folder, 'copied.db')
    copyFileSync(file, copied)
    const started = openSqlite(copied, runtime)
    expect(await started.read.dispatchPauses.byScope('all')).toMatchObject({
      cause: 'restore',
      backup_at: as_of,
    })
    await started.close()
    expect(await storage.read.dispatchPauses.byScope('all')).toBeNull()
  })

  it('of one that is written to meanwhile adds up', async () => {
    let isDone = false
    const writing = (async () => {
      while (!isDone) {
        await storage.write(({ credits }) => credits.post(workspaceId, make.grant(SMS_PRICE)))
      }
    })()
    const report = await back().finally(() => {
      isDone = true
    })
    await writing
    expect(report.ledger?.entries).toBeGreaterThanOrEqual(2)
    expect((await verifyLedger(`file:${database}`)).ok).toBe(true)
  })

  it('leaves so many, and other files alone', async () => {
    const others = ['svc.db', 'svc-yesterday.db', 'svc-2026-01-01T00-00-00-000Z.db.gz', 'notes']
    for (const name of others) writeFileSync(join(to, name), 'x')
    const old = ['svc-2026-01-01T00-00-00-000Z.db', 'svc-2026-01-02T00-00-00-000Z.db']
    for (const name of old) writeFileSync(join(to, name), 'x')
    writeFileSync(join(to, 'svc-2026-01-03T00-00-00-000Z.db.partial'), 'killed')
    const report = await back({ keep: 2 })
    expect(report.removed).toEqual([old[0]])
    expect(backups().sort()).toEqual([...others, old[1], report.file.slice(to.length + 1)].sort())
  })

  it.each([
    ['where there is no database', { database: '/nowhere/svc.db' }, 'not_found'],
    ['to a folder that is not there', { to: '/nowhere/at/all.db' }, 'no_folder'],
  ])('is refused %s', async (_, overrides, code) => {
    await expect(back(overrides)).rejects.toMatchObject({ name: 'ArchiveRefusal', code })
    expect(backups()).toEqual([])
  })

  it('is refused where it would overwrite something, the database above all', async () => {
    const before = readFileSync(database)
    await expect(back({ to: database })).rejects.toThrow(`${database} is the database itself`)
    expect(readFileSync(database).equals(before)).toBe(true)
    const taken = join(to, 'taken.db')
    writeFileSync(taken, 'mine')
    await expect(back({ to: taken })).rejects.toMatchObject({ code: 'exists' })
    expect(readFileSync(taken, 'utf8')).toBe('mine')
  })

  it('is refused of something else, and while another one is made there', async () => {
    const other = join(folder, 'other.db')
    const connection = new Sqlite(other)
    connection.exec('create table t (a)')
    connection.close()
    await expect(back({ database: other })).rejects.toMatchObject({ code: 'foreign' })
    const lock = takeFileLock(join(to, '.svc-backup.lock'))
    await expect(back()).rejects.toMatchObject({ code: 'in_use' })
    lock.close()
    await back()
    expect(backups()).toHaveLength(1)
  })

  it('of books that do not add up is not kept', async () => {
    const connection = new Sqlite(database)
    connection.exec('update credit_accounts set balance = balance + 1')
    connection.close()
    await expect(back({ verify: 'fast' })).rejects.toThrow(/the books of .* do not add up/)
    expect(backups()).toEqual([])
    expect(await back({ verify: 'none' })).toMatchObject({ verified: 'none', ledger: null })
  })

  it('can be cancelled, and leaves no file', async () => {
    const stopping = new AbortController()
    stopping.abort()
    await expect(back({ signal: stopping.signal })).rejects.toMatchObject({ name: 'AbortError' })
    const later = new AbortController()
    const made = back({ signal: later.signal, onProgress: () => later.abort() })
    await expect(made).rejects.toMatchObject({ name: 'AbortError' })
    expect(backups().filter((name) => name.endsWith('.db'))).toEqual([])
  })
})

describe('a restore', () => {
  const restore = (backup: string, overrides: object = {}) =>
    restoreDatabase({ backup, database, verify: 'full', ...overrides })

  it('brings everything back, keeps what was there, and begins paused', async () => {
    await storage.hot.accept([make.send(workspaceId, make.mail())])
    const query = 'select recipients, tags from messages order by id'
    const mails = rowsOf(database, query)
    expect(JSON.stringify(mails)).toContain('juma@example.com')
    const { file, as_of } = await back()
    await storage.hot.accept([make.send(workspaceId)])
    await storage.close()
    const report = await restore(file)
    expect(rowsOf(database, query)).toEqual(mails)
    expect(report).toMatchObject({ file, database, as_of, migrated: [], verified: 'full' })
    expect(rowsOf(report.kept ?? '', 'select count(*) as n from messages')).toEqual([{ n: 3 }])
    expect(rowsOf(database, 'select count(*) as n from messages')).toEqual([{ n: 2 }])
    expect(rowsOf(database, "select * from sqlite_schema where name = 'svc_backup'")).toEqual([])
    expect(statSync(database).mode & 0o777).toBe(0o600)
    storage = openSqlite(database, runtime)
    expect(await storage.read.dispatchPauses.byScope('all')).toMatchObject({
      cause: 'restore',
      backup_at: as_of,
      created_at: report.restored_at,
    })
    expect((await verifyLedger(`file:${database}`)).ok).toBe(true)
    await storage.hot.accept([make.send(workspaceId)])
    expect(await verify((await back()).file)).toMatchObject({ ledger: { messages: 3 } })
  })

  it('does not mix with the log of a database that was killed', async () => {
    const { file } = await back()
    await storage.hot.accept([make.send(workspaceId)])
    // As a killed process leaves it: what was committed is in the log alone.
    const killed = join(folder, 'killed', 'svc.db')
    mkdirSync(join(folder, 'killed'))
    for (const side of ['', '-wal', '-shm']) copyFileSync(`${database}${side}`, `${killed}${side}`)
    const report = await restore(file, { database: killed })
    expect(rowsOf(report.kept ?? '', 'select count(*) as n from messages')).toEqual([{ n: 2 }])
    expect(rowsOf(killed, 'select count(*) as n from messages')).toEqual([{ n: 1 }])
    expect(existsSync(`${killed}-wal`)).toBe(false)
  })

  it('takes the place of a database that cannot be read, and keeps all of it', async () => {
    const { file } = await back()
    await storage.close()
    writeFileSync(database, 'no longer a database, whatever it was before')
    writeFileSync(`${database}-wal`, 'its log')
    const { kept } = await restore(file)
    expect(readFileSync(kept ?? '', 'utf8')).toContain('no longer')
    expect(readFileSync(`${kept}-wal`, 'utf8')).toBe('its log')
    expect((await verifyLedger(`file:${database}`)).ok).toBe(true)
  })

  it('can be cancelled, and changes nothing', async () => {
    const { file } = await back()
    await storage.close()
    const before = readFileSync(database)
    const stopping = new AbortController()
    const restored = restore(file, { signal: stopping.signal })
    stopping.abort()
    await expect(restored).rejects.toMatchObject({ name: 'AbortError' })
    expect(readFileSync(database).equals(before)).toBe(true)
    expect(
      readdirSync(join(folder, 'data')).filter((name) => /before|restoring/.test(name)),
    ).toEqual([])
  })

  it('makes a database where there is none', async () => {
    const { file } = await back()
    const fresh = join(folder, 'elsewhere', 'svc.db')
    expect(await restore(file, { database: fresh })).toMatchObject({ kept: null })
    expect((await verifyLedger(`file:${fresh}`)).ok).toBe(true)
  })

  it('is refused while a server or another process has the database open', async () => {
    const { file } = await back()
    const right = await storage.startDispatch()
    await expect(restore(file)).rejects.toThrow(`a server runs on ${database}`)
    await right.release()
    await expect(restore(file)).rejects.toThrow(`another program has ${database} open`)
    expect(rowsOf(database, 'select count(*) as n from messages')).toEqual([{ n: 1 }])
    expect(
      readdirSync(join(folder, 'data')).filter((name) => /before|restoring/.test(name)),
    ).toEqual([])
  })

  it('is refused of a newer version, of the database itself, and of what is none', async () => {
    const { file } = await back()
    await storage.close()
    const before = readFileSync(database)
    await expect(restore(database, { unsealed: true })).rejects.toMatchObject({ code: 'exists' })
    await expect(restore(join(to, 'missing.db'))).rejects.toMatchObject({ code: 'not_found' })
    await expect(restore(to)).rejects.toMatchObject({ code: 'not_found' })
    for (const [name, content] of [
      ['empty', ''],
      ['text', 'hello'],
      ['header', 'SQLite format 3\0 and nothing of it'],
    ] as const) {
      const path = join(folder, name)
      writeFileSync(path, content)
      await expect(restore(path)).rejects.toThrow(/is not a SQLite database|is damaged/)
    }
    const newer = join(folder, 'newer.db')
    copyFileSync(file, newer)
    const connection = new Sqlite(newer)
    connection.exec(
      "insert into svc_migrations (hash, applied_at) values ('of the future', 0); drop table svc_backup",
    )
    connection.close()
    await expect(restore(newer, { unsealed: true })).rejects.toMatchObject({ code: 'newer' })
    expect(readFileSync(database).equals(before)).toBe(true)
  })

  it('takes a copy made by other means only with the option, as of its newest row', async () => {
    const copy = join(folder, 'copy.db')
    const connection = new Sqlite(database)
    connection.prepare('vacuum into ?').run(copy)
    connection.close()
    await storage.close()
    await expect(restore(copy)).rejects.toMatchObject({ code: 'unsealed' })
    const report = await restore(copy, { unsealed: true })
    expect(report).toMatchObject({ as_of: runtime.now(), as_of_from: 'rows', made_by: null })
    storage = openSqlite(database, runtime)
    expect(await storage.read.dispatchPauses.byScope('all')).toMatchObject({ cause: 'restore' })
  })

  it('is refused of a backup of which any byte was changed', async () => {
    const { file } = await back()
    const whole = readFileSync(file)
    const flipped = join(folder, 'flipped.db')
    for (let i = 0; i < 150; i++) {
      const bytes = Buffer.from(whole)
      // Every part of it: the header, the mark, and whatever chance picks.
      const at = i < 50 ? i * 2 : Math.floor(runtime.random() * bytes.length)
      bytes[at] = (bytes[at] as number) ^ (1 << (i % 8))
      writeFileSync(flipped, bytes)
      await expect(
        verifyBackup(flipped, { verify: 'none' }).then(unsealed),
        `byte ${at}`,
      ).rejects.toThrow()
    }
    writeFileSync(flipped, whole.subarray(0, whole.length - 4096))
    await expect(verifyBackup(flipped, { verify: 'none' })).rejects.toMatchObject({
      code: 'damaged',
    })
  })

  it.each([
    [
      'a view for a table',
      'foreign',
      'drop table svc_migrations; create view svc_migrations (hash) as ',
    ],
    ['a view for books', 'foreign', 'drop table events; create view events (id) as '],
  ])('is refused at once of a file with %s, which never ends', async (_, code, change) => {
    const { file } = await back({ verify: 'none' })
    const connection = new Sqlite(file)
    connection.exec(
      `${change} with recursive n(i) as (select 1 union all select i + 1 from n) select i from n`,
    )
    connection.close()
    await expect(restore(file, { unsealed: true })).rejects.toMatchObject({ code })
  })

  it.each([["'soon', 'svc', 'x'"], ["9e18, 'svc', 'x'"], ["0, 'svc', 7"]])(
    'is refused of a file whose mark makes no sense (%s)',
    async (values) => {
      const { file } = await back({ verify: 'none' })
      const connection = new Sqlite(file)
      connection.exec(`drop table svc_backup; create table svc_backup (as_of, made_by, seal);
      insert into svc_backup values (${values})`)
      connection.close()
      await expect(restore(file)).rejects.toMatchObject({ code: 'damaged' })
    },
  )

  /** What a restore says of a copy whose mark cannot be found any more. */
  function unsealed({ as_of_from }: { as_of_from: string }): void {
    if (as_of_from === 'rows') throw new Error('it bears no checksum')
  }
})
