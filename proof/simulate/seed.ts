// The clock, and the making of keys, are replaced before the core is loaded.
import './clock.ts'
import './names.ts'
import fc from 'fast-check'
import { perform } from './actors.ts'
import { elapsedMs, running, settled } from './clock.ts'
import { askAgainAndAgain } from './codes.ts'
import { changeDomain } from './domains.ts'
import { isByHttp, openDoor } from './http.ts'
import { KEY_LIMIT, QUOTAS } from './invariants/limits.ts'
import { checkAll, checkMoment } from './invariants.ts'
import { continuePaused, prepareMailings } from './mailings.ts'
import {
  type Contact,
  createModel,
  type Hook,
  PACKAGE,
  type Place,
  PRICE_LISTS,
  PROVIDERS,
} from './model.ts'
import { countKeysFrom, setZone } from './names.ts'
import { setOutside } from './outside.ts'
import { scriptOf, shorterScripts } from './passages.ts'
import { payments } from './payments.ts'
import { providersOf } from './providers.ts'
import { LOOKS, lookAtSpending, QUESTIONS, REFUSED } from './questions.ts'
import { mixed } from './random.ts'
import { network } from './receivers.ts'
import { isAged, passWeeks, RETENTION_DAYS } from './retention.ts'
import { isFault, type Timed } from './script.ts'
import { type Connection, createWorld, makeImage, Violation } from './world.ts'

const { Sqlite } = await import('../../packages/core/src/storage/sqlite/engine/connection.ts')
const { verifyLedger } = await import('../../packages/core/src/maintenance/ledger/verify-ledger.ts')

const OPTIONS = {
  signup_credits: '60',
  credit_packages: [PACKAGE],
  payments,
  quotas: QUOTAS,
  webhook_targets: { allow_http: true, allow_nets: ['10.0.0.0/8'] },
}

/** The webhooks with which each workspace begins. */
const HOOKS = [
  { mode: 'all', form: 'svc' },
  { mode: 'live', form: 'svc' },
  { mode: 'all', form: 'twilio' },
  { mode: 'live', form: 'resend' },
] as const

/** The first webhook of each workspace is there in each seed, and each of the others in half of the seeds. */
const hasHook = (seed: number, which: number): boolean =>
  which % HOOKS.length === 0 || mixed(seed, 24, which) % 2 === 0

/** The workspaces with which each seed begins, made once for seeds with and without encrypted secrets. */
async function prepareImage(secrets_keys: readonly string[]) {
  const places: Place[] = []
  const contacts: Contact[] = []
  const hooks: Hook[] = []
  const domains: { id: string; place: number; name: string }[] = []
  const records = new Map<string, string>()
  setZone({ records, silent: new Set(), latency_ms: 0 })
  const image = await makeImage(
    { ...OPTIONS, secrets_keys, providers: providersOf(1) },
    async (core) => {
      // Makes the secret of the service, without which it does not start.
      await settled(core.unsubscribe.look('no token'))
      for (const place of [0, 1]) {
        const { id } = await settled(
          core.workspaces.create({
            email: `ops${place}@example.com`,
            password: 'a long password',
            company_name: `Workspace ${place}`,
          }),
        )
        const { key, id: key_id } = await settled(core.apiKeys.create(id, { name: 'live' }))
        const test = await settled(core.apiKeys.create(id, { name: 'test', mode: 'test' }))
        const limited = await settled(
          core.apiKeys.create(id, { name: 'limited', daily_credit_limit: KEY_LIMIT }),
        )
        const signing = await settled(core.apiKeys.create(id, { name: 'signing', signs: true }))
        contacts.push(...(await settled(prepareMailings(core, { id, key, place }))))
        places.push({
          ...{ id, key, key_id, test_key: test.key, limited_key: limited.key },
          ...{ signing_key: signing.key, signing_key_id: signing.id },
        })
        for (const name of [`acme${place}.example`, `shop${place}.example`, 'common.example']) {
          const domain = await settled(core.domains.create(id, { domain: name }))
          domains.push({ id: domain.id, place, name })
          if (!name.startsWith('acme')) continue
          for (const record of domain.records) records.set(record.name, record.value)
          await settled(core.domains.verify(id, domain.id))
        }
        for (const { mode, form } of HOOKS) {
          const receiver = hooks.length + 1
          const url = `http://10.0.0.${receiver}/hook`
          const hook = await settled(
            core.webhooks.create(id, {
              ...{ url, mode, events: ['*'], format: form },
              ...(form === 'twilio' && { api_key_id: signing.id }),
            }),
          )
          const secret = form === 'twilio' ? signing.key : hook.secret
          hooks.push({
            ...{ id: hook.id, place, receiver, mode, form, secrets: new Set([secret]) },
            ...{ hasUnknownSecret: false, off_since_ms: null, isWhole: true },
          })
        }
      }
    },
  )
  return { image, places, hooks, domains, contacts, records }
}

