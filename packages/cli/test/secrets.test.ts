import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { createCore } from '@svc/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { newFolder, svc, svcJson } from './svc.ts'

const [KEY, OTHER] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')]
const TOKEN = 'Bearer of-the-receiver'

let folder: ReturnType<typeof newFolder>
beforeEach(() => {
  folder = newFolder()
})
afterEach(() => folder.remove())

/** The folder and environment with these keys. */
const having = (...keys: string[]) => ({
  cwd: folder.path,
  env: { PORT: '1', ...(keys.length > 0 && { SVC_SECRETS_KEY: keys.join(',') }) },
})

/** Creates a database with one webhook, encrypted with these keys. Returns its secrets. */
async function prepare(...secrets_keys: string[]): Promise<string[]> {
  const argv = ['workspaces', 'create', '--name', 'Example', '--email', 'ops@example.com']
  const here = { ...having(...secrets_keys), stdin: 'correct horse battery\n' }
  const { workspace } = await svcJson<{ workspace: { id: string } }>(
    [...argv, '--password-stdin'],
    here,
  )
  const core = await createCore({
    database_url: `file:${folder.path}/data/svc.db`,
    secrets_keys,
    webhook_targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
  })
  try {
    const webhook = await core.webhooks.create(workspace.id, {
      url: 'http://127.0.0.1:1/',
      events: ['*'],
      headers: { Authorization: TOKEN },
    })
    return [webhook.secret, await core.secret('jwt'), TOKEN]
  } finally {
    await core.close()
  }
}

interface Report {
  findings: { check: string; level: string; message: string; advice: string | null }[]
}

/** The findings of `svc doctor` about secrets. */
async function found(...keys: string[]) {
  const ended = await svc(['doctor', '--offline', '--json'], having(...keys))
  const { findings } = JSON.parse(ended.stdout) as Report
  return findings.filter(({ check }) => check === 'secrets')
}

const idOf = async (key: string) =>
  (await svcJson<{ key_id: string }>(['secrets', 'status'], having(key))).key_id

