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
import { openPatroniPair } from './patroni.ts'

/** The settings of a run of failovers. */
export interface FailoverOptions {
  /** The lease of claimed work; default: that of the server. */
  lease_ms?: number
  /** Whether Patroni of the Debian packages promotes, in place of the stage. */
  has_patroni?: boolean
}

const SERVERS = 2

/** The maximum time from a failure until each server accepts a message; a server waits 15 s for the answers of a frozen primary. */
export const RECOVERY_MAX_MS = 60_000

/** How a primary fails, and how it comes back before it is a standby: as a primary that does not know of the other one. */
interface Failure {
  /** Patroni does not notice the failure. */
  is_hidden?: true
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
    is_hidden: true,
    fail: async ({ link }) => link.cut(),
    comeBack: async ({ link }) => link.mend(),
  },
}

/**
 * Several servers with the URL of a primary and its synchronous standby. Each fault ends the primary, and the standby is
 * promoted, at once or by Patroni; the old primary comes back and becomes the next standby.
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
  const { lease_ms, has_patroni = false } = options
  const pair = await (has_patroni ? openPatroniPair : openPair)(resources)
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
  const choose = bagOf(
    Object.keys(FAILURES).filter((kind) => !(has_patroni && FAILURES[kind]?.is_hidden)),
  )

  async function causeFault(play: Play): Promise<Fault[]> {
    const { chance, traffic } = play
    const kind = choose(chance)
    const { fail, comeBack } = FAILURES[kind] as Failure
    const unread = play.violations.rule('the link reads the statements of the servers')
    const used = play.violations.rule('no server works at a primary that was replaced')
    traffic.aim(urls)
    const before = await statementsAt(pair.primary(), () => live(play))
    if (before.length === 0) unread(kind)
    traffic.slowest_ms()
    const from = performance.now()
    await fail(pair.primary())
    const old = await pair.failOver()
    const each = urls.map(async (url) => {
      await untilAccepted(kind, play, { max_ms: RECOVERY_MAX_MS, url })
      return performance.now() - from
    })
    const [first_ms, all_ms] = [await Promise.race(each), Math.max(...(await Promise.all(each)))]
    const after = await statementsAt(old, async () => {
      await comeBack(old)
      await live(play)
    })
    for (const text of after) used(text.slice(0, 100))
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

/** The statements that servers run at a member during `work`, without those that only ask what a new connection leads to. */
async function statementsAt({ link }: Member, work: () => Promise<void>): Promise<string[]> {
  const endWatch = link.watch()
  await work()
  return endWatch().filter((text) => !IS_CHECK.test(text))
}

/** Set-up and checks of a new connection, in the engine of PostgreSQL. */
const IS_CHECK =
  /^select (?:set_config\(key|current_setting\('fsync'|not pg_is_in_recovery\(|s\.system_identifier)/
