import { mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createPace } from './backup-pace.ts'

const NOW = new Date('2026-01-31T12:00:00Z')
const GIB = 1024 ** 3

let folder: string
let database: string
let log: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-pace-'))
  database = join(folder, 'svc.db')
  log = `${database}-wal`
  writeFileSync(database, '')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** The log with this size, last written this long ago. */
function logOf(bytes: number, ago_ms = 0): void {
  writeFileSync(log, '')
  truncateSync(log, bytes)
  const at = new Date(NOW.getTime() - ago_ms)
  utimesSync(log, at, at)
}

it('rests longer than it works during writes, at most a second', () => {
  logOf(1_000)
  const pace = createPace(database)
  expect(pace(10, NOW)).toBe(40)
  expect(pace(10_000, NOW)).toBe(1_000)
})

it('does not rest without writes', () => {
  expect(createPace(database)(10, NOW)).toBe(0)
  logOf(1_000, 60_000)
  expect(createPace(database)(10, NOW)).toBe(0)
})

it('rests less as the log grows, and no more when that has grown by a gigabyte', () => {
  logOf(GIB)
  const pace = createPace(database)
  logOf(1.5 * GIB)
  expect(pace(10, NOW)).toBe(20)
  logOf(3 * GIB)
  expect(pace(10, NOW)).toBe(0)
  logOf(1_000)
  expect(pace(10, NOW)).toBe(40)
})