/** The invariants run the same texts again and again. */
function withKnownStatements(connection: Connection): Connection {
  const known = new Map<string, ReturnType<Connection['prepare']>>()
  const prepare = connection.prepare.bind(connection)
  const prepareOnce = (text: string) => {
    const statement = known.get(text) ?? prepare(text)
    known.set(text, statement)
    return statement
  }
  return Object.assign(connection, { prepare: prepareOnce as typeof connection.prepare })
}

/** The next message and the next delivery, and how long each waits. */
function firstInQueue(database: Connection): string {
  const first = (table: string) => {
    const row = database.prepare(`select * from ${table} order by due_at limit 1`).get() as
      | { due_at: number }
      | undefined
    return JSON.stringify(row && { ...row, waits_ms: row.due_at - Date.now() })
  }
  return `${first('message_queue')} ${first('delivery_queue')}`
}

/** Loads the modules that the service loads late, which takes time of the machine: one step of each kind. */
const WARMING_UP: readonly Timed[] = [
  ...[0, 1, 2]
    .flatMap(scriptOf)
    .filter(
      ({ step }, at, all) =>
        !isFault(step) && all.findIndex((one) => one.step.do === step.do) === at,
    ),
  ...Array.from({ length: QUESTIONS.length / LOOKS + 1 }, (_, which): Timed => {
    return { after_ms: 1, step: { do: 'look', workspace: 0, which } }
  }),
  ...Array.from({ length: REFUSED.length / LOOKS + 1 }, (_, which): Timed => {
    return { after_ms: 1, step: { do: 'wrong', workspace: 0, which } }
  }),
  {
    after_ms: 1,
    step: {
      do: 'mail',
      workspace: 0,
      people: [1],
      cc: 0,
      bcc: 0,
      from: 9,
      isTest: false,
      isKeyed: false,
      copies: 1,
      delay_s: 0,
      expires_s: 0,
      fate: 3,
    },
  },
]

/** In one of this number of seeds, the history is removed after days. */
const HISTORIC_SHARE = 8
const HISTORY_DAYS = 7

const isHistoric = (seed: number): boolean =>
  !isAged(seed) && mixed(seed, 20) % HISTORIC_SHARE === 0

/** The seed of the steps, for clients that call the core and for those that use HTTP. */
const WARMING_SEEDS = [false, true].map((http) =>
  Array.from({ length: 100 }, (_, seed) => seed).find(
    (seed) => isByHttp(seed) === http && !isAged(seed) && !isHistoric(seed),
  ),
)

/** By whether secrets are encrypted. */
const prepared = new Map<boolean, ReturnType<typeof prepareImage>>()
const isWarm = [false, false]

/** The result of one seed. */
export interface SeedResult {
  seed: number
  hash: string
  /** The number of operations of clients, operators and owners, and of faults. */
  operations: number
  faults: number
  counted: ReadonlyMap<string, number>
  lines: readonly string[]
  violation: Violation | null
}

/** `ledger_days` of these seeds, its minimum, and for how much longer entries are kept, because their messages may end late. */
const LEDGER_DAYS = 400
const FOLDED_AFTER_MS = 150 * 86_400_000

/** The work of a sweep, with a look-up that gets no answer. */
const DAY_WORK_MS = 7_000

/** Long enough that the owner of a webhook gets a mail about it. */
const FAILS_MS = 30 * 60_000

/** In one of this number of seeds, one person asks for codes as often as it is allowed. */
const ASKED_AGAIN_SHARE = 2

/** The changes of records of domains, by day. */
const RECORDS: readonly ({ which: number; how: 'publish' | 'unpublish' | 'rotate' } | undefined)[] =
  [
    { which: 0, how: 'publish' },
    { which: 0, how: 'unpublish' },
    { which: 3, how: 'publish' },
    { which: 0, how: 'publish' },
    { which: 3, how: 'unpublish' },
    { which: 0, how: 'rotate' },
    { which: 0, how: 'publish' },
  ]

/** Encrypts the secrets of some seeds. */
const SECRETS_KEYS = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64'))

/** The database is checked once in this number of steps of the script. */
const LOOK_EVERY = 20

/** What is left to do, how much of it is claimed, and when the first is due. */
interface Left {
  count: number
  claimed: number
  due_at: number | null
}

