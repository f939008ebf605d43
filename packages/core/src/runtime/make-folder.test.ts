import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { makeFolder } from './make-folder.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-folder-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const modeOf = (path: string) => statSync(path).mode & 0o777

it('makes the missing parents too, and leaves existing folders as they are', () => {
  makeFolder(join(home, 'a', 'b'))
  expect([modeOf(join(home, 'a')), modeOf(join(home, 'a', 'b'))]).toEqual([0o700, 0o700])
  makeFolder(join(home, 'a', 'b'))
  makeFolder(join(home, 'c'), 0o750)
  expect(modeOf(join(home, 'c'))).toBe(0o750)
})

it('throws where a name is that of a file', () => {
  writeFileSync(join(home, 'file'), '')
  expect(() => makeFolder(join(home, 'file'))).toThrow(/EEXIST/)
  expect(() => makeFolder(join(home, 'file', 'a'))).toThrow(/ENOTDIR/)
})

it('ends where the file system takes no names', () => {
  expect(() => makeFolder('/proc/svc/data')).toThrow(/ENOENT/)
})
