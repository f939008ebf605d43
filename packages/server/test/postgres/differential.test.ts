import type { Runtime } from '@svc/core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest'
import { RUNS_ALL_CASES } from '../../../../test/all-cases.ts'
import { failCommits } from '../../../core/test/postgres-client.ts'
import { createDatabase, type TestDatabase } from '../../../core/test/postgres-database.ts'
import type { Answer } from '../every-answer.ts'
import { type Arrival, openReceiver } from '../receiver.ts'
import { openWorld } from '../world.ts'
import { type Command, commandStream, ENDPOINT_NAMES } from './command-stream.ts'
import { seededChance } from './seeded-chance.ts'

/**
 * One stream of commands, once on SQLite and once on PostgreSQL: the output is the same to the byte, ids, times,
 * keys and tokens included. For another or longer stream:
 *
 *     SVC_FUZZ_SEED=42 SVC_FUZZ_OPERATIONS=5000 npx vitest run packages/server/test/postgres/differential.test.ts
 */
const SEED = Number(process.env.SVC_FUZZ_SEED ?? 20_260_508)
// Also the shortest stream ends with the steps that no random command has served.
const COMMANDS = Number(process.env.SVC_FUZZ_OPERATIONS ?? (RUNS_ALL_CASES ? 400 : 130))

const TIME_MAX_MS = 120_000 + COMMANDS * 400

/** A wait consists of steps of this length, so that results of due work fall due within it. */
const STEPS = 5

/** The sweeper runs after this number of commands. */
const SWEPT_EVERY = 50

let chance: ReturnType<typeof seededChance>

// Leases and due times use the simulated clock, and the storage's ids have their own source: the number of ids that a
// server draws for itself depends on its engine.
vi.mock(import('../../../core/src/storage/open.ts'), async (original) => {
  const { openStorage } = await original()
  return {
    openStorage: async (url: string, runtime: Runtime, options = {}) => {
      const own = { ...runtime, ...chance.storage }
      const storage = await openStorage(url, own, { ...options, clock: 'caller' })
      return { ...storage, write: (work) => storage.write(chance.repeatable(work)) }
    },
  }
})

/** PostgreSQL repeats a transaction that conflicted with another: here, every so many. */
const REPEATED_EVERY = 20

let receiver: Awaited<ReturnType<typeof openReceiver>>
let database: TestDatabase
beforeAll(async () => {
  receiver = await openReceiver({ answer: statusFor })
  database = await createDatabase()
})
afterAll(async () => {
  await receiver.close()
  await database.drop()
})
// Tokens and durations use the process's own clock. Intervals would sweep and look at moments of one engine.
const REPLACED = ['Date', 'performance', 'setInterval', 'clearInterval'] as const
beforeEach(() => void vi.useFakeTimers({ toFake: [...REPLACED] }))
afterEach(() => void vi.useRealTimers())

/** The header in which each webhook states the answer that it expects. */
function statusFor({ headers }: Arrival): number {
  if (headers['x-svc-event'] === 'webhook.test') return 200
  if (headers['x-answer'] !== 'flaky') return Number(headers['x-answer'])
  // No 5xx: the order of answers would decide which delivery probes a receiver that counts as down.
  return headers['x-svc-attempt'] === '1' ? 400 : 200
}

/** The request and the answer in a comparable form. */
interface Exchange {
  command: Command
  status?: number
  headers?: Answer['headers']
  text?: string
}

