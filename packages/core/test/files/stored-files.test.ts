import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import PostalMime from 'postal-mime'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyIdentity } from '../../src/api-keys/api-keys.ts'
import { units } from '../../src/contract/fields/units.ts'
import { type Core, createCore } from '../../src/core.ts'
import type { Dispatcher } from '../../src/dispatch/dispatcher.ts'
import { backupDatabase } from '../../src/maintenance/backup/backup.ts'
import { restoreDatabase } from '../../src/maintenance/backup/restore.ts'
import { exported, imported, rowsOf } from '../archive/move.ts'
import { ENGINES, type Engine } from '../erasing/engines.ts'
import { type TestRuntime, testRuntime } from '../fixtures.ts'
import { type SmtpSink, startSmtpSink } from '../providers/smtp/sink.ts'
import type { Opened } from '../storage/bench.ts'

const DAY_MS = 24 * 3_600_000
/** Of two chunks. */
const LARGE = randomBytes(420_000)
const SMALL = randomBytes(10_000)

const file = (filename: string, bytes: Buffer, more: object = {}) => ({
  filename,
  ...more,
  content: bytes.toString('base64'),
})

describe.each(ENGINES)('files of e-mails on %s', (name, make) => {
  let engine: Engine
  let opened: Opened
  let core: Core
  let runtime: TestRuntime
  let dispatcher: Dispatcher
  let sink: SmtpSink
  let owner: KeyIdentity

  beforeEach(async () => {
    engine = make()
    opened = await engine.open()
    sink = await startSmtpSink()
    runtime = testRuntime(`files ${name}`)
    core = await open(engine.url())
    dispatcher = await core.startDispatch()
    owner = await workspace('ops@example.com')
  })
  afterEach(async () => {
    await core.close()
    await sink.close()
    await opened.close()
  })

  const open = (database_url: string) =>
    createCore({
      database_url,
      runtime,
      threads: 0,
      retention_days: 30,
      providers: [{ type: 'smtp', name: 'smtp', url: sink.url, mail_domain: 'mail.svc.example' }],
    })

  async function workspace(email: string): Promise<KeyIdentity> {
    const { id } = await core.workspaces.create({
      email,
      password: 'correct horse battery',
      company_name: 'Acme',
      phone: '+14155550100',
      country: 'US',
    })
    await core.credits.grant(id, { amount: units(100_000_000), actor: 'test' })
    const key = await core.apiKeys.create(id, { name: 'key' })
    return core.apiKeys.authenticate(key.key, '127.0.0.1')
  }

  const mail = (attachments: object[], to = 'asha@rcpt.example') =>
    ({
      channel: 'email',
      to,
      content: { subject: 'Hello', text: 'Hello', attachments },
    }) as never

  async function sent(attachments: object[], to?: string, identity = owner): Promise<string> {
    return (await core.messages.send(identity, mail(attachments, to))).data.message_id
  }

  /** The numbers of rows: of files, of their chunks, and of uses. */
  async function stored(url = engine.url()): Promise<[number, number, number]> {
    const { files, file_chunks, message_files } = await rowsOf(url)
    return [files, file_chunks, message_files].map((rows) => rows?.length) as never
  }

  it('arrive byte for byte, and are shown with their sizes', async () => {
    const invitation = { content_type: 'text/calendar; method=REQUEST' }
    const id = await sent([
      file('large.bin', LARGE),
      file('small.bin', SMALL),
      file('large.ics', LARGE.subarray(0, 70_001), invitation),
    ])
    await dispatcher.idle()
    const { attachments } = await PostalMime.parse(sink.mails[0]?.raw ?? '')
    expect(attachments.map(({ filename }) => filename)).toEqual([
      'large.bin',
      'small.bin',
      'large.ics',
    ])
    expect(Buffer.from(attachments[0]?.content as ArrayBuffer).equals(LARGE)).toBe(true)
    expect(Buffer.from(attachments[1]?.content as ArrayBuffer).equals(SMALL)).toBe(true)
    expect(sink.mails[0]?.raw).toContain('method=REQUEST')
    const shown = [
      { filename: 'large.bin', size_bytes: 420_000 },
      { filename: 'small.bin', size_bytes: 10_000 },
      { filename: 'large.ics', ...invitation, size_bytes: 70_001 },
    ]
    const message = await core.messages.get(owner.workspace_id, id)
    expect(message).toMatchObject({ status: 'sent', content: { attachments: shown } })
    const { messages } = await core.messages.list(owner.workspace_id, {})
    expect(messages).toMatchObject([{ content: { attachments: shown } }])
    const whole = await core.messages.whole(owner.workspace_id, id)
    expect(whole.content).toMatchObject({
      attachments: [file('large.bin', LARGE), file('small.bin', SMALL), { filename: 'large.ics' }],
    })
    const { messages: rows } = await rowsOf(engine.url())
    expect(rows?.[0]?.length).toBeLessThan(20_000)
  })

  it('are stored once in a workspace, however often they are sent', async () => {
    for (let i = 0; i < 5; i++) await sent([file(`${i}.bin`, LARGE)], `a${i}@rcpt.example`)
    await sent([file('a', LARGE), file('b', LARGE)])
    expect(await stored()).toEqual([1, 2, 7])
    await sent([file('a', LARGE)], undefined, await workspace('other@example.com'))
    expect(await stored()).toEqual([2, 4, 8])
    await dispatcher.idle()
    expect(sink.mails).toHaveLength(7)
  })

  it('of a bulk are stored once, also when its failed messages are sent again', async () => {
    sink.meet('b@rcpt.example', { at: 'rcpt', reply: '550 5.7.1 Refused by policy' })
    const emails = ['a', 'b'].map((one) => mail([file('x', LARGE)], `${one}@rcpt.example`))
    const { data } = await core.messages.bulks.sendEmails(owner, { emails } as never)
    expect(await stored()).toEqual([1, 2, 2])
    await dispatcher.idle()
    sink.meet('b@rcpt.example', { at: 'rcpt', reply: '250 2.1.5 Ok' })
    const again = await core.messages.bulks.retry(owner, data.bulk_id)
    await dispatcher.idle()
    expect(again.data.accepted).toBe(1)
    expect(await stored()).toEqual([1, 2, 3])
  })

  it('of a refused or repeated request are not kept', async () => {
    const request = mail([file('x', LARGE)])
    const first = await core.messages.send(owner, request, { idempotency_key: 'k' })
    const again = await core.messages.send(owner, request, { idempotency_key: 'k' })
    expect(again).toMatchObject({ replayed: true, data: { message_id: first.data.message_id } })
    expect(await stored()).toEqual([1, 2, 1])
    const { balance } = await core.credits.account(owner.workspace_id)
    const taken = { id: 'a', amount: units(-balance), actor: 'test', reason: 'test' }
    await core.credits.adjust(owner.workspace_id, taken)
    await expect(sent([file('y', LARGE.subarray(1))])).rejects.toThrow('Not enough credits')
    expect(await stored()).toEqual([1, 2, 1])
  })

  it('are removed with the last message that has them', async () => {
    const ids: string[] = []
    for (const name of ['x', 'y', 'z']) ids.push(await sent([file(name, LARGE)]))
    await dispatcher.idle()
    await core.messages.erase(owner.workspace_id, ids[0] ?? '')
    expect(await stored()).toEqual([1, 2, 2])
    await core.messages.redact(owner.workspace_id, ids[1] ?? '')
    expect(await stored()).toEqual([1, 2, 1])
    await core.recipients.erase('asha@rcpt.example')
    expect(await stored()).toEqual([0, 0, 0])
  })

  it('are removed when their message is older than the retention time', async () => {
    await sent([file('x', LARGE)])
    await dispatcher.idle()
    runtime.advance(31 * DAY_MS)
    await dispatcher.sweep()
    expect(await stored()).toEqual([0, 0, 0])
  })

  it('stay for a message that is canceled, until it is erased', async () => {
    const scheduled_at = new Date(runtime.now().getTime() + DAY_MS).toISOString()
    const request = { ...(mail([file('x', LARGE)]) as object), scheduled_at } as never
    const { data } = await core.messages.send(owner, request)
    await core.messages.cancel(owner.workspace_id, data.message_id)
    expect(await stored()).toEqual([1, 2, 1])
    await core.messages.erase(owner.workspace_id, data.message_id)
    expect(await stored()).toEqual([0, 0, 0])
  })

  it('are moved with the database', async () => {
    const id = await sent([file('x', LARGE)])
    await dispatcher.idle()
    const before = await core.messages.whole(owner.workspace_id, id)
    const { bytes } = await exported(engine.url(), { snapshot: true })
    const other = (name === 'SQLite' ? ENGINES[1] : ENGINES[0])?.[1]() as Engine
    const target = await other.open()
    try {
      await other.dump({ vacuum: false })
      await imported(other.url(), bytes)
      const [here, there] = [await rowsOf(engine.url()), await rowsOf(other.url())]
      for (const table of ['files', 'file_chunks', 'message_files']) {
        expect(there[table]).toEqual(here[table])
      }
      const moved = await open(other.url())
      expect(await moved.messages.whole(owner.workspace_id, id)).toEqual(before)
      await moved.close()
    } finally {
      await target.close()
    }
  })

  if (name !== 'SQLite') return

  it('are in a backup, and come back with it', async () => {
    const id = await sent([file('x', LARGE)])
    const { content } = await core.messages.whole(owner.workspace_id, id)
    const database = fileURLToPath(engine.url())
    const made = { database, to: dirname(database), keep: null, made_by: 'svc 1.2.3' }
    const { file: backup } = await backupDatabase({ ...made, verify: 'full' })
    await sent([file('y', LARGE.subarray(1))])
    expect(await stored()).toEqual([2, 4, 2])
    await core.close()
    await engine.dump({ vacuum: false })
    await restoreDatabase({ backup, database, verify: 'full' })
    expect(await stored()).toEqual([1, 2, 1])
    core = await open(engine.url())
    expect(await core.messages.whole(owner.workspace_id, id)).toMatchObject({ content })
  })
})
