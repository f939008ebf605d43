import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Core, createCore } from '../src/core.ts'
import { openSqlite } from '../src/storage/sqlite/sqlite.ts'
import { testRuntime } from './fixtures.ts'

const HOME = '127.0.0.1'

let folder: string
let core: Core
let other: Core
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-known-keys-'))
  const options = { database_url: `file:${join(folder, 'svc.db')}`, threads: 0 }
  core = await createCore(options)
  other = await createCore(options)
})
afterEach(async () => {
  await Promise.all([core.close(), other.close()])
  rmSync(folder, { recursive: true })
})

async function newKey(options: { allowed_ips?: string[] } = {}) {
  const email = `${crypto.randomUUID()}@example.com`
  const password = 'correct horse battery'
  const { id } = await core.workspaces.signup({ email, password, company_name: 'A' })
  const made = await core.apiKeys.create(id, { name: 'k', mode: 'live', ...options })
  return { workspace_id: id, ...made }
}

/** Authenticates until the key is known: the first use also stores `last_used_at`. */
async function know(key: string): Promise<void> {
  core.apiKeys.authenticateKnown(key, HOME)
  await core.apiKeys.authenticate(key, HOME)
  await core.apiKeys.flush()
  expect(core.apiKeys.authenticateKnown(key, HOME)).toBeNull()
  await core.apiKeys.authenticate(key, HOME)
}

describe('a known key', () => {
  it('has the same identity as by a look-up', async () => {
    const { key } = await newKey()
    await know(key)
    const looked = await core.apiKeys.authenticate(key, HOME)
    expect(core.apiKeys.authenticateKnown(key, HOME)).toStrictEqual(looked)
  })

  it('is unknown before its first look-up, and stays unknown with a wrong text', async () => {
    const { key } = await newKey()
    expect(core.apiKeys.authenticateKnown(key, HOME)).toBeNull()
    await know(key)
    expect(core.apiKeys.authenticateKnown(`${key}x`, HOME)).toBeNull()
  })

  it.each([
    ['this process', () => core],
    ['another process', () => other],
  ])('is refused from the moment when %s deactivates it', async (_, by) => {
    const { key, id, workspace_id } = await newKey()
    await know(key)
    await by().apiKeys.deactivate(workspace_id, id)
    expect(core.apiKeys.authenticateKnown(key, HOME)).toBeNull()
    await expect(core.apiKeys.authenticate(key, HOME)).rejects.toThrow('deactivated')
    expect(() => core.apiKeys.authenticateKnown(key, HOME)).toThrow('deactivated')
  })

  it('stays known while other messages are accepted by this process', async () => {
    const { key } = await newKey()
    await know(key)
    const identity = await core.apiKeys.authenticate(key, HOME)
    const send = { channel: 'sms', to: '+15005550006', content: { text: 'a' } } as const
    await core.messages.send(identity, send).catch(() => {})
    expect(core.apiKeys.authenticateKnown(key, HOME)).not.toBeNull()
  })

  it('is checked against its addresses in each use', async () => {
    const { key } = await newKey({ allowed_ips: ['127.0.0.0/8'] })
    await know(key)
    expect(core.apiKeys.authenticateKnown(key, '127.9.9.9')).not.toBeNull()
    expect(() => core.apiKeys.authenticateKnown(key, '10.0.0.1')).toThrow('address')
  })
})

describe('the version of keys', () => {
  it('changes while a write is open, after it, and after a write that failed', async () => {
    const storage = openSqlite(join(folder, 'other.db'), testRuntime('version of keys'))
    const { hot, write } = storage
    const versions = [hot.keysVersion?.()]
    await write(async () => void versions.push(hot.keysVersion?.()))
    versions.push(hot.keysVersion?.())
    await write(() => Promise.reject(new Error('undone'))).catch(() => {})
    versions.push(hot.keysVersion?.())
    expect(new Set(versions).size).toBe(4)
    expect(hot.keysVersion?.()).toBe(versions.at(-1))
    await storage.close()
  })
})

it('refuses the key of an environment variable that is not set', async () => {
  const key: string | undefined = process.env.SVC_KEY_THAT_IS_NOT_SET
  await expect(core.apiKeys.authenticate(key, HOME)).rejects.toMatchObject({ code: 'unauthorized' })
})
