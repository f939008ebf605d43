import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSqlite } from '../packages/core/src/storage/sqlite/sqlite.ts'
import { testRuntime } from '../packages/core/test/fixtures.ts'
import { OPERATIONS, serverOn, setScene } from '../proof/interleave/scenarios.ts'
import { openWritable, type WritableDatabase } from '../proof/stage/database.ts'
import { FAULTS, type Fault } from '../proof/stage/rules.ts'

let folder: string
let database: WritableDatabase

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-rules-'))
  const file = join(folder, 'svc.db')
  const server = serverOn(openSqlite(file, testRuntime('storage')), 'rules')
  const scene = await setScene(server)
  for (const name of ['settle as refused', 'claim and send', 'deliver']) {
    await OPERATIONS[name]?.(server, scene)
  }
  await server.storage.close()
  database = openWritable(file)
  const triggers = database.prepare("select name from sqlite_master where type = 'trigger'").all()
  for (const { name } of triggers as { name: string }[]) database.exec(`drop trigger ${name}`)
})

afterAll(() => {
  database?.close()
  rmSync(folder, { recursive: true, force: true })
})

function broken(): string[] {
  return (database.prepare(FAULTS).all() as Fault[]).map(({ rule }) => rule)
}

/** Copies a row with these columns changed. */
function copy(table: string, changes: Record<string, string>): string {
  const columns = (
    database.prepare(`select name from pragma_table_info('${table}')`).all() as { name: string }[]
  ).map(({ name }) => name)
  const values = columns.map((name) => changes[name] ?? name)
  return `insert into ${table} (${columns}) select ${values} from ${table} limit 1`
}

/** Adds a row: these columns, and nothing in the others. */
function add(table: string, given: Record<string, string>): string {
  const columns = database
    .prepare(
      `select name, type from pragma_table_info('${table}') where "notnull" = 1 or dflt_value is not null`,
    )
    .all() as { name: string; type: string }[]
  const empty = columns.map(({ name, type }) => [name, /INT/i.test(type) ? '0' : "''"] as const)
  const values = { ...Object.fromEntries(empty), ...given }
  return `insert into ${table} (${Object.keys(values)}) values (${Object.values(values)})`
}

/** A broadcast with one message, of one contact. */
const BROADCAST = () => {
  const of = { workspace_id: '(select workspace_id from messages limit 1)' }
  const counts = { accepted: '1', contacts: '1' }
  const costs = '(select credits_used from messages where bulk_id is null limit 1)'
  return [
    add('broadcasts', { ...of, id: "'b'", channel: "'sms'", ...counts, credits_used: costs }),
    add('bulks', { ...of, id: "'k'", broadcast_id: "'b'" }),
    "update messages set bulk_id = 'k' where id = (select id from messages where bulk_id is null limit 1)",
  ].join(';')
}

/** The first entry of the ledger folded into an opening, with these columns in place of the right ones. */
const OPENING = (wrong: Record<string, string> = {}) => {
  const columns = {
    ...{ workspace_id: 'workspace_id', id: 'id', seq: 'seq', balance: 'balance_after' },
    ...{ held: 'held_after', entries: '1', amount: 'amount', held_delta: 'held_delta' },
    ...{ charged: '0', refunded: '0', charged_bulks: '0', sums: "'[]'", hash: "''" },
    ...{ kept: '0', kept_hash: "''", last_at: '0', folded_at: '0', signature: "''", ...wrong },
  }
  return `insert into ledger_openings (${Object.keys(columns).join(', ')})
    select ${Object.values(columns).join(', ')} from ledger_entries where seq = 1;
    drop trigger if exists ledger_entries_no_delete; delete from ledger_entries where seq = 1`
}