describe('svc secrets', () => {
  test('encrypts plain text, changes the key, and reports an unused key', async () => {
    await prepare()
    const [key, other] = [await idOf(KEY), await idOf(OTHER)]
    expect(await svcJson(['secrets', 'status'], having())).toEqual({
      key_id: null,
      plain: 3,
      keys: [],
    })
    expect(await found()).toMatchObject([
      { level: 'warning', message: expect.stringMatching(/^no key is set/) },
    ])
    const keyless = await svc(['secrets', 'encrypt'], having())
    expect(keyless).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('set SVC_SECRETS_KEY'),
    })

    expect(await found(OTHER)).toMatchObject([
      { level: 'warning', message: '3 values are plain text', advice: 'svc secrets encrypt' },
    ])
    const first = await svc(['secrets', 'encrypt'], having(OTHER))
    expect(first).toMatchObject({
      code: 0,
      stdout: `Encrypted 3 values with the key ${other}; 0 already were.\n`,
    })
    expect(first.stderr).toContain('Unused pages of the file')
    expect(await found(OTHER)).toMatchObject([{ level: 'ok' }])

    expect(await found(KEY, OTHER)).toMatchObject([
      { level: 'warning', message: '3 values are encrypted with an old key' },
    ])
    const second = await svc(['secrets', 'encrypt'], having(KEY, OTHER))
    expect(second.stdout).toContain(`Encrypted 3 values with the key ${key}`)
    expect(second.stderr).toContain(`The key ${other} encrypts no value in the database`)
    const { stdout } = await svc(['secrets', 'status'], having(KEY, OTHER))
    expect(stdout).toBe(`${key}\t3\tencrypts new values\n${other}\t0\tdecrypts\nplain text\t0\t\n`)
    expect(await svcJson(['secrets', 'encrypt'], having(KEY))).toEqual({
      key_id: key,
      changed: 0,
      unchanged: 3,
      unreadable: 0,
    })
  })

  test('stores plain text again after a confirmation', async () => {
    await prepare(KEY)
    const unconfirmed = await svc(['secrets', 'decrypt'], having(KEY))
    expect(unconfirmed).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') })
    const { stdout } = await svc(['secrets', 'decrypt', '--yes'], having(KEY))
    expect(stdout).toBe('Decrypted 3 values; 0 already were plain text.\n')
    expect(await svcJson(['secrets', 'status'], having())).toMatchObject({ plain: 3 })
  })

  test('names the missing key, without which the service does not start', async () => {
    await prepare(KEY)
    const key = await idOf(KEY)
    const before = await svc(['secrets', 'status'], having(OTHER))
    expect(before.stdout).toContain(`${key}\t3\tmissing: these values cannot be read\n`)
    for (const keys of [[], [OTHER]]) {
      expect(await found(...keys)).toMatchObject([
        { level: 'error', message: expect.stringContaining(`key id ${key}`) },
      ])
      const { code, stderr } = await svc(['serve', '--port', '0'], having(...keys))
      expect(code).toBe(2)
      expect(stderr).toMatch(
        new RegExp(`^svc: the database holds 3 secrets .*key id ${key}.*SVC_SECRETS_KEY_FILE`, 'm'),
      )
    }
    const ended = await svc(['secrets', 'encrypt'], having(OTHER))
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('3 values cannot be decrypted, and did not change'),
    })
    // Commands that need no secret work without the key.
    expect((await svc(['workspaces', 'list'], having())).code).toBe(0)
  })

  test('discards unreadable values after a confirmation', async () => {
    await prepare(KEY)
    const unconfirmed = await svc(['secrets', 'discard'], having(OTHER))
    expect(unconfirmed).toMatchObject({ code: 2, stderr: expect.stringContaining('add --yes') })
    const { stdout } = await svc(['secrets', 'discard', '--yes'], having(OTHER))
    expect(stdout).toBe(
      'Discarded 1 secret of the service, secrets of 1 webhook, and keys of 0 sending domains.\n',
    )
    expect(await found(OTHER)).toMatchObject([{ level: 'ok' }])
    const { stdout: audit } = await svc(['audit'], having())
    expect(audit).toContain('secrets.discarded')
  })

  test('leaves no plain-text secret in the database, its log, a backup or an export', async () => {
    const secrets = await prepare(KEY)
    await svcJson(['backup'], having(KEY))
    await svcJson(['export', 'svc.jsonl.gz'], having())
    const archive = join(folder.path, 'svc.jsonl.gz')
    const text = gunzipSync(readFileSync(archive)).toString('latin1')
    expect(text).toContain('svcenc1:')
    const files = [folder.path, 'data', 'data/backups'].flatMap((name) => {
      const path = name === folder.path ? name : join(folder.path, name)
      const entries = readdirSync(path, { withFileTypes: true }).filter((one) => one.isFile())
      return entries.map((one) => readFileSync(join(path, one.name), 'latin1'))
    })
    expect(files.length).toBeGreaterThanOrEqual(3)
    for (const content of [...files, text]) {
      expect(secrets.filter((secret) => content.includes(secret))).toEqual([])
      expect(content).not.toContain(KEY)
    }
  })

  test('reads the key from a file that the configuration file names', async () => {
    await prepare(KEY)
    writeFileSync(join(folder.path, 'secrets.key'), `${KEY}\n`, { mode: 0o600 })
    writeFileSync(
      join(folder.path, 'svc.config.json'),
      JSON.stringify({ secrets_key_file: './secrets.key' }),
      { mode: 0o600 },
    )
    expect(await found()).toMatchObject([{ level: 'ok' }])
    writeFileSync(join(folder.path, 'secrets.key'), 'no key')
    const { code, stderr } = await svc(['secrets', 'status'], having())
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^svc: secrets_key_file in .*svc\.config\.json: the key must be 32 bytes/,
    )
  })
})

describe('svc restore', () => {
  test('names the keys of the backup that the settings do not have', async () => {
    await prepare(KEY)
    const backup = join(folder.path, 'copy.db')
    expect((await svc(['backup', '--to', backup], having(KEY))).code).toBe(0)
    const id = await idOf(KEY)
    const known = await svc(['restore', '--verify', backup], having(OTHER, KEY))
    expect(known.stdout).toMatch(new RegExp(`secrets keys\\s+${id}`))
    expect(known.stdout).not.toContain('does not start')
    for (const keys of [[], [OTHER]]) {
      const missing = await svc(['restore', '--verify', backup], having(...keys))
      expect(missing.code).toBe(0)
      expect(missing.stdout).toMatch(
        new RegExp(`settings do not have: ${id}\\.\nThe server does not start on it without`),
      )
    }
    const restored = await svc(['restore', backup, '--yes'], having(OTHER))
    expect(restored.stdout).toContain(`settings do not have: ${id}`)
    const check = await svcJson<object>(['restore', '--verify', backup], having(KEY))
    expect(check).toMatchObject({ secrets_keys: [id] })
  })
})
