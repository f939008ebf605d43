import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const folder = newFolder()
const here = { cwd: folder.path, env: { SVC_SIGNUP_CREDITS: '2.5' } }
const password = 'correct horse battery'
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

interface Created {
  workspace: { id: string; email: string }
}

let first: Created['workspace']

function create(email: string, more: string[] = []) {
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', email, '--password-stdin']
  return svc([...argv, ...more], { ...here, stdin: `${password}\n` })
}

beforeAll(async () => {
  const { stdout } = await create('ops@example.com', ['--json'])
  first = (JSON.parse(stdout) as Created).workspace
})

afterAll(() => folder.remove())

describe('svc workspaces', () => {
  test('creates the database and a workspace with the credits of a signup', async () => {
    expect(existsSync(`${folder.path}/data/svc.db`)).toBe(true)
    expect(first).toEqual({
      id: uuid,
      name: 'Example',
      email: 'ops@example.com',
      email_verified: true,
      credits_balance: 2.5,
    })
  })

  test('lists the workspaces', async () => {
    const { workspaces } = await svcJson<{ workspaces: object[] }>(['workspaces', 'list'], here)
    expect(workspaces[0]).toMatchObject({ ...first, credits_held: 0, created_at: time })
    const { stdout } = await svc(['workspaces', 'list'], here)
    expect(stdout).toMatch(new RegExp(`^${first.id}\tExample\tops@example.com\t[\\d.]+\t20`, 'm'))
  })

  test('shows and changes quiet hours, each category alone', async () => {
    const quiet = (...more: string[]) =>
      svcJson<object>(['workspaces', 'quiet-hours', 'ops@example.com', ...more], here)
    const none = { workspace_id: first.id, quiet_hours: null, time_zone: null }
    expect(await quiet()).toEqual(none)
    await quiet('--transactional', '00:00-06:00', '--time-zone', 'Africa/Nairobi')
    const night = { category: 'marketing', start: '21:00', end: '08:00' }
    const sunday = { category: 'marketing', start: '00:00', end: '24:00', days: ['sat', 'sun'] }
    const early = { category: 'transactional', start: '00:00', end: '06:00' }
    expect(await quiet('--marketing', '21:00-08:00', '00:00-24:00,sat,sun')).toEqual({
      ...none,
      quiet_hours: [early, night, sunday],
      time_zone: 'Africa/Nairobi',
    })
    const { stdout } = await svc(['workspaces', 'quiet-hours', first.id], here)
    expect(stdout).toContain('21:00-08:00 00:00-24:00,sat,sun')
    await quiet('--marketing', 'none')
    expect(await quiet('--transactional', 'none')).toMatchObject({ quiet_hours: null })
    for (const wrong of ['21-08', '00:00-24:00', '21:00-08:00,Sunday']) {
      const argv = ['workspaces', 'quiet-hours', first.id, '--marketing', wrong]
      expect((await svc(argv, here)).code).toBe(1)
    }
  })

  test.each([
    ['an address in use', ['--email', 'OPS@example.com'], password, 'Email already exists', 1],
    ['an invalid address', ['--email', 'ops'], password, 'Invalid email address format', 1],
    ['a short password', ['--email', 'b@example.com'], 'short', 'at least 8 characters', 1],
  ])('refuses %s', async (_, options, stdin, text, code) => {
    const argv = ['workspaces', 'create', '--name', 'X', '--password-stdin', ...options]
    const ended = await svc(argv, { ...here, stdin })
    expect(ended.code).toBe(code)
    expect(ended.stderr).toMatch(/^svc: [^\n]*\n$/)
    expect(ended.stderr).toContain(text)
  })

  test('names --password-stdin without a terminal', async () => {
    const { code, stderr } = await svc([
      'workspaces',
      'create',
      '--name',
      'X',
      '--email',
      'c@d.example',
    ])
    expect(code).toBe(2)
    expect(stderr).toBe(
      'svc: stdin is not a terminal: pipe the password in with --password-stdin\n',
    )
  })
})

