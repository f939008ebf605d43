import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockFile } from './open-run.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-lock-'))
  path = join(folder, 'people.jsonl')
})

afterEach(() => rmSync(folder, { recursive: true }))

/** The id of a process that has ended. */
const deadPid = () => spawnSync(process.execPath, ['--version']).pid

async function tryMany(): Promise<{ release(): Promise<void> }[]> {
  const tried = await Promise.allSettled(Array.from({ length: 20 }, () => lockFile(path)))
  for (const each of tried) {
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'locked' })
  }
  return tried.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
}

test('gives the lock to one of many, and to the next one after the release', async () => {
  const held = await tryMany()
  expect(held).toHaveLength(1)
  await expect(lockFile(path)).rejects.toThrow(`process ${process.pid} is sending with ${path}`)
  await held[0]?.release()
  expect(readdirSync(folder)).toEqual([])
  await (await lockFile(path)).release()
})

test.each([
  ['alone', []],
  ['and a dead process that was taking it over', ['.lock.lock']],
])('gives the lock of a dead process, %s, to one of many', async (_, more) => {
  for (const name of ['.lock', ...more]) writeFileSync(`${path}${name}`, `${deadPid()}\n`)
  const held = await tryMany()
  expect(held).toHaveLength(1)
  await held[0]?.release()
  expect(existsSync(`${path}.lock`)).toBe(false)
})
