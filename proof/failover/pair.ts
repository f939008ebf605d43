import { join } from 'node:path'
import { type Postgres, startPostgres } from '../stage/postgres.ts'
import type { Stage } from '../stage/stage.ts'
import { until } from '../stage/until.ts'
import { type Link, openLink } from './link.ts'

/** A server, and the link that leads to it. */
export interface Member {
  postgres: Pick<Postgres, 'url' | 'query' | 'kill' | 'pause' | 'resume' | 'start'>
  link: Link
}

/** A primary with a synchronous standby. */
export interface Pair {
  /** The URL of both servers, through their links. */
  url: string
  /** The server that was promoted last. */
  primary(): Member
  /** Promotes the standby, or waits until it is promoted; returns the server that was the primary. */
  failOver(): Promise<Member>
  /** Makes the other server the synchronous standby of the primary. */
  rebuild(): Promise<void>
}

/** The URL of the servers behind these links. */
export const urlOf = (...links: readonly Link[]) =>
  `postgres://svc@${links.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres`

const STANDBY_MAX_MS = 60_000
/** More than a busy primary writes while its files are copied. */
const SETTINGS = { wal_keep_size: '512MB' }

/** Starts a pair as the page about PostgreSQL describes it. It ends with the stage. */
export async function openPair(stage: Stage): Promise<Pair> {
  const start = async (primary?: Postgres) => {
    const postgres = await startPostgres({ stage, settings: SETTINGS, ...(primary && { primary }) })
    const link = await openLink(join(postgres.folder, '.s.PGSQL.5432'))
    stage.atEnd(link.close)
    return { postgres, link }
  }
  const first = await start()
  const second = await start(first.postgres)
  let [primary, other] = [first, second]
  await protect(primary.postgres)
  return {
    url: urlOf(first.link, second.link),
    primary: () => primary,
    async failOver() {
      const [row] = await other.postgres.query<{ is_done: boolean }>(
        'select pg_promote(true, 30) as is_done',
      )
      if (!row?.is_done) throw new Error('the standby was not promoted within 30 s')
      ;[primary, other] = [other, primary]
      return other
    },
    async rebuild() {
      await other.postgres.follow(primary.postgres)
      await protect(primary.postgres)
    },
  }
}

/** Makes each commit wait for the standby. */
async function protect({ query }: Postgres): Promise<void> {
  const standby = async (condition: string) => {
    const find = `select from pg_stat_replication where ${condition}`
    const isThere = await until(async () => (await query(find)).length === 1, {
      max_ms: STANDBY_MAX_MS,
      every_ms: 50,
    })
    if (!isThere) throw new Error(`no standby with ${condition} in ${STANDBY_MAX_MS / 1_000} s`)
  }
  await query("alter system set synchronous_standby_names = '*'")
  await query('select pg_reload_conf()')
  await standby("sync_state = 'sync'")
  // The checkpointer makes the setting valid for all sessions; it reads the settings before it works.
  await query('checkpoint')
  const [now] = await query<{ lsn: string }>('select pg_current_wal_flush_lsn()::text as lsn')
  await standby(`flush_lsn >= '${now?.lsn}'`)
}
