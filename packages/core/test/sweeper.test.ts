import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../src/contract/fields/units.ts'
import { LIMITS } from '../src/contract/limits.ts'
import { createCredits } from '../src/credits/credits.ts'
import { type Sweeper, startSweeper } from '../src/dispatch/dispatcher.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import { builders, testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'
import { borrowDatabase, type TestDatabase } from './postgres-database.ts'

const engines: [string, () => Promise<{ url: string; remove(): Promise<void> | void }>][] = [
  [
    'SQLite',
    async () => {
      const folder = await migratedFolder('svc-sweep-')
      const remove = () => rmSync(folder, { recursive: true })
      return { url: `file:${join(folder, 'svc.db')}`, remove }
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const database: TestDatabase = await borrowDatabase()
      return { url: database.url, remove: database.drop }
    },
  ],
]

describe.each(engines)('a sweep on %s', (engine, create) => {
  const clock = testRuntime('sweep')
  const make = builders(clock)
  let storages: Storage[] = []
  let sweepers: Sweeper[] = []
  let remove: () => Promise<void> | void
  let workspaceId = ''

  beforeEach(async () => {
    const database = await create()
    remove = database.remove
    const open = () => openStorage(database.url, clock, { clock: 'caller' })
    storages = [await open(), await open()]
    sweepers = storages.map((storage) => startSweeper({ storage, runtime: clock }))
    const row = make.workspace()
    workspaceId = row.id
    await first().write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, clock.now())
    })
  })

  afterEach(async () => {
    for (const sweeper of sweepers) await sweeper.stop()
    for (const storage of storages) await storage.close()
    await remove()
  })

  const first = () => storages[0] as Storage
  const keyed = async (key: string, request_hash = 'hash') => {
    const answer = { route: 'messages.send', key, request_hash, response: '{}' }
    const [result] = await first().hot.accept([
      { ...make.send(workspaceId, {}, answer), debit: null },
    ])
    return result?.outcome
  }

  it('forgets idempotency keys after 24 hours, and not before', async () => {
    for (let i = 0; i < 1_001; i++) await keyed(`old-${i}`)
    clock.advance(LIMITS.idempotency_lifetime_s * 1000)
    await keyed('young')
    await sweepers[0]?.sweep()
    expect(await keyed('old-0', 'other')).toBe('key_reused')

    clock.advance(1)
    await sweepers[0]?.sweep()
    expect(await keyed('young', 'other')).toBe('key_reused')
    expect(await keyed('old-0', 'other')).toBe('accepted')
    expect(await keyed('old-1000', 'other')).toBe('accepted')
  })

  it('forgets tokens of mails that have expired, and not before', async () => {
    const expires_at = new Date(clock.now().getTime() + 60_000)
    const token = {
      token_hash: 'hash',
      workspace_id: workspaceId,
      purpose: 'verify_email',
      expires_at,
      created_at: clock.now(),
    } as const
    await first().write(({ accountTokens }) => accountTokens.issue(token))
    // At the queried time it had not expired yet: only the sweep can have ended it.
    const holder = () => first().read.accountTokens.holderOf('hash', 'verify_email', new Date(0))
    clock.advance(60_000)
    await sweepers[0]?.sweep()
    expect(await holder()).toBe(token.workspace_id)
    clock.advance(1)
    await sweepers[0]?.sweep()
    expect(await holder()).toBeNull()
  })

  it('forgets ended sessions whose token has expired, and not before', async () => {
    const ends_at = new Date(clock.now().getTime() + 60_000)
    const session = { workspace_id: workspaceId, session_hash: 'hash', ends_at }
    await first().write(({ sessions }) => sessions.end(session))
    const name = { user_id: workspaceId, workspace_id: workspaceId, session_hash: 'hash' }
    const isEnded = async () => (await first().read.sessions.byHash(name))?.is_ended
    clock.advance(60_000)
    await sweepers[0]?.sweep()
    expect(await isEnded()).toBe(true)
    clock.advance(1)
    await sweepers[0]?.sweep()
    expect(await isEnded()).toBe(false)
  })

  it('forgets networks without a login for 30 days, and not before', async () => {
    const last_login_at = clock.now()
    const login = { workspace_id: workspaceId, network: '192.0.2.0/24', last_login_at }
    await first().write(({ loginNetworks }) => loginNetworks.note(login))
    const owner = await first().read.workspaces.byId(workspaceId)
    const isKnown = () =>
      first().read.loginNetworks.byEmail(owner?.email ?? '', login.network, new Date(0))
    clock.advance(30 * 24 * 60 * 60_000)
    await sweepers[0]?.sweep()
    expect(await isKnown()).toBe(true)
    clock.advance(1)
    await sweepers[0]?.sweep()
    expect(await isKnown()).toBe(false)
  })

  it('releases holds that ran out and lets grants expire, and not before', async () => {
    const credits = createCredits({ storage: first(), runtime: clock })
    const expires_at = new Date(clock.now().getTime() + 60_000)
    await credits.grant(workspaceId, { amount: units(1_000_000), actor: 'operator', expires_at })
    const hold = { n: 0, amount: units(5_000), expires_at, channel: 'voice' }
    for (let i = 0; i < 101; i++) {
      const request = { ...hold, message_id: `call ${i}`, quantity: null, unit_price: null }
      await credits.hold(workspaceId, request)
    }
    clock.advance(59_999)
    await sweepers[0]?.sweep()
    expect(await credits.account(workspaceId)).toMatchObject({ held: 505_000, seq: 102 })

    clock.advance(1)
    await sweepers[0]?.sweep()
    expect(await credits.account(workspaceId)).toMatchObject({ balance: 0, held: 0, seq: 204 })
    const [last, before] = await credits.entries(workspaceId, { limit: 2, offset: 0 })
    expect(last).toMatchObject({ kind: 'expire', amount: -1_000_000 })
    expect(before).toMatchObject({ kind: 'void', description: 'hold expired' })
  })

  it('runs each step alone: a failed one is logged, and the others continue', async () => {
    const credits = createCredits({ storage: first(), runtime: clock })
    const expires_at = new Date(clock.now().getTime() + 60_000)
    await credits.grant(workspaceId, { amount: units(7), actor: 'operator', expires_at })
    clock.advance(60_000)
    const faults: unknown[] = []
    const log = { ...clock.log, warn: (fields: object) => void faults.push(fields) }
    const fault = new Error('broken')
    const storage: Storage = {
      ...first(),
      write: (work) =>
        first().write((stores) => {
          const fail = () => Promise.reject(fault)
          const messages = { ...stores.messages, forgetAnswers: fail }
          const creditHolds = { ...stores.creditHolds, overdue: fail }
          return work({ ...stores, messages, creditHolds })
        }),
    }
    const sweeper = startSweeper({ storage, runtime: { ...clock, log } })
    await sweeper.sweep()
    await sweeper.stop()
    expect(await credits.account(workspaceId)).toMatchObject({ balance: 0 })
    expect(faults).toEqual([
      { err: fault, step: 'answers' },
      { err: fault, step: 'holds' },
    ])
  })

  if (engine === 'SQLite') return

  it('is left to the server that is sweeping already', async () => {
    await keyed('old')
    clock.advance(2 * LIMITS.idempotency_lifetime_s * 1000)
    await storages[1]?.alone?.('sweep', async () => {
      await sweepers[0]?.sweep()
      expect(await keyed('old')).toBe('replayed')
    })
    await sweepers[0]?.sweep()
    expect(await keyed('old')).toBe('accepted')
  })
})
