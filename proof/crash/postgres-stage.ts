import { setTimeout as pause } from 'node:timers/promises'
import { type Postgres, startPostgres } from '../stage/postgres.ts'
import type { Random } from '../stage/random.ts'
import { until } from '../stage/until.ts'
import {
  bagOf,
  type Fault,
  HAND_OVER,
  live,
  noteFault,
  type Play,
  type Stage,
  untilAccepted,
} from './stage.ts'
import { openVictims, type Victim, type VictimOptions, type Victims } from './victim.ts'

export interface PostgresStageOptions extends VictimOptions {
  /** Default duration of a stop of the database. */
  standstill_ms: number
  /** The lease of claimed work; default: that of the server. */
  lease_ms?: number | undefined
}

const SERVERS = 2

/** The number of times that connections are cut in one round. */
const CUTS = 10
const CUT_EVERY_MS = 100

/** The duration of an outage of the database. */
const AWAY_MS = { min: 0, max: 3_000 }

/** After this time from the end of a fault, requests must be accepted again. */
const RECOVERY_MAX_MS = 15_000

/** Long, because a busy machine first sends the queued messages. */
const EMPTY_MAX_MS = 120_000
/** From the return of the callers to an empty queue until a commit claims a message. */
const HAND_OVER_MAX_MS = 30_000

/** Several servers on one PostgreSQL. Faults hit a server, the database, or the connections. */
export async function openPostgresStage(options: PostgresStageOptions): Promise<Stage> {
  const postgres = await startPostgres()
  try {
    return await openStage(postgres, options)
  } catch (error) {
    await postgres.stop()
    throw error
  }
}

async function openStage(postgres: Postgres, options: PostgresStageOptions): Promise<Stage> {
  const { standstill_ms, lease_ms } = options
  const victims = openVictims({
    ...options,
    env: {
      SVC_DATABASE_URL: postgres.url,
      ...(lease_ms && { SVC_CRASH_LEASE_MS: String(lease_ms) }),
    },
  })
  const servers = await Promise.all(Array.from({ length: SERVERS }, victims.start))
  const urls = () => servers.map(({ url }) => url)
  const faults: Record<string, (play: Play) => Promise<void>> = {
    'a server was killed': (play) => killOne(servers, victims, play),
    'a server was killed between a commit and its hand-over': (play) =>
      killOne(servers, victims, play, async (victim) => {
        if (!victim.dies_at_commits) return void (await victim.killAtCommit(HAND_OVER))
        // Servers that are slower than their callers hand nothing over, so the callers wait until the queue is empty.
        play.traffic.aim([])
        await emptied(postgres, play)
        const provoke = async () => play.traffic.aim(urls())
        const isKilled = await victim.killAtCommit(HAND_OVER, {
          provoke,
          within_ms: HAND_OVER_MAX_MS,
        })
        const late = play.violations.rule('a server claims messages as it accepts them')
        if (!isKilled) late(`no such commit in ${HAND_OVER_MAX_MS / 1_000} s`)
      }),
    'the database was killed': ({ chance }) => restart(postgres, 'kill', chance),
    'the database was restarted': ({ chance }) => restart(postgres, 'shutDown', chance),
    'connections were cut': ({ chance }) => cut(postgres, chance),
    [`the database was stopped for ${standstill_ms / 1_000} s`]: () =>
      freeze(postgres, standstill_ms),
  }
  const choose = bagOf(Object.keys(faults))

  async function causeFault(play: Play): Promise<Fault[]> {
    const { chance, traffic } = play
    const kind = choose(chance)
    traffic.aim(urls())
    await live(play)
    traffic.slowest_ms()
    await faults[kind]?.(play)
    traffic.aim(urls())
    await untilAccepted(kind, play, { max_ms: RECOVERY_MAX_MS })
    return [noteFault(kind, play)]
  }

  return {
    urls,
    inletOf: (url) => servers.find((server) => server.url === url)?.smtp_url ?? null,
    causeFault,
    query: postgres.query,
    database_url: () => postgres.url,
    damage: () => damageIn(postgres),
    outages: true,
    log: victims.log,
    async close() {
      await Promise.all(servers.map((server) => server.kill()))
      await postgres.stop()
    },
  }
}

async function killOne(
  servers: Victim[],
  victims: Victims,
  { chance, traffic }: Play,
  beforeKill: (victim: Victim) => Promise<void> = async () => {},
) {
  const place = chance.between(0, servers.length)
  const victim = servers[place] as Victim
  await beforeKill(victim)
  const dead = victim.kill()
  traffic.aim(servers.filter((server) => server !== victim).map(({ url }) => url))
  await dead
  servers[place] = await victims.start()
}

async function restart(postgres: Postgres, end: 'kill' | 'shutDown', chance: Random) {
  await postgres[end]()
  await pause(chance.between(AWAY_MS.min, AWAY_MS.max))
  await postgres.start()
}

async function freeze(postgres: Postgres, ms: number) {
  await postgres.pause()
  await pause(ms)
  await postgres.resume()
}

/** Resolves when no message is queued. */
async function emptied(postgres: Postgres, { violations }: Play): Promise<void> {
  const never = violations.rule('the queue becomes empty without callers')
  const waiting = async () => {
    const [row] = await postgres.query<{ n: string }>('select count(*) as n from message_queue')
    return Number(row?.n)
  }
  const isEmpty = await until(async () => (await waiting()) === 0, {
    max_ms: EMPTY_MAX_MS,
    every_ms: 100,
  })
  if (!isEmpty) never(`${await waiting()} messages after ${EMPTY_MAX_MS / 1_000} s`)
}

/** Ends about half of the servers' sessions, several times. */
async function cut(postgres: Postgres, chance: Random) {
  for (let i = 0; i < CUTS; i++) {
    const sessions = await postgres.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name like 'svc/%' order by pid",
    )
    const pids = sessions.filter(() => chance.percent(50)).map(({ pid }) => pid)
    await postgres.query(`select pg_terminate_backend(pid) from unnest('{${pids}}'::int[]) pid`)
    await pause(CUT_EVERY_MS)
  }
}

/** Reads every page, which checks its checksum, and checks that the indexes agree with the tables. */
export async function damageIn(postgres: Pick<Postgres, 'query'>): Promise<string[]> {
  const check = `select bt_index_check(i.indexrelid, true) from pg_index i
    join pg_class c on c.oid = i.indexrelid join pg_am on pg_am.oid = c.relam
    where pg_am.amname = 'btree' and c.relpersistence <> 't' and i.indisvalid`
  try {
    await postgres.query('create extension if not exists amcheck')
    await postgres.query(check)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}
