import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../../src/api-keys/api-keys.ts'
import { units } from '../../src/contract/fields/units.ts'
import { type Core, createCore } from '../../src/core.ts'
import type { CoreOptions } from '../../src/core-options.ts'
import type { CoreEvent } from '../../src/events/feed.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { migratedFolder } from '../migrated-file.ts'
import { createDatabase } from '../postgres-database.ts'

const SMS = { channel: 'sms', to: '+15005550006', content: { text: 'secret text' } } as const

const engines = [
  [
    'SQLite',
    async () => {
      const folder = await migratedFolder('svc-events-')
      const drop = async () => rmSync(folder, { recursive: true })
      return { url: `file:${join(folder, 'svc.db')}`, drop }
    },
  ],
  ['PostgreSQL', createDatabase],
] as const

interface Line {
  fields: Record<string, unknown>
  text: string
}

describe.each(engines)('events in the process on %s', (_, newDatabase) => {
  let database: { url: string; drop(): Promise<void> }
  let cores: Core[]
  let lines: Line[]

  beforeEach(async () => {
    database = await newDatabase()
    cores = []
    lines = []
  })
  afterEach(async () => {
    for (const core of cores) await core.close({ grace_ms: 0 })
    await database.drop()
  })

  async function open(options: Partial<CoreOptions> = {}): Promise<Core> {
    const note = (fields: object, text: string) => void lines.push({ fields: { ...fields }, text })
    const log = { debug() {}, info() {}, warn: note, error: note }
    const core = await createCore({
      database_url: database.url,
      signup_credits: '10000',
      threads: 0,
      runtime: systemRuntime(log),
      ...options,
    })
    cores.push(core)
    return core
  }

  let count = 0
  async function owner(core: Core): Promise<KeyIdentity> {
    count += 1
    const workspace = await core.workspaces.create({
      email: `owner${count}@example.com`,
      password: 'correct horse battery',
      company_name: 'Acme',
    })
    const { key } = await core.apiKeys.create(workspace.id, { name: 'k' })
    return core.apiKeys.authenticate(key, '127.0.0.1')
  }

  const sendMany = async (core: Core, identity: KeyIdentity, n: number): Promise<string[]> =>
    Promise.all(
      Array.from({ length: n }, async (_, i) => {
        const { data } = await core.messages.send(identity, { ...SMS, metadata: { i } })
        return data.message_id
      }),
    )

  /** The next events of an iteration. */
  async function take(events: AsyncGenerator<CoreEvent>, n: number): Promise<CoreEvent[]> {
    const taken: CoreEvent[] = []
    while (taken.length < n) {
      const { value, done } = await events.next()
      if (done) throw new Error(`the iteration ended after ${taken.length} events`)
      taken.push(value)
    }
    return taken
  }

  const eventCount = async (core: Core) => {
    const events = core.events({ after: null })
    const found = await Promise.race([take(events, 1), pauseFor(300)])
    void events.return()
    return found?.length ?? 0
  }

  it('are handed to handlers of their kind, decoded, without a webhook', async () => {
    const core = await open({ events: true })
    await core.startDispatch()
    const identity = await owner(core)
    const delivered: CoreEvent[] = []
    const all: string[] = []
    core.on('message.delivered', (event) => void delivered.push(event))
    const stop = core.on('*', ({ event }) => void all.push(event))
    const [message_id] = await sendMany(core, identity, 1)
    await expect.poll(() => delivered.length).toBe(1)
    await expect.poll(() => all).toStrictEqual(['message.sent', 'message.delivered'])
    expect(delivered[0]).toMatchObject({
      event: 'message.delivered',
      workspace_id: identity.workspace_id,
      data: {
        message_id,
        recipient: SMS.to,
        status: 'delivered',
        credits_used: 1_000_000,
        occurred_at: expect.any(Date),
        metadata: { i: 0 },
      },
    })
    stop()
    await sendMany(core, identity, 1)
    await expect.poll(() => delivered.length).toBe(2)
    expect(all).toHaveLength(2)
  })

  it('are not stored before a program wants them, nor after the option events is false', async () => {
    const core = await open()
    const dispatcher = await core.startDispatch()
    const identity = await owner(core)
    await sendMany(core, identity, 3)
    await dispatcher.idle()
    expect(await eventCount(core)).toBe(0)
    // The call above declared the interest.
    const events = core.events()
    await sendMany(core, identity, 1)
    const [sent] = await take(events, 2)
    await open({ events: false })
    await sendMany(core, identity, 1)
    await dispatcher.idle()
    const later = await open({ events: true })
    const refused = later.events({ after: sent?.cursor ?? '' }).next()
    await expect(refused).rejects.toMatchObject({
      code: 'validation_error',
      message: 'Events after this cursor were not stored: read the messages instead',
    })
    const future = later.events({ after: '999' }).next()
    await expect(future).rejects.toThrow('an older backup was restored')
  })

  it('continue behind a cursor, in order, without a loss or a repetition', async () => {
    const core = await open({ events: true })
    await core.startDispatch()
    const identity = await owner(core)
    const reading = core.events()
    const ids = await sendMany(core, identity, 150)
    const first = await take(reading, 120)
    await reading.return()
    const rest = await take(core.events({ after: first.at(-1)?.cursor ?? null }), 180)
    const events = [...first, ...rest]
    const cursors = events.map(({ cursor }) => Number(cursor))
    expect(cursors).toStrictEqual(Array.from(cursors, (_, i) => (cursors[0] ?? 0) + i))
    expect(new Set(events.map(({ id }) => id)).size).toBe(300)
    for (const kind of ['message.sent', 'message.delivered']) {
      const about = events.flatMap(({ event, data }) =>
        event === kind && 'message_id' in data ? [data.message_id] : [],
      )
      expect(about.sort()).toStrictEqual([...ids].sort())
    }
    const again = await take(core.events({ after: null }), 300)
    expect(again).toStrictEqual(events)
  })

  it('are of one workspace on demand', async () => {
    const core = await open({ events: true })
    await core.startDispatch()
    const [one, two] = [await owner(core), await owner(core)]
    const { workspace_id } = two
    const events = core.events({ workspace_id })
    const handled: string[] = []
    core.on('*', (event) => void handled.push(event.workspace_id), { workspace_id })
    await sendMany(core, one, 5)
    await sendMany(core, two, 2)
    for (const event of await take(events, 4)) expect(event.workspace_id).toBe(workspace_id)
    await expect.poll(() => handled).toStrictEqual(Array(4).fill(workspace_id))
  })

  it('come in pages of one workspace and mode, behind a position, and a page waits for the first', async () => {
    const core = await open({ events: true })
    const [one, two] = [await owner(core), await owner(core)]
    const test = await core.apiKeys.create(two.workspace_id, { name: 't', mode: 'test' })
    const testKey = await core.apiKeys.authenticate(test.key, '127.0.0.1')
    const { next_after: start } = await core.eventPage(two.workspace_id)
    await core.startDispatch()
    const waiting = core.eventPage(two.workspace_id, {
      after: start,
      signal: new AbortController().signal,
    })
    await sendMany(core, one, 60)
    const ids = await sendMany(core, two, 60)
    const [tested] = await sendMany(core, testKey, 1)
    expect((await waiting).events[0]?.workspace_id).toBe(two.workspace_id)
    const messagesIn = async (viewer: string | KeyIdentity, count: number) => {
      const about: string[] = []
      let after = start
      while (about.length < count) {
        const page = await core.eventPage(viewer, { after, signal: AbortSignal.timeout(10_000) })
        expect(page.events.length).toBeLessThanOrEqual(100)
        expect(Number(page.next_after)).toBeGreaterThan(Number(after))
        for (const { data } of page.events)
          if ('message_id' in data) about.push(`${data.message_id}`)
        after = page.next_after
      }
      const rest = await core.eventPage(viewer, { after })
      expect(rest.events).toEqual([])
      // Events of the other workspace may still come.
      expect(Number(rest.next_after)).toBeGreaterThanOrEqual(Number(after))
      return about.sort()
    }
    const all = [...ids, tested as string]
    expect(await messagesIn(two.workspace_id, 122)).toEqual([...all, ...all].sort())
    expect(await messagesIn(testKey, 2)).toEqual([tested, tested])
    await expect(core.eventPage(two.workspace_id, { after: '999999' })).rejects.toThrow(
      'no such event',
    )
  })

  it('reach a slow handler one by one, and other handlers meanwhile', async () => {
    const core = await open({ events: true })
    await core.startDispatch()
    const identity = await owner(core)
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    let running = 0
    let most = 0
    const slow: string[] = []
    core.on('message.delivered', async ({ id }) => {
      running += 1
      most = Math.max(most, running)
      await released
      slow.push(id)
      running -= 1
    })
    const fast: string[] = []
    core.on('message.delivered', ({ id }) => void fast.push(id))
    await sendMany(core, identity, 130)
    await expect.poll(() => fast.length, { timeout: 10_000 }).toBe(130)
    expect(slow).toHaveLength(0)
    release()
    await expect.poll(() => slow.length, { timeout: 10_000 }).toBe(130)
    expect(most).toBe(1)
    expect(slow).toStrictEqual(fast)
  })

  it('stay with the others when a handler throws, which is logged without contents', async () => {
    const core = await open({ events: true })
    await core.startDispatch()
    const identity = await owner(core)
    let calls = 0
    core.on('*', ({ data }) => {
      calls += 1
      throw new TypeError(`faulty with ${JSON.stringify(data)}`)
    })
    const others: string[] = []
    core.on('*', ({ id }) => void others.push(id))
    await sendMany(core, identity, 1)
    await expect.poll(() => [calls, others.length]).toStrictEqual([2, 2])
    const faults = lines.filter(({ text }) => text === 'a handler of events failed')
    expect(faults.map(({ fields }) => fields)).toStrictEqual(
      others.map((event_id, i) => ({
        event: ['message.sent', 'message.delivered'][i],
        event_id,
        workspace_id: identity.workspace_id,
        error: 'TypeError',
      })),
    )
    expect(JSON.stringify(lines)).not.toContain(SMS.to)
  })

  it('end with their signal and with the core, and not with an error', async () => {
    const core = await open({ events: true })
    const stop = new AbortController()
    const aborted = core.events({ signal: stop.signal }).next()
    const closed = core.events().next()
    stop.abort()
    expect(await aborted).toStrictEqual({ done: true, value: undefined })
    await core.close()
    expect(await closed).toStrictEqual({ done: true, value: undefined })
    expect(() => core.events()).toThrow('the core is closed')
    expect(() => core.on('*', () => {})).toThrow('the core is closed')
  })

  it('can have many readers at once, without a warning of the runtime', async () => {
    const warnings: string[] = []
    const note = ({ name }: Error) => void warnings.push(name)
    process.on('warning', note)
    const core = await open({ events: true })
    const stop = new AbortController()
    const waiting = Array.from({ length: 12 }, () => [
      core.events().next(),
      core.events({ signal: stop.signal }).next(),
    ])
    for (let i = 0; i < 12; i++) core.on('*', () => {})
    await pauseFor(100)
    await core.close()
    for (const { done } of await Promise.all(waiting.flat())) expect(done).toBe(true)
    process.off('warning', note)
    expect(warnings).toStrictEqual([])
  })

  it('name a wrong kind and a wrong cursor', async () => {
    const core = await open()
    expect(() => core.on('message.deliverd' as never, () => {})).toThrow('event must be one of: *')
    expect(() => core.events({ afer: 'x' } as never)).toThrow('Unknown field: options.afer')
    await expect(core.events({ after: 'x' }).next()).rejects.toThrow('Invalid cursor')
  })

  it('have low balances and tests of webhooks too', async () => {
    const core = await open({
      events: true,
      webhook_targets: { allow_http: false, allow_nets: ['127.0.0.0/8'] },
    })
    const identity = await owner(core)
    const { workspace_id } = identity
    const hook = await core.webhooks.create(workspace_id, { url: 'https://127.0.0.1:9/hook' })
    const events = core.events()
    await core.webhooks.test(workspace_id, hook.id)
    const threshold = units(9_999_500_000)
    await core.credits.setTerms(workspace_id, { low_balance: threshold })
    const [tested] = await take(events, 1)
    expect(tested).toMatchObject({ event: 'webhook.test', data: { webhook_id: hook.id } })
    await core.startDispatch()
    await sendMany(core, identity, 1)
    const following = await take(events, 3)
    const low = following.find(({ event }) => event === 'credits.low')
    expect(low).toMatchObject({ workspace_id, data: { threshold, credits_balance: 9_999_000_000 } })
  }, 20_000)

  it('come from other servers of the database', async () => {
    if (!database.url.startsWith('postgres')) return
    const reader = await open()
    const events = reader.events({ after: null })
    const kept = events.next()
    const senders = await Promise.all(Array.from({ length: 3 }, () => open({ events: true })))
    const identities = await Promise.all(senders.map(owner))
    await Promise.all(senders.map((core) => core.startDispatch()))
    const ids = await Promise.all(
      senders.map((core, i) => sendMany(core, identities[i] as KeyIdentity, 100)),
    )
    const first = (await kept).value as CoreEvent
    const all = [first, ...(await take(events, 599))]
    expect(all.map(({ cursor }) => cursor)).toStrictEqual(all.map((_, i) => String(i + 1)))
    const delivered = all.flatMap(({ event, data }) =>
      event === 'message.delivered' ? [(data as { message_id: string }).message_id] : [],
    )
    expect(delivered.sort()).toStrictEqual(ids.flat().sort())
  }, 60_000)
})

function pauseFor(ms: number): Promise<null> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), ms)
  })
}
