import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkDatabase, checkReplicas } from '@svc/server/doctor'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { migrateDatabase } from '../../core/src/maintenance/archive/open.ts'
import { Sqlite } from '../../core/src/storage/sqlite/engine/connection.ts'
import { startPostgres } from '../../core/test/postgres-server.ts'
import { CONTENTS_PATH, startTwilioPeer } from '../../core/test/providers/twilio/peer.ts'
import { ACCOUNT, startMetaPeer } from '../../core/test/providers/whatsapp-cloud/peer.ts'
import { type Ended, newFolder, svc, svcJson } from './svc.ts'

interface Report {
  ok: boolean
  errors: number
  warnings: number
  findings: { check: string; level: string; message: string; advice: string | null }[]
}

const onDisk = process.platform === 'win32' ? tmpdir() : '/var/tmp'
const healthy = newFolder()
let folder: ReturnType<typeof newFolder>
let here: { cwd: string; env: NodeJS.ProcessEnv }

beforeAll(async () => {
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
  const at = { cwd: healthy.path, env: { SVC_SIGNUP_CREDITS: '5' } }
  await svcJson([...argv, '--password-stdin'], { ...at, stdin: 'correct horse battery\n' })
})
beforeEach(() => {
  // Temporary files may be in memory, which svc doctor reports.
  folder = newFolder(onDisk)
  mkdirSync(join(folder.path, 'data'), { mode: 0o700 })
  copyFileSync(join(healthy.path, 'data/svc.db'), file())
  chmodSync(file(), 0o600)
  here = { cwd: folder.path, env: { PORT: '1' } }
})
afterEach(() => folder.remove())
afterAll(() => healthy.remove())

const file = () => join(folder.path, 'data/svc.db')

function change(statements: string): void {
  const connection = new Sqlite(file())
  connection.exec(statements)
  connection.close()
}

async function report(...more: string[]): Promise<{ ended: Ended; report: Report }> {
  const ended = await svc(['doctor', '--json', ...more], here)
  return { ended, report: JSON.parse(ended.stdout) as Report }
}

/** The warnings and errors of one check. */
async function troubles(check: string, ...more: string[]) {
  const { ended, report: found } = await report(...more)
  const list = found.findings.filter((one) => one.check === check && one.level !== 'ok')
  return { code: ended.code, list }
}

test('the texts of the command and of doctor name no page of docs/, which an installed package lacks', () => {
  const sources = ['../src', '../../server/src/doctor'].flatMap((place) =>
    readdirSync(new URL(place, import.meta.url), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
      .map((name) => join(fileURLToPath(new URL(place, import.meta.url)), name)),
  )
  expect(sources.length).toBeGreaterThan(80)
  const named = sources.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => /\bdocs\/[a-z]/.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  )
  expect(named).toEqual([])
})

