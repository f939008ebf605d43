import { join } from 'node:path'
import { type Core, createCore } from '@svc/core'
import { codeOf } from '../../packages/core/src/secrets/codes.ts'
import { openWritable, type Query } from '../stage/database.ts'
import { queryOf, startPostgres } from '../stage/postgres.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, rangeOf } from './figure.ts'
import { inTurns } from './rounds.ts'

const AT_ONCE = 64

/** Calls of a round, and of each side before the first round. */
const CALLS = 2_048
const WARM_CALLS = 6_000

const SHORT = 1_000
const LONG = 1_000_000

/** What differs between the engines. */
interface Engine {
  name: string
  /** The address of a new database, and queries on it. */
  create(name: string): Promise<{ url: string; query: Query }>
  /** SQL: rows with a number `i`, from 1. */
  numbers: (count: number) => string
  /** SQL: a number as text of nine digits. */
  padded: string
}

export async function run(options: BenchOptions): Promise<Figure[]> {
  return onStage((stage) =>
    figuresOf(
      stage,
      {
        name: 'codes',
        async create(name) {
          const file = join(stage.folder, `${name}.db`)
          return { url: `file:${file}`, query: writableQuery(file) }
        },
        numbers: (count) =>
          `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count}) select i from n)`,
        padded: `printf('%09d', i)`,
      },
      options,
    ),
  )
}

export async function runPostgres(options: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const server = await startPostgres({ stage })
    const engine: Engine = {
      name: 'PostgreSQL, codes',
      async create(name) {
        const url = await server.create(name)
        return { url, query: queryOf(url) }
      },
      numbers: (count) => `generate_series(1, ${count}) n(i)`,
      padded: `lpad(i::text, 9, '0')`,
    }
    return figuresOf(stage, engine, options)
  })
}

/** Starts and checks of one-time codes against sends of messages, and checks with many live verifications. */
async function figuresOf(stage: Stage, engine: Engine, options: BenchOptions): Promise<Figure[]> {
  const open = async (name: string) => openCodes(stage, await engine.create(name))
  const costs = await costsOf(engine, await open('costs'), options)
  return [...costs, ...(await scaleOf(engine, open, options))]
}

interface Codes {
  core: Core
  identity: Awaited<ReturnType<Core['apiKeys']['authenticate']>>
  query: Query
  /** A number that got no message yet. */
  newNumber(): string
}

async function openCodes(
  stage: Stage,
  { url, query }: Awaited<ReturnType<Engine['create']>>,
): Promise<Codes> {
  const core = await createCore({
    database_url: url,
    signup_credits: '1000000',
    signup_credits_on: 'signup',
    require_secrets_keys: false,
    threads: 0,
  })
  stage.atEnd(() => core.close())
  const { id } = await core.workspaces.signup({
    email: 'ops@fixture-mail.dev',
    password: 'correct horse battery',
    company_name: 'Acme',
  })
  const identityOf = async (mode: 'live' | 'test') => {
    const { key } = await core.apiKeys.create(id, { name: mode, mode, scopes: ['send_messages'] })
    return core.apiKeys.authenticate(key, '127.0.0.1')
  }
  // Most codes of a round are not approved, which would pause the country.
  await core.verifications.allow(id, 'TZ', 24)
  let last = 712_000_000
  const newNumber = () => {
    last += 1
    return `+255${last}`
  }
  // The service makes its key with the first code that it tells; here nothing is sent.
  await core.verifications.start(await identityOf('test'), { to: newNumber(), channel: 'sms' })
  return {
    core,
    identity: await identityOf('live'),
    query,
    newNumber,
  }
}

/** The processor time of a start, a wrong and a right code as multiples of that of a send. */
async function costsOf(
  { name }: Engine,
  { core, identity, query, newNumber }: Codes,
  { quick }: BenchOptions,
): Promise<Figure[]> {
  const channel = 'sms'
  const text = 'Acme: 123456 is your code. It is valid for 10 minutes.'
  let started: string[] = []
  const start = async () => {
    const { data } = await core.verifications.start(identity, { to: newNumber(), channel })
    started.push(data.verification_id)
  }
  const check = (codes: ReadonlyMap<string, string>, expected: string) => {
    const waiting = [...codes]
    return cpuOfEach(async () => {
      const [id, code] = waiting.pop() as [string, string]
      const { status } = await core.verifications.check(identity, id, { code })
      if (status !== expected) throw new Error(`a check answered ${status}`)
    })
  }
  const sides = {
    send: () =>
      cpuOfEach(() =>
        core.messages.send(identity, { to: newNumber(), channel, content: { text } }),
      ),
    start: () => {
      started = []
      return cpuOfEach(start)
    },
    // A code has six digits, so that this one is wrong.
    wrong: () => check(new Map(started.map((id) => [id, WRONG])), 'pending'),
    right: async () => check(await codesOf(query, started), 'approved'),
  }
  for (let called = 0; called < WARM_CALLS; called += CALLS) await inTurns(sides, 0)
  const used = await inTurns(sides, quick ? 3 : 9, { areWarm: true })
  const against = (side: 'start' | 'wrong' | 'right', what: string): Figure => {
    const [ours, send] = [median(used[side]), median(used.send)]
    const raw = `${count(ours)} µs of CPU (${rangeOf(used[side])}) against ${count(send)} (${rangeOf(used.send)}), ${AT_ONCE} at once; ${used.send.length} rounds of ${CALLS}`
    return { name: `${name}, ${what} : send`, value: ours / send, unit: 'times', raw }
  }
  return [
    against('start', 'start'),
    against('wrong', 'check of a wrong code'),
    against('right', 'check of a right code'),
  ]
}