const LEFT = `select count(*) as count, min(due_at) as due_at, coalesce(sum(is_claimed), 0) as claimed from (
  select due_at, token is not null as is_claimed from message_queue
  union all select due_at, token is not null from delivery_queue
  union all select expires_at, 0 from credit_holds
  union all select fallback_at, 0 from verifications where fallback_at is not null and ended_at is null
  union all select next_at, 0 from broadcasts where next_at is not null
  union all select next_at, 0 from bulks where next_at is not null)`

/** Work that is due is looked at after each of these times, until the second one: lanes look for it after 250 ms, watches after a second. */
const PIECE_MS = 260
const WORK_MS = 1_300

/** The time that remains of a lease after a sleep, and how long after its time what is due later is claimed: what follows soon is claimed with it. */
const LEASE_MARGIN_MS = 1_000
const DUE_MARGIN_MS = 300

/** How often the rest is looked at before it counts as stuck. */
const ROUNDS_MAX = 300

/** Runs a script in a new world. */
export async function runSeed(
  seed: number,
  script: readonly Timed[] = scriptOf(seed),
): Promise<SeedResult> {
  const isEncrypted = mixed(seed, 21) % 3 === 0
  // What is made in the seed is encrypted with the first key. Without it, the service can read its own secrets and start.
  const secrets_keys = isEncrypted ? SECRETS_KEYS : []
  const preparing = prepared.get(isEncrypted) ?? prepareImage(secrets_keys.slice(1))
  prepared.set(isEncrypted, preparing)
  const { image, places, hooks, domains, contacts, records } = await preparing
  const way = Number(isByHttp(seed))
  if (!isWarm[way]) {
    isWarm[way] = true
    await runSeed(WARMING_SEEDS[way] as number, WARMING_UP)
  }
  const retention_days = isAged(seed) ? RETENTION_DAYS : null
  const ownHooks = hooks.filter((_, which) => hasHook(seed, which))
  const world = createWorld(seed, {
    ...OPTIONS,
    history_days: isHistoric(seed) ? HISTORY_DAYS : null,
    ledger_days: isHistoric(seed) ? LEDGER_DAYS : null,
    secrets_keys,
    providers: providersOf(seed),
    retention_days,
    image,
    lacking: hooks.filter((hook) => !ownHooks.includes(hook)).map(({ id }) => id),
    network,
    openDoor: isByHttp(seed) ? openDoor : null,
    price_lists: PRICE_LISTS,
  })
  const model = createModel(places, ownHooks, domains, contacts, records)
  countKeysFrom(domains.length)
  setZone(model.zone)
  const reading = { file: '', database: null as Connection | null }
  const database = () => {
    if (reading.file !== world.file || reading.database === null) {
      reading.database?.close()
      Object.assign(reading, {
        file: world.file,
        database: withKnownStatements(new Sqlite(world.file, { readonly: true })),
      })
    }
    return reading.database as Connection
  }
  setOutside({ world, model, database })
  const noteDeath = () => {
    model.deaths.push(elapsedMs())
    world.onDeath(noteDeath)
  }
  world.onDeath(noteDeath)
  const stage = { world, model, database }
  let operations = 0
  let faults = 0
  let violation: Violation | null = null

  async function play(): Promise<void> {
    await world.start()
    for (const [i, { after_ms, step }] of script.entries()) {
      if (after_ms > 0) await world.pass(after_ms)
      if (isFault(step)) faults += 1
      else operations += 1
      perform(stage, step)
      if (i % LOOK_EVERY === 0 && world.core) {
        checkMoment({ world, model, database: database() })
      }
    }
    model.calm = true
    // In half of the seeds one receiver needs longer.
    const receiver = model.hooks.at(-1)?.receiver
    if (receiver !== undefined && mixed(seed, 26) % 2 === 0) {
      model.failing = { receiver, until_ms: elapsedMs() + FAILS_MS }
    }
    world.forgiveCommits()
    world.trace('the faults end')
    const { settings } = world
    if (settings.without !== null || settings.isKeyMissing) {
      world.configure({ ...settings, without: null, isKeyMissing: false })
    }
    // A pause that is repeated until it has an answer may come after a resume.
    do await world.pass(2_000)
    while (model.open > 0)
    perform(stage, { do: 'resume' })
    for (const which of PROVIDERS.keys()) perform(stage, { do: 'resumeProvider', which })
    void continuePaused(stage)
    await rest()
    if (mixed(seed, 25) % ASKED_AGAIN_SHARE === 0) {
      perform(stage, { do: 'terms', workspace: 0, change: 'unfreeze' })
      perform(stage, { do: 'grant', workspace: 0, credits: 10, copies: 1, expires_s: 0 })
      await rest()
      await askAgainAndAgain(stage, async (ms) => {
        await rest()
        sleep(ms)
        await world.pass(1_000)
      })
      await rest()
    }
    await world.idle()
    checkAll({ world, model, database: database() })
    if (isHistoric(seed)) await passDays()
    if (isAged(seed)) await passWeeks(stage, rest)
    running.turn_ms = () => 0
    const report = await settled(verifyLedger(`file:${world.file}`))
    if (!report.ok) world.violate('the ledger is exact', JSON.stringify(report.differences))
  }

  /** Lets time pass until the history is removed. The ledger must be exact after it, as `verifyLedger` reads it. */
  async function passDays(): Promise<void> {
    for (let day = 0; day < HISTORY_DAYS + 3; day++) {
      // The record of a domain is missing for two days, and that of another one for longer.
      const change = RECORDS[day]
      if (change) void changeDomain(stage, { do: 'domain', ...change })
      lookAtSpending(stage)
      sleep(86_400_000)
      await world.pass(DAY_WORK_MS)
    }
    // The ledger entries of the removed messages are replaced by an opening.
    sleep(LEDGER_DAYS * 86_400_000 + FOLDED_AFTER_MS)
    await world.pass(DAY_WORK_MS)
    const openings = database().prepare('select sum(entries) from ledger_openings').pluck().get()
    world.trace(`openings replace ${openings} ledger entries`)
  }

  function sleep(ms: number): void {
    model.sleeps.push(elapsedMs())
    world.sleep(ms)
  }

  /** Lets time pass while something is due or claimed, at most `WORK_MS`. Returns what is left; null: no process is running. */
  async function passWork(): Promise<Left | null> {
    for (let passed = 0; ; passed += PIECE_MS) {
      await world.pass(PIECE_MS)
      const left = world.core && (database().prepare(LEFT).get() as Left)
      const isAtWork =
        left === null ||
        model.open + model.callbacks + left.claimed > 0 ||
        (left.due_at ?? Number.POSITIVE_INFINITY) <= Date.now()
      if (!isAtWork || passed >= WORK_MS) return left
    }
  }

  /** Lets time pass until nothing is left to do. */
  async function rest(): Promise<void> {
    let before = 0
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const left = await passWork()
      if (!left) continue
      checkMoment({ world, model, database: database() })
      const open = model.open + model.callbacks
      const reports_ms = model.reports_until_ms - elapsedMs()
      if (left.count + open === 0 && reports_ms < 0) return
      if (open > 0) continue
      // What is claimed ends before its lease; what is due later is claimed at the end of the sleep.
      const margin_ms = left.claimed > 0 ? -LEASE_MARGIN_MS : DUE_MARGIN_MS
      const wait = (left.due_at === null ? reports_ms : left.due_at - Date.now()) + margin_ms
      if (wait > 0) sleep(Math.min(wait, 86_400_000))
      // What is due and waits: at a gate, whose times a step of the clock makes longer, by at most ten minutes.
      else if (left.count === before) sleep(300_000)
      before = left.count
    }
    const { open, callbacks } = model
    world.violate(
      'nothing is stuck',
      `after ${(elapsedMs() / 3_600_000).toFixed(1)} hours; ${open} requests, ${callbacks} callbacks, ${firstInQueue(database())}`,
    )
  }

  try {
    await play()
    violation = world.violation
  } catch (error) {
    if (!(error instanceof Violation))
      world.trace(`the simulation failed: ${(error as Error).stack}`)
    violation =
      world.violation ??
      (error instanceof Violation
        ? error
        : new Violation('the simulation works', String((error as Error).stack)))
  } finally {
    reading.database?.close()
    await world.close()
  }
  return {
    seed,
    hash: world.hash(),
    operations,
    faults,
    counted: world.counted,
    lines: world.lines,
    violation,
  }
}

/** Enough for a script of 280 steps; each run takes about a second, and less as the script gets shorter. */
const RUNS_MAX = 600

/** A shorter script that breaks the same invariant with the same seed: first with fewer steps, then with simpler ones. */
export async function shrink(
  seed: number,
  script: readonly Timed[],
  invariant: string,
): Promise<readonly Timed[]> {
  let runs = 0
  const breaks = async (candidate: readonly Timed[]): Promise<boolean> => {
    if (runs >= RUNS_MAX) return false
    runs += 1
    const { violation } = await runSeed(seed, candidate)
    return violation?.invariant === invariant
  }

  let shortest = script
  for (let size = script.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < shortest.length; ) {
      const candidate = [...shortest.slice(0, at), ...shortest.slice(at + size)]
      if (await breaks(candidate)) shortest = candidate
      else at += size
    }
  }
  const { counterexample } = await fc.check(
    fc.asyncProperty(shorterScripts, async (candidate) => !(await breaks(candidate))),
    { examples: [[[...shortest]]], numRuns: 1 },
  )
  return counterexample?.[0] ?? shortest
}
