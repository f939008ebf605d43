import type pg from 'pg'
import { afterEach, beforeEach, expect } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { inspectDatabase } from '../../src/maintenance/inspect/inspect.ts'
import { verifyLedger } from '../../src/maintenance/ledger/verify-ledger.ts'
import { enablePartitions, inspectPartitions } from '../../src/maintenance/partitions/partitions.ts'
import type { MessageRow } from '../../src/rows/rows.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { testRuntime } from '../fixtures.ts'
import { copiesOf, createDatabase, type TestDatabase } from '../postgres-database.ts'
import { benchFor, EVERYTHING } from '../storage/bench.ts'

const ACCEPTED = { type: 'accepted', provider_message_id: 'P1', lookup_after_ms: null } as const
const REFUSED = { type: 'rejected', error_code: 'unroutable', error_message: 'No route' } as const

/** A database with months, of which further tests of the process get copies: filling it takes most of the time of a test. */
interface Filled {
  copy(): Promise<TestDatabase>
  workspaces: [string, string]
  /** The time of the bench after it. */
  at: Date
}
let filled: Filled | undefined

/** Gives every test a database whose histories have partitions, and the steps that fill its months. */
export function monthsBench() {
  let database: TestDatabase
  let owner: pg.Client
  beforeEach(async () => {
    database = await (filled ? filled.copy() : createDatabase())
    owner = await database.connect()
  })
  afterEach(() => database?.drop())

  // Its clock begins on 2026-05-04. A copy has the ids of the first seed.
  const seed = () => (filled ? 'bench of a copy' : 'bench')
  const bench = benchFor(
    async () => {
      // Ids of events and deliveries are of the time of the bench.
      const runtime = { ...testRuntime(`months, ${seed()}`), id: () => bench.clock.id() }
      const open = () => openPostgres(database.url, runtime, { clock: 'caller' })
      let storage = await open()
      return {
        storage,
        async reopen() {
          storage = await open()
          return storage
        },
        close: () => storage.close(),
      }
    },
    { seed },
  )

  /** Sends all that is due: the first message of each call is refused, and so refunded. */
  async function send(): Promise<void> {
    for (const [i, each] of (await bench.claimMessages()).entries()) {
      const outcome = i === 0 ? REFUSED : ACCEPTED
      expect(await bench.settle(each, { task: 'send', attempt: 1, outcome })).toBe(true)
    }
  }

  async function deliver(): Promise<void> {
    for (;;) {
      const claimed = await bench.claimDeliveries()
      for (const each of claimed) expect(await bench.record(each)).toBe(true)
      if (claimed.length === 0) return
    }
  }

  /** Messages of one day: single ones, one of a test key, a bulk, and what follows from them. */
  async function day(workspaceId: string, at: string): Promise<void> {
    bench.clock.set(new Date(at))
    const rows: MessageRow[] = []
    for (let i = 0; i < 4; i++) rows.push(await bench.queued(workspaceId))
    await bench.queued(workspaceId, { credits_used: units(0), livemode: false })
    const bulk = bench.make.bulk(workspaceId, 3)
    await bench.accept({ ...bulk, bulk: bench.make.bulkRow(bulk.messages) })
    await send()
    for (const row of rows.slice(2)) expect(await bench.callback(row, 'delivered')).toBe(true)
    await deliver()
  }

  async function namesOf(): Promise<string[]> {
    const [messages] = await inspectPartitions(database.url)
    return messages?.partitions.map(({ name }) => name.replace('messages_', '')) ?? []
  }

  async function assertSound(): Promise<void> {
    expect((await inspectDatabase(database.url)).faults).toMatchObject({
      messages_gone: 0,
      deliveries_gone: 0,
      counts_differ: 0,
    })
    const { ok, differences } = await verifyLedger(database.url)
    expect({ ok, differences }).toEqual({ ok: true, differences: [] })
  }

  return {
    bench,
    send,
    deliver,
    day,
    namesOf,
    assertSound,
    get database() {
      return database
    },
    get owner() {
      return owner
    },
    /** The ids of all messages of a workspace, newest first. */
    async listed(workspaceId: string): Promise<string[]> {
      const rows = await bench.storage.read.messages.list(workspaceId, {}, EVERYTHING)
      return rows.map(({ id }) => id)
    },
    /** Two workspaces with messages of May (in the first partition), July and August. */
    async twoWorkspaces(): Promise<[string, string]> {
      if (filled) {
        bench.clock.set(filled.at)
        return filled.workspaces
      }
      const one = await bench.workspace(100_000)
      const two = await bench.workspace(100_000)
      await bench.webhook(one)
      await enablePartitions(database.url, { now: bench.clock.now(), ahead: 6 })
      for (const at of ['2026-05-05T09:00Z', '2026-07-31T23:59Z', '2026-08-03T10:00Z']) {
        await day(one, at)
        await day(two, at)
      }
      // PostgreSQL copies only databases without sessions.
      await bench.storage.close()
      await owner.end()
      const copy = await copiesOf(database)
      owner = await database.connect()
      await bench.reopen()
      filled = { copy, workspaces: [one, two], at: bench.clock.now() }
      return [one, two]
    },
  }
}
