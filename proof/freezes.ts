/**
 * Freezes servers for longer than their lease, under load:
 *
 *   npm run freezes -- [--postgres] [--freezes 16] [--lease 4] [--rate 100] [--seed n]
 *
 * The servers send through a gateway that recognises no repetition and cannot be asked, so an outcome that the service does not
 * know ends as `outcome_unknown`. Counts the messages that failed so although the gateway never saw them, and those that the
 * gateway got twice. Exits with 1 if there are any.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Svc } from '@svc/client'
import { openVictims, type Victim } from './crash/victim.ts'
import { signUp } from './stage/accounts.ts'
import { openEndpoint } from './stage/endpoint.ts'
import { startPostgres } from './stage/postgres.ts'
import { randomFrom } from './stage/random.ts'
import { until } from './stage/until.ts'

const { values } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    freezes: { type: 'string', default: '16' },
    lease: { type: 'string', default: '4' },
    rate: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const lease_ms = Number(values.lease) * 1_000
const chance = randomFrom(Number(values.seed))

/** The time until each answer: long enough that many calls are in flight at each freeze. */
const LATENCY_MS = { min: 5, max: 400 }
const BETWEEN_MS = { min: 500, max: 2_000 }
/** Unknown outcomes end after ten minutes. */
const QUIET_MAX_MS = 12 * 60_000

const seen = new Map<string, number>()
const gateway = await openEndpoint((_path, _headers, body) => {
  const { to } = JSON.parse(body) as { to: string }
  seen.set(to, (seen.get(to) ?? 0) + 1)
  return pause(chance.between(LATENCY_MS.min, LATENCY_MS.max), {})
})

const folder = mkdtempSync(join(tmpdir(), 'svc-freezes-'))
const postgres = values.postgres ? await startPostgres() : null
const victims = openVictims({
  folder,
  node_args: process.execArgv,
  env: {
    SVC_CRASH_LEASE_MS: String(lease_ms),
    ...(postgres && { SVC_DATABASE_URL: postgres.url }),
    SVC_PROVIDERS: JSON.stringify([
      {
        name: 'gateway',
        type: 'http',
        channels: ['sms'],
        connections: 50,
        deadline_s: 2,
        send: { url: gateway.url, body: { to: '{{to}}', text: '{{text}}' } },
      },
    ]),
  },
})

const servers: Victim[] = []
try {
  for (let i = 0; i < (postgres ? 2 : 1); i++) servers.push(await victims.start())
  process.exitCode = (await run()) ? 0 : 1
} finally {
  for (const server of servers) server.signal('SIGCONT')
  await Promise.all(servers.map((server) => server.kill()))
  await postgres?.stop()
  await gateway.close()
  if (process.exitCode === 0) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  else console.log(`the output of the servers is in ${folder}`)
}

async function run(): Promise<boolean> {
  const [first] = servers as [Victim]
  const { owner } = await signUp(first.url, 'freezes')
  const { key } = await owner.apiKeys.create({ name: 'live' })
  const accepted = new Set<string>()
  let isSending = true
  const sending = send(key, accepted, () => isSending)
  for (let i = 1; i <= Number(values.freezes); i++) {
    await pause(chance.between(BETWEEN_MS.min, BETWEEN_MS.max))
    const server = servers[chance.between(0, servers.length)] as Victim
    server.signal('SIGSTOP')
    await pause(lease_ms + chance.between(500, 2_000))
    server.signal('SIGCONT')
    console.log(`freeze ${i}: ${accepted.size} messages accepted, ${seen.size} seen by the gateway`)
  }
  isSending = false
  await sending
  return report(key, accepted)
}

/** Sends to all servers in turn; a frozen server answers when it goes on. */
async function send(key: string, accepted: Set<string>, isGoing: () => boolean): Promise<void> {
  const clients = servers.map(({ url }) => new Svc({ baseUrl: url, apiKey: key }))
  const open: Promise<unknown>[] = []
  for (let i = 0; isGoing(); i++) {
    const to = `+1415${5_550_000 + i}`
    const client = clients[i % clients.length] as Svc
    open.push(
      client.messages
        .send({ channel: 'sms', to, content: { text: 'Hi' } })
        .then(() => accepted.add(to))
        .catch(() => {}),
    )
    await pause(1_000 / Number(values.rate))
  }
  await Promise.all(open)
}

async function report(key: string, accepted: ReadonlySet<string>): Promise<boolean> {
  const [first] = servers as [Victim]
  const client = new Svc({ baseUrl: first.url, apiKey: key })
  let told = 0
  const isQuiet = async () => {
    const { total } = (await client.messages.list({ limit: 1, status: 'queued' })).pagination
    if (total > 0 && told++ % 30 === 0) console.log(`${total} messages have not ended yet`)
    return total === 0
  }
  await until(isQuiet, { max_ms: QUIET_MAX_MS, every_ms: 1_000 })
  const failed: { recipient: string; error_code: string | null }[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { limit: 100, status: 'failed', ...(cursor && { cursor }) } as const
    const page = await client.messages.list(query)
    failed.push(...page.messages)
    cursor = page.next_cursor
  }
  const unknown = failed.filter(({ error_code }) => error_code === 'outcome_unknown')
  const wrong = unknown.filter(({ recipient }) => !seen.has(recipient))
  const twice = [...seen.values()].filter((times) => times > 1).length
  const missing = [...accepted].filter((to) => !seen.has(to)).length
  console.log(
    `${values.postgres ? 'PostgreSQL, 2 servers' : 'SQLite'}, ${values.freezes} freezes of more than ${values.lease} s, seed ${values.seed}: ` +
      `${accepted.size} messages; ${failed.length} failed, ${unknown.length} of them outcome_unknown, ` +
      `${wrong.length} of these never seen by the gateway; ${missing} never seen at all; ${twice} seen twice`,
  )
  return wrong.length === 0 && missing === 0 && twice === 0
}
