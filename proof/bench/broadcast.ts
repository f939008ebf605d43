import { Svc } from '@svc/client'
import { signUp } from '../stage/accounts.ts'
import { startChild } from '../stage/child.ts'
import { openReadonly, openWritable } from '../stage/database.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, quantile } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'

export const CONTACTS = 500_000
export const CONTACTS_QUICK = 20_000

/** Far below the limit of accepting: the figure is about waiting, not about capacity. */
const PER_S = 100
const ROUND_MS = 3_000
const ROUNDS = 4

/** Rows of one write: the maximum that a service on the same file waits for. */
const BLOCK = 100_000

/** Milliseconds of the sends of one round. */
interface Round {
  accepted_p99: number
  sent_p99: number
}

/**
 * A broadcast to 500,000 contacts of one workspace beside single sends of another one: how much longer those wait for their 201
 * and for their provider, how much memory the service takes, and the longest turn of its event loop.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')
    const service = await startService(stage, 'service', { dispatch: true })
    const contacts = quick ? CONTACTS_QUICK : CONTACTS
    const client = await openAudience(service, contacts)

    async function round(): Promise<Round> {
      const since = Date.now()
      const pace = { url: service.url, key: service.key, per_s: PER_S, ms: ROUND_MS }
      const { p99_ms: accepted_p99 } = await load.request('pace', pace)
      // The last messages are sent some time after their 201.
      const waits_ms = waitsOf(service, { since, until: Date.now() - 500 })
      return { accepted_p99, sent_p99: quantile(waits_ms, 0.99) }
    }

    const rounds = { without: [] as Round[], beside: [] as Round[] }
    await round()
    for (let i = 0; i < ROUNDS; i++) rounds.without.push(await round())
    const before = await service.child.request('memory', null)
    await service.child.request('turn', null)
    const from = performance.now()
    const { broadcast } = await client.broadcasts.create({
      channel: 'sms',
      template: { name: 'news' },
      audience: { tags: ['all'] },
    })
    const isRunning = () => statusOf(service, broadcast.id) !== 'finished'
    // A round that the broadcast does not last for is none beside it.
    for (let isFull = true; isFull; ) {
      const one = await round()
      isFull = isRunning()
      if (isFull) rounds.beside.push(one)
    }
    const seconds = (performance.now() - from) / 1_000
    await service.child.request('idle', null)
    const { max_ms: turn } = await service.child.request('turn', null)
    const { peak_mb } = await service.child.request('memory', null)
    for (let i = 0; i < ROUNDS; i++) rounds.without.push(await round())
    const { results } = await client.broadcasts.get(broadcast.id)
    const { broadcast: ended } = await client.broadcasts.get(broadcast.id)
    if (ended.counts.accepted !== contacts || results.failed > 0) {
      throw new Error(`the broadcast has ${JSON.stringify({ counts: ended.counts, results })}`)
    }

    const times = (what: string, of: keyof Round): Figure => {
      const [without, beside] = [rounds.without, rounds.beside].map((some) =>
        some.map((one) => one[of]),
      ) as [number[], number[]]
      return {
        name: `broadcast, p99 of sends ${what} beside it against none`,
        value: median(beside) / median(without),
        unit: 'times',
        note: `${count(median(beside))} against ${count(median(without))} ms`,
        raw: `${PER_S} sends/s of another workspace; rounds ${beside.map(count).join(' ')} ms, without ${without.map(count).join(' ')} ms`,
      }
    }
    return [
      times('until 201', 'accepted_p99'),
      times('until sent', 'sent_p99'),
      {
        name: 'broadcast, growth of memory',
        value: peak_mb - before.rss_mb,
        unit: 'MB',
        raw: `peak ${count(peak_mb)} MB, ${count(before.rss_mb)} MB before; ${count(contacts)} contacts in about ${count(seconds)} s`,
      },
      { name: 'broadcast, longest turn', value: turn, unit: 'ms', raw: 'of CPU' },
    ]
  })
}

/** A workspace with a published template and contacts. */
export async function openAudience(service: Service, contacts: number): Promise<Svc> {
  const { owner } = await signUp(service.url, 'sender')
  const { key } = await owner.apiKeys.create({ name: 'broadcast' })
  const client = new Svc({ baseUrl: service.url, apiKey: key })
  const content = { text: 'Hi {{name|there}}, our offers of May are here' }
  await client.templates.create({
    name: 'news',
    variants: [{ channel: 'sms', locale: 'en', content }],
  })
  await client.templates.publish('news', {})
  await client.contacts.create({ phone: '+255711000000', name: 'Asha', tags: ['all'] })
  multiplyContact(service.database, contacts)
  return client
}

/** Makes `total` contacts of the one that there is. */
function multiplyContact(file: string, total: number): void {
  const database = openWritable(file)
  const names = database.prepare(`select name from pragma_table_info('contacts')`).all() as {
    name: string
  }[]
  const columns = names.map(({ name }) => name)
  const id = `printf('01890000-0000-7000-8000-%012x', i)`
  const values: Record<string, string> = { id, phone: `'+25572' || printf('%07d', i)` }
  const [one] = database.prepare('select id from contacts').all() as [{ id: string }]
  for (let from = 1; from < total; from += BLOCK) {
    const last = Math.min(from + BLOCK, total) - 1
    const numbers = `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${last})`
    database.exec(`insert into contacts (${columns}) ${numbers}
      select ${columns.map((column) => values[column] ?? `c.${column}`)} from n, contacts c where c.id = '${one.id}'`)
    database.exec(`insert into contact_tags (workspace_id, tag, contact_id) ${numbers}
      select t.workspace_id, t.tag, ${id} from n, contact_tags t where t.contact_id = '${one.id}'`)
  }
  database.close()
}

/** How long the messages of the other workspace waited for their provider, in milliseconds. */
function waitsOf(
  { database: file, workspace_id }: Service,
  { since, until }: { since: number; until: number },
): number[] {
  const database = openReadonly(file)
  const rows = database
    .prepare(
      `select coalesce(sent_at, ${until + 500}) - created_at as wait_ms from messages
       where workspace_id = '${workspace_id}' and created_at between ${since} and ${until}`,
    )
    .all() as { wait_ms: number }[]
  database.close()
  return rows.map(({ wait_ms }) => wait_ms)
}

export function statusOf({ database: file }: Service, id: string): string {
  const database = openReadonly(file)
  const row = database.prepare(`select status from broadcasts where id = '${id}'`).get()
  database.close()
  return (row as { status: string }).status
}