describe('the rules of the rows', () => {
  it('hold after work that ended', () => {
    expect(broken()).toEqual([])
  })

  it('hold for a ledger with an opening', () => {
    database.exec('begin')
    database.exec(OPENING())
    expect(broken()).toEqual([])
    database.exec('rollback')
  })

  it('hold for a broadcast whose counts are those of its messages', () => {
    database.exec('begin')
    database.exec(BROADCAST())
    expect(broken()).not.toContain('the counts of a broadcast are exact')
    expect(broken()).not.toContain('a broadcast sends each contact one message')
    database.exec('rollback')
  })

  it.each<[rule: string, change: () => string]>([
    ['the ledger is exact', () => "delete from ledger_entries where kind = 'grant'"],
    ['the ledger is exact', () => 'update ledger_entries set amount = amount + 1 where seq = 1'],
    ['the ledger is exact', () => 'update credit_accounts set balance = balance + 1'],
    ['the ledger is exact', () => 'update credit_accounts set held = 1'],
    ['the ledger is exact', () => OPENING({ balance: 'balance_after + 1' })],
    ['the ledger is exact', () => OPENING({ amount: 'amount + 1' })],
    ['an opening is the sum of what it replaces', () => OPENING({ seq: 'seq + 1' })],
    ['an opening is the sum of what it replaces', () => OPENING({ held: '1' })],
    ['an opening is the sum of what it replaces', () => OPENING({ kept: '1' })],
    ['an opening is the sum of what it replaces', () => OPENING({ charged: '1' })],
    [
      'no workspace spends more than it has',
      () => "update ledger_entries set balance_after = -1 where kind = 'send'",
    ],
    [
      'no workspace spends more than it has',
      () =>
        "update ledger_entries set kind = 'hold', held_after = balance_after + 1 where kind = 'send'",
    ],
    ['one debit a message', () => "delete from ledger_entries where kind = 'send'"],
    ['at most one refund a message', () => "delete from ledger_entries where kind = 'refund'"],
    ['at most one refund a message', () => 'update messages set credits_refunded = 1'],
    ['a hold ends once', () => "update messages set channel = 'voice'"],
    [
      'a hold ends once',
      () =>
        "update messages set channel = 'voice', credits_used = 0; update ledger_entries set kind = 'hold', held_delta = -amount, amount = 0 where kind = 'send'",
    ],
    [
      'a call that no provider took holds nothing',
      () => 'insert into credit_holds select workspace_id, id, id, 0, 1, 0, 0 from messages',
    ],
    ['a test message is free', () => 'update messages set livemode = 0'],
    [
      'a message that was not sent is refunded',
      () =>
        "update messages set recipients = '[]', credits_refunded = 0 where credits_refunded > 0",
    ],
    ['a message that was not sent is refunded', () => "update messages set status = 'sent'"],
    ['the counts of messages are exact', () => "update messages set status = 'read'"],
    ['every debit and refund is of a message', () => 'delete from messages'],
    ['nothing is stuck', () => "update messages set status = 'queued'"],
    ['nothing is stuck', () => "insert into credit_holds values ('w', 'h', 'm', 0, 1, 0, 0)"],
    ['nothing is stuck', () => "update deliveries set status = 'pending'"],
    ['every attempt has an outcome', () => "update message_attempts set outcome = 'started'"],
    ['every attempt is in the journal', () => 'update message_attempts set number = number + 1'],
    [
      'a status follows those before it',
      () => "update messages set status = 'sent', sent_at = null",
    ],
    [
      'a status follows those before it',
      () => "update messages set status = 'read', read_at = 1, delivered_at = null",
    ],
    [
      'a status follows those before it',
      () => "update messages set status = 'read', read_at = null, delivered_at = 1",
    ],
    [
      'a status follows those before it',
      () => "update messages set status = 'failed', failed_at = null",
    ],
    ['one event for each change', () => copy('events', { id: "'another'" })],
    ['one delivery for each webhook and event', () => copy('deliveries', { id: "'another'" })],
    [
      'one workspace has a domain',
      () =>
        ['one', 'other']
          .map(
            (workspace) =>
              `insert into sending_domains (workspace_id, id, domain, status, selector, private_key, public_key, findings, created_at, updated_at)
               values ('${workspace}', 'd', 'acme.example', 'verified', 's', 'p', 'p', '{}', 0, 0)`,
          )
          .join(';'),
    ],
    [
      'a broadcast sends each contact one message',
      () =>
        `${BROADCAST()};${copy('messages', { id: "'again'", bulk_id: "'k'", recipient: "(select recipient from messages where bulk_id = 'k')" })}`,
    ],
    [
      'the counts of a broadcast are exact',
      () => `${BROADCAST()};update broadcasts set accepted = 2`,
    ],
    [
      'the counts of a broadcast are exact',
      () => `${BROADCAST()};update broadcasts set credits_used = credits_used + 1`,
    ],
    [
      'the counts of a broadcast are exact',
      () => `${BROADCAST()};update broadcasts set contacts = 0`,
    ],
    ['no row of another workspace', () => "update message_attempts set workspace_id = 'another'"],
  ])('%s (%#)', (rule, change) => {
    database.exec('begin')
    try {
      database.exec(change())
      expect(broken()).toContain(rule)
    } finally {
      database.exec('rollback')
    }
  })
})