describe('svc doctor', () => {
  test('finds no error in a new database, and lists its checks', async () => {
    const { ended, report: found } = await report('--offline')
    expect(ended.code).toBe(0)
    expect(found).toMatchObject({ ok: true, errors: 0 })
    const well = found.findings.filter(({ level }) => level === 'ok').map(({ check }) => check)
    expect(well).toEqual(
      expect.arrayContaining(['disk', 'database', 'clock', 'ledger', 'queue', 'webhooks']),
    )
    expect(found.findings.every(({ level, advice }) => level === 'ok' || advice !== null)).toBe(
      true,
    )
  })

  test('prints one line for each finding, and one for its advice', async () => {
    const piped = await svc(['doctor', '--offline'], here)
    expect(piped.stdout).toMatch(/^ok\tledger\tconsistent: 1 entry of 1 workspace\t$/m)
    expect(piped.stdout).toMatch(/^warning\tbackups\t[^\t]+\tset SVC_BACKUP_EVERY=24h/m)
    const shown = await svc(['doctor', '--offline'], { ...here, terminal: true })
    expect(shown.stdout).toMatch(/\n {18} {2}\S*set SVC_BACKUP_EVERY=24h/)
    expect(shown.stdout).toMatch(/0 errors, \d warnings\.\n$/)
  })

  test('breaks lines between words on a terminal', async () => {
    const argv = ['doctor', '--offline']
    const piped = await svc(argv, here)
    const shown = await svc(argv, { ...here, terminal: true })
    const lines = shown.stdout.replaceAll(new RegExp(`${'\u001b'}\\[\\d+m`, 'g'), '').split('\n')
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100)
    const words = new Set(piped.stdout.split(/\s+/))
    const parts = lines.filter((line) => line.startsWith(' '.repeat(20)))
    expect(parts.length).toBeGreaterThan(2)
    for (const word of parts.flatMap((line) => line.trim().split(/\s+/))) {
      expect(words).toContain(word)
    }
  })

  test('names an invalid setting, and stops', async () => {
    here.env.SVC_TRUST_PROXY = 'all-proxies'
    const { ended, report: found } = await report()
    expect(ended.code).toBe(1)
    expect(found.findings.at(-1)).toMatchObject({ check: 'settings', level: 'error' })
    expect(found.findings.at(-1)?.message).toMatch(/^SVC_TRUST_PROXY must list CIDR networks/)
  })

  test('warns of a variable that is not a setting, and when the proxy counts as one client', async () => {
    here.env.SVC_PUBLIC_URL = 'https://msg.example.com'
    here.env.SVC_PORT = '8080'
    const { list } = await troubles('settings', '--offline')
    const text = list.map(({ message }) => message).join()
    expect(text).toContain('SVC_PORT is not a setting: did you mean PORT?')
    expect(text).toContain('SVC_TRUST_PROXY is not set')
  })

  test('warns of a PostgreSQL on another host without TLS', async () => {
    // A name of loopback that does not look like loopback.
    const url = 'postgres://svc:hunter2@127.1:9/svc'
    for (const [SVC_DATABASE_URL, count] of [
      [url, 1],
      [`${url}?sslmode=verify-full`, 0],
    ] as const) {
      here.env.SVC_DATABASE_URL = SVC_DATABASE_URL
      const { list } = await troubles('settings', '--offline')
      const found = list.filter(({ message }) => message.includes('does not require TLS'))
      expect(found.map(({ level }) => level)).toEqual(Array(count).fill('warning'))
      expect(JSON.stringify(list)).not.toContain('hunter2')
    }
  })

  test('warns when other users can read the files', async () => {
    chmodSync(file(), 0o644)
    const { code, list } = await troubles('disk', '--offline')
    expect(code).toBe(0)
    expect(list).toEqual([
      expect.objectContaining({ level: 'warning', advice: `chmod go-rwx ${file()}` }),
    ])
  })

  test('reports the missing data folder', async () => {
    here.env.SVC_DATA_DIR = join(folder.path, 'nowhere')
    const { code, list } = await troubles('disk')
    expect(code).toBe(1)
    expect(list[0]?.message).toContain('nowhere does not exist')
  })

  test('continues after a check that fails, with the reason', async () => {
    // A name that is too long fails for every user; missing permissions do not stop root.
    here.env.SVC_DATABASE_URL = `file:${folder.path}/data/${'x'.repeat(300)}`
    const { ended, report: found } = await report('--offline')
    expect(ended.code).toBe(1)
    expect(found.findings).toContainEqual(
      expect.objectContaining({
        check: 'disk',
        level: 'error',
        message: expect.stringMatching(/its name is too long$/),
      }),
    )
    expect(found.findings.map(({ check }) => check)).toContain('server')
  })

  test('reports a newer database, and one without all migrations', async () => {
    change(`insert into svc_migrations (hash, applied_at) values ('ffff', 1)`)
    const newer = await troubles('database', '--offline')
    expect(newer.code).toBe(1)
    expect(newer.list[0]?.message).toContain('made by a newer version')
    change(`delete from svc_migrations where hash = 'ffff'`)
    change('delete from svc_migrations where rowid = (select max(rowid) from svc_migrations)')
    const behind = await troubles('database', '--offline')
    expect(behind.code).toBe(0)
    expect(behind.list[0]?.message).toContain(`the schema is behind by ${newestMigration()}`)
  })

  test('detects a damaged file', async () => {
    const { size } = statSync(file())
    const descriptor = openSync(file(), 'r+')
    for (let at = 4096 * 3; at < size; at += 4096)
      writeSync(descriptor, Buffer.alloc(64, 0xa5), 0, 64, at)
    closeSync(descriptor)
    const { ended, report: found } = await report('--offline')
    expect(ended.code).toBe(1)
    expect(ended.stderr).not.toContain('    at ')
    expect(
      found.findings.some(({ check, level }) => check === 'database' && level === 'error'),
    ).toBe(true)
  })

  test('reports a file that is not a database', async () => {
    const descriptor = openSync(file(), 'w')
    writeSync(descriptor, 'Dear diary')
    closeSync(descriptor)
    const { code, list } = await troubles('database', '--offline')
    expect(code).toBe(1)
    expect(list[0]).toMatchObject({ level: 'error' })
  })

  test('verifies the ledger', async () => {
    change('update credit_accounts set balance = balance + 1')
    const { code, list } = await troubles('ledger', '--offline')
    expect(code).toBe(1)
    expect(list[0]?.message).toMatch(/^inconsistent: 2 differences, the first in workspace /)
  })

  test('finds queue rows without a message, and wrong totals', async () => {
    change(`insert into message_queue (message_id, workspace_id, channel, task, due_at, attempt)
      values ('m', 'w', 'sms', 'send', 1, 0);
      insert into delivery_queue (delivery_id, workspace_id, webhook_id, due_at, token)
      values ('d', 'w', 'h', ${Date.now() + 9_000_000}, 't'), ('e', 'w', 'h', ${Date.now() + 9_000_000}, null);
      insert into message_counts (workspace_id, unit, since, channel, status, count)
      values ('w', 'all', 0, 'sms', 'sent', 2)`)
    const { code, list } = await troubles('queue', '--offline')
    expect(code).toBe(1)
    expect(list.map(({ message }) => message)).toEqual([
      '1 row of the message queue has no message',
      '2 rows of the delivery queue have no delivery',
      '1 row is claimed for more than an hour: a clock was fast at the claim',
      '1 total of a list differs from the list',
      expect.stringMatching(/^1 message is due, the oldest for \d+ min$/),
    ])
  })

  test('names the countries to which no codes are sent, until an operator allows them', async () => {
    change(`insert into verification_pauses (workspace_id, country, paused_at, sent, approved)
      select id, 'TZ', ${Date.now()}, 50, 0 from workspaces`)
    const ended = await troubles('codes', '--offline')
    expect(ended.list).toEqual([])
    const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000
    change(`insert into verification_counts (workspace_id, country, hour, sent, approved, credits_used)
      select id, 'TZ', ${hour}, 50, 0, 0 from workspaces`)
    const paused = await troubles('codes', '--offline')
    expect(paused).toMatchObject({ code: 0, list: [{ level: 'warning' }] })
    const { message = '', advice = '' } = paused.list[0] ?? {}
    expect(message).toContain('to TZ are paused since')
    const [, id = ''] = /svc verify allow (\S+) TZ --hours 24$/.exec(String(advice)) ?? []
    const allowed = await svc(['verify', 'allow', id, 'tz', '--hours', '2'], here)
    expect(allowed).toMatchObject({ code: 0, stdout: expect.stringContaining('for 2 hours') })
    expect((await troubles('codes', '--offline')).list).toEqual([])
    const limits = (...more: string[]) => svc(['verify', 'limits', id, ...more, '--json'], here)
    const none = { verification_daily_credits: null, verification_countries: null }
    expect(JSON.parse((await limits()).stdout)).toMatchObject(none)
    const set = await limits('--daily-credits', '2.5', '--countries', 'tz, KE')
    expect(JSON.parse(set.stdout)).toEqual({
      workspace_id: id,
      verification_daily_credits: 2.5,
      verification_countries: ['TZ', 'KE'],
    })
    const cleared = await limits('--daily-credits', 'none', '--countries', 'all')
    expect(JSON.parse(cleared.stdout)).toMatchObject(none)
    for (const wrong of ['Tanzania', 'QQ', '']) {
      expect((await limits('--countries', wrong)).code).not.toBe(0)
    }
    const changed = await svc(['audit', '--action', 'account.updated', '--json'], here)
    expect(changed.stdout).toContain('verification_countries')
    const audit = await svc(['audit', '--action', 'verification.allowed'], here)
    expect(audit.stdout).toContain('verification.allowed')
    for (const wrong of [['Tanzania'], ['TZ', '--hours', '0'], ['TZ', '--hours', 'two']]) {
      expect((await svc(['verify', 'allow', id, ...wrong], here)).code).not.toBe(0)
    }
  })

  test('reports deliveries as late only once no circuit breaker can delay them', async () => {
    const due = async (ms: number) => {
      change(`delete from delivery_queue;
        insert into delivery_queue (delivery_id, workspace_id, webhook_id, due_at)
        values ('d', 'w', 'h', ${Date.now() - ms})`)
      const { list } = await troubles('queue', '--offline')
      return list.filter(({ message }) => message.includes('1 webhook delivery is due'))
    }
    expect(await due(330_000)).toEqual([])
    expect(await due(420_000)).toMatchObject([{ level: 'warning' }])
  })

  test('finds a message that no total counts', async () => {
    change(`insert into messages (id, workspace_id, channel, recipient, content, metadata, livemode, status, accepted,
        credits_used, credits_refunded, sequence, created_at, updated_at)
      select 'm', id, 'sms', '+14155550123', '{}', '{}', 1, 'delivered', 1, 0, 0, 1, 1, 1 from workspaces`)
    const { code, list } = await troubles('queue', '--offline')
    expect(code).toBe(1)
    expect(list[0]?.message).toBe('1 total of a list differs from the list')
  })

  test('does not report its own slowness as a wrong clock', async () => {
    const began = Date.now()
    let calls = 0
    // Each step takes a minute.
    const now = () => new Date(began + 60_000 * calls++)
    const looked = await checkDatabase(`file:${file()}`, { thorough: true, now })
    expect(looked.findings.map(({ level }) => level)).toEqual(['ok', 'ok'])
    for (const [ahead_ms, level] of [
      [5_000, 'warning'],
      [60_000, 'error'],
    ] as const) {
      const wrong = { thorough: false, now: () => new Date(Date.now() + ahead_ms) }
      const { findings } = await checkDatabase(`file:${file()}`, wrong)
      expect(findings.find(({ check }) => check === 'clock')).toMatchObject({ level })
    }
  })

  test('reports a PostgreSQL that continues after a failed flush', {
    timeout: 120_000,
  }, async () => {
    const server = await startPostgres({ settings: { data_sync_retry: 'on' } })
    try {
      await migrateDatabase(server.url)
      const options = { thorough: false, now: () => new Date() }
      const { findings } = await checkDatabase(server.url, options)
      expect(findings.filter(({ level }) => level === 'error')).toEqual([
        {
          check: 'database',
          level: 'error',
          message:
            'data_sync_retry is on: after a failed flush PostgreSQL continues, and a later power cut loses requests that were answered with 201',
          advice: 'set data_sync_retry = off',
        },
      ])
      const host = encodeURIComponent(server.folder)
      const twice = await checkDatabase(server.url.replace(host, `${host},${host}`), options)
      const isAdded = ({ message }: { message: string }) => message.includes('no standby')
      expect(findings.filter(isAdded)).toEqual([])
      expect(twice.findings.filter(isAdded)).toMatchObject([{ level: 'warning' }])
      const bound = { database_replica_max_lag_ms: 250 }
      const replicas = await checkReplicas(server.url, {
        database_replica_urls: ['postgres://svc:hunter2@127.0.0.1:1/svc', server.url],
        ...bound,
      })
      expect(replicas.map(({ check, level }) => [check, level])).toEqual([
        ['replica', 'warning'],
        ['replica', 'warning'],
      ])
      expect(replicas[0]?.message).toMatch(/^127\.0\.0\.1:1 is not used: .*ECONNREFUSED/)
      expect(replicas[1]?.message).toMatch(/ is not used: it is no standby$/)
      expect(await checkReplicas(server.url, { database_replica_urls: [], ...bound })).toEqual([])
    } finally {
      await server.stop()
    }
  })

  test('detects that a clock was fast', async () => {
    change(`update credit_accounts set updated_at = ${Date.now() + 600_000}`)
    const { code, list } = await troubles('clock', '--offline')
    expect(code).toBe(1)
    expect(list[0]?.message).toMatch(/^the last entry was booked (599|600) s in the future/)
  })

  test('reports a pause, and the command that ends it', async () => {
    await svcJson(['pause', '--reason', 'moving house'], here)
    const { code, list } = await troubles('queue', '--offline')
    expect(code).toBe(0)
    expect(list[0]).toMatchObject({
      level: 'warning',
      message: expect.stringMatching(/moving house$/),
      advice: 'svc resume ends the pause',
    })
  })

  test('contacts providers, except with --offline', async () => {
    here.env.SVC_SMTP_URL = 'smtp://127.0.0.1:1'
    here.env.SVC_MAIL_DOMAIN = 'example.com'
    const calls = await troubles('providers')
    expect(calls.code).toBe(1)
    expect(calls.list[0]?.message).toMatch(/^smtp does not accept its settings: /)
    expect(await troubles('providers', '--offline')).toEqual({ code: 0, list: [] })
  })

  test('says whether templates of WhatsApp are checked before a charge', async () => {
    const meta = await startMetaPeer()
    const set = (more: Parameters<typeof meta.settings>[0] = {}) => {
      here.env.SVC_PROVIDERS = JSON.stringify([meta.settings(more)])
    }
    set()
    expect((await troubles('providers')).list).toMatchObject([
      { level: 'skipped', advice: expect.stringContaining('business_account_ids') },
    ])
    set({ business_account_ids: ['7'] })
    expect((await troubles('providers')).list).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/^wa cannot list the templates .*: 7: /) },
    ])
    set({ business_account_ids: [ACCOUNT] })
    expect((await troubles('providers')).list).toEqual([])
    await meta.close()
  })

  test('says whether templates of Twilio are checked before a charge', async () => {
    const twilio = await startTwilioPeer()
    const set = (more: Parameters<typeof twilio.settings>[0] = {}) => {
      here.env.SVC_PROVIDERS = JSON.stringify([twilio.settings(more)])
    }
    set()
    expect((await troubles('providers')).list).toEqual([])
    set({ check_approvals: false })
    expect((await troubles('providers')).list).toMatchObject([
      { level: 'skipped', advice: expect.stringContaining('check_approvals') },
    ])
    set({ senders: { sms: ['+15550100001'] } })
    expect((await troubles('providers')).list).toEqual([])
    set()
    twilio.readsAnswer({ status: 403, body: { code: 70051 } }, CONTENTS_PATH)
    expect((await troubles('providers')).list).toMatchObject([
      {
        level: 'warning',
        message: expect.stringMatching(
          /^twilio cannot list the templates .*: Twilio: The credentials lack the permission/,
        ),
        advice: expect.stringContaining('API key'),
      },
    ])
    await twilio.close()
  })

  test('connects to failing receivers, and only to allowed targets', async () => {
    const receiver = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => receiver.once('listening', resolve))
    const { port } = receiver.address() as AddressInfo
    const hook = '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01'
    change(`insert into webhooks (id, workspace_id, url, events, headers, secret, is_active, status,
      disabled_reason, consecutive_failures, created_at, updated_at)
      select '${hook}', id, 'http://127.0.0.1:${port}/', '[]', '{}', 's', 1, 'disabled', 'no success for 5 days',
      10, 1, 1 from workspaces`)
    try {
      const kept = await troubles('webhooks')
      expect(kept.code).toBe(0)
      expect(kept.list[0]?.message).toMatch(
        /no success for 5 days\); it uses plain http, which SVC_WEBHOOK_ALLOW_HTTP does not allow$/,
      )
      here.env.SVC_WEBHOOK_ALLOW_HTTP = 'true'
      expect((await troubles('webhooks')).list[0]?.message).toMatch(
        /; it leads to an address that is not public, which SVC_WEBHOOK_ALLOW_NETS does not allow$/,
      )
      here.env.SVC_WEBHOOK_ALLOW_NETS = '127.0.0.0/8'
      expect((await troubles('webhooks')).list[0]?.message).toMatch(
        /this machine can connect to it$/,
      )
      expect((await troubles('webhooks', '--offline')).list[0]?.message).not.toContain('connect')
    } finally {
      receiver.close()
    }
    expect((await troubles('webhooks')).list[0]?.message).toMatch(
      /cannot connect to it \(ECONNREFUSED\)$/,
    )
    // A receiver that answers is reached, so no setting is to blame.
    delete here.env.SVC_WEBHOOK_ALLOW_HTTP
    const columns =
      'id, workspace_id, webhook_id, event_id, event, status, trigger, attempt_count, max_attempts, response_status, created_at, updated_at'
    change(`insert into deliveries (${columns})
      select 'd1', id, '${hook}', 'e', 'message.sent', 'failed', 'event', 1, 1, 500, 1, 1 from workspaces;
      insert into deliveries (${columns})
      select 'd2', id, '${hook}', 'e', 'message.sent', 'pending', 'event', 0, 1, null, 1, 1 from workspaces`)
    for (const options of [[], ['--offline']]) {
      expect((await troubles('webhooks', ...options)).list[0]?.message).toMatch(
        /no success for 5 days\); its last answer was 500$/,
      )
    }
  })

  test('checks the server on this machine and at its public address', async () => {
    const server = createServer((request, response) => {
      const isLive = request.url === '/health/live'
      const status = {
        status: 'degraded',
        services: { database: 'ok', cache: 'ok', queue: 'stopped' },
      }
      response.writeHead(isLive ? 404 : 200).end(JSON.stringify(status))
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    here.env.PORT = String(port)
    here.env.SVC_PUBLIC_URL = `http://localhost:${port}`
    try {
      const { code, list } = await troubles('server')
      expect(code).toBe(1)
      expect(list[0]?.message).toContain(
        'is degraded: {"database":"ok","cache":"ok","queue":"stopped"}',
      )
      expect(list[1]?.message).toBe(`http://localhost:${port}/health/live answers 404`)
      expect((await troubles('server', '--offline')).list).toHaveLength(1)
    } finally {
      server.close()
    }
  })

  test('names a log of SQLite that the server cannot write back', async () => {
    const status = {
      status: 'degraded',
      services: { database: 'checkpoint_error', cache: 'ok', queue: 'ok' },
    }
    const server = createServer((_, response) => response.end(JSON.stringify(status)))
    server.listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    here.env.PORT = String((server.address() as AddressInfo).port)
    try {
      const { code, list } = await troubles('server', '--offline')
      expect(code).toBe(1)
      expect(list[0]?.message).toContain('SQLite cannot write its log back into the database file')
    } finally {
      server.close()
    }
  })

  test('checks the backups', async () => {
    here.env.SVC_BACKUP_EVERY = '1h'
    const none = await troubles('backups', '--offline')
    expect(none.code).toBe(0)
    expect(none.list[0]?.message).toMatch(/^there is no backup yet in .*backups$/)
    mkdirSync(join(folder.path, 'data/backups'))
    await svcJson(['backup', '--to', join(folder.path, 'data/backups')], here)
    expect(await troubles('backups', '--offline')).toEqual({ code: 0, list: [] })
    const kept_in = join(folder.path, 'data/backups')
    const [name = ''] = readdirSync(kept_in).filter((each) => each.endsWith('.db'))
    renameSync(join(kept_in, name), join(kept_in, 'svc-2026-05-04T09-00-00-000Z.db'))
    const old = await troubles('backups', '--offline')
    expect(old.code).toBe(1)
    expect(old.list[0]?.message).toMatch(
      /^the newest is from 2026-05-04T09:00:00.000Z, .*: too old$/,
    )
  })
})

/** The name of the newest migration of SQLite. */
function newestMigration(): string {
  const journal = new URL('../../core/migrations/sqlite/meta/_journal.json', import.meta.url)
  const { entries } = JSON.parse(readFileSync(journal, 'utf8')) as { entries: { tag: string }[] }
  return entries.at(-1)?.tag ?? ''
}
