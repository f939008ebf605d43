import { createCore } from '@svc/core'
import { RATES } from '@svc/core/contract'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createDatabase, type TestDatabase } from '../../../core/test/postgres-database.ts'
import { buildApp } from '../../src/app.ts'
import { type Account, accountsOf, sms } from '../accounts.ts'
import { type Call, callerOf } from '../call.ts'
import { refusal } from '../refusal.ts'
import { JWT_SECRET } from '../world.ts'

let database: TestDatabase
let owner: Account
let key: string
let call: Call
let app: Awaited<ReturnType<typeof buildApp>>
let balance: () => Promise<number>
let close: () => Promise<void>
const overload = { requests: 100, delay_ms: Number.POSITIVE_INFINITY }
/** A session that holds locks. */
let other: Awaited<ReturnType<TestDatabase['connect']>>
beforeAll(async () => {
  database = await createDatabase()
  // The time limits of a request end it, and not those of one step.
  const core = await createCore({ database_url: database.url, threads: 0, answer_max_ms: 120_000 })
  app = await buildApp(core, {
    config: { jwt_secret: JWT_SECRET, rates: RATES, trust_proxy: [], overload },
  })
  close = async () => {
    await app.close()
    await core.close()
  }
  call = callerOf(app).call
  const accounts = accountsOf(core, call)
  owner = await accounts.signup({ credits: 100 })
  key = (await accounts.key(owner)).key
  balance = () => accounts.balance(owner)
  other = await database.connect()
})
afterAll(async () => {
  await close?.()
  await database?.drop()
})
afterEach(async () => {
  vi.useRealTimers()
  overload.requests = 100
  await other.query('rollback')
})

const send = (headers: Record<string, string> = {}) =>
  call('POST', '/api/v1/messages/send', { key, json: sms, headers })

const messages = async () =>
  (await other.query<{ n: number }>('select count(*)::int as n from messages')).rows[0]?.n

const hold = async (statement: string) => {
  await other.query('begin')
  await other.query(statement)
}

/** Whether a statement of the service waits for a lock. Other tests use the same server. */
const isWaiting = async () =>
  ((
    await other.query(
      'select from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database()',
    )
  ).rowCount ?? 0) > 0

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** The answer to a request that waits for a lock; it comes after exactly this time. */
async function answerAfter(ms: number, request: () => ReturnType<typeof send>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const ended = vi.fn()
  const answering = request()
  void answering.then(ended)
  while (!(await isWaiting())) await turn()
  await vi.advanceTimersByTimeAsync(ms - 1)
  expect(ended).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  // The answer is written in a few turns of the event loop.
  for (let turns = 0; turns < 100; turns++) await turn()
  expect(ended).toHaveBeenCalled()
  vi.useRealTimers()
  return answering
}

const TOO_BUSY = refusal('rate_limit_exceeded', 'Too many requests. Please try again later.')

describe('a request while the database waits', () => {
  it('is refused without an effect when it is not admitted within 9.5 s: 429', async () => {
    await hold('lock table rate_counters in access exclusive mode')
    const { status, headers, body } = await answerAfter(9_500, send)
    await other.query('rollback')
    expect([status, headers['retry-after'], body]).toStrictEqual([429, '5', TOO_BUSY])
    // The counting that was late has ended before.
    expect((await send()).status).toBe(201)
    expect([await messages(), await balance()]).toStrictEqual([1, 99])
  })

  it('has an unknown outcome when its work takes longer than 15 s: 500', async () => {
    await hold('lock table credit_accounts in access exclusive mode')
    const { status, body } = await answerAfter(15_000, send)
    expect([status, body]).toStrictEqual([
      500,
      refusal('internal_error', 'Internal server error. Please try again later.'),
    ])
    await other.query('rollback')
    await expect.poll(messages).toBe(2)
    expect(await balance()).toBe(98)
  })

  it('with an idempotency key is answered after 9.5 s of work, and its repetition gets the stored answer', async () => {
    await hold('lock table credit_accounts in access exclusive mode')
    const repeat = () => send({ 'idempotency-key': 'slow' })
    const { status, headers, body } = await answerAfter(9_500, repeat)
    expect([status, headers['retry-after'], body]).toStrictEqual([429, '5', TOO_BUSY])
    await other.query('rollback')
    const stored = await repeat()
    expect([stored.status, stored.headers['idempotent-replayed']]).toStrictEqual([201, 'true'])
    expect([await messages(), await balance()]).toStrictEqual([3, 97])
  })

  it('counts as load until its work ends, also after its answer', async () => {
    await hold('lock table credit_accounts in access exclusive mode')
    expect((await answerAfter(9_500, () => send({ 'idempotency-key': 'load' }))).status).toBe(429)
    overload.requests = 1
    // It would wait for the lock if there was room.
    expect((await send()).status).toBe(429)
    await other.query('rollback')
    await expect.poll(messages).toBe(4)
    await expect.poll(async () => (await send()).status, { timeout: 20_000 }).toBe(201)
    overload.requests = 100
    expect([await messages(), await balance()]).toStrictEqual([5, 95])
  })

  it('has no limit without a key where its work may ask other hosts first', async () => {
    await hold('lock table credit_accounts in access exclusive mode')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const ended = vi.fn()
    const answering = app.inject({
      method: 'POST',
      url: '/compat/resend/emails',
      headers: { authorization: `Bearer ${key}` },
      payload: { from: 'a@shop.example', to: 'b@example.com', subject: 'Hi', text: 'Hi' },
    })
    void answering.then(ended)
    while (!(await isWaiting())) await turn()
    await vi.advanceTimersByTimeAsync(15_000)
    for (let turns = 0; turns < 100; turns++) await turn()
    expect(ended).not.toHaveBeenCalled()
    vi.useRealTimers()
    await other.query('rollback')
    expect((await answering).statusCode).toBe(200)
  })
})
