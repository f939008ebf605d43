import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { backupDatabase } from '../../src/maintenance/backup/backup.ts'
import { restoreDatabase } from '../../src/maintenance/backup/restore.ts'
import { DRIVER, Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { builders, testRuntime } from '../fixtures.ts'

const runtime = testRuntime('restore-swap')
const make = builders(runtime)
const SQLITE = JSON.stringify(createRequire(import.meta.url).resolve(DRIVER))

let folder: string
let database: string
let backup: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-swap-'))
  database = join(folder, 'data', 'svc.db')
  backup = join(folder, 'backup.db')
  await addWorkspace(database)
  await backupDatabase({ database, to: backup, keep: null, verify: 'fast', made_by: 'svc 1.2.3' })
  await addWorkspace(database)
})
afterEach(() => rmSync(folder, { recursive: true }))

async function addWorkspace(file: string): Promise<void> {
  const storage = openSqlite(file, runtime)
  const row = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open(row.id, runtime.now())
  })
  await storage.close()
}

const restore = (overrides: object = {}) =>
  restoreDatabase({ backup, database, verify: 'fast', ...overrides })

function workspacesIn(file: string): number {
  const connection = new Sqlite(file, { readonly: true })
  try {
    expect(connection.pragma('quick_check', { simple: true })).toBe('ok')
    return connection.prepare('select count(*) from workspaces').pluck().get() as number
  } finally {
    connection.close()
  }
}

/** What another process meets: the lock of an open database counts between processes alone. */
const elsewhere = (script: string) =>
  execFileSync(process.execPath, ['-e', `const Sqlite = require(${SQLITE})\n${script}`]).toString()

it('is not to be had alone by another process while it is open', async () => {
  const storage = openSqlite(database, runtime)
  const output = elsewhere(`
    const connection = new Sqlite(${JSON.stringify(database)}, { timeout: 0 })
    connection.pragma('locking_mode = EXCLUSIVE')
    try {
      connection.prepare('select count(*) from workspaces').get()
      console.log('had')
    } catch (error) {
      console.log(error.code)
    }`)
  expect(output.trim()).toBe('SQLITE_BUSY')
  await storage.close()
})

/** Waits until the old database has its second name, writes to whatever has the first one then, and keeps it open. */
const OPENER = `
const Sqlite = require(${SQLITE})
const { fstatSync, readdirSync } = require('node:fs')
const [folder, file] = process.argv.slice(1)
process.send('waits')
while (!readdirSync(folder).some((name) => /before-.*Z$/.test(name))) {}
let wrote = []
const connection = new Sqlite(file, { timeout: 0 })
try {
  connection.pragma('journal_mode = WAL')
  connection.exec('create table noise (a)')
  for (let fd = 3; fd < 64; fd++) try { wrote.push(fstatSync(fd).ino) } catch {}
} catch {}
process.send(wrote)
process.once('message', () => process.kill(process.pid, 'SIGKILL'))
`

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('message', resolve))
}

it('is used by no process at the moment of the replacement', async () => {
  for (let i = 0; i < 8; i++) {
    const old = statSync(database).ino
    const child = spawn(process.execPath, ['-e', OPENER, dirname(database), database], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    await messageOf(child)
    const written = messageOf(child) as Promise<number[]>
    const { kept } = await restore()
    expect(await written, 'the files it wrote to').not.toContain(old)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.send('end')
    await ended
    expect(workspacesIn(database)).toBe(1)
    rmSync(kept ?? '')
  }
})

it('replaces the file behind a link, where that is', async () => {
  const place = join(folder, 'big', 'svc.db')
  mkdirSync(dirname(place))
  await addWorkspace(place)
  rmSync(database)
  symlinkSync(place, database)
  const { kept } = await restore()
  expect(lstatSync(database).isSymbolicLink()).toBe(true)
  expect(dirname(kept ?? '')).toBe(dirname(place))
  expect(lstatSync(kept ?? '').isFile()).toBe(true)
  expect(workspacesIn(database)).toBe(1)
})

it('keeps a log whose database is gone', async () => {
  rmSync(database)
  writeFileSync(`${database}-wal`, 'what was committed')
  await restore()
  expect(workspacesIn(database)).toBe(1)
  const kept = readdirSync(dirname(database)).find((name) => name.includes('.before-'))
  expect(readFileSync(join(dirname(database), kept ?? ''), 'utf8')).toBe('what was committed')
  expect(existsSync(`${database}-wal`)).toBe(false)
})

it.runIf(process.getuid?.() === 0)('gives what root makes to the owner of the data', async () => {
  const OTHER_USER = 65_534
  const data = dirname(database)
  for (const path of [data, database]) chownSync(path, OTHER_USER, OTHER_USER)
  rmSync(`${database}-dispatch`, { force: true })
  await restore()
  const owners = () => readdirSync(data).map((name) => statSync(join(data, name)).uid)
  expect(new Set(owners())).toEqual(new Set([OTHER_USER]))
  for (const name of readdirSync(data)) rmSync(join(data, name))
  await restore()
  expect(new Set(owners())).toEqual(new Set([OTHER_USER]))

  const to = join(folder, 'backups')
  mkdirSync(to)
  chownSync(to, OTHER_USER, OTHER_USER)
  await backupDatabase({ database, to, keep: 1, verify: 'fast', made_by: 'svc 1.2.3' })
  for (const name of readdirSync(to)) expect(statSync(join(to, name)).uid).toBe(OTHER_USER)
})
