import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe, expect, it, vi } from 'vitest'
import type { ClaimedMessage } from '../../src/rules/claim.ts'
import type { ClaimedDelivery } from '../../src/rules/deliveries.ts'
import type { Storage } from '../../src/storage/ports/storage.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { Sqlite } from '../../src/storage/sqlite/engine/connection.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { testRuntime } from '../fixtures.ts'
import { sentBy } from '../postgres-client.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { benchFor, LEASE_MS } from '../storage/bench.ts'

/** As many messages as one batch holds. */
const MESSAGES = 64

const DELIVERED = {
  task: 'send',
  attempt: 1,
  outcome: {
    type: 'accepted',
    provider_message_id: 'P1',
    lookup_after_ms: null,
    status: 'delivered',
  },
} as const

type Step =
  | 'accept'
  | 'claim'
  | 'settle'
  | 'claim deliveries'
  | 'record'
  | 'accept and claim'
  | 'settle and claim deliveries'

/**
 * The statements that each step of 64 messages with one webhook executes. They cost the same on every machine, so they
 * guard what a message costs. Lower a figure when a step gets cheaper; state the reason when one gets dearer.
 */
const SQLITE: Record<Step, number> = {
  accept: 28,
  // Each message is read by its id, because a claim first chooses among the rows of the queue which have their turn.
  claim: 198,
  // One of them reads whether a program wants the events.
  settle: 358,
  'claim deliveries': 136,
  // One of them counts the attempts of the hour.
  record: 262,
  'accept and claim': 35,
  'settle and claim deliveries': 358,
}
const POSTGRES: Record<Step, number> = {
  accept: 9,
  claim: 8,
  settle: 12,
  'claim deliveries': 2,
  // One of them counts the attempts of the hour.
  record: 8,
  'accept and claim': 10,
  'settle and claim deliveries': 12,
}

let executed = 0

/** Opens a file whose connections count the statements that they execute. */
function openCounted(file: string): Storage {
  const { prepare } = Sqlite.prototype
  const spy = vi.spyOn(Sqlite.prototype, 'prepare').mockImplementation(function (
    this: InstanceType<typeof Sqlite>,
    text,
  ) {
    const statement = prepare.call(this, text)
    for (const verb of ['run', 'get', 'all', 'iterate'] as const) {
      const execute = statement[verb].bind(statement) as (...values: unknown[]) => unknown
      statement[verb] = ((...values: unknown[]) => {
        executed += 1
        return execute(...values)
      }) as never
    }
    return statement as never
  })
  const storage = openSqlite(file, testRuntime('counted'))
  return {
    ...storage,
    // A statement is prepared at its first use.
    async close() {
      await storage.close()
      spy.mockRestore()
    },
  }
}

let database: TestDatabase | undefined
afterAll(() => database?.drop())

describe.each([
  ['SQLite', openOnSqlite, SQLITE],
  ['PostgreSQL', openOnPostgres, POSTGRES],
] as const)('a batch on %s', (_, open, expected) => {
  const bench = benchFor(async () => {
    const { storage, close } = await open()
    return { storage, close, reopen: () => Promise.reject(new Error('not used')) }
  })

  it('executes the stored number of statements in each step', async () => {
    const workspaceId = await bench.workspace(2 * MESSAGES)
    await bench.webhook(workspaceId, { events: ['message.sent', 'message.delivered'] })
    const counts: Partial<Record<Step, number>> = {}
    const counted = async <T>(step: Step, work: () => Promise<T>) => {
      executed = 0
      const result = await work()
      counts[step] = executed
      return result
    }
    const requests = Array.from({ length: MESSAGES }, () => bench.make.send(workspaceId))
    const results = await counted('accept', () => bench.storage.hot.accept(requests))
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['accepted']))
    const claimed = await counted('claim', () => bench.claimMessages())
    expect(claimed).toHaveLength(MESSAGES)
    await counted('settle', () =>
      Promise.all(claimed.map((message) => bench.settle(message, DELIVERED))),
    )
    const deliveries = await counted('claim deliveries', () => bench.claimDeliveries())
    expect(deliveries).toHaveLength(2 * MESSAGES)
    const half = deliveries.slice(0, MESSAGES)
    await counted('record', () => Promise.all(half.map((delivery) => bench.record(delivery))))
    const handedOver = takeAll()
    const more = Array.from({ length: MESSAGES }, () => bench.make.send(workspaceId))
    await counted('accept and claim', () => bench.storage.hot.accept(more))
    expect(handedOver.messages).toHaveLength(MESSAGES)
    await counted('settle and claim deliveries', () =>
      Promise.all(handedOver.messages.map((message) => bench.settle(message, DELIVERED))),
    )
    expect(handedOver.deliveries).toHaveLength(2 * MESSAGES)
    expect(counts).toEqual(expected)
  })

  /** Sets lanes that have room for everything; returns what is handed over. */
  function takeAll() {
    const taken = { messages: [] as ClaimedMessage[], deliveries: [] as ClaimedDelivery[] }
    const room = <Terms, Item>(items: Item[], terms: (limit: number) => Terms) => ({
      reserve: (limit: number) => ({
        terms: terms(limit),
        handOver: (taken: Item[]) => void items.push(...taken),
        release() {},
        giveBack() {},
      }),
      queued() {},
    })
    const claim = () => ({ ...bench.time(), lease_ms: LEASE_MS, token: bench.clock.id() })
    const route = () => ({ provider: 'carrier', sender: null })
    bench.storage.hot.setLanes({
      messages: room(taken.messages, (limit) => ({ ...claim(), limit, route })),
      deliveries: room(taken.deliveries, () => ({ ...claim(), admits: () => true })),
    })
    return taken
  }
})

async function openOnSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-statement-counts-'))
  const storage = openCounted(join(folder, 'svc.db'))
  return {
    storage,
    async close() {
      await storage.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function openOnPostgres() {
  database ??= await createDatabase()
  const storage = await openPostgres(database.url, testRuntime('counted'), { clock: 'caller' })
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...values: unknown[]
  ) {
    // A notification may be sent for several batches.
    executed += sentBy(values[0]).filter(({ statement }) => statement.name !== 'notify').length
    return query.apply(this, values as never) as never
  })
  return {
    storage,
    async close() {
      spy.mockRestore()
      await storage.close()
    },
  }
}
