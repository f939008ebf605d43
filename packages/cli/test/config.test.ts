import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, type RunOptions, start, svc, svcJson } from './svc.ts'

let folder: ReturnType<typeof newFolder>
let cwd: string

beforeEach(() => {
  folder = newFolder()
  cwd = folder.path
})

afterEach(() => folder.remove())

function write(content: unknown, name = 'svc.config.json'): void {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  writeFileSync(join(cwd, name), text, { mode: 0o600 })
}

const check = (env: NodeJS.ProcessEnv = {}, ...argv: string[]) =>
  svc(['config', 'check', ...argv], { env, cwd })

interface Shown {
  config_file: string | null
  settings: { key: string; env: string; value: string | null; source: string }[]
}

/** One setting of `svc config show`. */
async function shown(key: string, options: RunOptions = {}, ...argv: string[]) {
  const { settings } = await svcJson<Shown>(['config', 'show', ...argv], { cwd, ...options })
  return settings.find((setting) => setting.key === key)
}

describe('svc.config.json', () => {
  test('overrides the defaults, and the environment overrides it', async () => {
    write({ port: 8080, host: '0.0.0.0' })
    expect(await shown('port')).toMatchObject({ value: '8080', source: 'file' })
    expect(await shown('port', { env: { PORT: '9' } })).toMatchObject({
      value: '9',
      source: 'environment',
    })
    expect(await shown('port', { env: { PORT: ' ' } })).toMatchObject({ value: '8080' })
    expect(await shown('log_level')).toMatchObject({ value: 'info', source: 'default' })
  })

  test('accepts numbers, booleans, lists and JSON', async () => {
    write({
      signup_credits: 1.5,
      webhook_allow_http: true,
      trust_proxy: ['10.0.0.0/8', '192.168.0.0/16'],
      denied_countries: 'CU, KP',
      prices: { sms: '2' },
      credit_packages: [
        { id: 'a', name: 'A', credits: 10, price: { amount: 100, currency: 'USD' } },
      ],
      providers: [
        { name: 'mail', type: 'smtp', url: ['$', '{MAIL}'].join(''), mail_domain: 'example.com' },
      ],
    })
    expect(await check({ MAIL: 'smtp://u:p@127.0.0.1:25' })).toMatchObject({ code: 0 })
    expect(await check()).toMatchObject({ code: 2, stderr: expect.stringContaining('MAIL') })
    expect(await shown('trust_proxy')).toMatchObject({ value: '10.0.0.0/8,192.168.0.0/16' })
    expect(await shown('webhook_allow_http')).toMatchObject({ value: 'true' })
  })

  test('resolves relative paths from its own folder', async () => {
    mkdirSync(join(cwd, 'etc'))
    writeFileSync(join(cwd, 'etc', 'providers.json'), '[]')
    write({ data_dir: 'd', database_url: 'file:x.db', providers: 'providers.json' }, 'etc/c.json')
    const options = { env: { SVC_CONFIG: 'etc/c.json' } }
    expect(await shown('data_dir', options)).toMatchObject({ value: join(cwd, 'etc', 'd') })
    expect(await shown('database_url', options)).toMatchObject({
      value: `file:${join(cwd, 'etc', 'x.db')}`,
    })
    expect(await shown('providers', options)).toMatchObject({
      value: join(cwd, 'etc', 'providers.json'),
    })
    expect(await check(options.env)).toMatchObject({ code: 0 })
  })

  test('is named by --config, then by SVC_CONFIG', async () => {
    write({ port: 1 }, 'a.json')
    write({ port: 2 }, 'b.json')
    const options = { env: { SVC_CONFIG: 'a.json' } }
    expect(await shown('port', options)).toMatchObject({ value: '1' })
    expect(await shown('port', options, '--config', 'b.json')).toMatchObject({ value: '2' })
  })

  test.each([
    [
      'an unknown key',
      { prot: 1 },
      'unknown setting "prot" in ./svc.config.json: did you mean port?',
    ],
    [
      'a variable',
      { SVC_DATA_DIR: 'x' },
      'unknown setting "SVC_DATA_DIR" in ./svc.config.json: did you mean data_dir?',
    ],
    [
      'a key without a similar one',
      { zzzzzzzz: 1 },
      'unknown setting "zzzzzzzz" in ./svc.config.json: svc config show lists the settings',
    ],
    ['the name of an object member', '{"__proto__": 1}', 'unknown setting "__proto__"'],
    ['a value out of range', { port: 70000 }, 'port in ./svc.config.json must be a number'],
    ['an object for a text', { host: {} }, 'host in ./svc.config.json must be a text in quotes'],
    ['null', { port: null }, 'port in ./svc.config.json must be a number'],
    [
      'a list with a comma',
      { trust_proxy: ['10.0.0.0/8,x'] },
      'trust_proxy in ./svc.config.json must be a text',
    ],
    [
      'half a set',
      { twilio_sms_from: ['+15005550006'] },
      'TWILIO_ACCOUNT_SID must be set too: twilio_sms_from in ./svc.config.json alone',
    ],
    ['a syntax error', '{\n  "port": 1,\n}', './svc.config.json:3:1: invalid JSON'],
    ['a list', '[]', './svc.config.json must contain one JSON object'],
    ['an empty file', '', './svc.config.json:1:1: invalid JSON'],
    ['a file that is too large', `"${'x'.repeat(1024 * 1024)}"`, 'it has more than 1048576 bytes'],
  ])('refuses %s and says what to do', async (_, content, text) => {
    write(content)
    for (const argv of [['config', 'check'], ['dev'], ['serve']]) {
      const { code, stdout, stderr } = await svc(argv, { cwd })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^svc: [^\n]*\n$/)
      expect(stderr).toContain(text)
    }
  })

  test('repeats no secret in a message', async () => {
    write('{"jwt_secret": "canary-canary", oops}')
    expect((await check()).stderr).not.toContain('canary')
    write({ jwt_secret: 'canary-canary' })
    const { stderr } = await check()
    expect(stderr).toContain('jwt_secret in ./svc.config.json must be at least 32 bytes')
    expect(stderr).not.toContain('canary')
  })

  test('warns when other users can read secrets', async () => {
    write({ stripe_secret_key: 'sk_test_x', stripe_webhook_secret: 'whsec_x', port: 1 })
    expect((await check()).stderr).toBe('')
    chmodSync(join(cwd, 'svc.config.json'), 0o644)
    expect((await check()).stderr).toBe(
      './svc.config.json contains secrets (stripe_secret_key, stripe_webhook_secret) and other users can read it: chmod 600 ./svc.config.json\n',
    )
    write({ port: 1 })
    expect((await check()).stderr).toBe('')
  })

  test('is not read by commands that need no settings', async () => {
    write('{')
    expect(await svc(['segments', 'Hello'], { cwd })).toMatchObject({ code: 0 })
    expect(await svc(['--help'], { cwd })).toMatchObject({ code: 0 })
    expect(await svc(['init', '--yes', '--force'], { cwd })).toMatchObject({ code: 0 })
  })

  test('is overridden by options, which errors name', async () => {
    write({ port: 1, log_level: 'silent' })
    const { code, stderr } = await svc(['serve', '--port', 'x'], { cwd })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'svc: --port must be a number from 0 to 65535, got "x"\n',
    })
    expect((await svc(['dev', '--host', ' '], { cwd })).stderr).toBe('svc: --host has no value\n')
  })

  test.each([
    ['--config', ['config', 'check', '--config', '']],
    ['--config', ['serve', '--config', ' ']],
    ['--database', ['migrate', '--database', '']],
    ['--database', ['serve', '--database', '']],
    ['--data-dir', ['dev', '--data-dir', '']],
    ['--port', ['init', '--yes', '--port', '']],
    ['--data-dir', ['init', '--yes', '--data-dir', '']],
    ['--public-url', ['init', '--yes', '--public-url', ' ']],
  ])('refuses %s without a value, and writes nothing', async (option, argv) => {
    expect(await svc(argv, { cwd })).toMatchObject({
      code: 2,
      stderr: `svc: ${option} has no value\n`,
    })
    expect(readdirSync(cwd)).toEqual([])
  })

  test('applies to a server and to the commands on its database', async () => {
    write({ port: 0, data_dir: './elsewhere', signup_credits: 7, log_level: 'error' })
    const dev = start(['dev', '--json'], { cwd })
    await dev.until(/^\{.*\}$/m)
    const { workspaces } = await svcJson<{ workspaces: { credits_balance: number }[] }>(
      ['workspaces', 'list'],
      { cwd },
    )
    expect(workspaces).toMatchObject([{ credits_balance: 7 }])
    expect((await svc(['messages', 'list'], { cwd })).code).toBe(0)
    await dev.stop()
    expect(readFileSync(join(cwd, 'elsewhere', 'svc.db')).length).toBeGreaterThan(0)
  })
})

