import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Core, createCore } from '../src/core.ts'
import { connect } from '../src/storage/sqlite/engine/connection.ts'

const MEMORY = { database_url: ':memory:', durability: 'none' } as const

/** The temporary databases of this file's tests. */
const folder = mkdtempSync(join(tmpdir(), 'svc-durability-'))
const { TMPDIR } = process.env
const databases = () => readdirSync(folder).filter((name) => name.startsWith('svc-memory-'))

beforeAll(() => {
  process.env.TMPDIR = folder
})

afterAll(() => {
  if (TMPDIR === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = TMPDIR
  rmSync(folder, { recursive: true })
})

async function send(core: Core): Promise<string> {
  const { id } = await core.workspaces.create({
    email: 'ops@example.com',
    password: 'correct horse',
    company_name: 'Example',
  })
  const { key } = await core.apiKeys.create(id, {
    name: 'app',
    scopes: ['send_messages'],
    mode: 'live',
  })
  const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
  const { data } = await core.messages.send(identity, {
    channel: 'sms',
    to: '+15005550006',
    content: { text: 'Hello' },
  })
  const dispatcher = await core.startDispatch()
  await dispatcher.idle()
  const { messages } = await core.messages.list(id, { page: 1, limit: 50 })
  expect(messages.map((one) => one.id)).toEqual([data.message_id])
  return messages[0]?.status ?? ''
}

describe(':memory:', () => {
  it.each([0, 1])('sends, delivers and lists, with %i threads', async (threads) => {
    await using core = await createCore({ ...MEMORY, threads, signup_credits: '10' })
    expect(await send(core)).toBe('delivered')
  })

  it('gives each core a database of its own, which its end removes', async () => {
    {
      await using first = await createCore({ ...MEMORY, signup_credits: '10' })
      await using second = await createCore(MEMORY)
      await send(first)
      expect(await second.workspaces.list({ limit: 10, offset: 0 })).toEqual([])
      expect(databases()).toHaveLength(2)
    }
    expect(databases()).toEqual([])
  })

  it('needs durability none, and the error says so', async () => {
    await expect(createCore({ database_url: ':memory:' })).rejects.toThrow(
      "write createCore({ database_url: ':memory:', durability: 'none' }), for tests only",
    )
  })
})

describe('durability', () => {
  it('none flushes nothing, and disk flushes every commit', () => {
    const file = join(folder, 'flushed.db')
    const synchronous = (durability?: 'none' | 'disk') => {
      const connection = connect(file, durability && { durability })
      const level = connection.pragma('synchronous', { simple: true })
      connection.close()
      return level
    }
    expect([synchronous('none'), synchronous('disk'), synchronous()]).toEqual([0, 2, 2])
  })

  it('none keeps a file after its end', async () => {
    const file = join(folder, 'kept.db')
    const core = await createCore({ database_url: `file:${file}`, durability: 'none' })
    await core.close()
    expect(existsSync(file)).toBe(true)
  })

  it('none is refused for PostgreSQL', async () => {
    const options = { database_url: 'postgres://127.0.0.1:1/svc', durability: 'none' } as const
    await expect(createCore(options)).rejects.toThrow("durability: 'none' is only for SQLite")
  })

  it('refuses another value', async () => {
    const options = { database_url: 'file:./x.db', durability: 'some' as 'none' }
    await expect(createCore(options)).rejects.toThrow('durability: must be one of: disk, none')
  })
})

describe('await using', () => {
  it('closes the core at the end of the block', async () => {
    let left: Core
    {
      await using core = await createCore(MEMORY)
      left = core
      await core.ping()
    }
    await expect(left.ping()).rejects.toThrow('core.ping: the core is closed')
    await left.close()
  })
})
