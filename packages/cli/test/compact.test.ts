import { statSync } from 'node:fs'
import { join } from 'node:path'
import { createCore } from '@svc/core'
import { verifyLedger } from '@svc/core/operate'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Sqlite } from '../../core/src/storage/sqlite/engine/connection.ts'
import { newFolder, svc, svcJson } from './svc.ts'

let folder: ReturnType<typeof newFolder>
let file: string
let here: { cwd: string; env: NodeJS.ProcessEnv }

beforeEach(async () => {
  folder = newFolder()
  file = join(folder.path, 'data', 'svc.db')
  here = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '10' } }
  const argv = ['workspaces', 'create', '--name', 'Acme', '--email', 'ops@example.com']
  await svcJson([...argv, '--password-stdin'], { ...here, stdin: 'correct horse battery\n' })
})
afterEach(() => folder.remove())

/** Adds rows and removes them, so that the file has free pages. */
function leaveSpace(): void {
  const connection = new Sqlite(file)
  const id = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
  connection
    .prepare("insert into events values (?, ?, 'credits.low', null, ?, 0)")
    .run('none', id, 'x'.repeat(2_000_000))
  connection.exec('delete from events')
  connection.pragma('wal_checkpoint(TRUNCATE)')
  connection.close()
}

describe('svc compact', () => {
  test('gives free space back, and changes nothing else', async () => {
    leaveSpace()
    const before = statSync(file).size
    expect(before).toBeGreaterThan(2_000_000)
    const { code, stdout } = await svc(['compact'], here)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Rewriting \.\/data\/svc\.db: [\d.]+ MB are in use…\nShortening the file…\nCompacted \.\/data\/svc\.db from [\d.]+ MB to [\d.]+ MB in [\d.]+ s\.\n$/,
    )
    const after = statSync(file).size
    expect(after).toBeLessThan(before - 1_900_000)
    const again = await svcJson<object>(['compact'], here)
    expect(again).toMatchObject({ file, before_bytes: after, after_bytes: after })
    expect(await verifyLedger(`file:${file}`)).toMatchObject({ ok: true, workspaces: 1 })
  })

  test('refuses while a server runs, and while another program reads or writes the file', async () => {
    leaveSpace()
    const before = statSync(file).size
    const core = await createCore({ database_url: `file:${file}`, threads: 0 })
    await core.startDispatch()
    const { code, stderr } = await svc(['compact'], here)
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^svc: a server runs on .*svc\.db: stop it first\n$/),
    })
    await core.close({ grace_ms: 0 })
    const other = new Sqlite(file)
    other.exec('begin immediate')
    expect((await svc(['compact'], here)).stderr).toMatch(
      /another program has .*: stop it first\n$/,
    )
    other.close()
    expect(statSync(file).size).toBe(before)
    expect((await svc(['compact'], here)).code).toBe(0)
    expect(statSync(file).size).toBeLessThan(before)
  })

  test('refuses a missing file, a file of another program, and PostgreSQL', async () => {
    const of = async (url: string) => {
      const { code, stderr } = await svc(['compact', '--database', url], here)
      expect(code).toBeGreaterThan(0)
      return stderr
    }
    expect(await of('file:none.db')).toContain('there is no database at')
    const foreign = new Sqlite(join(folder.path, 'other.db'))
    foreign.exec('create table t (x)')
    foreign.close()
    expect(await of('file:other.db')).toContain('is not a database of svc')
    expect(await of('postgres://127.0.0.1/svc')).toContain('use VACUUM FULL or pg_repack')
  })
})
