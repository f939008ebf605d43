import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCore } from '@svc/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

let folder: ReturnType<typeof newFolder>
let data: string
let here: { cwd: string; env: NodeJS.ProcessEnv }

beforeEach(() => {
  folder = newFolder()
  data = join(folder.path, 'data')
  here = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '10' } }
})
afterEach(() => folder.remove())

/** Creates a database with a workspace. */
async function seeded(): Promise<void> {
  const argv = ['workspaces', 'create', '--name', 'Acme', '--email', 'ops@example.com']
  await svcJson([...argv, '--password-stdin'], { ...here, stdin: 'correct horse battery\n' })
}

/** Queues a message; no server runs. */
async function queued(): Promise<void> {
  const core = await createCore({ database_url: `file:${join(data, 'svc.db')}` })
  const [workspace] = await core.workspaces.list({ limit: 1, offset: 0 })
  if (!workspace) throw new Error('there is a workspace')
  const scopes = ['send_messages' as const]
  const { key } = await core.apiKeys.create(workspace.id, { name: 'main', mode: 'live', scopes })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const content = { text: 'Hello' }
  await core.messages.send(identity, { channel: 'sms', to: '+15005550006', content })
  await core.close()
}

const backups = () => readdirSync(join(data, 'backups')).filter((name) => name.endsWith('.db'))

