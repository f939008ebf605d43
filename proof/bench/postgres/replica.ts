import { cpuOfFamily } from '../../stage/figures.ts'
import { type Postgres, startPostgres } from '../../stage/postgres.ts'
import { type Service, startService } from '../../stage/service.ts'
import { onStage } from '../../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, medianOf } from '../figure.ts'
import { fillPostgres, sendOne } from '../fill.ts'
import { timesOf } from '../lists.ts'
import { inTurns } from '../rounds.ts'

const MESSAGES = 100_000
const PATH = '/api/v1/messages'

/** The times of one round of reads, and the microseconds of CPU of each read. */
interface Round {
  times: number[]
  service: number
  primary: number
  standby: number
}

/**
 * The first page of `GET /messages`, one at a time, from a service that reads at a standby, against one that reads at the primary,
 * in turns. Besides the time: what a read costs the processors of the service, of the primary and of the standby.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  const { rounds, reads } = quick ? { rounds: 5, reads: 50 } : { rounds: 9, reads: 300 }
  return onStage(async (stage) => {
    const primary = await startPostgres({ stage })
    const first = await startService(stage, 'first', { dispatch: true, database_url: primary.url })
    await sendOne(first)
    await first.child.request('idle', null)
    const { key } = first
    await first.stop()
    await fillPostgres(primary.url, MESSAGES)
    const standby = await startPostgres({ stage, primary })
    const open = (name: string, env: Record<string, string>) =>
      startService(stage, name, { dispatch: true, database_url: primary.url, key, env })
    const services = {
      replica: await open('by replica', { SVC_DATABASE_REPLICA_URLS: standby.url }),
      primary: await open('at the primary', {}),
    }
    const readAt = (service: Service) => () => measure(service, { primary, standby, reads })
    const { replica, primary: plain } = await inTurns(
      { replica: readAt(services.replica), primary: readAt(services.primary) },
      rounds,
    )
    if (medianOf(replica, 'standby') <= medianOf(plain, 'standby')) {
      throw new Error('the standby was not read')
    }
    const [ours, theirs] = [replica, plain].map((some) =>
      median(some.flatMap((of) => of.times)),
    ) as [number, number]
    return [
      {
        name: 'PostgreSQL, a read by replica against the primary',
        value: ours / theirs,
        unit: 'times',
        note: `CPU of the primary ${count(medianOf(replica, 'primary'))} against ${count(medianOf(plain, 'primary'))} µs a read`,
        raw: `${count(ours)} against ${count(theirs)} ms; by replica ${costOf(replica)}; at the primary ${costOf(plain)}`,
      },
    ]
  })
}

function costOf(rounds: readonly Round[]): string {
  const of = (part: 'service' | 'primary' | 'standby') => count(medianOf(rounds, part))
  return `µs of CPU: service ${of('service')}, primary ${of('primary')}, standby ${of('standby')}`
}

async function measure(
  service: Service,
  { primary, standby, reads }: { primary: Postgres; standby: Postgres; reads: number },
): Promise<Round> {
  const used = async () => ({
    service: (await service.child.usage()).cpu_ms,
    primary: cpuOfFamily(primary.pid()),
    standby: cpuOfFamily(standby.pid()),
  })
  const before = await used()
  const times = await timesOf(service, PATH, reads)
  const after = await used()
  const each = (part: keyof typeof before) => ((after[part] - before[part]) * 1_000) / reads
  return { times, service: each('service'), primary: each('primary'), standby: each('standby') }
}
