import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Account, openAccounts } from '../stage/accounts.ts'
import type { Query } from '../stage/database.ts'
import { openSignedEndpoint } from '../stage/endpoint.ts'
import { queryOf, startPostgres } from '../stage/postgres.ts'
import { FAULTS, type Fault, noteFaults } from '../stage/rules.ts'
import { runCommand, type Service, startService } from '../stage/serve.ts'
import type { Stage } from '../stage/stage.ts'
import { until } from '../stage/until.ts'
import { createViolations, type Violations } from '../stage/violations.ts'

const CALLERS = 6
const IDLE_MAX_MS = 120_000
/** The status codes with which a server that stops refuses a request, before any effect. */
const REFUSED = new Set([429, 503])

/** The result of a run. */
export interface UpgradeResult {
  /** The requests that were answered with 201, by the servers that could answer: old, both, new. */
  accepted: { old: number; both: number; new: number }
  migrations: string[]
  violations: Violations
}

/** Options of a run. */
export interface UpgradeOptions {
  /** The command of the older build, which gets `serve`. */
  older: readonly string[]
  /** The length of each of the three parts. */
  seconds: number
  /** Migrates also if older servers would not survive it, to see what happens. */
  force: boolean
  progress(text: string): void
}

/**
 * Runs a server of the older build under load, migrates its database and starts a server of this build beside it, and
 * then stops the older one. Each part takes `seconds`. Judges the rows, the webhooks and the answers afterwards.
 * @throws Error when a server does not start, or the migration is refused.
 */
export async function upgrade(
  stage: Stage,
  { older, seconds, force, progress }: UpgradeOptions,
): Promise<UpgradeResult> {
  const violations = createViolations()
  const postgres = await startPostgres({ stage })
  const url = await postgres.create('upgraded')
  const query = queryOf(url)
  const onForged = violations.rule('each delivery has a valid signature')
  const received = new Set<string>()
  const receiver = await openSignedEndpoint({
    receive({ id }) {
      received.add(id)
      return 200
    },
    onForged,
  })
  stage.atEnd(receiver.close)
  const serve = async (name: string, command?: readonly string[]): Promise<Service> => {
    const folder = join(stage.folder, name)
    mkdirSync(folder)
    const service = await startService({
      folder,
      env: { SVC_DATABASE_URL: url, SVC_METRICS_LISTEN: '' },
      ...(command && { command }),
    })
    stage.atEnd(() => service.end('SIGKILL'))
    return service
  }
  const command = { folder: stage.folder, env: { SVC_DATABASE_URL: url } }

  const old = await serve('old', older)
  const accounts = await openAccounts(old.url, receiver)
  const load = startLoad(accounts, violations)
  load.lead(old.url)
  progress('the older server runs')
  await pause(seconds * 1_000)
  const ofOld = load.accepted.size

  const plan = await runCommand(['migrate', '--check', '--json'], command)
  progress(`svc migrate --check exits with ${plan.code}`)
  const migrated = await runCommand(['migrate', '--json', ...(force ? ['--force'] : [])], command)
  if (migrated.code !== 0) throw new Error(migrated.output)
  const { applied: migrations } = JSON.parse(migrated.output) as { applied: string[] }
  progress(`migrated: ${migrations.join(', ') || 'nothing was missing'}`)
  const fresh = await serve('new')
  load.lead(old.url, fresh.url)
  progress('both servers run')
  await pause(seconds * 1_000)
  const ofBoth = load.accepted.size - ofOld

  load.lead(fresh.url)
  const noteEnd = violations.rule('the older server ends cleanly')
  const end = await old.end('SIGTERM')
  if (end.code !== 0) noteEnd(`${end.signal ?? end.code}`)
  progress('the older server has ended')
  await pause(seconds * 1_000)
  await load.stop()
  const ofNew = load.accepted.size - ofOld - ofBoth

  const isDone = await until(
    async () => {
      const [row] = await query<{ left: number }>(
        'select ((select count(*) from message_queue) + (select count(*) from delivery_queue))::int as left',
      )
      return row?.left === 0
    },
    { max_ms: IDLE_MAX_MS, every_ms: 200 },
  )
  if (!isDone) violations.rule('all work ends')(`there is work after ${IDLE_MAX_MS / 1_000} s`)
  await judge(violations, { query, accepted: load.accepted, received })
  for (const [name, { log }] of [
    ['older', old],
    ['new', fresh],
  ] as const) {
    const note = violations.rule(`the ${name} server reports no error`)
    for (const line of log.kept) if (/^\{"level":(50|60)/.test(line)) note(line.slice(0, 300))
  }
  await fresh.end('SIGTERM')
  const books = await runCommand(['ledger', 'verify'], command)
  if (books.code !== 0) violations.rule('svc ledger verify finds no difference')(books.output)
  return { accepted: { old: ofOld, both: ofBoth, new: ofNew }, migrations, violations }
}

/** Sends single messages and bulks to the servers that `lead` names. */
function startLoad(accounts: readonly Account[], violations: Violations) {
  const accepted = new Set<string>()
  const noteAnswer = violations.rule('each send is accepted, or refused before it has an effect')
  let servers: readonly string[] = []
  let isOver = false

  async function send(n: number, key: string): Promise<void> {
    const server = servers[n % servers.length] ?? ''
    const isBulk = n % 10 === 9
    const to = isBulk
      ? { recipients: ['+15005550006', '+15005550001'] }
      : { to: n % 4 === 0 ? '+15005550001' : '+15005550006' }
    try {
      const answer = await fetch(`${server}/api/v1/messages/${isBulk ? 'bulk' : 'send'}`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ channel: 'sms', ...to, content: { text: `${n}` } }),
      })
      const { data } = (await answer.json()) as { data?: { message_id?: string } }
      if (answer.status === 201 || answer.status === 202)
        accepted.add(data?.message_id ?? `bulk ${n}`)
      else if (!REFUSED.has(answer.status)) noteAnswer(`${answer.status}`)
    } catch (error) {
      // A server that stops closes its kept connections; whether the send was read is not known.
      if (servers.includes(server)) noteAnswer(String((error as Error).cause ?? error))
    }
  }

  let next = 0
  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    while (!isOver) {
      if (servers.length === 0) await pause(10)
      else await send(next++, accounts[i % accounts.length]?.keys.live ?? '')
    }
  })
  return {
    accepted,
    lead(...to: string[]) {
      servers = to
    },
    async stop() {
      isOver = true
      await Promise.all(callers)
    },
  }
}

async function judge(
  violations: Violations,
  {
    query,
    accepted,
    received,
  }: {
    query: Query
    accepted: ReadonlySet<string>
    received: ReadonlySet<string>
  },
): Promise<void> {
  noteFaults(await query<Fault>(FAULTS), violations)
  const stored = await query<{ id: string; status: string }>('select id, status from messages')
  const statuses = new Map(stored.map(({ id, status }) => [id, status]))
  const noteLost = violations.rule('each accepted message is stored, and ended')
  for (const id of accepted) {
    if (id.startsWith('bulk')) continue
    const status = statuses.get(id)
    if (status !== 'delivered' && status !== 'failed')
      noteLost(`${id}: ${status ?? 'is not there'}`)
  }
  const events = await query<{ id: string }>(
    `select distinct event_id as id from deliveries where status = 'delivered'`,
  )
  const noteDelivery = violations.rule('each delivery that is delivered was received')
  for (const { id } of events) if (!received.has(id)) noteDelivery(id)
}