describe('svc audit', () => {
  test('shows the changes of the commands with their actor', async () => {
    const asha = { ...here, env: { ...here.env, USER: 'asha' } }
    const made = await svcJson<{ id: string }>(['keys', 'create', '--name', 'Audited'], asha)
    const argv = ['audit', '--action', 'api_key.created', '--limit', '1']
    const { audit_entries } = await svcJson<{ audit_entries: object[] }>(argv, here)
    expect(audit_entries).toEqual([
      {
        id: uuid,
        workspace_id: first.id,
        action: 'api_key.created',
        actor: { kind: 'operator', id: 'asha', name: null },
        address: null,
        target: { type: 'api_key', id: made.id },
        details: expect.objectContaining({ mode: 'live' }),
        request_id: null,
        created_at: time,
      },
    ])
    const { stdout } = await svc([...argv, '--since', '1h', '--workspace', first.email], here)
    expect(stdout).toMatch(
      new RegExp(
        `^20\\S+\t${first.id}\tapi_key.created\toperator asha\t-\tapi_key ${made.id}`,
        'm',
      ),
    )
  })

  test('refuses an unknown action in one line', async () => {
    const { code, stderr } = await svc(['audit', '--action', 'flew'], here)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^svc: [^\n]*action[^\n]*\n$/)
  })
})

describe('svc keys', () => {
  test('creates a key and shows it once, lists it without the key, and revokes it', async () => {
    const created = await svcJson<{ id: string; key: string }>(
      ['keys', 'create', '--name', 'Web shop', '--scopes', 'send_messages, read_messages'],
      here,
    )
    expect(created).toMatchObject({
      id: uuid,
      name: 'Web shop',
      key: expect.stringMatching(/^svc_[0-9A-Za-z]{38}$/),
      key_prefix: `${created.key.slice(0, 12)}...`,
      scopes: ['send_messages', 'read_messages'],
      mode: 'live',
      expires_at: null,
      warning: expect.stringContaining('only once'),
    })

    const list = () =>
      svcJson<{ api_keys: { id: string; is_active: boolean }[] }>(['keys', 'list'], here)
    const before = await list()
    expect(JSON.stringify(before)).not.toContain(created.key)
    expect(before).toMatchObject({ pagination: { page: 1, limit: 50 } })
    expect(before.api_keys.find(({ id }) => id === created.id)).toMatchObject({ is_active: true })

    const revoked = await svc(['keys', 'revoke', created.id, '--yes'], here)
    expect(revoked).toMatchObject({ code: 0, stdout: expect.stringContaining('is revoked') })
    const after = await list()
    expect(after.api_keys.find(({ id }) => id === created.id)).toMatchObject({ is_active: false })
    const { stdout } = await svc(['keys', 'list'], here)
    expect(stdout).toMatch(new RegExp(`^${created.id}\tWeb shop\t.*\trevoked\t`, 'm'))
  })

  test('a test key expires after the given duration', async () => {
    const before = Date.now()
    const argv = ['keys', 'create', '--name', 'CI', '--mode', 'test', '--expires', '30d']
    const created = await svcJson<{ key: string; scopes: string[]; expires_at: string }>(argv, here)
    expect(created.key).toMatch(/^svc_test_/)
    expect(created.scopes).toEqual(['send_messages', 'read_messages'])
    const left_ms = Date.parse(created.expires_at) - before
    expect(left_ms).toBeGreaterThanOrEqual(30 * 86_400_000)
    expect(left_ms).toBeLessThan(30 * 86_400_000 + 60_000)
  })

  test('--twilio prints the account SID and the line to add', async () => {
    const argv = ['keys', 'create', '--name', 'Old shop', '--twilio']
    const env = { ...here.env, SVC_PUBLIC_URL: 'https://svc.example.com/' }
    const { stdout, stderr } = await svc(argv, { ...here, env })
    expect(stdout).toMatch(/^account SID\tAC[0-9a-f]{32}$/m)
    expect(stdout).toMatch(/^auth token\tsvc_[0-9A-Za-z]{38}$/m)
    expect(stderr).toContain("client.api.baseUrl = 'https://svc.example.com/compat/twilio'")
  })

  test('--test means --mode test', async () => {
    const argv = ['keys', 'create', '--name', 'CI', '--test']
    expect(await svcJson(argv, here)).toMatchObject({ mode: 'test' })
    expect(await svc([...argv, '--mode', 'live'], here)).toMatchObject({ code: 2, stdout: '' })
  })

  test('prints the key on stdout and the warning on stderr', async () => {
    const { stdout, stderr } = await svc(['keys', 'create', '--name', 'Shop'], here)
    expect(stdout).toMatch(/^key\tsvc_[0-9A-Za-z]{38}$/m)
    expect(stderr).toContain('only once')
  })

  test.each([
    ['an unknown scope', ['create', '--name', 'x', '--scopes', 'fly'], 1],
    ['an invalid date', ['create', '--name', 'x', '--expires', 'soon'], 1],
    ['a duration of 0', ['create', '--name', 'x', '--expires', '0d'], 2],
    ['a page size out of bounds', ['list', '--limit', '101'], 1],
    ['an unknown key', ['revoke', '01934f5e-8c00-7a3b-9d2e-5f6a7b8c9d01', '--yes'], 1],
    ['an unknown workspace', ['list', '--workspace', 'nobody@example.com'], 1],
    ['an invalid id of a workspace', ['list', '--workspace', 'nonsense'], 1],
  ])('refuses %s in one line', async (_, argv, code) => {
    const ended = await svc(['keys', ...argv], here)
    expect(ended).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringMatching(/^svc: [^\n]+\n$/),
    })
  })

  test('prints the error as JSON with --json', async () => {
    const { stderr } = await svc(['keys', 'revoke', first.id, '--yes', '--json'], here)
    expect(JSON.parse(stderr)).toEqual({ error: 'not_found', message: 'API key not found' })
  })
})