async function play(database_url?: string) {
  receiver.arrivals.length = 0
  const world = await openWorld({
    ...(database_url && { database_url }),
    chance: (now) => {
      chance = seededChance('differential', now)
      return chance.core
    },
    dispatch: true,
    signup_credits: '3',
    rates: { general: { max: 10, window_s: 60 } },
  })
  // A request that made the key would draw it among its other numbers, in the order of its reads.
  await world.core.secret('codes')
  const stream = commandStream(SEED, {
    receiver: receiver.url,
    now: world.now,
    mails: world.core.mails,
  })

  // The lanes draw a number for each claim, and claim four times a second of real time.
  let moments = 0
  async function advance(ms: number): Promise<void> {
    vi.setSystemTime(world.now().getTime() + ms)
    moments += 1
    await chance.during(`moment ${moments}`, () => world.advance(ms))
  }

  /** What the sweep announced is delivered before the next command, which may disable its webhook. */
  async function sweep(): Promise<void> {
    await world.dispatcher.sweep()
    await world.dispatcher.idle()
  }

  async function run(command: Command, n: number): Promise<Exchange> {
    // No two events are due at the same moment.
    await advance(7)
    for (let i = 0; command.do === 'wait' && i < STEPS; i++) await advance(command.ms / STEPS)
    if (n % SWEPT_EVERY === 0) await chance.during(`sweep ${n}`, sweep)
    if (command.do === 'grant') await world.grant({ id: command.workspace_id }, command.credits)
    if (command.do !== 'request') return { command }
    const { method, path, options } = command
    const answer = await chance.during(`request ${n}`, () => world.call(method, path, options))
    await world.core.apiKeys.flush()
    await world.core.mails.idle()
    stream.learn(answer, command)
    const { date: _, ...headers } = answer.headers
    return { command, status: answer.status, headers, text: answer.text }
  }

  const exchanges: Exchange[] = []
  try {
    for (let n = 0; n < COMMANDS; n++) exchanges.push(await run(stream.next(), n))
    for (let command = stream.last(); command; command = stream.last()) {
      exchanges.push(await run(command, exchanges.length))
    }
    await advance(1_000)
    return { exchanges, arrivals: receiver.arrivals.map(textOf).sort() }
  } finally {
    await world.close()
  }
}

/**
 * A delivery at a receiver, without the headers of its connection. If the receiver fails, its deliveries wait for one of them to
 * succeed. Which one is tried, of those that fell due at the same moment, depends on the engine: only their number is compared.
 */
function textOf({ headers, body }: Arrival): string {
  if (headers['x-answer'] === '404') return 'an attempt at a receiver that fails'
  const { connection: _, ...own } = headers
  return JSON.stringify([own, body.toString()])
}

it('every answer and every delivery is the same to the byte on both engines', {
  timeout: TIME_MAX_MS,
}, async () => {
  const sqlite = await play()
  const stop = failCommits(REPEATED_EVERY)
  const postgres = await play(database.url).finally(stop)
  for (const [n, exchange] of sqlite.exchanges.entries()) {
    expect(postgres.exchanges[n], `SVC_FUZZ_SEED=${SEED}, command ${n}`).toEqual(exchange)
  }
  const only = (some: readonly string[], others: readonly string[]) =>
    some.filter((one) => !others.includes(one))
  expect({
    only_sqlite: only(sqlite.arrivals, postgres.arrivals),
    only_postgres: only(postgres.arrivals, sqlite.arrivals),
  }).toEqual({ only_sqlite: [], only_postgres: [] })
  expect(postgres.arrivals).toEqual(sqlite.arrivals)
  expectBroad(sqlite.exchanges)
  expect(sqlite.arrivals.length).toBeGreaterThan(COMMANDS / 10)
})

/** A stream in which every request is refused early would compare nothing. */
function expectBroad(exchanges: readonly Exchange[]): void {
  const seen = exchanges.flatMap(({ command, status }) =>
    command.do === 'request' ? [{ endpoint: command.endpoint, status }] : [],
  )
  const served = seen.filter(({ status = 0 }) => status < 300).map(({ endpoint }) => endpoint)
  expect([...new Set(served)].sort()).toEqual([...ENDPOINT_NAMES].sort())
  const statuses = new Set(seen.map(({ status }) => status))
  expect([...statuses].sort()).toEqual([200, 201, 400, 401, 402, 403, 404, 429])
  const texts = exchanges.map(({ text = '' }) => text).join()
  // E-mails to several recipients, some of which bounced.
  for (const part of ['"role":"bcc"', '"role":"cc"', '"message.recipients_failed"']) {
    expect(texts).toContain(part)
  }
}