/** Runs each query on a connection of its own. */
function writableQuery(file: string): Query {
  return async <Row>(sql: string) => {
    const database = openWritable(file)
    try {
      if (sql.startsWith('select')) return database.prepare(sql).all() as Row[]
      database.exec(sql)
      return []
    } finally {
      database.close()
    }
  }
}

/** The codes of verifications, derived as the service derives them. */
async function codesOf(query: Query, ids: readonly string[]): Promise<Map<string, string>> {
  const [secret] = await query<{ value: string }>("select value from secrets where name = 'codes'")
  const rows = await query<{ id: string; seed: string; code_length: number }>(
    'select id, seed, code_length from verifications where seed is not null',
  )
  const codes = new Map(
    rows.map(({ id, seed, code_length: length }) => [
      id,
      codeOf(secret?.value ?? '', { seed, length }),
    ]),
  )
  return new Map(ids.map((id) => [id, codes.get(id) ?? '']))
}

/** Microseconds of CPU of each of many calls. */
async function cpuOfEach(call: () => Promise<unknown>): Promise<number> {
  let left = CALLS
  const from = process.cpuUsage()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await call()
    }),
  )
  const { user, system } = process.cpuUsage(from)
  return (user + system) / CALLS
}

/** The median time of a check with 1,000,000 live verifications over that with 1,000, by id and by address. */
async function scaleOf(
  { name, numbers, padded }: Engine,
  open: (name: string) => Promise<Codes>,
  { quick }: BenchOptions,
): Promise<Figure[]> {
  const filled = async (name: string, rows: number) => {
    const codes = await open(name)
    const { core, identity, query, newNumber } = codes
    const { data } = await core.verifications.start(identity, { to: newNumber(), channel: 'sms' })
    await query(
      `insert into verifications (id, recipient, ${COPIED})
       select '${ID}' || ${padded}, '+255' || ${padded}, ${COPIED} from verifications, ${numbers(rows)} where id = '${data.verification_id}'`,
    )
    await query('analyze verifications')
    return codes
  }
  const sides = { short: await filled('few', SHORT), long: await filled('many', LONG) }
  const checks = quick ? 100 : 300
  const figures: Figure[] = []
  for (const [by, check] of Object.entries(CHECKS)) {
    let round = 0
    const p50 = (side: keyof typeof sides, rows: number) => async () => {
      const { core, identity } = sides[side]
      const times: number[] = []
      round += 1
      for (let i = 0; i < checks; i++) {
        // At most four wrong codes for each row. 7,919 and the numbers of rows have no common divisor: each check has a row of its own, far from the last one.
        const row = (((round * checks + i) * 7_919) % rows) + 1
        const from = performance.now()
        await check(core, identity, String(row).padStart(9, '0'))
        times.push(performance.now() - from)
      }
      return median(times)
    }
    const times = await inTurns(
      { short: p50('short', SHORT), long: p50('long', LONG) },
      quick ? 3 : 5,
    )
    const [many, few] = [median(times.long), median(times.short)]
    figures.push({
      name: `${name}, check by ${by}, ${count(LONG)} : ${count(SHORT)} live`,
      value: many / few,
      unit: 'times',
      raw: `p50 ${count(many)} ms (${rangeOf(times.long)}) against ${count(few)} ms (${rangeOf(times.short)}); ${times.long.length} rounds of ${checks}`,
    })
  }
  return figures
}

const COPIED = `workspace_id, api_key_id, livemode, channel, locale, options, status, seed, code_length, attempts, sent_at,
  message_id, credits_used, country, client_network, metadata, expires_in, created_at, updated_at, expires_at`

/** The begin of the ids of copies. */
const ID = '01890000-0000-7000-8000-000'

const WRONG = '0000000'

type Check = (core: Core, identity: Codes['identity'], row: string) => Promise<{ status: string }>

const CHECKS: Record<string, Check> = {
  id: (core, identity, row) => core.verifications.check(identity, `${ID}${row}`, { code: WRONG }),
  address: (core, identity, row) =>
    core.verifications.checkAddress(identity, { to: `+255${row}`, code: WRONG }),
}
