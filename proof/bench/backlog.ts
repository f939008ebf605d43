import { type Child, startChild } from '../stage/child.ts'
import { openReadonly } from '../stage/database.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, medianOf } from './figure.ts'
import { queueMessages } from './fill.ts'
import type { LoadHandlers } from './processes/load.ts'
import type { ReceiverHandlers } from './processes/receiver.ts'
import { inTurns } from './rounds.ts'

const MESSAGES = 200_000

/** Far below the limit of accepting: the figure is about waiting, not about capacity. */
const PER_S = 100

type Paced = Omit<Awaited<ReturnType<LoadHandlers['pace']>>, 'accepted'>

interface Round extends Paced {
  /** Messages a second that were sent and left the queue. */
  sent_per_s: number
  /** Webhooks received a second. */
  reported_per_s: number
  loop_p99_ms: number
}

/**
 * The wait of accepts while 200,000 queued messages are sent and reported to a webhook: 100 sends a second, alternating
 * between a service with a backlog, which drains only during its own rounds, and a service without one.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const receiver = startChild<ReceiverHandlers>(stage, 'bench/processes/receiver.ts')
    const { url: webhook_url } = await receiver.request('start', null)
    const start = (name: string) =>
      startService(stage, name, { dispatch: true, webhook_url, webhook_events: ['message.sent'] })
    const [idle, behind] = [await start('idle'), await start('behind')]
    await behind.child.request('pause', null)
    await queueMessages(behind, quick ? MESSAGES / 4 : MESSAGES)
    const ms = quick ? 3_000 : 5_000
    const rounds = await inTurns(
      {
        async without() {
          const round = await measure({ load, receiver, service: idle }, ms)
          await idle.child.request('idle', null)
          return round
        },
        async draining() {
          await behind.child.request('resume', null)
          const round = await measure({ load, receiver, service: behind }, ms)
          await behind.child.request('pause', null)
          return round
        },
      },
      quick ? 3 : 6,
    )
    return figures(rounds.without, rounds.draining)
  })
}

async function measure(
  stage: {
    load: Child<LoadHandlers>
    receiver: Child<ReceiverHandlers>
    service: Service
  },
  ms: number,
): Promise<Round> {
  const { load, receiver, service } = stage
  const look = async () => ({
    at: performance.now(),
    queued: queuedIn(service.database),
    reported: (await receiver.request('count', null)).requests,
    delay: await service.child.request('delay', null),
  })
  const from = await look()
  const paced = await load.request('pace', { url: service.url, key: service.key, per_s: PER_S, ms })
  const to = await look()
  const seconds = (to.at - from.at) / 1_000
  return {
    ...paced,
    sent_per_s: (from.queued - to.queued + paced.sent) / seconds,
    reported_per_s: (to.reported - from.reported) / seconds,
    loop_p99_ms: to.delay.p99_ms,
  }
}

function queuedIn(file: string): number {
  const database = openReadonly(file)
  const row = database
    .prepare("select count(*) as queued from message_queue where task = 'send'")
    .get()
  database.close()
  return (row as { queued: number }).queued
}

function figures(without: readonly Round[], draining: readonly Round[]): Figure[] {
  const all = (rounds: readonly Round[], name: keyof Round) =>
    rounds.map((round) => count(round[name])).join(' ')
  const times = (quantile: 'p50' | 'p99'): Figure => {
    const name = `${quantile}_ms` as const
    return {
      name: `backlog, ${quantile} of ${PER_S} sends/s beside a draining one against none`,
      // Of the medians: a pause of the machine in one round of a pair would decide the ratio of that pair.
      value: medianOf(draining, name) / medianOf(without, name),
      unit: 'times',
      note: `${count(medianOf(draining, name))} against ${count(medianOf(without, name))} ms`,
      raw: `rounds ${all(draining, name)} ms, without ${all(without, name)} ms`,
    }
  }
  return [
    times('p50'),
    times('p99'),
    {
      name: 'backlog, drained beside those sends',
      value: medianOf(draining, 'sent_per_s'),
      unit: '/s',
      raw: `rounds ${all(draining, 'sent_per_s')}, reported to the webhook ${all(draining, 'reported_per_s')}; event loop delay p99 ${count(medianOf(draining, 'loop_p99_ms'))} ms`,
    },
  ]
}
