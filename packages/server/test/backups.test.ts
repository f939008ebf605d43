import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startBackups } from '../src/scheduled-backups.ts'
import { startServer } from '../src/server.ts'
import { readConfig } from '../src/settings/config.ts'

const HOUR_MS = 3_600_000

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-backups-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

describe('the schedule', () => {
  let now: Date
  let made: number
  let logged: string[]

  function start(make: () => Promise<never> | Promise<object>) {
    const log = (text: string) => logged.push(text)
    return startBackups(
      { dir: join(folder, 'backups'), every_ms: 6 * HOUR_MS, keep: 3 },
      {
        database_url: `file:${join(folder, 'svc.db')}`,
        made_by: 'svc test',
        log: { info: (_, text) => log(text), error: (_, text) => log(text) },
        now: () => now,
        async make(options) {
          expect(options).toMatchObject({ database: join(folder, 'svc.db'), keep: 3 })
          made += 1
          await make()
          return { file: '', bytes: 0, sha256: '', removed: [], duration_ms: 0 } as never
        },
      },
    )
  }
  const named = (name: string) => writeFileSync(join(folder, 'backups', name), '')

  beforeEach(() => {
    now = new Date('2026-05-01T12:00:00Z')
    made = 0
    logged = []
  })

  it('follows from the files, so that a restart neither skips nor repeats one', async () => {
    const first = start(async () => {
      named(`svc-${now.toISOString().replace(/[:.]/g, '-')}.db`)
      return {}
    })
    await first.check()
    expect([made, logged]).toEqual([1, ['a backup was made and verified']])
    await first.stop()
    now = new Date(now.getTime() + 5 * HOUR_MS)
    const second = start(async () => ({}))
    await second.check()
    expect(made).toBe(1)
    now = new Date(now.getTime() + HOUR_MS)
    await second.check()
    expect(made).toBe(2)
    await second.stop()
    await second.check()
    expect(made).toBe(2)
  })

  it('ignores files with the time of a wrong clock', async () => {
    mkdirSync(join(folder, 'backups'))
    named('svc-2027-01-01T00-00-00-000Z.db')
    const backups = start(async () => ({}))
    await backups.check()
    expect(made).toBe(1)
    await backups.stop()
  })

  it('logs a failure, and tries again after a while', async () => {
    const backups = start(async () => {
      throw new Error('the disk is full')
    })
    await backups.check()
    await backups.check()
    expect([made, logged]).toEqual([1, ['a backup failed']])
    now = new Date(now.getTime() + HOUR_MS)
    await backups.check()
    expect(made).toBe(2)
    await backups.stop()
  })
})

describe('settings', () => {
  const read = (env: NodeJS.ProcessEnv) => readConfig({ SVC_DATA_DIR: folder, ...env }).backups

  it('are off without an interval', () => {
    expect(read({})).toBeNull()
    expect(read({ SVC_BACKUP_DIR: '/var/backups' })).toBeNull()
    expect(read({ SVC_BACKUP_EVERY: '6h' })).toEqual({
      dir: join(folder, 'backups'),
      every_ms: 6 * HOUR_MS,
      keep: 7,
    })
  })

  it.each([
    [{ SVC_BACKUP_EVERY: '0h' }, /SVC_BACKUP_EVERY must be 1m to 31d/],
    [{ SVC_BACKUP_EVERY: '32d' }, /SVC_BACKUP_EVERY must be 1m to 31d/],
    [{ SVC_BACKUP_EVERY: 'daily' }, /got "daily"/],
    [{ SVC_BACKUP_KEEP: '0' }, /SVC_BACKUP_KEEP must be a whole number from 1/],
  ])('%j are refused', (env, message) => {
    expect(() => read(env)).toThrow(message)
  })

  it('have no effect with PostgreSQL, so that a configuration survives the move to it', () => {
    const env = { SVC_BACKUP_EVERY: 'daily', SVC_DATABASE_URL: 'postgres://svc@db/svc' }
    expect(read(env)).toBeNull()
    expect(readConfig(env).unused_backup_settings).toEqual(['SVC_BACKUP_EVERY'])
    expect(readConfig({ SVC_BACKUP_EVERY: '24h' }).unused_backup_settings).toEqual([])
  })
})

describe('a server', () => {
  it('makes backups, and refuses a folder that it cannot write to', async () => {
    const env = {
      SVC_DATA_DIR: folder,
      PORT: '0',
      SVC_BACKUP_EVERY: '24h',
      SVC_LOG_LEVEL: 'silent',
    }
    writeFileSync(join(folder, 'file'), '')
    const wrong = readConfig({ ...env, SVC_BACKUP_DIR: join(folder, 'file', 'backups') })
    await expect(startServer({ config: wrong })).rejects.toThrow(
      /^SVC_BACKUP_DIR cannot be written to/,
    )
    const { backupsIn, verifyBackup } = await import('@svc/core/operate')
    const server = await startServer({ config: readConfig(env) })
    const found = () => backupsIn(join(folder, 'backups'))
    await expect.poll(found, { timeout: 20_000 }).toHaveLength(1)
    await server.close()
    const [{ name } = { name: '' }] = found()
    const check = await verifyBackup(join(folder, 'backups', name), { verify: 'full' })
    expect(check.made_by).toMatch(/^svc \d/)
  })

  it('reports paused dispatch in its health, and still accepts messages', async () => {
    const env = { SVC_DATA_DIR: folder, PORT: '0', SVC_LOG_LEVEL: 'silent' }
    const server = await startServer({ config: readConfig(env) })
    const health = async () => (await fetch(`${server.url}/health`)).json()
    await server.core.dispatch.stop({ reason: 'Moving' })
    expect(await health()).toMatchObject({ status: 'degraded', services: { queue: 'paused' } })
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
    await server.core.dispatch.resume()
    expect(await health()).toMatchObject({ status: 'ok', services: { queue: 'ok' } })
    await server.close()
  })
})
