import { setTimeout } from 'node:timers/promises'
import { Svc } from '@svc/client'
import { signUp } from '../stage/accounts.ts'
import { startChild } from '../stage/child.ts'
import { openReadonly, openWritable, type Query, queryFile } from '../stage/database.ts'
import { startPostgres } from '../stage/postgres.ts'
import { type Service, startService } from '../stage/service.ts'
import { onStage, type Stage } from '../stage/stage.ts'
import { type BenchOptions, count, type Figure, median, quantile } from './figure.ts'
import type { LoadHandlers } from './processes/load.ts'
import type { Side } from './removal.ts'

export const CONTACTS = 500_000
export const CONTACTS_QUICK = 20_000

/** Far below the limit of accepting: the figure is about waiting, not about capacity. */
const PER_S = 100
const ROUND_MS = 3_000

/** The rounds beside the broadcast for one round during a pause of it: the rounds without are spread over its whole time. */
const BESIDE_ROUNDS = 20
const BESIDE_ROUNDS_QUICK = 1

/** Rounds before the broadcast, which no figure counts: a new process is slower. */
const WARM_ROUNDS = 4

/** The last messages of a round are sent some time after their 201. */
const SENT_MS = 500

/** Rows of one write: the maximum that a service on the same file waits for. */
const BLOCK = 100_000

/** Milliseconds of the sends of one round. */
interface Round {
  accepted_p99: number
  sent_p99: number
}

/**
 * A broadcast to 500,000 contacts of one workspace beside single sends of another one: how much longer those wait for their 201
 * and for their provider than during pauses of the broadcast, how much memory the service takes, and the longest turn of its
 * event loop.
 */
export async function run({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const service = await startService(stage, 'service', { dispatch: true })
    const contacts = quick ? CONTACTS_QUICK : CONTACTS
    const client = await openAudience(service, contacts)
    const query = queryFile(service.database)
    const wait_ms = 'sent_at - created_at'
    const what = { name: 'broadcast', contacts, client, service, query, wait_ms }
    return measure(stage, what, { quick })
  })
}

/** The same on PostgreSQL. */
export async function runPostgres({ quick }: BenchOptions): Promise<Figure[]> {
  return onStage(async (stage) => {
    const { url: database_url, query } = await startPostgres({ stage })
    const service = await startService(stage, 'service', { dispatch: true, database_url })
    const contacts = quick ? CONTACTS_QUICK : CONTACTS
    const client = await openSender(service)
    await multiplyPostgres(query, contacts)
    const wait_ms = 'extract(epoch from sent_at - created_at) * 1000'
    const what = { name: 'PostgreSQL, broadcast', contacts, client, service, query, wait_ms }
    return measure(stage, what, { quick })
  })
}

async function measure(
  stage: Stage,
  {
    name,
    contacts,
    client,
    service,
    query,
    wait_ms,
  }: Side & {
    name: string
    contacts: number
    client: Svc
    /** SQL: how long a message waited for its provider. */
    wait_ms: string
  },
  { quick }: Pick<BenchOptions, 'quick'>,
): Promise<Figure[]> {
  const load = startChild<LoadHandlers>(stage, 'bench/processes/load.ts')

  async function round(): Promise<Round> {
    const pace = { url: service.url, key: service.key, per_s: PER_S, ms: ROUND_MS }
    const { accepted, p99_ms: accepted_p99 } = await load.request('pace', pace)
    await setTimeout(SENT_MS)
    const ids = accepted.map(({ id }) => `'${id}'`)
    const waits = await query<{ wait_ms: number | string | null }>(
      `select ${wait_ms} as wait_ms from messages
       where workspace_id = '${service.workspace_id}' and id in (${ids})`,
    )
    // A message without this time waited longer than all others.
    const waits_ms = waits.map((one) => Number(one.wait_ms ?? ROUND_MS))
    return { accepted_p99, sent_p99: quantile(waits_ms, 0.99) }
  }

  for (let i = 0; i < WARM_ROUNDS; i++) await round()
  const before = await service.child.request('memory', null)
  await service.child.request('turn', null)
  const { broadcast } = await client.broadcasts.create({
    channel: 'sms',
    template: { name: 'news' },
    audience: { tags: ['all'] },
  })
  const rounds = { without: [] as Round[], beside: [] as Round[] }
  let beside_ms = 0
  let turn = 0
  for (let i = 1; ; i++) {
    const from = performance.now()
    const one = await round()
    beside_ms += performance.now() - from
    // A round that the broadcast does not last for is none beside it.
    if ((await client.broadcasts.get(broadcast.id)).broadcast.status === 'finished') break
    rounds.beside.push(one)
    if (i % (quick ? BESIDE_ROUNDS_QUICK : BESIDE_ROUNDS) !== 0) continue
    if (!(await pauseUnfinished(client, broadcast.id))) break
    turn = Math.max(turn, (await service.child.request('turn', null)).max_ms)
    rounds.without.push(await round())
    await service.child.request('turn', null)
    await client.broadcasts.resume(broadcast.id)
  }
  await service.child.request('idle', null)
  turn = Math.max(turn, (await service.child.request('turn', null)).max_ms)
  const { peak_mb } = await service.child.request('memory', null)
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
      name: `${name}, p99 of sends ${what} beside it against none`,
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
      name: `${name}, growth of memory`,
      value: peak_mb - before.rss_mb,
      unit: 'MB',
      raw: `peak ${count(peak_mb)} MB, ${count(before.rss_mb)} MB before; ${count(contacts)} contacts in about ${count(beside_ms / 1_000)} s`,
    },
    { name: `${name}, longest turn`, value: turn, unit: 'ms', raw: 'of CPU' },
  ]
}

/** Returns false if the broadcast finished before its pause. */
async function pauseUnfinished(client: Svc, id: string): Promise<boolean> {
  try {
    await client.broadcasts.pause(id)
    return true
  } catch (error) {
    const { broadcast } = await client.broadcasts.get(id)
    if (broadcast.status === 'finished') return false
    throw error
  }
}

/** A workspace on SQLite with a published template and contacts. */
export async function openAudience(service: Service, contacts: number): Promise<Svc> {
  const client = await openSender(service)
  multiplyContact(service.database, contacts)
  return client
}

/** A workspace with a published template and one contact. */
async function openSender(service: Service): Promise<Svc> {
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

/** The same on PostgreSQL. */
async function multiplyPostgres(query: Query, total: number): Promise<void> {
  const rows = await query<{ name: string }>(
    `select column_name as name from information_schema.columns where table_name = 'contacts'`,
  )
  const columns = rows.map(({ name }) => name)
  const id = `'01890000-0000-7000-8000-' || lpad(to_hex(i), 12, '0')`
  const values: Record<string, string> = { id, phone: `'+25572' || lpad(i::text, 7, '0')` }
  const numbers = `generate_series(1, ${total - 1}) n(i)`
  await query(`insert into contact_tags (workspace_id, tag, contact_id)
    select t.workspace_id, t.tag, ${id} from ${numbers}, contact_tags t`)
  await query(`insert into contacts (${columns})
    select ${columns.map((column) => values[column] ?? `c.${column}`)} from ${numbers}, contacts c`)
  await query('vacuum analyze contacts, contact_tags')
}

export function statusOf({ database: file }: Service, id: string): string {
  const database = openReadonly(file)
  const row = database.prepare(`select status from broadcasts where id = '${id}'`).get()
  database.close()
  return (row as { status: string }).status
}
