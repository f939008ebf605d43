import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createCore } from '@svc/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

let folder: ReturnType<typeof newFolder>
let data: string
let given: { cwd: string; env: NodeJS.ProcessEnv }

beforeEach(() => {
  folder = newFolder()
  data = join(folder.path, 'data')
  given = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '10' } }
})
afterEach(() => folder.remove())

/** A database with a workspace, and a key of it. */
async function seeded(): Promise<void> {
  const argv = ['workspaces', 'create', '--name', 'Acme', '--email', 'ops@example.com']
  await svcJson([...argv, '--password-stdin'], { ...given, stdin: 'correct horse battery\n' })
}

/** A message that is queued: no server runs. */
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
  test('makes one verified file in the data folder, and keeps as many as told', async () => {
    await seeded()
    const first = await svcJson<{ file: string; ledger: object; sha256: string }>(['backup'], given)
    expect(first).toMatchObject({ verified: 'fast', ledger: { workspaces: 1 }, removed: [] })
    const second = await svc(['backup', '--keep', '1'], given)
    expect(second).toMatchObject({ code: 0 })
    expect(second.stdout).toMatch(
      /^Backed up to \.\/data\/backups\/svc-.*\.db, .* MB: 0 messages, 1 ledger entries; checksum and structure are intact, and the ledger is consistent\.$/m,
    )
    expect(second.stderr).toContain('It holds secrets')
    expect(backups()).toHaveLength(1)
    expect(existsSync(first.file)).toBe(false)
  })

  test('goes to the data folder, where the server puts its own, wherever the database is', async () => {
    await seeded()
    mkdirSync(join(folder.path, 'other'))
    const env = { ...given.env, SVC_DATA_DIR: 'other', SVC_DATABASE_URL: 'file:data/svc.db' }
    const configured = await svcJson<{ file: string }>(['backup'], { ...given, env })
    expect(configured.file).toContain(join(folder.path, 'other', 'backups', 'svc-'))
    const named = ['backup', '--database', 'file:data/svc.db']
    const beside = await svcJson<{ file: string }>(named, { ...given, env })
    expect(beside.file).toContain(join(data, 'backups', 'svc-'))
  })

  test('goes to SVC_BACKUP_DIR, or where --to says', async () => {
    await seeded()
    mkdirSync(join(folder.path, 'safe'))
    const env = { ...given.env, SVC_BACKUP_DIR: 'safe' }
    const { file } = await svcJson<{ file: string }>(['backup'], { ...given, env })
    expect(file.startsWith(join(folder.path, 'safe', 'svc-'))).toBe(true)
    const named = await svcJson<{ file: string }>(['backup', '--to', 'mine.db'], given)
    expect(named.file).toBe(join(folder.path, 'mine.db'))
  })

  test.each([
    [['--to', 'data/svc.db'], 1, /svc\.db is the database itself: choose another name with --to/],
    [['--to', 'nowhere/x.db'], 1, /there is no folder .*nowhere: name another with --to/],
    [['--keep', '0'], 2, /--keep must be a whole number from 1 to 10000, got "0"/],
    [['--verify', 'well'], 2, /--verify must be one of full, fast, none, got "well"/],
    [['--database', 'postgres://u@h/d'], 2, /the database is PostgreSQL: back it up with pg_dump/],
    [['--database', 'file:none.db'], 1, /there is no database at .*none\.db: set SVC_DATABASE_URL/],
  ])('%j is refused in one line', async (more, code, line) => {
    await seeded()
    const ended = await svc(['backup', ...more], given)
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toMatch(line)
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
  })
})

describe('svc restore', () => {
  test('verifies, asks, puts it in place, and leaves the service paused', async () => {
    await seeded()
    await queued()
    const { file } = await svcJson<{ file: string }>(['backup'], given)
    const verified = await svc(['restore', '--verify', file], given)
    expect(verified.code).toBe(0)
    expect(verified.stdout).toMatch(/^The backup is good: checksum and structure are intact/)
    const unasked = await svc(['restore', file], given)
    expect(unasked).toMatchObject({ code: 2, stdout: '' })
    expect(unasked.stderr).toContain('add --yes')

    const restored = await svc(['restore', file, '--yes'], given)
    expect(restored.code).toBe(0)
    expect(restored.stdout).toMatch(/^Restored \.\/data\/svc\.db as of .*ledger is consistent\.$/m)
    expect(restored.stdout).toMatch(/is kept as \.\/data\/svc\.db\.before-/)
    expect(restored.stdout).toContain('svc resume --dry-run')

    const dry = await svc(['resume', '--dry-run', '--list'], given)
    expect(dry.stdout).toMatch(/^dispatch\tpaused$/m)
    expect(dry.stdout).toMatch(/^by\ta restore$/m)
    expect(dry.stdout).toMatch(/^messages waiting\t1$/m)
    expect(dry.stdout).toMatch(/^doubtful messages\t1$/m)
    expect(dry.stdout).toMatch(/^\S+\t\S+\tsms\t\+15005550006\t/m)
    const undecided = await svc(['resume'], given)
    expect(undecided.code).toBe(2)
    expect(undecided.stderr).toContain('choose --send-all or --cancel-doubtful')
    expect(await svcJson(['resume', '--cancel-doubtful'], given)).toEqual({
      was_paused: true,
      canceled: 1,
      begun: 0,
    })
    expect((await svc(['resume', '--dry-run'], given)).stdout).toMatch(/^dispatch\trunning$/m)
  })

  test('refuses what is no backup, and changes nothing', async () => {
    await seeded()
    writeFileSync(join(folder.path, 'notes.txt'), 'hello')
    const ended = await svc(['restore', 'notes.txt', '--yes'], given)
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toMatch(/is no SQLite database: nothing was changed/)
    expect((await svc(['ledger', 'verify'], given)).code).toBe(0)
  })
})

describe('svc pause and resume', () => {
  test('say what waits, and end what was begun', async () => {
    await seeded()
    await queued()
    const paused = await svc(['pause', '--reason', 'Moving'], given)
    expect(paused.stdout).toMatch(/^reason\tMoving$/m)
    expect(paused.stdout).toMatch(/^messages waiting\t1$/m)
    expect(await svcJson(['resume', '--dry-run'], given)).toMatchObject({
      pause: { cause: 'operator', reason: 'Moving', backup_at: null },
      messages_waiting: 1,
      doubtful: [],
    })
    expect((await svc(['resume'], given)).stdout).toContain('Sending and delivering go on')
    expect((await svc(['resume'], given)).stdout).toContain('It was not paused')
  })

  test('ask after a restore by other means, too', async () => {
    await seeded()
    await queued()
    for (const time of ['yesterday', '2026-01-31', '2999-01-01T00:00:00Z']) {
      expect(await svc(['pause', '--restored-from', time], given)).toMatchObject({ code: 2 })
    }
    await svc(['pause', '--restored-from', '2026-01-31T23:59:59Z'], given)
    expect((await svc(['resume', '--send-all', '--cancel-doubtful'], given)).code).toBe(2)
    expect((await svc(['resume'], given)).code).toBe(2)
    expect((await svc(['resume', '--send-all'], given)).code).toBe(0)
  })
})
