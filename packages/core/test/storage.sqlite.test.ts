import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { bundled } from '../../../test/bundled.ts'
import type { Slice } from '../src/contract/endpoints/paging.ts'
import { units } from '../src/contract/fields/units.ts'
import { inspectDatabase } from '../src/maintenance/inspect/inspect.ts'
import type { Operation } from '../src/rules/decide.ts'
import { migrationsOf } from '../src/storage/migrations.ts'
import type { Storage } from '../src/storage/ports/storage.ts'
import { assertDurable, connect, migrate, Sqlite } from '../src/storage/sqlite/engine/connection.ts'
import { openEngine } from '../src/storage/sqlite/engine/engine.ts'

import { openSqlite } from '../src/storage/sqlite/sqlite.ts'
import { builders, SMS_PRICE, testRuntime } from './fixtures.ts'
import { makeMigratedFile } from './migrated-file.ts'
import { callback, only } from './storage/bench.ts'
import { sendOnThreeDays } from './storage/three-days.ts'
import { writerOf } from './storage/writer-of.ts'
import { storageContract } from './storage.contract.ts'

/** The number of migrations before `0015_attempts_in_rows`. */
const STEPS_WITH_ROWIDS = 15

storageContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-storage-'))
  await makeMigratedFile(join(folder, 'svc.db'))
  const runtime = testRuntime('storage')
  const open = () => openSqlite(join(folder, 'svc.db'), runtime)
  let storage = open()
  return {
    storage,
    async reopen() {
      await storage.close()
      storage = open()
      return storage
    },
    async close() {
      await storage.close()
      await rm(folder, { recursive: true })
    },
  }
})

