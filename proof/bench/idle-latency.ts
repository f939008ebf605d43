import { setTimeout as pause } from 'node:timers/promises'
import { openConnection, sendBytes } from '../stage/connection.ts'
import { openReadonly } from '../stage/database.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, quantile } from './figure.ts'

/** The maximum time from a 201 to the call of the provider. */
const GOAL_MS = 10

/** The first messages warm up: threads start and code is compiled. */
const WARM_UP = 10

/** Pauses between the messages, long enough to finish each before the next one. */
const PAUSE_MS = { min: 40, spread: 60 }

/** Epoch milliseconds of one message's steps. */
interface Way {
  id: string
  accepted_at: number
  started_at: number
  sent_at: number
  delivered_at: number
}

/**
 * The latency of an idle service. The call to the provider is between `started_at`, when the message was claimed, and
 * `sent_at`, when the provider's answer arrived: the second is its upper bound.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const service = await startService(stage, 'service', { dispatch: true })
    const arrivals = await sendSlowly(service, WARM_UP + (quick ? 50 : 300))
    const ways = waysOf(service.database, arrivals)
    const after = (moment: 'started_at' | 'sent_at' | 'delivered_at', share: number) =>
      quantile(
        ways.map((way) => way[moment] - way.accepted_at),
        share,
      )
    const both = (moment: 'started_at' | 'delivered_at') =>
      `p50 ${count(after(moment, 0.5))} ms, p99 ${count(after(moment, 0.99))} ms`
    const raw = `from the 201 to the provider's answer, of ${ways.length} messages; to the claim: ${both('started_at')}; to delivered: ${both('delivered_at')}`
    return [
      { name: 'idle-latency p50', value: after('sent_at', 0.5), unit: 'ms', floor: GOAL_MS },
      {
        name: 'idle-latency p99',
        value: after('sent_at', 0.99),
        unit: 'ms',
        floor: GOAL_MS,
        raw,
      },
    ]
  })
}

/** Sends one message after the other with pauses; returns the time of each 201, without the warm-up. */
async function sendSlowly({ url, key, child }: Service, messages: number) {
  const connection = await openConnection(url)
  const arrivals = new Map<string, number>()
  for (let i = 0; i < messages; i++) {
    const { status, body } = await connection.request(
      sendBytes(url, key, {
        to: '+15005550006',
        channel: 'sms',
        content: { text: `Message ${i}` },
      }),
    )
    const at = Date.now()
    if (status !== 201) throw new Error(`answered ${status}: ${body}`)
    const { data } = JSON.parse(body) as { data: { message_id: string } }
    if (i >= WARM_UP) arrivals.set(data.message_id, at)
    await pause(PAUSE_MS.min + Math.random() * PAUSE_MS.spread)
  }
  await child.request('idle', null)
  connection.close()
  return arrivals
}

function waysOf(file: string, arrivals: Map<string, number>): Way[] {
  const database = openReadonly(file)
  const rows = database
    .prepare(
      `select m.id, a.started_at, m.sent_at, m.delivered_at from messages m
       join message_attempts a on a.workspace_id = m.workspace_id and a.message_id = m.id and a.number = 1
       where m.delivered_at is not null`,
    )
    .all() as Omit<Way, 'accepted_at'>[]
  database.close()
  const ways = rows.flatMap((row) => {
    const accepted_at = arrivals.get(row.id)
    return accepted_at === undefined ? [] : [{ ...row, accepted_at }]
  })
  if (ways.length === arrivals.size) return ways
  throw new Error(`only ${ways.length} of ${arrivals.size} messages were delivered`)
}
