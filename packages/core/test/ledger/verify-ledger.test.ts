import { copyFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { type BookedEntry, readLedger } from '../../src/maintenance/ledger/read-ledger.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { builders, SMS_PRICE, testRuntime } from '../fixtures.ts'
import { migratedFolder } from '../migrated-file.ts'
import { createDatabase } from '../postgres-database.ts'

interface Opened {
  url: string
  storage: Storage
  /** Changes what no port changes, past the triggers. */
  damage(statement: string): Promise<void>
  close(): Promise<void>
}

const afterFile: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const end of afterFile) await end()
})

const runtime = testRuntime('ledger')
const make = builders(runtime)
const later = () => new Date(runtime.now().getTime() + 10 * 3_600_000)

/** A file with filled books, which is copied for each test. */
let filled: Promise<string> | undefined

async function openOnSqlite(): Promise<Opened> {
  filled ??= fillFile()
  const folder = await mkdtemp(join(tmpdir(), 'svc-ledger-'))
  const file = join(folder, 'svc.db')
  copyFileSync(await filled, file)
  const storage = openSqlite(file, runtime)
  return {
    url: `file:${file}`,
    storage,
    damage: (statement) => damageFile(file, statement),
    async close() {
      await storage.close()
      await rm(folder, { recursive: true })
    },
  }
}

async function fillFile(): Promise<string> {
  const folder = await migratedFolder('svc-ledger-')
  afterFile.push(() => rm(folder, { recursive: true }))
  const file = join(folder, 'svc.db')
  const storage = openSqlite(file, runtime)
  await fill(storage, (statement) => damageFile(file, statement))
  await storage.close()
  return file
}

async function damageFile(file: string, statement: string): Promise<void> {
  const connection = new Sqlite(file)
  connection.pragma('ignore_check_constraints = on')
  // A file may hold what no statement can put into it; once its tables have no types, one can.
  connection.unsafeMode()
  connection.pragma('writable_schema = on')
  connection.exec(
    `update sqlite_schema set sql = replace(replace(replace(sql, 'STRICT, WITHOUT', 'WITHOUT'), ') STRICT', ')'), ' NOT NULL', '')
     where type = 'table' and name in ('ledger_entries', 'credit_accounts', 'messages', 'bulks', 'purchases')`,
  )
  connection.pragma('writable_schema = reset')
  connection.exec('drop trigger if exists ledger_entries_no_update')
  connection.exec('drop trigger if exists ledger_entries_no_delete')
  connection.exec(statement)
  connection.close()
}

let postgres: Promise<Opened> | undefined

/** One database and one storage for all tests, emptied and filled for each: to make one takes longer than a test. */
async function openOnPostgres(): Promise<Opened> {
  postgres ??= makePostgres()
  const opened = await postgres
  await fill(opened.storage, opened.damage)
  return opened
}

async function makePostgres(): Promise<Opened> {
  const database = await createDatabase()
  const storage = await openPostgres(database.url, runtime)
  const client = await database.connect()
  afterFile.push(async () => {
    await storage.close()
    await database.drop()
  })
  await client.query('drop trigger ledger_entries_append_only on ledger_entries')
  await client.query('alter table credit_lots drop constraint credit_lots_remaining')
  await client.query('alter table credit_accounts drop constraint credit_accounts_limit')
  await client.query('alter table ledger_entries alter column amount drop not null')
  return {
    url: database.url,
    storage,
    damage: async (statement) => void (await client.query(statement)),
    close: () => database.clear(),
  }
}

