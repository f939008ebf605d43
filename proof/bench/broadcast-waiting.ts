import { setTimeout } from 'node:timers/promises'
import { openReadonly } from '../stage/database.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { CONTACTS, CONTACTS_QUICK, openAudience, statusOf } from './broadcast.ts'
import { type BenchOptions, count, type Figure } from './figure.ts'

const HOUR_MS = 3_600_000

/**
 * A broadcast to 500,000 contacts that all get it at their local time, hours later: how long the service takes to accept the
 * messages and to cancel them, how much memory it takes, and its longest turns.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const service = await startService(stage, 'service', { dispatch: true })
    const contacts = quick ? CONTACTS_QUICK : CONTACTS
    const client = await openAudience(service, contacts)
    const before = await service.child.request('memory', null)
    await service.child.request('turn', null)
    const broadcast = {
      channel: 'sms' as const,
      template: { name: 'news' },
      audience: { tags: ['all'] },
      scheduled_at: new Date(Date.now() + 10 * HOUR_MS).toISOString(),
      time_zone: 'recipient' as const,
    }
    const { id } = (await client.broadcasts.create(broadcast)).broadcast
    const accept_s = await secondsUntil(() => statusOf(service, id) === 'finished')
    const { max_ms: accept_turn } = await service.child.request('turn', null)
    assertOnce(service, id, contacts)
    await client.broadcasts.pause(id)
    await service.child.request('turn', null)
    await client.broadcasts.cancel(id)
    const cancel_s = await secondsUntil(() => queuedOf(service, id) === 0)
    const { max_ms: cancel_turn } = await service.child.request('turn', null)
    const { peak_mb } = await service.child.request('memory', null)
    const { results } = await client.broadcasts.get(id)
    if (results.canceled !== contacts) throw new Error(`canceled ${results.canceled}`)
    const raw = `${count(contacts)} contacts`
    return [
      { name: 'broadcast, accepting for later', value: contacts / accept_s, unit: '/s', raw },
      { name: 'broadcast, longest turn of accepting', value: accept_turn, unit: 'ms', raw },
      { name: 'broadcast, canceling', value: contacts / cancel_s, unit: '/s', raw },
      { name: 'broadcast, longest turn of canceling', value: cancel_turn, unit: 'ms', raw },
      { name: 'broadcast for later, memory', value: peak_mb - before.rss_mb, unit: 'MB', raw },
    ]
  })
}

async function secondsUntil(isDone: () => boolean): Promise<number> {
  const from = performance.now()
  while (!isDone()) await setTimeout(250)
  return (performance.now() - from) / 1_000
}

function queuedOf(service: Service, id: string): number {
  return numberIn(service, `select next_at is not null from broadcasts where id = '${id}'`)
}

/** Each contact has one message. */
function assertOnce(service: Service, id: string, contacts: number): void {
  const found = numberIn(
    service,
    `select count(distinct recipient) * (count(*) = count(distinct recipient)) from messages
     where bulk_id in (select id from bulks where broadcast_id = '${id}')`,
  )
  if (found !== contacts) throw new Error(`${found} of ${contacts} contacts have one message`)
}

function numberIn({ database: file }: Service, query: string): number {
  const database = openReadonly(file)
  const [row] = database.prepare(query).all() as Record<string, number>[]
  database.close()
  return Object.values(row ?? {})[0] ?? 0
}