describe('SQLite alone', () => {
  const runtime = testRuntime('rows')
  const make = builders(runtime)
  let folder: string
  let file: string
  let opened: { close(): unknown }[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-sqlite-'))
    file = join(folder, 'svc.db')
    opened = []
  })
  afterEach(async () => {
    for (const each of opened) await each.close()
    await rm(folder, { recursive: true })
  })

  /** Of a module of SQLite. */
  const source = (name: string) =>
    fileURLToPath(new URL(`../src/storage/sqlite/${name}`, import.meta.url))

  /** The file of a program that imports sources. */
  function programOf(text: string): Promise<string> {
    const path = join(folder, 'program.ts')
    writeFileSync(path, text)
    return bundled(pathToFileURL(path), new URL('../', import.meta.url))
  }

  function open(): Storage {
    const storage = openSqlite(file, testRuntime('storage'))
    opened.push(storage)
    return storage
  }

  /** A connection beside the storage's own, for what no port offers. */
  function raw(): Database.Database {
    const connection = new Sqlite(file)
    opened.push(connection)
    return connection
  }

  async function workspace(storage: Storage): Promise<string> {
    const row = make.workspace()
    await storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(row)
      await credits.open(row.id, runtime.now())
      await credits.post(row.id, make.grant(SMS_PRICE))
    })
    return row.id
  }

  describe('a ping', () => {
    it('writes to the disk where nothing else was written', async () => {
      const storage = open()
      const beside = raw()
      const version = () => beside.pragma('data_version', { simple: true })
      const before = version()
      await storage.ping()
      expect(version()).not.toBe(before)
    })

    it('fails while the file takes no writes', async () => {
      const { opened: storage, writer } = await writerOf(open)
      writer.pragma('query_only = ON')
      await expect(storage.ping()).rejects.toThrow('readonly')
    })

    it('fails after a write for which there was no space, though small ones succeed', async () => {
      const { opened: storage, writer } = await writerOf(open)
      await workspace(storage)
      await storage.ping()
      writer.pragma('max_page_count = 1')
      const grow = async () => {
        for (;;) await workspace(storage)
      }
      await expect(grow()).rejects.toThrow()
      await expect(storage.ping()).rejects.toThrow('the disk refused a write')
    })
  })

  describe('a log that cannot be written back', () => {
    it('is a fault that the log names, although commits succeed', async () => {
      const beside = raw()
      beside.exec('create table filler (bytes blob)')
      beside.prepare('insert into filler values (zeroblob(?))').run(32 * 1024 * 1024)
      beside.pragma('wal_checkpoint(TRUNCATE)')
      // The limit of file sizes (RLIMIT_FSIZE) refuses the new pages at the end of the database, but not those of the log.
      const program = `
        import { statSync } from 'node:fs'
        import { setTimeout } from 'node:timers/promises'
        import { openSqlite } from ${JSON.stringify(source('sqlite.ts'))}
        import { connect } from ${JSON.stringify(source('engine/connection.ts'))}
        const file = ${JSON.stringify(file)}
        const log = { warn: (fields, text) => console.log(JSON.stringify({ ...fields, text })) }
        const runtime = { id: () => 'id', random: Math.random, log }
        const storage = openSqlite(file, runtime, { durability: 'none' })
        await storage.ping()
        console.log(JSON.stringify({ before: storage.fault() }))
        const other = connect(file, { durability: 'none' })
        other.pragma('wal_autocheckpoint = 0')
        const write = other.prepare('insert into filler values (randomblob(100000))')
        while (statSync(file + '-wal').size < 17 * 1024 * 1024) write.run()
        for (let i = 0; i < 100 && storage.fault() === null; i++) {
          await setTimeout(50)
          await storage.write(({ workspaces }) => workspaces.byId('none'))
        }
        console.log(JSON.stringify({ after: storage.fault() }))
        process.exit(0)
      `
      // The unit of bash is 1 KiB.
      const limited = `trap '' XFSZ; ulimit -f $1; shift; exec "$@"`
      const run = [process.execPath, await programOf(program)]
      const child = spawn('bash', ['-c', limited, 'bash', String(24 * 1024), ...run])
      let output = ''
      child.stdout.on('data', (chunk) => {
        output += chunk
      })
      expect(await endOf(child)).toEqual({ code: 0, errors: '' })
      const lines = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(lines).toMatchObject([
        { before: null },
        {
          reason: 'SQLITE_IOERR_WRITE',
          text: expect.stringContaining('cannot write its log back'),
        },
        { after: 'SQLITE_IOERR_WRITE' },
      ])
    })
  })

  describe('a transaction of many messages', () => {
    it.each([
      ['one short bulk of the default size', 1_000, 5, false],
      ['a bulk of more messages', 1_500, 5, true],
      ['a few long messages', 12, 200_000, true],
    ])('gives the event loop turns: %s', async (_, count, length, hasTurns) => {
      const { opened: storage, writer } = await writerOf(open)
      const id = await workspace(storage)
      const content = { text: 'a'.repeat(length) }
      const { messages } = make.bulk(id, count, { content })
      let turns = 0
      const look = () => {
        if (writer.inTransaction) turns += 1
        next = setImmediate(look)
      }
      let next = setImmediate(look)
      await storage.hot.accept([{ ...make.request(messages), debit: null }])
      clearImmediate(next)
      expect(turns > 0).toBe(hasTurns)
    })

    it('keeps later writes out of the transaction', async () => {
      const { opened: storage, writer } = await writerOf(open)
      const id = await workspace(storage)
      const request = (count: number) => {
        const { messages } = make.bulk(id, count)
        return { ...make.request(messages), debit: null }
      }
      const large = request(2_000)
      const [last] = large.messages.slice(-1)
      if (last) last.id = large.messages[0]?.id ?? ''
      const refused = expect(storage.hot.accept([large])).rejects.toThrow()
      while (!writer.inTransaction) await new Promise((resolve) => setImmediate(resolve))
      const later = request(1)
      expect(await storage.hot.accept([later])).toEqual([{ outcome: 'accepted' }])
      await refused
      const stored = await storage.read.messages.byId(id, later.messages[0]?.id ?? '')
      expect(stored).toEqual(later.messages[0])
    })
  })

  describe('durability', () => {
    it.each([
      ['writes', false],
      ['reads', true],
    ])(
      'a connection that %s flushes every commit, also after its first statements',
      (_, readonly) => {
        opened.push(connect(file))
        const connection = connect(file, { readonly })
        opened.push(connection)
        for (let i = 0; i < 2; i++) {
          expect(connection.pragma('synchronous', { simple: true })).toBe(2)
          expect(connection.pragma('journal_mode', { simple: true })).toBe('wal')
          connection.prepare('select count(*) from sqlite_schema').get()
        }
      },
    )

    it('a connection that reads cannot write', () => {
      opened.push(connect(file))
      const connection = connect(file, { readonly: true })
      opened.push(connection)
      expect(() => connection.exec('create table t (a)')).toThrow(/readonly/)
    })

    it.each([
      ['NORMAL', 'WAL', 'synchronous=1, journal_mode=wal'],
      ['OFF', 'WAL', 'synchronous=0, journal_mode=wal'],
      ['FULL', 'DELETE', 'synchronous=2, journal_mode=delete'],
    ])('synchronous=%s with journal_mode=%s is refused', (synchronous, journal, found) => {
      const connection = raw()
      connection.pragma(`journal_mode = ${journal}`)
      connection.pragma(`synchronous = ${synchronous}`)
      expect(() => assertDurable(connection)).toThrow(
        `SQLite would not flush commits to disk (${found})`,
      )
      connection.pragma('journal_mode = WAL')
      connection.pragma('synchronous = FULL')
      expect(() => assertDurable(connection)).not.toThrow()
    })
  })

  describe('the schema', () => {
    it('takes whole micro-credits only', async () => {
      const id = await workspace(open())
      const insert = raw().prepare(
        "insert into credit_accounts (workspace_id, balance, held, credit_limit, seq, status, updated_at) values ('other', ?, 0, 0, 0, 'active', 0)",
      )
      expect(() => insert.run(0.1)).toThrow(/cannot store REAL value in INTEGER column/)
      const update = raw().prepare('update credit_accounts set balance = ? where workspace_id = ?')
      expect(() => update.run(0.1, id)).toThrow(/cannot store REAL value in INTEGER column/)
    })

    it('is strict in every table', () => {
      open()
      const loose = raw()
        .prepare(
          "select name from pragma_table_list where schema = 'main' and type = 'table' and not strict and name not like 'sqlite_%'",
        )
        .all()
      expect(loose).toEqual([])
    })

    it.each([
      ['held', -1],
      ['credit_limit', -1],
      ['balance', 1_000_000_000_000_000],
      ['balance', -1_000_000_000_000_000],
    ])('refuses an account whose %s is %d', async (column, value) => {
      const id = await workspace(open())
      const update = raw().prepare(
        `update credit_accounts set ${column} = ? where workspace_id = ?`,
      )
      expect(() => update.run(value, id)).toThrow(/CHECK constraint failed/)
    })

    it('refuses to change or delete a ledger entry', async () => {
      const storage = open()
      const id = await workspace(storage)
      const connection = raw()
      for (const statement of [
        'update ledger_entries set amount = 1',
        'delete from ledger_entries',
      ]) {
        expect(() => connection.exec(statement)).toThrow('ledger_entries is append-only')
      }
      const page = { limit: 10, offset: 0 }
      expect(await storage.read.credits.entries(id, page)).toMatchObject([{ amount: SMS_PRICE }])
    })
  })

  describe('a removed webhook', () => {
    it('leaves nothing in the queue', async () => {
      const storage = open()
      const id = await workspace(storage)
      const webhook = make.webhook(id)
      await storage.write(({ webhooks }) => webhooks.insert(webhook))
      const { messages } = make.send(id)
      await storage.hot.accept([{ ...make.request(messages), debit: null }])
      await storage.hot.settle([
        {
          workspace_id: id,
          message_id: only(messages).id,
          token: null,
          provider: 'carrier',
          abilities: { idempotent: false, lookup: false },
          result: callback('sent', 'delivered'),
          at: runtime.now(),
        },
      ])
      const waiting = raw().prepare('select count(*) from delivery_queue').pluck()
      expect(waiting.get()).toBe(2)
      await storage.write(({ webhooks }) => webhooks.remove(id, webhook.id))
      expect(waiting.get()).toBe(0)
    })
  })

  describe('a frozen account', () => {
    it('sends nothing, keeps what it has, and is still given refunds', async () => {
      const storage = open()
      const id = await workspace(storage)
      const accepted = make.send(id)
      await storage.hot.accept([accepted])
      await storage.write(({ credits }) => credits.post(id, make.grant(SMS_PRICE)))
      raw().prepare("update credit_accounts set status = 'frozen'").run()
      const before = await storage.read.credits.account(id)

      expect(await storage.hot.accept([make.send(id)])).toEqual([{ outcome: 'account_frozen' }])
      expect(await storage.read.credits.account(id)).toEqual(before)
      const { messages } = storage.read
      expect(await messages.count(id, {})).toBe(1)

      const claim = {
        limit: 10,
        lease_ms: 1_000,
        token: 'token',
        route: () => ({ provider: 'carrier', sender: null }),
      }
      await storage.hot.claimMessages({ ...claim, now: runtime.now(), elapsed_ms: 0 })
      const outcome = { type: 'rejected', error_code: 'unroutable', error_message: 'no' } as const
      await storage.hot.settle([
        {
          workspace_id: id,
          message_id: only(accepted.messages).id,
          token: 'token',
          provider: 'carrier',
          abilities: { idempotent: false, lookup: false },
          result: { task: 'send', attempt: 1, outcome },
          at: runtime.now(),
        },
      ])
      expect(await storage.read.credits.account(id)).toMatchObject({
        status: 'frozen',
        balance: 2 * SMS_PRICE,
      })
    })
  })

  it('claims long contents in parts, and reports after each part that more messages may be due', async () => {
    const storage = open()
    const workspace = make.workspace()
    await storage.write(async ({ workspaces, credits }) => {
      await workspaces.insert(workspace)
      await credits.open(workspace.id, runtime.now())
      await credits.post(workspace.id, make.grant(units(100 * SMS_PRICE)))
    })
    const html = 'a'.repeat(400_000)
    const sends = Array.from({ length: 5 }, () =>
      make.send(workspace.id, {
        channel: 'email',
        recipient: 'ada@example.com',
        content: { subject: 'News', html },
      }),
    )
    await storage.hot.accept(sends)
    let reports = 0
    const claim = () =>
      storage.hot.claimMessages({
        now: runtime.now(),
        elapsed_ms: 0,
        limit: 64,
        lease_ms: 60_000,
        token: 'token',
        route: () => ({ provider: 'carrier', sender: null }),
        onLeft() {
          reports += 1
        },
      })
    const parts = [await claim(), await claim(), await claim()]
    expect(parts.map((part) => part.length)).toEqual([3, 2, 0])
    expect(new Set(parts.flat().map(({ message_id }) => message_id)).size).toBe(5)
    expect(reports).toBe(1)
  })

  it('finds test messages in their index, however many live ones there are', async () => {
    const storage = open()
    const id = await workspace(storage)
    const free = { credits_used: units(0), livemode: false }
    await storage.hot.accept([make.send(id), make.send(id, free)])
    const { messages, receivedMessages } = storage.read
    const page = { limit: 10, offset: 0 }
    const livemode = false as const
    const prepared = vi.spyOn(Sqlite.prototype, 'prepare')
    for (const only of [{}, { channel: 'sms' as const }, { from: new Date(0) }]) {
      expect(await messages.list(id, { livemode, ...only }, page)).toHaveLength(1)
      expect(await messages.count(id, { livemode, ...only })).toBe(1)
      expect(await receivedMessages.list(id, { livemode, ...only }, page)).toEqual([])
      expect(await receivedMessages.count(id, { livemode, ...only })).toBe(0)
    }
    const texts = prepared.mock.calls.map(([text]) => text)
    prepared.mockRestore()
    const queries = texts.filter((text) => text.includes('"livemode" = false'))
    expect(queries.length).toBeGreaterThan(6)
    for (const text of queries) {
      const details = planOf(text)
      expect(details.join()).toMatch(/USING (COVERING )?INDEX (received_)?messages_test/)
      // By the workspace alone, it would go through all of its messages.
      expect(details.filter((detail) => detail.endsWith('PRIMARY KEY (workspace_id=?)'))).toEqual(
        [],
      )
    }
  })

  const KINDS = [
    { channel: 'sms' },
    { status: 'queued' },
    { channel: 'sms', status: 'queued' },
  ] as const
  const DATES = [{ from: new Date(0) }, { until: new Date('2100-01-01') }] as const

  it('finds a page by kind in its index with dates too, and reads other rows by their key', async () => {
    const storage = open()
    const id = await workspace(storage)
    await storage.hot.accept([make.send(id)])
    const { messages } = storage.read
    const plans = await plansOf(async (page) => {
      for (const kind of KINDS) {
        for (const dates of [{}, ...DATES, { ...DATES[0], ...DATES[1] }]) {
          expect(await messages.list(id, { ...kind, ...dates }, page)).toHaveLength(1)
        }
      }
    })
    expect(plans.filter((one) => one.includes('COVERING INDEX messages_kind'))).toHaveLength(4)
    expect(plans.filter((one) => /PRIMARY KEY \((?!.*id=\?\)$)/.test(one))).toEqual([])
  })

  it('finds the messages of a bulk in its index with every other filter', async () => {
    const storage = open()
    const id = await workspace(storage)
    await storage.hot.accept([make.send(id)])
    const { messages } = storage.read
    const filters = [{}, ...KINDS, ...DATES, { livemode: false }] as const
    const plans = await plansOf(async (page) => {
      for (const filter of filters) {
        expect(await messages.list(id, { bulk_id: 'bulk', ...filter }, page)).toEqual([])
        expect(await messages.count(id, { bulk_id: 'bulk', ...filter })).toBe(0)
      }
    })
    expect(plans.filter((one) => one.includes('COVERING INDEX messages_bulk'))).toHaveLength(
      2 * filters.length,
    )
    expect(plans.filter((one) => /messages_(kind|test)/.test(one))).toEqual([])
  })

  it('counts the messages of bulks and broadcasts in the index of bulks', async () => {
    const storage = open()
    const id = await workspace(storage)
    const { bulks, broadcasts } = storage.read
    const at = runtime.now()
    const plans = await plansOf(async () => {
      await bulks.progress(id, 'bulk')
      await bulks.hasQueued(id, 'bulk')
      await bulks.paused(id, undefined, 10)
      await broadcasts.waiting(id, 'bulk', at)
      await broadcasts.queued(id, ['bulk'])
      await broadcasts.hasQueued(id, 'broadcast')
      await broadcasts.totals(id, 'broadcast')
      await broadcasts.unsubscribed(id, { id: 'broadcast', channel: 'sms', started_at: at })
    })
    const ofMessages = plans.filter((one) => /\bmessages\b/.test(one))
    expect(ofMessages).toHaveLength(8)
    for (const plan of ofMessages) expect(plan).toMatch(/INDEX messages_bulk /)
  })

  it.each(['sms', 'voice'] as const)(
    'reads what is about a message by %s from an index, not the history of its workspace',
    async (channel) => {
      const storage = open()
      const id = await workspace(storage)
      const request = make.send(id, { channel })
      const hold = { kind: 'hold', amount: units(0), held_delta: SMS_PRICE } as const
      const debit = { ...(request.debit as Operation), ...(channel === 'voice' && hold) }
      await storage.hot.accept([{ ...request, debit }])
      const message_id = only(request.messages).id
      const aboutMessage = async () => {
        const at = runtime.now()
        const outcomes = await storage.hot.cancel({
          workspace_id: id,
          message_ids: [message_id],
          at,
        })
        expect(outcomes).toEqual(['canceled'])
        await storage.read.credits.entriesAbout(id, [message_id, 'other'])
        await storage.read.webhooks.deliveriesOf(id, message_id)
        await storage.read.erasure.eventsOf(id, message_id, at)
        const until = runtime.advance(1_000)
        await storage.write(async ({ erasure, history }) => {
          await erasure.forgetResponsesAbout(id, [message_id])
          expect(await history.removeMessages(id, [message_id], { until, at: until })).toBe(1)
        })
      }
      const prepared = vi.spyOn(Sqlite.prototype, 'prepare')
      await aboutMessage()
      const texts = prepared.mock.calls.map(([text]) => text)
      prepared.mockRestore()
      const asked = texts.filter((text) => /^(select|update|delete|with) /.test(text))
      // A settlement reads what was held for a call.
      const ofSettlement = asked.filter((text) => text.endsWith('ref_id = ? order by seq'))
      expect(ofSettlement).toHaveLength(channel === 'voice' ? 1 : 0)
      const whole = asked.filter((text) =>
        planOf(text).some((one) =>
          /(ledger_entries|deliveries) USING PRIMARY KEY \(workspace_id=\?\)$/.test(one),
        ),
      )
      expect(whole).toEqual([])
      const plans = asked.flatMap(planOf)
      for (const index of ['ledger_entries_reference', 'deliveries_message']) {
        expect(plans).toContainEqual(expect.stringContaining(`INDEX ${index} `))
      }
    },
  )

  it('finds the verifications of a status in their index, in their order', async () => {
    const storage = open()
    const id = await workspace(storage)
    const { verifications } = storage.read
    const plans = await plansOf(async (page) => {
      for (const filter of [{}, { livemode: true }, { channel: 'sms' }] as const) {
        expect(await verifications.list(id, { status: 'approved', ...filter }, page)).toEqual([])
        expect(await verifications.count(id, { status: 'approved', ...filter })).toBe(0)
      }
    }, 'verifications')
    expect(plans).toHaveLength(6)
    for (const plan of plans) expect(plan).toMatch(/INDEX verifications_status/)
  })

  it('finds what decides about a code in its indexes', () => {
    open()
    const cases = [
      ['verifications_network', 'workspace_id = ? and client_network = ? and livemode = ?'],
      ['verifications_other', 'workspace_id = ? and other_recipient = ? and livemode = ?'],
      ['verifications_fallback', 'fallback_at <= ? and ended_at is null'],
    ] as const
    for (const [index, condition] of cases) {
      const asked = `select id from verifications where ${condition}`
      expect(planOf(asked)).toEqual([expect.stringContaining(`INDEX ${index} `)])
    }
  })

  /** The steps of the plans of a read's queries on a table. */
  async function plansOf(
    read: (page: Slice) => Promise<void>,
    table = 'messages',
  ): Promise<string[]> {
    const prepared = vi.spyOn(Sqlite.prototype, 'prepare')
    await read({ limit: 10, offset: 0 })
    const texts = prepared.mock.calls.map(([text]) => text)
    prepared.mockRestore()
    return texts.filter((text) => text.includes(`from "${table}"`)).flatMap(planOf)
  }

  function planOf(text: string): string[] {
    const values = Array(text.split('?').length - 1).fill(1)
    const plan = raw().prepare(`explain query plan ${text}`).all(values) as { detail: string }[]
    return plan.map(({ detail }) => detail)
  }

  describe('reading in threads', () => {
    it('answers what it answers in place, sees what was committed just now, and ends in order', async () => {
      const inPlace = open()
      const id = await workspace(inPlace)
      const threaded = openSqlite(file, testRuntime('threaded'), { reading_threads: 2 })
      opened.push(threaded)
      const webhook = make.webhook(id)
      await threaded.write(({ webhooks }) => webhooks.insert(webhook))
      expect(await threaded.read.webhooks.list(id, { limit: 10, offset: 0 })).toEqual([webhook])
      await threaded.hot.accept([make.send(id, { metadata: { a: [1, null, 'ż'] } })])
      const page = { limit: 10, offset: 0 }
      for (const filter of [{}, { status: 'queued' as const }, { from: runtime.now() }]) {
        const list = await threaded.read.messages.list(id, filter, page)
        expect(list).toHaveLength(1)
        expect(list).toEqual(await inPlace.read.messages.list(id, filter, page))
        expect(await threaded.read.messages.count(id, filter)).toBe(1)
      }
      await threaded.close()
      opened.pop()
      await expect(threaded.read.messages.list(id, {}, page)).rejects.toThrow(
        /^the database is closed$/,
      )
    })

    it('does not hold up the event loop', async () => {
      const threaded = openSqlite(file, testRuntime('threaded'), { reading_threads: 1 })
      opened.push(threaded)
      const id = await workspace(threaded)
      await threaded.hot.accept([make.send(id)])
      raw().exec(
        `insert into messages (id, ${columnsWithout('id')})
         with recursive n(i) as (select 0 union all select i + 1 from n where i < 99999)
         select printf('%08x', i), ${columnsWithout('id')} from messages, n`,
      )
      const deep = { limit: 1, offset: 100_000 }
      await threaded.read.messages.list(id, {}, deep)
      let turns = 0
      let isReading = true
      const reading = threaded.read.messages.list(id, {}, deep).finally(() => {
        isReading = false
      })
      while (isReading) {
        await new Promise((resolve) => setImmediate(resolve))
        turns += 1
      }
      expect(await reading).toHaveLength(1)
      // In place there is not one turn between question and answer.
      expect(turns).toBeGreaterThan(20)
    })

    it('writes the log back in a thread, and SQLite begins it anew', async () => {
      const threaded = openSqlite(file, testRuntime('threaded'), { reading_threads: 1 })
      opened.push(threaded)
      const id = await workspace(threaded)
      const beside = raw()
      const pages = () => {
        const [row] = beside.pragma('wal_checkpoint(NOOP)') as { log: number }[]
        return row?.log ?? 0
      }
      await threaded.hot.accept([make.send(id, { content: { text: 'x'.repeat(10_000_000) } })])
      expect(pages()).toBeGreaterThan(2_000)
      await vi.waitFor(
        async () => {
          await threaded.write(({ webhooks }) => webhooks.insert(make.webhook(id)))
          expect(pages()).toBeLessThan(500)
        },
        { timeout: 20_000 },
      )
    })

    it.each([
      ['SQLITE_IOERR_FSYNC', 1],
      ['SQLITE_IOERR_WRITE', 0],
    ])('ends the service if a thread cannot flush the log: %s', async (code, failures) => {
      const failed = vi.fn()
      const { log, id, random } = testRuntime('engine')
      const engine = openEngine(
        file,
        { newId: id, random },
        {
          onFailure: failed,
          onLogged() {},
          log,
          writeBack: () => Promise.reject(Object.assign(new Error('refused'), { code })),
        },
      )
      await engine.transaction((query) => query('create table filler (bytes blob)', [], 'run'))
      await engine.transaction((query) =>
        query('insert into filler values (randomblob(10000000))', [], 'run'),
      )
      await new Promise((resolve) => setImmediate(resolve))
      expect(failed).toHaveBeenCalledTimes(failures)
      await engine.close()
    })

    function columnsWithout(name: string): string[] {
      const all = raw().prepare("select name from pragma_table_info('messages')").pluck().all()
      return (all as string[]).filter((column) => column !== name)
    }
  })

  describe('dispatching', () => {
    it('is the right of one process, and of the next once that gave it back', async () => {
      const [first, second] = [open(), open()]
      const right = await first.startDispatch()
      await expect(second.startDispatch()).rejects.toThrow(
        `another svc process already serves ${file}`,
      )
      await expect(second.startDispatch()).rejects.toThrow('another svc process')
      await right.release()
      const next = await second.startDispatch()
      await expect(first.startDispatch()).rejects.toThrow('another svc process')
      await next.release()
    })

    it('leaves who only reads and writes alone', async () => {
      const [first, second] = [open(), open()]
      const right = await first.startDispatch()
      const id = await workspace(second)
      expect(await first.read.workspaces.byId(id)).not.toBeNull()
      await right.release()
    })

    it('writes what a caller waits for before the work that waits already', async () => {
      const storage = open()
      const id = await workspace(storage)
      const claim = {
        now: runtime.now(),
        elapsed_ms: 0,
        limit: 10,
        lease_ms: 1_000,
        route: () => ({ provider: 'carrier', sender: null }),
      }
      const claims = Array.from({ length: 30 }, (_, i) =>
        storage.hot.claimMessages({ ...claim, token: `token-${i}` }),
      )
      const request = make.send(id)
      expect(await storage.hot.accept([request])).toStrictEqual([{ outcome: 'accepted' }])
      // The first claim finds the message that was accepted after the request of the claim.
      const [first, ...others] = await Promise.all(claims)
      expect(first).toMatchObject([{ message_id: only(request.messages).id }])
      expect(others.flat()).toStrictEqual([])
    })

    it('makes what a dead process had claimed due at once', async () => {
      const storage = open()
      const id = await workspace(storage)
      const host = 'app.example'
      const plain = make.webhook(id)
      const gated = make.webhook(id, { url: `https://${host}/hook`, gate_host: host })
      await storage.write(async ({ webhooks }) => {
        for (const row of [plain, gated]) await webhooks.insert(row)
      })
      const lease = { limit: 10, lease_ms: 3_600_000 }
      const claim = {
        ...lease,
        now: runtime.now(),
        elapsed_ms: 0,
        route: () => ({ provider: 'carrier', sender: null }),
      }
      const share = {
        ...lease,
        now: runtime.now(),
        elapsed_ms: 0,
        limit_per_webhook: 10,
        limit_per_workspace: 1_000,
        room_of_webhook: new Map<string, number>(),
        room_of_workspace: new Map<string, number>(),
      }
      const { messages } = make.bulk(id, 2)
      const request = { ...make.request(messages), debit: null }
      await storage.hot.accept([request])
      const [held, sent] = await storage.hot.claimMessages({ ...claim, token: 'dead' })
      if (!held || !sent) throw new Error('two are due')
      const outcome = {
        type: 'accepted',
        provider_message_id: null,
        lookup_after_ms: null,
      } as const
      await storage.hot.settle([
        {
          ...sent,
          provider: 'carrier',
          abilities: { idempotent: false, lookup: false },
          result: { task: 'send', attempt: 1, outcome },
          at: runtime.now(),
        },
      ])
      const dead = await storage.hot.claimDeliveries({ ...share, token: 'dead' })
      expect(dead.map(({ gate_host }) => gate_host)).toEqual([host, undefined])
      expect(await storage.hot.claimMessages({ ...claim, token: 'early' })).toEqual([])
      await storage.close()
      opened.pop()

      const next = open()
      const right = await next.startDispatch()
      expect(await next.hot.claimMessages({ ...claim, token: 'next' })).toMatchObject([
        { message_id: held.message_id, attempt: 1, interrupted: true },
      ])
      const late = { started_at: runtime.now(), duration_ms: 1 }
      const result = { response_status: 200, response_body: '', error: null, retry_after_ms: null }
      const results = dead.map((delivery) => ({ ...delivery, ...late, ...result }))
      expect(await next.hot.recordDeliveries(results)).toEqual([false, false])
      expect(await next.hot.claimDeliveries({ ...share, token: 'next' })).toMatchObject(
        dead.map(({ delivery_id }) => ({ delivery_id, attempt: 1 })),
      )
      await right.release()
    })
  })

  describe('migrating', () => {
    it('refuses a database of a newer version and leaves it as it is', async () => {
      const storage = open()
      const id = await workspace(storage)
      await storage.close()
      opened.pop()
      const connection = raw()
      connection
        .prepare("insert into svc_migrations (hash, applied_at) values ('of the future', 0)")
        .run()
      expect(() => openSqlite(file, runtime)).toThrow(
        'the database was made by a newer version of svc; install that version, or restore an older backup',
      )
      connection.prepare("delete from svc_migrations where hash = 'of the future'").run()
      expect(await open().read.workspaces.byId(id)).not.toBeNull()
    })

    it('counts the messages that were there before they were counted', async () => {
      const storage = open()
      await sendOnThreeDays(storage, await workspace(storage))
      await storage.close()
      opened.pop()
      const connection = raw()
      const counted = connection.prepare(
        `select workspace_id, unit, since, channel, status, count, test_count from message_counts
         where count <> 0 order by 1, 2, 3, 4, 5`,
      )
      const before = counted.all()
      // In each unit the kinds of the three messages.
      expect(before).toHaveLength(3 + 3 + 3)
      connection.exec('drop table message_counts')
      const fill = migrationsOf('sqlite').flatMap(({ sql }) =>
        sql.filter((statement) => statement.includes('message_counts')),
      )
      expect(fill).toHaveLength(15)
      for (const statement of fill) connection.exec(statement)
      expect(counted.all()).toEqual(before)
      expect((await inspectDatabase(`file:${file}`)).faults.counts_differ).toBe(0)
    })

    it('keeps the events, deliveries and attempts of an older version', async () => {
      const connection = raw()
      migrate(connection, STEPS_WITH_ROWIDS)
      const at = runtime.now()
      connection.exec(`
        insert into events values ('w', 'e', 'message.sent', 'm', '{"a":1}', 1);
        insert into deliveries (id, workspace_id, webhook_id, event_id, event, message_id, status, trigger, livemode,
          attempt_count, max_attempts, response_status, response_time_ms, created_at, updated_at, delivered_at)
        values ('d', 'w', 'h', 'e', 'message.sent', 'm', 'delivered', 'event', 0, 1, 12, 200, 5, 1, ${at.getTime()}, 3);
        insert into delivery_attempts values ('w', 'd', 1, 2, 5, 200, 'thanks', null)`)
      connection.close()
      const { webhooks } = open().read
      expect(await webhooks.eventBodies('w', ['e'])).toEqual([{ id: 'e', body: '{"a":1}' }])
      const delivery = await webhooks.delivery('w', 'h', 'd')
      expect(delivery).toMatchObject({ livemode: false, response_time_ms: 5, updated_at: at })
      expect(await webhooks.deliveriesOf('w', 'm')).toEqual([delivery])
      expect(await webhooks.attempts('w', 'h', 'd')).toMatchObject([
        { number: 1, response_status: 200, response_body: 'thanks', started_at: new Date(2) },
      ])
    })

    it('changes nothing the second time', async () => {
      const id = await workspace(open())
      const before = raw().prepare('select * from svc_migrations').all()
      expect(before.length).toBeGreaterThan(1)
      expect(await open().read.workspaces.byId(id)).not.toBeNull()
      expect(raw().prepare('select * from svc_migrations').all()).toEqual(before)
    })

    it('is done once by processes that open a new file at the same moment', async () => {
      const program = `
        import { openSqlite } from ${JSON.stringify(source('sqlite.ts'))}
        process.stdout.write('ready')
        await new Promise((resolve) => process.stdin.once('data', resolve))
        const runtime = { id: () => 'id', random: Math.random, log: console }
        const storage = openSqlite(${JSON.stringify(file)}, runtime)
        await storage.ping()
        await storage.close()
        process.stdin.destroy()
      `
      const script = await programOf(program)
      const openers = Array.from({ length: 4 }, () => spawn(process.execPath, [script]))
      await Promise.all(openers.map((opener) => once(opener.stdout, 'data')))
      const ends = openers.map(endOf)
      for (const opener of openers) opener.stdin.write('go')
      expect(await Promise.all(ends)).toEqual(openers.map(() => ({ code: 0, errors: '' })))
      const applied = raw().prepare('select count(*) from svc_migrations').pluck().get()
      expect(applied).toBeGreaterThan(1)
      await workspace(open())
    })
  })
})

async function endOf(process_: ChildProcess): Promise<{ code: number; errors: string }> {
  let errors = ''
  process_.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const [code] = await once(process_, 'close')
  return { code, errors }
}
