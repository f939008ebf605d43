import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { importArchive } from '../../src/maintenance/archive/import-archive.ts'
import { migrateDatabase, migrationStatus } from '../../src/maintenance/archive/open.ts'
import { openStorage } from '../../src/storage/open.ts'
import { Sqlite, takeDispatchLock } from '../../src/storage/sqlite/engine/connection.ts'

import { builders, testRuntime } from '../fixtures.ts'
import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'
import { archiveOf, exported, imported, linesOf, rowsOf } from './move.ts'
import { fillAtRandom } from './random-rows.ts'

const ROWS = 20
const runtime = testRuntime('refusals')

let source: string
let bytes: Buffer
let folder: string
let database: TestDatabase
beforeAll(async () => {
  source = await mkdtemp(join(tmpdir(), 'svc-archive-source-'))
  fillAtRandom(join(source, 'a.db'), 'refusals', ROWS)
  bytes = (await exported(`file:${join(source, 'a.db')}`)).bytes
  database = await createEmptyDatabase()
})
afterAll(async () => {
  await database.drop()
  await rm(source, { recursive: true })
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-archive-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
  // What was refused has left nothing there.
  if ((await tablesThere()).length === 0) return
  await database.drop()
  database = await createEmptyDatabase()
})

const file = (name = 'svc.db') => join(folder, name)
const url = (name?: string) => `file:${file(name)}`

/** What stands in the PostgreSQL database, besides what every database has. */
async function tablesThere(): Promise<unknown[]> {
  const client = await database.connect()
  const { rows } = await client.query("select 1 from pg_tables where schemaname = 'public'")
  await client.end()
  return rows
}

async function expectRefused(archive: Uint8Array, code: string, text: string | RegExp) {
  for (const target of [url(), database.url]) {
    const error = await imported(target, archive).catch((error: Error) => error)
    expect(error).toMatchObject({ code, message: expect.stringMatching(text) })
    expect((error as Error).message).not.toContain('\n')
  }
  expect(readdirSync(folder)).toEqual([])
  expect(await tablesThere()).toEqual([])
}

function editedLines(edit: (lines: string[]) => string[]): Buffer {
  return archiveOf(edit(linesOf(bytes)))
}

function withHeader(more: object): Buffer {
  return editedLines(([header = '', ...rest]) => [
    JSON.stringify({ ...JSON.parse(header), ...more }),
    ...rest,
  ])
}

