import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Core, createCore } from '../src/core.ts'
import { migratedFolder } from './migrated-file.ts'
import { createDatabase } from './postgres-database.ts'

const closedOf = (name: string) => ({ message: `core.${name}: the core is closed`, code: 'closed' })

/** The only error: no error of the database or its driver. */
const outcomeOf = async (call: () => unknown) => {
  try {
    await call()
    return 'answered'
  } catch (error) {
    const { message, code } = error as { message: string; code?: string }
    return { message, code }
  }
}

/** All functions of a core except `close` and `isDispatching`, which stay callable. */
function callsOf(value: object, path = ''): [name: string, call: (...args: never[]) => unknown][] {
  return Object.entries(value).flatMap(([name, each]) => {
    const named = `${path}${name}`
    if (named === 'close' || named === 'isDispatching') return []
    if (typeof each === 'function') return [[named, each]]
    return typeof each === 'object' && each !== null ? callsOf(each, `${named}.`) : []
  })
}

const engines = [
  [
    'SQLite',
    async () => {
      const folder = await migratedFolder('svc-closing-')
      const drop = async () => rmSync(folder, { recursive: true })
      return { url: `file:${join(folder, 'svc.db')}`, drop }
    },
  ],
  ['PostgreSQL', createDatabase],
] as const

describe.each(engines)('a core on %s', (_, newDatabase) => {
  async function withCore(work: (core: Core) => Promise<void>): Promise<void> {
    const { url, drop } = await newDatabase()
    try {
      await work(await createCore({ database_url: url, threads: 0, signup_credits: '1000' }))
    } finally {
      await drop()
    }
  }

  it('closes once, with the same promise for every close, and refuses every call afterwards', () =>
    withCore(async (core) => {
      const calls = callsOf(core)
      expect(calls.length).toBeGreaterThan(60)
      await core.startDispatch()
      const closing = core.close()
      expect(core.close({ grace_ms: 0 })).toBe(closing)
      for (const [name, call] of calls) expect(await outcomeOf(call), name).toEqual(closedOf(name))
      await closing
      expect(core.close()).toBe(closing)
      for (const [name, call] of calls) expect(await outcomeOf(call), name).toEqual(closedOf(name))
      expect(core.isDispatching()).toBe(false)
    }))

  it('waits for calls in flight and for a start', () =>
    withCore(async (core) => {
      const { id } = await core.workspaces.signup({
        email: 'a@example.com',
        password: 'long enough',
        company_name: 'A',
      })
      const { key } = await core.apiKeys.create(id, {
        name: 'k',
        mode: 'live',
        scopes: ['send_messages'],
      })
      const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
      const contacts = core.contacts.export(id, {})
      const sends = Array.from({ length: 20 }, () =>
        core.messages.send(identity, {
          to: '+255700000001',
          channel: 'sms',
          content: { text: 'x' },
        }),
      )
      const list = core.messages.list(id, { page: 1, limit: 50 })
      const starting = core.startDispatch()
      const closing = core.close()
      expect(await outcomeOf(() => contacts.next())).toEqual(closedOf('contacts.export'))
      await Promise.all([...sends, list, starting])
      await closing
    }))

  it('does not wait for calls with grace_ms 0, and refuses them with the same error', () =>
    withCore(async (core) => {
      const calls = Array.from({ length: 3 }, (_, i) => [
        outcomeOf(() => core.secret(`secret ${i}`)),
        outcomeOf(() => core.workspaces.list({ limit: 50, offset: 0 })),
      ])
      await core.close({ grace_ms: 0 })
      for (const outcome of await Promise.all(calls.flat())) {
        if (outcome === 'answered') continue
        expect(outcome.code).toBe('closed')
        expect(outcome.message).toMatch(/^core\.[\w.]+: the core is closed$/)
      }
    }))
})
