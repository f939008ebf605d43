import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  databaseOn,
  parsers,
  pipelineOn,
  statement,
} from '../../src/storage/postgres/engine/database.ts'

import { createEmptyDatabase, type TestDatabase } from '../postgres-database.ts'

let database: TestDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await createEmptyDatabase()
  pool = new pg.Pool({
    connectionString: database.url,
    types: parsers,
    max: 1,
    pipeline: true,
    query_timeout: 10_000,
  })
  // `end` resolves before the server has ended the session, so the removal of the database may end it with an error.
  pool.on('connect', (client) => client.on('error', () => {}))
})
afterAll(async () => {
  await pool?.end()
  await database?.drop()
})

const open = () => databaseOn(pool, { random: Math.random, answer_max_ms: 10_000 })
const quotient = statement<{ q: number }>('quotient', 'select 6 / $1::int as q')
const other = statement<{ text: string }>('other', `select 'x' || $1::text as text`)

describe('statements that travel together', () => {
  it('return the rows of each', async () => {
    const found = await open().transact((tx) =>
      Promise.all([tx.rows(quotient, 3), tx.rows(other, 'y'), tx.rows(quotient, 1)]),
    )
    expect(found).toEqual([[{ q: 2 }], [{ text: 'xy' }], [{ q: 6 }]])
  })

  it('return values as they were sent', async () => {
    const texts = ['', 'NULL', 'a "b" \\ {c,d}', null, '€ 🎉']
    const at = new Date('2026-05-04T09:00:00.123Z')
    const echo = statement('echo', 'select $1::text[] as a, $2::timestamptz[] as b, $3::text as c')
    expect(await open().rows(echo, texts, [at, null], null)).toEqual([
      { a: texts, b: [at, null], c: null },
    ])
  })

  it('fail together, and each can be sent again', async () => {
    const half = statement<{ q: number }>('half', 'select $1::int / $2::int as q')
    const late = statement<{ n: number }>('late', 'select $1::int as n')
    const failed = open().transact((tx) =>
      Promise.all([tx.rows(other, 'z'), tx.rows(half, 1, 0), tx.rows(late, 1)]),
    )
    await expect(failed).rejects.toMatchObject({ code: '22012' })
    const found = await open().transact((tx) =>
      Promise.all([tx.rows(half, 4, 2), tx.rows(late, 7)]),
    )
    expect(found).toEqual([[{ q: 2 }], [{ n: 7 }]])
  })

  it('can be sent again after a batch between two others failed', async () => {
    const share = statement<{ q: number }>('share', 'select 12 / $1::int as q')
    const failed = open().transact(async (tx) => {
      for (const by of [1, 0, 2]) {
        void tx.rows(share, by)
        // Each batch is sent before the database has answered the one before.
        await new Promise<void>((resolve) => process.nextTick(resolve))
      }
    })
    await expect(failed).rejects.toMatchObject({ code: '22012' })
    expect(await open().rows(share, 3)).toEqual([{ q: 4 }])
  })
})

describe('a transaction', () => {
  beforeEach(() => pool.query('drop table if exists notes; create table notes (text text)'))
  const note = statement('note', 'insert into notes values ($1)')
  const notes = async () => (await pool.query('select text from notes')).rows

  it('writes nothing when its work fails before its statements were sent', async () => {
    const failed = open().transact(async (tx) => {
      void tx.rows(note, 'lost')
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    expect(await notes()).toEqual([])
    await open().transact((tx) => tx.rows(note, 'kept'))
    expect(await notes()).toEqual([{ text: 'kept' }])
  })

  it('writes nothing when a value cannot be sent', async () => {
    const at = statement('at', 'select $1::timestamptz as at')
    const failed = open().transact(async (tx) => {
      void tx.rows(note, 'lost')
      void tx.rows(at, new Date(Number.NaN))
    })
    await expect(failed).rejects.toThrow(RangeError)
    await open().transact((tx) => tx.rows(note, 'kept'))
    expect(await notes()).toEqual([{ text: 'kept' }])
  })

  it('writes nothing when a statement fails that travels with the commit', async () => {
    const failed = open().transact(async (tx) => {
      void tx.rows(note, 'lost')
      void tx.rows(quotient, 0)
    })
    await expect(failed).rejects.toMatchObject({ code: '22012' })
    await open().transact((tx) => tx.rows(note, 'kept'))
    expect(await notes()).toEqual([{ text: 'kept' }])
  })
})

it('plans for an empty table are made again after a while', async () => {
  const client = await pool.connect()
  const { now } = performance
  try {
    await client.query(`create table queue (id text primary key);
                        set plan_cache_mode = force_generic_plan;
                        set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off`)
    await client.query('vacuum queue')
    const take = statement(
      'take',
      'select q.id from unnest($1::text[]) r(id) join queue q on q.id = r.id',
    )
    const explain = statement<Record<'QUERY PLAN', string>>(
      'explain',
      `explain (costs off) execute take('{1}')`,
    )
    const planned = async () => {
      const { run } = pipelineOn(client)
      const [, lines] = await Promise.all([run(take, [['1']]), run(explain)])
      return (lines as Record<'QUERY PLAN', string>[]).map((line) => line['QUERY PLAN']).join()
    }
    expect(await planned()).not.toContain('Index Cond')
    await client.query('insert into queue select i::text from generate_series(1, 10000) i')
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 5_000)
    expect(await planned()).toContain('Index Cond')
  } finally {
    vi.restoreAllMocks()
    client.release(true)
  }
})
