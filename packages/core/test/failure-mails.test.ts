import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Mail } from '../src/contract/outside/mail.ts'
import { createOutbox, type Outbox } from '../src/mail/outbox.ts'
import type { Watch } from '../src/runtime/watch.ts'
import { openStorage } from '../src/storage/open.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import { startFailureMailWatch } from '../src/webhooks/failure-mails.ts'
import { createOwnerMails } from '../src/workspaces/owner-mails.ts'
import { builders, testRuntime } from './fixtures.ts'
import { migratedFolder } from './migrated-file.ts'
import { createDatabase } from './postgres-database.ts'

const HOUR_MS = 3_600_000

const engines: [string, () => Promise<{ url: string; remove(): Promise<void> | void }>][] = [
  [
    'SQLite',
    async () => {
      const folder = await migratedFolder('svc-failing-')
      const remove = () => rmSync(folder, { recursive: true })
      return { url: `file:${join(folder, 'svc.db')}`, remove }
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const database = await createDatabase()
      return { url: database.url, remove: database.drop }
    },
  ],
]

describe.each(engines)('mails about failing webhooks on %s', (engine, create) => {
  const clock = testRuntime(`failing webhooks ${engine}`)
  const make = builders(clock)
  let url: string
  let remove: () => Promise<void> | void
  let closers: (() => Promise<void>)[]
  let mails: Mail[]

  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    mails = []
    closers = []
    const database = await create()
    url = database.url
    remove = database.remove
  })

  afterEach(async () => {
    vi.useRealTimers()
    for (const close of closers.reverse()) await close()
    await remove()
  })

  /** A server with this mail server. */
  async function serve(
    send: (mail: Mail) => Promise<void> = async (mail) => void mails.push(mail),
  ): Promise<{ storage: Storage; watch: Watch; outbox: Outbox; idle(): Promise<void> }> {
    const storage = await openStorage(url, clock, { clock: 'caller' })
    const outbox = createOutbox({ mailer: { send }, log: clock.log, retry_ms: [] })
    const owners = createOwnerMails({
      ...{ storage, runtime: clock, outbox, brand: 'svc' },
      public_url: () => 'https://svc.example.com',
      console_url: () => 'https://svc.example.com/console',
    })
    const watch = startFailureMailWatch({ storage, runtime: clock, mail: owners.webhooks })
    closers.push(async () => {
      await watch.stop()
      await outbox.close(0)
      await storage.close()
    })
    return { storage, watch, outbox, idle: outbox.idle }
  }

  /** A workspace with webhooks that fail since an hour. */
  async function troubled({ storage }: { storage: Storage }, count = 1) {
    const row = make.workspace({ email_verified: true })
    const failing_since = new Date(clock.now().getTime() - HOUR_MS)
    const webhooks = Array.from({ length: count }, () =>
      make.webhook(row.id, { notice: 'failing_due', failing_since, consecutive_failures: 9 }),
    )
    await storage.write(async (stores) => {
      await stores.workspaces.insert(row)
      for (const webhook of webhooks) await stores.webhooks.insert(webhook)
    })
    return { row, webhooks }
  }

  it('is one for each workspace, although two servers look at the same time', async () => {
    const [one, other] = [await serve(), await serve()]
    const { webhooks } = await troubled(one, 2)
    const single = await troubled(one)
    await Promise.all([one.watch.look(), other.watch.look()])
    await Promise.all([one.idle(), other.idle()])
    await one.watch.look()
    expect(mails.map(({ link }) => link).sort()).toEqual([
      'https://svc.example.com/console/webhooks',
      `https://svc.example.com/console/webhooks/${single.webhooks[0]?.id}`,
    ])
    clock.advance(2 * HOUR_MS)
    await one.watch.look()
    await one.idle()
    expect(mails).toHaveLength(2)
    expect(webhooks).toHaveLength(2)
  })

  it('is one about what is true when it is sent, however long it waits', async () => {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const server = await serve(async (mail) => {
      await opened
      mails.push(mail)
    })
    const earlier = { to: 'asha@example.com', subject: 'S', text: 'T', html: 'H' }
    // As many as the outbox sends at once.
    for (let i = 0; i < 4; i++) {
      server.outbox.add(async () => ({ ...earlier, kind: 'verify_email' }), {
        kind: 'verify_email',
      })
    }
    const { row, webhooks } = await troubled(server, 2)
    for (let i = 0; i < 3; i++) {
      await server.watch.look()
      clock.advance(HOUR_MS)
    }
    const [failing, well] = webhooks
    const recovered = { failing_since: null, consecutive_failures: 0, notice: 'no' } as const
    await server.storage.write((stores) =>
      stores.webhooks.change(row.id, well?.id ?? '', recovered),
    )
    open()
    await server.idle()
    await server.watch.look()
    await server.idle()
    expect(mails.slice(4).map(({ link }) => link)).toEqual([
      `https://svc.example.com/console/webhooks/${failing?.id}`,
    ])
    await server.storage.write((stores) =>
      stores.webhooks.change(row.id, well?.id ?? '', { notice: 'failing_due' }),
    )
    clock.advance(HOUR_MS)
    await server.watch.look()
    await server.idle()
    expect(mails).toHaveLength(6)
  })

  it('are not queued for further workspaces when the queue has no room', async () => {
    const { storage } = await serve()
    for (let i = 0; i < 3; i++) await troubled({ storage })
    const asked: string[] = []
    const watch = startFailureMailWatch({
      ...{ storage, runtime: clock },
      mail(workspaceId) {
        asked.push(workspaceId)
        return asked.length < 2
      },
    })
    closers.push(() => watch.stop())
    await watch.look()
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['was killed before the mail server took it', () => new Promise<void>(() => {})],
    ['got an error of the mail server', () => Promise.reject(new Error('550'))],
  ])('is sent again an hour after a server %s, and then never again', async (_, send) => {
    const unlucky = await serve(send)
    await troubled(unlucky)
    await unlucky.watch.look()
    const next = await serve()
    clock.advance(HOUR_MS - 1)
    await next.watch.look()
    await next.idle()
    expect(mails).toEqual([])
    clock.advance(1)
    for (let i = 0; i < 3; i++) {
      await next.watch.look()
      await next.idle()
      clock.advance(HOUR_MS)
    }
    expect(mails).toHaveLength(1)
    expect(mails[0]?.subject).toBe('A webhook fails')
  })
})