describe('svc serve and svc dev', () => {
  test('take the address and the data folder from options', async () => {
    const dev = start(['dev', '--json', '--host', 'localhost', '--port', '0', '--data-dir', 'd'], {
      cwd,
      env: { PORT: 'x', SVC_DATA_DIR: '/nowhere', SVC_LOG_LEVEL: 'error' },
    })
    const [text] = await dev.until(/^\{.*\}$/m)
    await dev.stop()
    expect(JSON.parse(text)).toMatchObject({ data_dir: join(cwd, 'd') })
    const database = `file:${join(cwd, 'other.db')}`
    const other = start(['dev', '--port', '0', '--database', 'file:other.db', '--json'], { cwd })
    await other.until(/^\{.*\}$/m)
    await other.stop()
    const listed = await svc(['workspaces', 'list'], { cwd, env: { SVC_DATABASE_URL: database } })
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('demo@sandbox.svc') })
  })
})

describe('svc config show', () => {
  test('masks secrets', async () => {
    const env = {
      SVC_JWT_SECRET: 'canary-canary-canary-canary-canary',
      SVC_DATABASE_URL: 'postgres://svc:canary@db.example/svc?password=canary',
      SVC_DATABASE_REPLICA_URLS:
        'postgres://svc:canary@b.example/svc, postgres://svc:canary@c.example/svc',
      SVC_SMTP_URL: 'smtps://user:canary@smtp.example.com',
      SVC_PROVIDERS: '[{"name":"x","type":"twilio","auth_token":"canary"}]',
      STRIPE_SECRET_KEY: 'sk_test_canary',
      SVC_API_KEY: 'svc_canary',
    }
    for (const argv of [['--json'], [], ['--set']]) {
      const { code, stdout } = await svc(['config', 'show', ...argv], { cwd, env })
      expect(code).toBe(0)
      expect(stdout).not.toContain('canary')
      expect(stdout).toContain('postgres://svc:***@db.example/svc')
      expect(stdout).toContain('postgres://svc:***@b.example/svc,postgres://svc:***@c.example/svc')
      expect(stdout).toContain('smtps://user:***@smtp.example.com')
    }
    expect(await shown('database_url', { env: { SVC_DATABASE_URL: 'file:x' } })).toMatchObject({
      value: 'file:x',
    })
  })

  test.each([
    { type: 'twilio', auth_token: 'canary' },
    [null, { name: 'x', auth_token: 'canary' }],
    [{ name: 'mail', type: 'smtp', url: 'smtps://u:canary@smtp.example.com' }],
  ])('masks invalid providers, and warns of their secrets: %j', async (providers) => {
    write({ providers })
    chmodSync(join(cwd, 'svc.config.json'), 0o644)
    const { stdout, stderr } = await svc(['config', 'show'], { cwd })
    expect(stdout).not.toContain('canary')
    expect(stderr).toContain('contains secrets (providers)')
    const env = { SVC_PROVIDERS: JSON.stringify(providers) }
    for (const argv of [['show'], ['show', '--json'], ['check']]) {
      const ended = await svc(['config', ...argv], { env, cwd: '/' })
      expect(`${ended.stdout}${ended.stderr}`).not.toContain('canary')
    }
  })

  test('leaves out defaults with --set', async () => {
    const all = await svcJson<Shown>(['config', 'show'], { cwd })
    const set = await svcJson<Shown>(['config', 'show', '--set'], { cwd, env: { PORT: '1' } })
    expect(all.settings.length).toBeGreaterThan(40)
    expect(all.config_file).toBeNull()
    expect(set.settings).toMatchObject([{ key: 'port' }])
  })
})
