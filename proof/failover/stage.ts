import { damageIn } from '../crash/postgres-stage.ts'
import {
  bagOf,
  type Fault,
  live,
  noteFault,
  type Play,
  type Stage,
  untilAccepted,
} from '../crash/stage.ts'
import { openVictims, type VictimOptions } from '../crash/victim.ts'
import { openStage, type Stage as Resources } from '../stage/stage.ts'
import { openCarrier } from './carrier.ts'
import { type Member, openPair } from './pair.ts'

/** The settings of a run of failovers. */
export interface FailoverOptions {
  /** The lease of claimed work; default: that of the server. */
  lease_ms?: number
}

const SERVERS = 2

/** A server that the old primary does not answer waits 15 s, and more on a busy machine. */
const RECOVERY_MAX_MS = 60_000

/** How a primary fails, and how it comes back before it is a standby: as a primary that does not know of the other one. */
interface Failure {
  fail(primary: Member): Promise<void>
  comeBack(primary: Member): Promise<void>
}

const FAILURES: Readonly<Record<string, Failure>> = {
  'the primary was killed': {
    fail: ({ postgres }) => postgres.kill(),
    comeBack: ({ postgres }) => postgres.start(),
  },
  'the primary was frozen': {
    fail: ({ postgres }) => postgres.pause(),
    comeBack: ({ postgres }) => postgres.resume(),
  },
  'the primary was cut off': {
    fail: async ({ link }) => link.cut(),
    comeBack: async ({ link }) => link.mend(),
  },
}

/**
 * Several servers with the URL of a primary and its synchronous standby. Each fault ends the primary, and the standby is
 * promoted at once; the old primary comes back for a moment and becomes the next standby.
 */
export async function openFailoverStage(options: FailoverOptions & VictimOptions): Promise<Stage> {
  const resources = openStage()
  try {
    return await open(resources, options)
  } catch (error) {
    await resources.close()
    throw error
  }
}

async function open(
  resources: Resources,
  options: FailoverOptions & VictimOptions,
): Promise<Stage> {
  const { lease_ms } = options
  const pair = await openPair(resources)
  const carrier = await openCarrier()
  resources.atEnd(carrier.close)
  const victims = openVictims({
    ...options,
    env: {
      SVC_DATABASE_URL: pair.url,
      SVC_PROVIDERS: carrier.providers,
      ...(lease_ms && { SVC_CRASH_LEASE_MS: String(lease_ms) }),
    },
  })
  const servers = await Promise.all(Array.from({ length: SERVERS }, victims.start))
  resources.atEnd(() => Promise.all(servers.map((server) => server.kill())))
  const urls = servers.map(({ url }) => url)
  const choose = bagOf(Object.keys(FAILURES))

  async function causeFault(play: Play): Promise<Fault[]> {
    const { chance, traffic } = play
    const kind = choose(chance)
    const { fail, comeBack } = FAILURES[kind] as Failure
    traffic.aim(urls)
    await live(play)
    traffic.slowest_ms()
    const from = performance.now()
    await fail(pair.primary())
    const old = await pair.failOver()
    const each = urls.map(async (url) => {
      await untilAccepted(kind, play, { max_ms: RECOVERY_MAX_MS, url })
      return performance.now() - from
    })
    const [first_ms, all_ms] = [await Promise.race(each), Math.max(...(await Promise.all(each)))]
    await expectUnused(old, play, async () => {
      await comeBack(old)
      await live(play)
    })
    await pair.rebuild()
    return [{ ...noteFault(kind, play), first_ms, all_ms }]
  }

  return {
    urls: () => urls,
    inletOf: (url) => servers.find((server) => server.url === url)?.smtp_url ?? null,
    causeFault,
    query: (sql) => pair.primary().postgres.query(sql),
    database_url: () => pair.primary().postgres.url,
    calls: carrier.calls,
    damage: () => damageIn(pair.primary().postgres),
    outages: true,
    log: victims.log,
    close: resources.close,
  }
}

/** Notes the transactions of a server in new sessions at an old primary while it is back: it may only ask what that primary is. */
async function expectUnused(
  { postgres }: Member,
  { violations }: Play,
  isBack: () => Promise<void>,
): Promise<void> {
  const used = violations.rule('no server works at a primary that was replaced')
  const since = new Date().toISOString()
  await isBack()
  const sessions = await postgres.query<{ query: string }>(
    `select state || ': ' || left(query, 100) as query from pg_stat_activity
     where application_name like 'svc/%' and backend_start > '${since}' and xact_start is not null
       and query not like 'select %current_setting(%'`,
  )
  for (const { query } of sessions) used(query)
}