/** Entries: 1 grant, 2 send, 3 bulk of 2, 4 refund of the send, 5 hold, 6 settle, 7 hold, 8 purchase, 9 lot's grant. */
async function fill(storage: Storage, damage: Opened['damage']): Promise<void> {
  const at = runtime.now()
  const row = make.workspace({ id: 'w1', email: 'ops@example.com' })
  const post = (kind: string, fields: Record<string, unknown>) =>
    storage.write(({ credits }) => {
      const { amount = units(0), ...more } = fields as { amount?: ReturnType<typeof units> }
      return credits.post('w1', make.grant(amount, { kind: kind as 'grant', ...more }))
    })
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(row)
    await credits.open('w1', at)
  })
  await post('grant', { amount: units(100 * SMS_PRICE), description: '=1+1' })
  const message = make.message('w1', { id: 'm1' })
  await storage.hot.accept([make.request([message])])
  const both = ['b1m1', 'b1m2'].map((id) => make.message('w1', { id, bulk_id: 'b1' }))
  const bulk = make.bulkRow(both)
  await storage.hot.accept([{ ...make.request(both), bulk }])
  const about = (id: string, n = 0) => ({ reference: { type: 'message', id, n } })
  await post('refund', { amount: SMS_PRICE, ...about('m1') })
  const hold = { held_delta: SMS_PRICE, counter_account: 'revenue:voice' }
  await post('hold', { id: 'h0', ...hold, ...about('v1') })
  const settle = { amount: units(-SMS_PRICE), held_delta: units(-SMS_PRICE), resolves: 'h0' }
  await post('settle', { ...settle, counter_account: 'revenue:voice', ...about('v1') })
  await post('hold', { id: 'h1', ...hold, ...about('v2') })
  const purchase = make.purchase('w1', { id: 'p1', status: 'paid', paid_at: at })
  await storage.write(({ purchases }) => purchases.insert(purchase))
  await post('purchase', {
    amount: units(1_000_000_000),
    reference: { type: 'purchase', id: 'p1', n: 0 },
  })
  await post('grant', { id: 'l1', amount: SMS_PRICE })
  const moment = at.getTime()
  const time = (ms: number) => (isSqlite ? `${ms}` : `to_timestamp(${ms} / 1000.0)`)
  await damage(
    `update messages set status = 'failed', credits_refunded = ${SMS_PRICE} where id = 'm1'`,
  )
  await damage(
    `insert into credit_holds values ('w1', 'h1', 'v2', 0, ${SMS_PRICE}, ${time(moment + 86_400_000)}, ${time(moment)})`,
  )
  await damage(
    `insert into credit_lots values ('w1', 'l1', ${SMS_PRICE}, 0, 9, 9, ${time(moment)}, ${time(moment)}, ${time(moment)})`,
  )
  // The sums of the days include all entries but the last one.
  await storage.write(({ creditSums }) => creditSums.extend('w1', 8))
}

let isSqlite = true

