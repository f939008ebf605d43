import fs, {
  copyFileSync,
  fstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connect } from './connection.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-flush-log-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const LONG_AGO = new Date('2026-01-01T00:00:00.000Z')

/** A database whose process ended without closing it: all commits are in its log. */
function killed(): string {
  const before = join(folder, 'before.db')
  const connection = connect(before)
  connection.exec('create table t (n integer); insert into t values (1), (2)')
  const file = join(folder, 'svc.db')
  for (const suffix of ['', '-wal']) copyFileSync(`${before}${suffix}`, `${file}${suffix}`)
  connection.close()
  utimesSync(`${file}-wal`, LONG_AGO, LONG_AGO)
  return file
}

const rows = (connection: ReturnType<typeof connect>) =>
  connection.prepare('select n from t order by n').pluck().all()
const isWritten = (file: string) => statSync(`${file}-wal`).mtimeMs > LONG_AGO.getTime()

// test/power-cut.test.ts proves that these writes decide what survives a power cut.
describe('the log that is found when a database is opened', () => {
  it('is written again, byte for byte, before anything else is', () => {
    const file = killed()
    const found = readFileSync(`${file}-wal`)
    const connection = connect(file)
    expect(isWritten(file)).toBe(true)
    expect(readFileSync(`${file}-wal`)).toEqual(found)
    expect(rows(connection)).toEqual([1, 2])
    connection.close()
  })

  it('is flushed to disk after it was written again', () => {
    const file = killed()
    const { ino } = statSync(`${file}-wal`)
    const { fsyncSync } = fs
    /** For each flush of the log by our own code, whether the log was written before. */
    const flushes: boolean[] = []
    fs.fsyncSync = (handle) => {
      if (fstatSync(handle).ino === ino) flushes.push(isWritten(file))
      fsyncSync(handle)
    }
    syncBuiltinESMExports()
    try {
      connect(file).close()
    } finally {
      fs.fsyncSync = fsyncSync
      syncBuiltinESMExports()
    }
    expect(flushes).toEqual([true])
  })

  it('is written again also while another connection reads it', () => {
    const file = killed()
    const reader = connect(file, { readonly: true })
    reader.exec('begin')
    expect(rows(reader)).toEqual([1, 2])
    expect(isWritten(file)).toBe(false)
    const connection = connect(file)
    expect(isWritten(file)).toBe(true)
    connection.exec('insert into t values (3)')
    expect(rows(reader)).toEqual([1, 2])
    reader.exec('commit')
    expect(rows(reader)).toEqual([1, 2, 3])
    reader.close()
    connection.close()
  })

  it('is that of the file that a link names', () => {
    const file = killed()
    const link = join(folder, 'link.db')
    symlinkSync(file, link)
    const connection = connect(link)
    expect(isWritten(file)).toBe(true)
    connection.close()
  })

  it('stays as it is when its flush fails, without a checkpoint', () => {
    const file = killed()
    const found = readFileSync(`${file}-wal`)
    const database = readFileSync(file)
    const { fsyncSync } = fs
    fs.fsyncSync = () => {
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' })
    }
    syncBuiltinESMExports()
    try {
      expect(() => connect(file)).toThrow('EIO')
    } finally {
      fs.fsyncSync = fsyncSync
      syncBuiltinESMExports()
    }
    expect(readFileSync(`${file}-wal`)).toEqual(found)
    expect(readFileSync(file)).toEqual(database)
    const connection = connect(file)
    expect(rows(connection)).toEqual([1, 2])
    connection.close()
  })
})