describe('svc credits', () => {
  test('grants credits once for each id', async () => {
    const argv = ['credits', 'grant', '0.1', '--reason', 'Invoice 17', '--id', 'invoice-17']
    const granted = await svcJson<{ credits_balance: number }>(argv, here)
    expect(granted).toEqual({
      transaction: {
        id: uuid,
        type: 'grant',
        credits: 0.1,
        balance_after: 2.6,
        description: 'Invoice 17',
        channel: null,
        reference: { type: 'grant', id: 'invoice-17' },
        created_at: time,
        held_delta: 0,
        held_after: 0,
        actor: 'operator',
      },
      repeated: false,
      credits_balance: 2.6,
    })
    expect(await svcJson(argv, here)).toEqual({ ...granted, repeated: true })
    const { stdout } = await svc(argv, here)
    expect(stdout).toBe(
      'invoice-17 was granted before (0.1 credits); nothing was granted again. ops@example.com has 2.6 credits available.\n',
    )
  })

  test('shows the ledger, newest first', async () => {
    await svc(['credits', 'grant', '1', '--reason', 'line\nbreak'], here)
    const { stdout } = await svc(['credits', 'history', '--limit', '1'], here)
    expect(stdout).toMatch(/^20[^\t]+\tgrant\t\+1\t-\t[\d.]+\tgrant:[0-9a-f-]+\tline\\nbreak\n$/)
    const { transactions } = await svcJson<{ transactions: { type: string }[] }>(
      ['credits', 'history'],
      here,
    )
    expect(transactions.at(-1)).toMatchObject({
      type: 'grant',
      credits: 2.5,
      reference: { type: 'signup', id: first.id },
    })
  })

  test.each([
    ['ten', 2],
    ['0.0000001', 2],
    ['0', 1],
  ])('refuses an amount of %s', async (amount, code) => {
    const ended = await svc(['credits', 'grant', amount], here)
    expect(ended).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringMatching(/^svc: [^\n]+\n$/),
    })
  })
})

describe('--workspace', () => {
  test('is optional with one workspace, and required with two', async () => {
    expect((await svc(['credits', 'history'], here)).code).toBe(0)
    await create('second@example.com')
    const ended = await svc(['credits', 'history'], here)
    expect(ended.code).toBe(2)
    expect(ended.stderr).toContain('choose one with --workspace')
    for (const selector of ['Second@example.com', first.id]) {
      expect((await svc(['credits', 'history', '--workspace', selector], here)).code).toBe(0)
    }
  })
})

describe('without a database', () => {
  test.each([[['keys', 'list']], [['credits', 'grant', '1']], [['workspaces', 'list']]])(
    'svc %s says so and makes no database',
    async (argv) => {
      const empty = newFolder()
      const { code, stderr } = await svc(argv, { cwd: empty.path })
      expect(code).toBe(2)
      expect(stderr).toMatch(/^svc: there is no database at \.\/data\/svc\.db: start svc dev/)
      expect(readdirSync(empty.path)).toEqual([])
      const elsewhere = { SVC_DATABASE_URL: 'file:other/typo.db' }
      const again = await svc(argv, { cwd: empty.path, env: elsewhere })
      expect(again.stderr).toContain('there is no database at ./other/typo.db')
      empty.remove()
    },
  )

  test('names an invalid setting', async () => {
    const env = { SVC_SIGNUP_CREDITS: 'many' }
    const { code, stderr } = await svc(['keys', 'list'], { ...here, env })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^svc: SVC_SIGNUP_CREDITS must be [^\n]*\n$/)
  })
})