const DAMAGE: [name: string, statement: string, found: string[]][] = [
  [
    'another balance',
    'update credit_accounts set balance = balance + 1',
    ['balance', 'trial_balance'],
  ],
  [
    'another hold of the account',
    'update credit_accounts set held = held + 1',
    ['held', 'open_holds'],
  ],
  ['another number of entries', 'update credit_accounts set seq = seq + 1', ['seq']],
  ['another sum of a day', 'update credit_days set amount = amount + 1', ['credit_sums']],
  ['another count of a day', 'update credit_days set count = count + 1', ['credit_sums']],
  ['another held sum of a day', 'update credit_days set held_delta = 7', ['credit_sums']],
  ['a missing sum of a day', `delete from credit_days where kind = 'send'`, ['credit_sums']],
  ['another day of a sum', 'update credit_days set day = day + 1', ['credit_sums']],
  ['a mark behind the sums', 'update credit_marks set seq = seq - 1', ['credit_sums']],
  ['a mark ahead of the entries', 'update credit_marks set seq = 100', ['credit_sums']],
  ['sums without a mark', 'delete from credit_marks', ['credit_sums']],
  ['no account', 'delete from credit_accounts', ['account', 'lot', 'trial_balance']],
  [
    'a deleted entry',
    'delete from ledger_entries where seq = 2',
    ['balance', 'seq', 'sequence', 'unpaid_message', 'trial_balance'],
  ],
  [
    'a shifted balance_after',
    'update ledger_entries set balance_after = balance_after + 1 where seq = 4',
    ['balance_after'],
  ],
  [
    'two shifts of balance_after that make up for each other',
    'update ledger_entries set balance_after = balance_after + case seq when 4 then 1 else -1 end where seq in (4, 7)',
    ['balance_after'],
  ],
  [
    'a shifted range of balance_after',
    'update ledger_entries set balance_after = balance_after + 1 where seq between 1 and 8',
    ['balance_after'],
  ],
  [
    'a shifted held_after',
    'update ledger_entries set held_after = held_after + 1 where seq = 9',
    ['held_after'],
  ],
  ['another quantity', 'update ledger_entries set quantity = 2 where seq = 2', ['price']],
  ['a dropped message', `delete from messages where id = 'm1'`, ['message', 'refund']],
  [
    'another price of a message',
    `update messages set credits_used = credits_used + 1 where id = 'm1'`,
    ['message'],
  ],
  ['a dropped message of a bulk', `delete from messages where id = 'b1m2'`, ['bulk']],
  [
    'a bulk that cost another amount',
    'update bulks set credits_used = credits_used + 1',
    ['bulk_row'],
  ],
  [
    'a send of nothing known',
    `update ledger_entries set ref_type = 'thing' where seq = 3`,
    ['reference'],
  ],
  [
    'a doubled refund',
    `insert into ledger_entries (id, workspace_id, seq, kind, amount, held_delta, balance_after, held_after, counter_account, ref_type, ref_id, ref_n, created_at) select 'twice', workspace_id, 10, kind, amount + 1, 0, 0, 0, counter_account, ref_type, ref_id, 1, created_at from ledger_entries where seq = 4`,
    ['refund'],
  ],
  [
    'a refund that the message does not know',
    `update messages set credits_refunded = 0 where id = 'm1'`,
    ['refund'],
  ],
  [
    'a refund without an entry',
    `update messages set credits_refunded = 1 where id = 'b1m1'`,
    ['refunded_message'],
  ],
  [
    'a message that was never paid',
    `update messages set bulk_id = null where id = 'b1m1'`,
    ['unpaid_message'],
  ],
  [
    'a settle of nothing',
    `update ledger_entries set ref_id = 'v9' where seq = 6`,
    ['settle', 'resolves'],
  ],
  [
    'a settle that ends no hold',
    `update ledger_entries set resolves = 'h9' where seq = 6`,
    ['resolves', 'hold'],
  ],
  ['an unresolved hold', `delete from credit_holds`, ['hold', 'open_holds']],
  [
    'a hold of another amount',
    `update credit_holds set amount = amount + 1`,
    ['hold', 'open_holds'],
  ],
  ['a hold that was ended', `update ledger_entries set resolves = 'h1' where seq = 6`, ['hold']],
  ['a purchase without its row', `delete from purchases`, ['purchase']],
  ['a paid purchase without its entry', `update purchases set id = 'p2'`, ['purchase']],
  ['an unpaid purchase with an entry', `update purchases set paid_at = null`, ['purchase']],
  ['more than was bought', `update purchases set credits = credits - 1`, ['purchase_sum']],
  ['a lot that counts what is not there', `update credit_lots set counted_seq = 10`, ['lot']],
  ['a lot with more than it had', `update credit_lots set remaining = amount + 1`, ['lot']],
  ['a lot of no grant', `update credit_lots set granted_seq = 8`, ['lot']],
  ['an ended lot with something left', `update credit_lots set remaining = 1`, ['lot']],
  [
    'spending past the limit',
    `update ledger_entries set balance_after = balance_after - 900000000000 where seq >= 3`,
    ['balance_after'],
  ],
]

const ANY = `a whole number of at most 999999999999999`

/** An unreadable value, its reported place, and its reported form. */
const UNREADABLE: [statement: string, about: string, stands: string, should: string][] = [
  [
    `update ledger_entries set kind = 'gift' where seq = 1`,
    'ledger_entries:1.kind',
    '"gift"',
    'one of purchase, purchase_adjust',
  ],
  ['update ledger_entries set amount = null where seq = 4', 'ledger_entries:4.amount', 'NULL', ANY],
  [
    'update credit_accounts set seq = 9000000000000000000',
    'credit_accounts:w1.seq',
    '9000000000000000000',
    ANY,
  ],
  [
    'update messages set credits_used = 9000000000000000000',
    'messages:b1m1.credits_used',
    '9000000000000000000',
    ANY,
  ],
  [`update messages set status = 'lost'`, 'messages:b1m1.status', '"lost"', 'one of queued, sent'],
]