describe('an archive is refused, and nothing written', () => {
  it.each([
    ['nothing at all', Buffer.alloc(0), 'truncated'],
    ['a text', Buffer.from('select 1;'), 'foreign'],
    ['a zipped text', gzipSync('select 1;\n'), 'foreign'],
    ['a zipped file without a line break', gzipSync(randomBytes(100_000)), 'foreign'],
    ['JSON lines of something else', gzipSync('{"format":"other"}\n{}\n'), 'foreign'],
  ])('that is %s', async (_, archive, code) => {
    await expectRefused(archive, code, /^(the archive is truncated|this is not an archive of svc)/)
  })

  it('that is cut off anywhere', async () => {
    for (const share of [0.01, 0.3, 0.6, 0.99]) {
      const cut = bytes.subarray(0, Math.floor(bytes.length * share))
      await expectRefused(cut, 'truncated', /^the archive is truncated/)
    }
    await expectRefused(bytes.subarray(0, -1), 'truncated', /^the archive is truncated/)
    const lines = linesOf(bytes)
    const shorter = gzipSync(`${lines.slice(0, -1).join('\n')}\n`)
    await expectRefused(shorter, 'truncated', /its end is missing$/)
    const unended = gzipSync(gunzipSync(bytes).subarray(0, -1))
    await expectRefused(unended, 'truncated', /^the archive is truncated/)
  })

  it('in which a byte of the file is another', async () => {
    const turned = Buffer.from(bytes)
    const at = Math.floor(bytes.length / 2)
    turned[at] = (turned[at] ?? 0) ^ 0xff
    await expectRefused(turned, 'altered', /^the archive (is damaged|was altered or damaged)/)
  })

  it.each<[string, (lines: string[]) => string[], RegExp]>([
    ['a value', changed, /checksum of workspaces is another$/],
    ['a missing row', (lines) => lines.toSpliced(3, 1), /workspaces has 19 rows, not 20$/],
    [
      'a row twice',
      (lines) => lines.toSpliced(3, 0, lines[3] ?? ''),
      /workspaces takes no such row$/,
    ],
    ['a row that is none', (lines) => lines.with(3, '["a"]'), /a row of workspaces is none$/],
    ['a line that is none', (lines) => lines.with(3, 'x'), /the end of workspaces is not as/],
    ['a missing table', (lines) => lines.toSpliced(1, ROWS + 2), /its tables are not those of svc/],
    ['another column', renamed, /its tables are not those of svc/],
    ['more after its end', (lines) => [...lines, lines.at(-1) ?? ''], /something follows its end/],
  ])('that has %s, although the rest was made to fit', async (_, edit, text) => {
    await expectRefused(editedLines(edit), 'altered', text)
  })

  it('whose header or order is another', async () => {
    const lines = linesOf(bytes)
    const dated = lines.with(0, (lines[0] ?? '').replace(/"created_at":"20/, '"created_at":"19'))
    await expectRefused(gzipSync(`${dated.join('\n')}\n`), 'altered', /checksum of the whole/)
  })

  it('of a newer program', async () => {
    await expectRefused(withHeader({ version: 2 }), 'newer', /made by a newer version of svc$/)
    const { migrations } = JSON.parse(linesOf(bytes)[0] ?? '')
    const later = withHeader({ migrations: [...migrations, '9999_later'] })
    await expectRefused(later, 'newer', /made by a newer version of svc$/)
  })
})

function changed(lines: string[]): string[] {
  const [first, ...rest] = JSON.parse(lines[2] ?? '')
  return lines.with(2, JSON.stringify([`${first}!`, ...rest]))
}

function renamed(lines: string[]): string[] {
  return lines.with(1, (lines[1] ?? '').replace('"password_hash"', '"password"'))
}

describe('a database is refused', () => {
  it('that has any row, and keeps what it has', async () => {
    for (const target of [url(), database.url]) {
      const storage = await openStorage(target, runtime)
      const workspace = builders(runtime).workspace()
      await storage.write((stores) => stores.workspaces.insert(workspace))
      await storage.close()
      const before = await rowsOf(target)
      const error = await imported(target, bytes).catch((error: Error) => error)
      expect(error).toMatchObject({
        code: 'not_empty',
        message: 'the database is not empty: there are rows in workspaces',
      })
      expect(await rowsOf(target)).toEqual(before)
    }
  })

  it('on which a server runs, for import and export', async () => {
    await migrateDatabase(url())
    const lock = takeDispatchLock(file())
    for (const refused of [() => imported(url(), bytes), () => exported(url())]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'in_use',
        message: `a server runs on ${file()}`,
      })
    }
    expect((await exported(url(), { snapshot: true })).report.tables[0]?.rows).toBe(0)
    lock.close()

    const server = await openStorage(database.url, runtime)
    const stop = server.hot.onWake?.(() => {})
    for (const refused of [() => imported(database.url, bytes), () => exported(database.url)]) {
      await expect(refused()).rejects.toMatchObject({ code: 'in_use' })
    }
    expect((await exported(database.url, { snapshot: true })).report.tables[0]?.rows).toBe(0)
    stop?.()
    await server.close()
    await imported(database.url, bytes)
  })

  it('for export, that is not there, of something else, or behind', async () => {
    await expect(exported(url())).rejects.toMatchObject({ code: 'not_found' })
    expect(readdirSync(folder)).toEqual([])
    await expect(exported(database.url)).rejects.toMatchObject({ code: 'not_found' })
    expect(await tablesThere()).toEqual([])

    const other = new Sqlite(file('other.db'))
    other.exec('create table notes (text)')
    other.close()
    const hash = () =>
      createHash('sha256')
        .update(readFileSync(file('other.db')))
        .digest('hex')
    const before = hash()
    await expect(exported(url('other.db'))).rejects.toMatchObject({ code: 'not_found' })
    expect(hash()).toBe(before)

    await migrateDatabase(url())
    const connection = new Sqlite(file())
    connection.exec('delete from svc_migrations where rowid = 3')
    connection.close()
    await expect(exported(url())).rejects.toMatchObject({ code: 'behind' })
    expect(await migrationStatus(url())).toMatchObject({
      pending: [expect.stringMatching(/^0002/)],
    })
  })
})

describe('an import that ends half-way', () => {
  it.each([
    ['its source fails', () => failing(new Error('the disk is gone'))],
    ['it is stopped', () => failing(null)],
  ])('leaves nothing when %s', async (_, openSource) => {
    for (const target of [url(), database.url]) {
      const { from, signal } = openSource()
      await expect(importArchive({ database_url: target, from, signal })).rejects.toThrow()
    }
    expect(readdirSync(folder)).toEqual([])
    expect(await tablesThere()).toEqual([])
  })

  it('leaves a migrated database empty, and fit for the next try', async () => {
    for (const target of [url(), database.url]) {
      await migrateDatabase(target)
      const { from } = failing(new Error('the disk is gone'))
      await expect(importArchive({ database_url: target, from })).rejects.toThrow(
        'the disk is gone',
      )
      expect(Object.values(await rowsOf(target)).flat()).toEqual([])
      await imported(target, bytes)
    }
    expect(await rowsOf(database.url)).toEqual(await rowsOf(url()))
    expect(existsSync(file())).toBe(true)
  })
})

describe('an export that is stopped', () => {
  it('in the middle of a table says so, and lets go of the database', async () => {
    fillAtRandom(file(), 'stopped', ROWS, { messages: 2_000 })
    await imported(database.url, (await exported(url())).bytes)
    for (const target of [url(), database.url]) {
      const stopping = new AbortController()
      const stopped = exported(target, {
        signal: stopping.signal,
        onProgress({ table, rows }) {
          if (table === 'messages' && rows > 0) stopping.abort()
        },
      })
      await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
      const { tables } = (await exported(target)).report
      expect(tables.find(({ table }) => table === 'messages')?.rows).toBe(2_000)
    }
  })
})

/** Most of the archive, and then a failure; or the whole, stopped on the way. */
function failing(error: Error | null): { from: Readable; signal: AbortSignal } {
  const stopping = new AbortController()
  async function* parts() {
    yield bytes.subarray(0, Math.floor(bytes.length / 2))
    stopping.abort()
    if (error) throw error
    yield bytes.subarray(Math.floor(bytes.length / 2))
  }
  const from = Readable.from(parts())
  return { from, signal: error ? new AbortController().signal : stopping.signal }
}
