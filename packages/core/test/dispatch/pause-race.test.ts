import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it, vi } from 'vitest'
import { type Core, createCore } from '../../src/core.ts'
import { defineProvider } from '../../src/providers/defined/define-provider.ts'
import { migratedFolder } from '../migrated-file.ts'
import { createDatabase } from '../postgres-database.ts'

/** The next reading of these pauses waits with what it has read, as with a slow database. */
let slow: { of: 'everything' | 'providers'; until: Promise<void> } | null = null

vi.mock(import('../../src/storage/open.ts'), async (original) => {
  const { openStorage } = await original()
  return {
    openStorage: async (...given: Parameters<typeof openStorage>) => {
      const storage = await openStorage(...given)
      const { dispatchPauses, providerPauses } = storage.read
      async function late<T>(of: 'everything' | 'providers', reading: Promise<T>): Promise<T> {
        const until = slow?.of === of ? slow.until : null
        if (until) slow = null
        const found = await reading
        await until
        return found
      }
      return {
        ...storage,
        read: {
          ...storage.read,
          dispatchPauses: {
            ...dispatchPauses,
            byScope: (scope) => late('everything', dispatchPauses.byScope(scope)),
          },
          providerPauses: {
            ...providerPauses,
            list: () => late('providers', providerPauses.list()),
          },
        },
      }
    },
  }
})

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function openFile(): Promise<string> {
  const folder = await migratedFolder('svc-pause-race-')
  closing.push(async () => rmSync(folder, { recursive: true, force: true }))
  return `file:${join(folder, 'svc.db')}`
}

async function openPostgres(): Promise<string> {
  const database = await createDatabase()
  closing.push(database.drop)
  return database.url
}

/** A server whose provider notes each message that it is called with, and whether it must not be called. */
async function openServer(database_url: string) {
  const server = { core: null as unknown as Core, isStopped: false, late: 0, sent: [] as string[] }
  const provider = defineProvider({
    name: 'acme',
    traits: { channels: ['sms'] },
    send(jobs) {
      for (const { message_id } of jobs) {
        server.sent.push(message_id)
        if (server.isStopped) server.late += 1
      }
      return jobs.map(async ({ message_id }) => ({
        type: 'accepted',
        provider_message_id: message_id,
        lookup_after_ms: null,
      }))
    },
  })
  server.core = await createCore({
    database_url,
    signup_credits: '100000',
    providers: [provider],
    threads: 0,
  })
  closing.push(() => server.core.close({ grace_ms: 0 }))
  await server.core.startDispatch()
  return server
}

const reason = 'Moving'

async function identityIn(core: Core) {
  const signup = { email: 'ops@example.com', password: 'long enough', company_name: 'Acme' }
  const { id } = await core.workspaces.signup(signup)
  const scopes = ['send_messages' as const]
  const { key } = await core.apiKeys.create(id, { name: 'A', mode: 'live', scopes })
  return { key, identity: await core.apiKeys.authenticate(key, '127.0.0.1') }
}

const SMS = { channel: 'sms', content: { text: 'Hi' }, to: '+14155550100' } as const

/** Pauses whose answer a stream of acceptances, hand-overs and claims must not overtake. */
const PAUSES = [
  {
    of: 'everything',
    stop: (core: Core) => core.dispatch.stop({ reason }),
    go: (core: Core) => core.dispatch.resume(),
  },
  {
    of: 'providers',
    stop: (core: Core) => core.providers.pause('acme', { reason }),
    go: (core: Core) => core.providers.resume('acme'),
  },
] as const
const ROUNDS = 10

// The simulation plays one server on SQLite, as the promise that a pause holds.
it('a pause on two servers on PostgreSQL lets no call begin after its answer, whatever is being handed over or claimed', {
  timeout: 180_000,
}, async () => {
  const url = await openPostgres()
  const first = await openServer(url)
  const other = await openServer(url)
  const servers = [first, other]
  const { core } = first
  const { key } = await identityIn(core)
  let isOver = false
  async function stream({ core }: (typeof servers)[0]) {
    const identity = await core.apiKeys.authenticate(key, '127.0.0.1')
    while (!isOver) {
      await core.messages.send(identity, SMS)
      await sleep(2)
    }
  }
  const streams = servers.flatMap((one) => [stream(one), stream(one), stream(one)])

  for (let round = 0; round < ROUNDS; round++) {
    const { stop, go } = PAUSES[round % PAUSES.length] as (typeof PAUSES)[0]
    await expect.poll(() => first.sent.length).toBeGreaterThan(round)
    await sleep(5 * round)
    // Each of them reads the pauses again, so some readings begin before the pause and end after it.
    const readings = Array.from({ length: 4 }, () =>
      core.providers.resume('acme', { sender: '+1' }),
    )
    await stop(core)
    first.isStopped = true
    await Promise.all(readings)
    if (round === ROUNDS - 2) {
      await expect.poll(() => other.core.dispatch.isPaused(), { timeout: 20_000 }).toBe(true)
      other.isStopped = true
    }
    await sleep(50)
    for (const one of servers) one.isStopped = false
    await go(core)
  }
  isOver = true
  await Promise.all(streams)

  expect(servers.map(({ late }) => late)).toEqual(servers.map(() => 0))
  const sent = servers.flatMap((one) => one.sent)
  expect(new Set(sent).size).toBe(sent.length)
})

it.each(PAUSES)(
  'a pause of $of is not undone by a reading that began before it and ends after it',
  async ({ of, stop }) => {
    const server = await openServer(await openFile())
    const { core } = server
    const { identity } = await identityIn(core)
    await (await core.startDispatch()).idle()
    let end = () => {}
    slow = {
      of,
      until: new Promise((resolve) => {
        end = resolve
      }),
    }
    const reading = core.providers.resume('acme', { sender: '+1' })
    await expect.poll(() => slow).toBeNull()
    const stopped = stop(core)
    await Promise.race([stopped, sleep(100)])
    end()
    await Promise.all([reading, stopped])
    await core.messages.send(identity, SMS)
    await sleep(50)
    expect(server.sent).toEqual([])
  },
)