/** What only a file can hold. */
const UNREADABLE_IN_A_FILE: typeof UNREADABLE = [
  [
    `update ledger_entries set amount = 'ten' where seq = 2`,
    'ledger_entries:2.amount',
    '"ten"',
    ANY,
  ],
  ['update ledger_entries set amount = 0.5 where seq = 2', 'ledger_entries:2.amount', '0.5', ANY],
  ['update credit_accounts set balance = null', 'credit_accounts:w1.balance', 'NULL', ANY],
  [`update bulks set credits_used = x'00'`, 'bulks:b1.credits_used', 'blob of 1 bytes', ANY],
  [`update messages set content = '{"text":'`, 'messages:b1m1.content', 'text of 8', 'JSON'],
  [`update messages set created_at = 'now'`, 'messages:b1m1.created_at', '"now"', 'a time'],
  [`update purchases set credits = 'many'`, 'purchases:p1.credits', '"many"', ANY],
]

describe.each([
  ['SQLite', openOnSqlite],
  ['PostgreSQL', openOnPostgres],
])('verifyLedger on %s', (engine, open) => {
  let opened: Opened
  const verify = (options = {}) =>
    verifyLedger(opened.url, { now: () => runtime.now(), ...options })
  beforeEach(async () => {
    isSqlite = engine === 'SQLite'
    opened = await open()
  })
  afterEach(() => opened?.close())

  it('finds nothing in clean books while a server has them open', async () => {
    const report = await verify()
    expect(report).toMatchObject({
      ok: true,
      differences: [],
      entries: 9,
      workspaces: 1,
      messages: 3,
    })
    const sum = report.counter_accounts.reduce((all, { balance }) => all + BigInt(balance), 0n)
    expect(-sum).toBe(BigInt(report.workspaces_balance))
    expect(await verify({ workspace_id: 'w1' })).toEqual(report)
    expect(await verify({ fast: true })).toEqual(report)
    expect(await verify({ workspace_id: 'none' })).toMatchObject({ ok: true, entries: 0 })
  })

  it.each(DAMAGE)('finds %s', async (_, statement, found) => {
    await opened.damage(statement)
    const { ok, differences } = await verify()
    expect((await verify({ fast: true })).ok).toBe(false)
    expect(ok).toBe(false)
    const checks = differences.map(({ check }) => check)
    expect(checks).toEqual(expect.arrayContaining(found))
    expect(
      new Set(differences.map(({ workspace_id }) => workspace_id)).has('w1') ||
        found.includes('trial_balance'),
    ).toBe(true)
  })

  it('compares the refund of an e-mail to several recipients with its message', async () => {
    const { storage, damage } = opened
    const mails = ['b2m1', 'b2m2'].map((id) =>
      make.message('w1', { id, bulk_id: 'b2', ...make.mail() }),
    )
    await storage.hot.accept([{ ...make.request(mails), bulk: make.bulkRow(mails) }])
    const request = { workspace_id: 'w1', message_ids: ['b2m1'], at: runtime.now() }
    expect(await storage.hot.cancel(request)).toEqual(['canceled'])
    expect(await verify()).toMatchObject({ ok: true, differences: [] })
    // The share of one recipient.
    await damage(
      `update messages set credits_refunded = credits_refunded - ${SMS_PRICE} where id = 'b2m1'`,
    )
    const { differences } = await verify()
    expect(differences.map(({ check }) => check)).toEqual(['refund', 'refunded_message'])
  })

  it('names rows that cannot be read, and goes on with the others', async () => {
    const all = [...UNREADABLE, ...(isSqlite ? UNREADABLE_IN_A_FILE : [])]
    for (const [statement, about, stands, should] of all) {
      await opened.close()
      opened = await open()
      await opened.damage('update credit_lots set remaining = 1')
      await opened.damage(statement)
      const { ok, differences } = await verify()
      expect(ok, statement).toBe(false)
      const rows = differences.filter(({ check }) => check === 'row')
      expect(rows[0], statement).toEqual({
        check: 'row',
        workspace_id: 'w1',
        seq: null,
        about,
        stands: expect.stringContaining(stands),
        should: expect.stringContaining(should),
      })
      expect(new Set(differences.map(({ check }) => check)), statement).toContain('lot')
      if (!about.endsWith('.content')) expect((await verify({ fast: true })).ok).toBe(false)
      expect((await verify({ workspace_id: 'w1' })).differences).toContainEqual(rows[0])
    }
  })

  it('finds what makes up for each other in every sum when it looks at each row', async () => {
    await opened.damage(`update messages set credits_used = credits_used + 1 where id = 'm1'`)
    await opened.damage(`update messages set credits_used = credits_used - 1 where id = 'b1m1'`)
    const { differences } = await verify()
    expect(differences.map(({ check }) => check)).toEqual(['message', 'bulk', 'unpaid_message'])
  })

  it('names the day whose sum differs', async () => {
    await opened.damage(`update credit_days set amount = amount - 1 where kind = 'refund'`)
    const day = runtime.now().toISOString().slice(0, 10)
    expect((await verify()).differences).toEqual([
      {
        check: 'credit_sums',
        workspace_id: 'w1',
        seq: null,
        about: `day:${day} refund`,
        stands: `1 entries: ${SMS_PRICE - 1}`,
        should: `1 entries: ${SMS_PRICE}`,
      },
    ])
  })

  it('says where, what stands and what should', async () => {
    await opened.damage('update ledger_entries set balance_after = balance_after + 1 where seq = 9')
    expect((await verify()).differences).toEqual([
      {
        check: 'balance_after',
        workspace_id: 'w1',
        seq: 9,
        about: expect.stringMatching(/^grant:/),
        stands: '1098000001',
        should: '1098000000',
      },
    ])
  })

  it('finds holds and messages whose time is past', async () => {
    await opened.damage('delete from message_queue')
    const at = new Date(runtime.now().getTime() + 48 * 3_600_000)
    const { differences } = await verify({ now: () => at })
    const checks = differences.map(({ check }) => check)
    expect(checks).toEqual(['stale_hold', 'stuck_message', 'stuck_message'])
    const { ok } = await verify({ now: later, without: ['stuck_message'] })
    expect(ok).toBe(true)
  })

  it('finds what is available below the limit, unless something explains it', async () => {
    await opened.damage('update credit_accounts set credit_limit = -2000000000')
    expect((await verify()).differences).toMatchObject([{ check: 'credit_limit', seq: 1 }])
    await opened.damage(`update ledger_entries set kind = 'adjustment' where seq = 1`)
    await opened.damage(`update credit_days set kind = 'adjustment' where kind = 'grant'`)
    expect((await verify()).ok).toBe(true)
  })

  it('reports a limited number of differences of a check, and that there are more', async () => {
    await opened.damage('update ledger_entries set balance_after = balance_after + seq')
    const { differences, has_more } = await verify({ differences_max: 2 })
    expect(differences).toHaveLength(2)
    expect(has_more).toBe(true)
  })

  it('reads the entries in their order, within a time', async () => {
    const read: BookedEntry[] = []
    const take = async (entries: BookedEntry[]) => void read.push(...entries)
    expect(await readLedger(opened.url, {}, take)).toBe(9)
    expect(read.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(read[0]).toMatchObject({ email: 'ops@example.com', created_at: runtime.now() })
    expect(await readLedger(opened.url, { since: later() }, take)).toBe(0)
    expect(await readLedger(opened.url, { until: runtime.now() }, take)).toBe(0)
    expect(await readLedger(opened.url, { workspace_id: 'w1', until: later() }, take)).toBe(9)
  })
})