describe('svc backup', () => {
  test('writes a verified file to the data folder, and removes old ones with --keep', async () => {
    await seeded()
    const first = await svcJson<{ file: string; ledger: object; sha256: string }>(['backup'], here)
    expect(first).toMatchObject({ verified: 'fast', ledger: { workspaces: 1 }, removed: [] })
    const second = await svc(['backup', '--keep', '1'], here)
    expect(second).toMatchObject({ code: 0 })
    expect(second.stdout).toMatch(
      /^Backed up to \.\/data\/backups\/svc-.*\.db, .* MB: 0 messages, 1 ledger entry; checksum and structure are intact, and the ledger is consistent\.$/m,
    )
    expect(second.stderr).toContain('It contains secrets')
    expect(backups()).toHaveLength(1)
    expect(existsSync(first.file)).toBe(false)
  })

  test('writes to the data folder, and with --database to the folder of that database', async () => {
    await seeded()
    mkdirSync(join(folder.path, 'other'))
    const env = { ...here.env, SVC_DATA_DIR: 'other', SVC_DATABASE_URL: 'file:data/svc.db' }
    const configured = await svcJson<{ file: string }>(['backup'], { ...here, env })
    expect(configured.file).toContain(join(folder.path, 'other', 'backups', 'svc-'))
    const named = ['backup', '--database', 'file:data/svc.db']
    const beside = await svcJson<{ file: string }>(named, { ...here, env })
    expect(beside.file).toContain(join(data, 'backups', 'svc-'))
  })

  test('writes to SVC_BACKUP_DIR, or to the path of --to', async () => {
    await seeded()
    mkdirSync(join(folder.path, 'safe'))
    const env = { ...here.env, SVC_BACKUP_DIR: 'safe' }
    const { file } = await svcJson<{ file: string }>(['backup'], { ...here, env })
    expect(file.startsWith(join(folder.path, 'safe', 'svc-'))).toBe(true)
    const named = await svcJson<{ file: string }>(['backup', '--to', 'mine.db'], here)
    expect(named.file).toBe(join(folder.path, 'mine.db'))
  })

  test.each([
    [['--to', 'data/svc.db'], 1, /svc\.db is the database itself: choose another name with --to/],
    [['--to', 'nowhere/x.db'], 1, /there is no folder .*nowhere: choose another folder with --to/],
    [['--keep', '0'], 2, /--keep must be a whole number from 1 to 10000, got "0"/],
    [['--verify', 'well'], 2, /--verify must be one of full, fast, none, got "well"/],
    [['--database', 'postgres://u@h/d'], 2, /the database is PostgreSQL: back it up with pg_dump/],
    [['--database', 'file:none.db'], 1, /there is no database at .*none\.db: set SVC_DATABASE_URL/],
  ])('refuses %j in one line', async (more, code, line) => {
    await seeded()
    const ended = await svc(['backup', ...more], here)
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toMatch(line)
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('svc restore', () => {
  test('verifies, asks, replaces the database, and keeps dispatch paused', async () => {
    await seeded()
    await queued()
    const { file } = await svcJson<{ file: string }>(['backup'], here)
    const verified = await svc(['restore', '--verify', file], here)
    expect(verified.code).toBe(0)
    expect(verified.stdout).toMatch(/^The backup is good: checksum and structure are intact/)
    const unconfirmed = await svc(['restore', file], here)
    expect(unconfirmed).toMatchObject({ code: 2, stdout: '' })
    expect(unconfirmed.stderr).toContain('add --yes')

    const restored = await svc(['restore', file, '--yes'], here)
    expect(restored.code).toBe(0)
    expect(restored.stdout).toMatch(/^Restored \.\/data\/svc\.db as of .*ledger is consistent\.$/m)
    expect(restored.stdout).toMatch(/is kept as \.\/data\/svc\.db\.before-/)
    expect(restored.stdout).toContain('svc resume --dry-run')

    const dry = await svc(['resume', '--dry-run', '--list'], here)
    expect(dry.stdout).toMatch(/^dispatch\tpaused$/m)
    expect(dry.stdout).toMatch(/^by\ta restore$/m)
    expect(dry.stdout).toMatch(/^messages waiting\t1$/m)
    expect(dry.stdout).toMatch(/^doubtful messages\t1$/m)
    expect(dry.stdout).toMatch(/^\S+\t\S+\tsms\t\+15005550006\t/m)
    const undecided = await svc(['resume'], here)
    expect(undecided.code).toBe(2)
    expect(undecided.stderr).toContain('choose --send-all or --cancel-doubtful')
    expect(await svcJson(['resume', '--cancel-doubtful'], here)).toEqual({
      was_paused: true,
      canceled: 1,
      begun: 0,
    })
    expect((await svc(['resume', '--dry-run'], here)).stdout).toMatch(/^dispatch\trunning$/m)
  })

  test('refuses a file that is not a backup, and changes nothing', async () => {
    await seeded()
    writeFileSync(join(folder.path, 'notes.txt'), 'hello')
    const ended = await svc(['restore', 'notes.txt', '--yes'], here)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/is not a SQLite database: nothing was changed/)
    expect((await svc(['ledger', 'verify'], here)).code).toBe(0)
  })
})

describe('svc pause and resume', () => {
  test('show the waiting messages, and end the pause', async () => {
    await seeded()
    await queued()
    const paused = await svc(['pause', '--reason', 'Moving'], here)
    expect(paused.stdout).toMatch(/^reason\tMoving$/m)
    expect(paused.stdout).toMatch(/^messages waiting\t1$/m)
    expect(await svcJson(['resume', '--dry-run'], here)).toMatchObject({
      pause: { cause: 'operator', reason: 'Moving', backup_at: null },
      messages_waiting: 1,
      doubtful: [],
    })
    expect((await svc(['resume'], here)).stdout).toContain('Sending and delivering start again')
    expect((await svc(['resume'], here)).stdout).toContain('It was not paused')
  })

  test('require a choice after a restore with other tools', async () => {
    await seeded()
    await queued()
    for (const time of ['yesterday', '2026-01-31', '2999-01-01T00:00:00Z']) {
      expect(await svc(['pause', '--restored-from', time], here)).toMatchObject({ code: 2 })
    }
    await svc(['pause', '--restored-from', '2026-01-31T23:59:59Z'], here)
    expect((await svc(['resume', '--send-all', '--cancel-doubtful'], here)).code).toBe(2)
    expect((await svc(['resume'], here)).code).toBe(2)
    expect((await svc(['resume', '--send-all'], here)).code).toBe(0)
  })
})
