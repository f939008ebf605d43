import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { api } from '../src/contract/api.ts'
import { decode } from '../src/contract/endpoints/decode.ts'
import { createCore } from '../src/core.ts'
import { migrationStatus } from '../src/maintenance/archive/open.ts'
import { inspectDatabase } from '../src/maintenance/inspect/inspect.ts'
import { verifyLedger } from '../src/maintenance/ledger/verify-ledger.ts'
import { type Runtime, systemRuntime } from '../src/runtime/runtime.ts'
import { createEmptyDatabase, type TestDatabase } from './postgres-database.ts'

const FOLDER = fileURLToPath(new URL('fixtures/releases', import.meta.url))
const RELEASES = readdirSync(FOLDER).flatMap((name) => /^(.+)\.json$/.exec(name)?.[1] ?? [])

/** What the release itself answered about its database. */
interface Known {
  api_key: string
  password: string
  account: { id: string; email: string; credits_balance: number }
  messages: { id: string; status: string; updated_at: string }[]
  contacts: object[]
  suppressions: object[]
}

const keptOf = (name: string) => readFileSync(join(FOLDER, name))
const WHOLE_PAGE = { limit: 100, offset: 0 }

function onEngine(engine: string, release: string): () => Promise<string> {
  if (engine === 'SQLite') return () => sqliteOf(release)
  return async () => {
    postgres = await createEmptyDatabase()
    const client = await postgres.connect()
    await client.query(gunzipSync(keptOf(`${release}.sql.gz`)).toString())
    return postgres.url
  }
}

let folder: string
let postgres: TestDatabase | undefined
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-releases-'))
})
afterAll(async () => {
  await postgres?.drop()
  rmSync(folder, { recursive: true })
})

/** A clock that goes on a minute after the release's: whatever lapses with time has not lapsed yet. */
function runtimeAfter({ messages }: Known): Runtime {
  const end_ms = Math.max(...messages.map(({ updated_at }) => Date.parse(updated_at)))
  const behind_ms = Date.now() - (end_ms + 60_000)
  return { ...systemRuntime(), now: () => new Date(Date.now() - behind_ms) }
}

async function sqliteOf(release: string): Promise<string> {
  const file = join(folder, `${release}.db`)
  writeFileSync(file, gunzipSync(keptOf(`${release}.db.gz`)), { mode: 0o600 })
  return `file:${file}`
}

const cases = RELEASES.flatMap((release) =>
  ['SQLite', 'PostgreSQL'].map((engine) => ({ release, engine })),
)

it('there are releases to upgrade from, and schemas between them', () => {
  // Their last migrations: 6, 21, 36 and 46.
  for (const name of ['0.1.0', '0.1.0-0021', '0.1.0-0036', '0.1.0-0046']) {
    expect(RELEASES).toContain(name)
  }
})

describe.each(cases)('the database of $release on $engine', ({ release, engine }) => {
  const known = JSON.parse(keptOf(`${release}.json`).toString()) as Known
  const workspace_id = known.account.id
  let url: string
  let core: Awaited<ReturnType<typeof createCore>>
  beforeAll(async () => {
    url = await onEngine(engine, release)()
    core = await createCore({ database_url: url, threads: 0, runtime: runtimeAfter(known) })
  })
  afterAll(() => core?.close())

  it('is brought to the schema of today, and its books add up', async () => {
    expect(await migrationStatus(url)).toMatchObject({ pending: [], is_newer: false })
    expect(await verifyLedger(url)).toMatchObject({ ok: true })
    expect((await inspectDatabase(url)).faults.counts_differ).toBe(0)
  })

  it('has everything that the release had', async () => {
    const query = decode(api.messages.list.query, { limit: '100' })
    const { messages } = await core.messages.list(workspace_id, query)
    const listed = messages.map((message) => api.messages.get.data.encode({ message }).message)
    expect(listed).toMatchObject(known.messages)
    expect(await core.contacts.list(workspace_id, {}, WHOLE_PAGE)).toMatchObject({
      total: known.contacts.length,
    })
    expect(await core.suppressions.list(workspace_id, {}, WHOLE_PAGE)).toMatchObject({
      total: known.suppressions.length,
    })
    expect((await core.workspaces.account(workspace_id)).credits_balance).toBeGreaterThan(0)
    const { email } = known.account
    await core.workspaces.login({ email, password: known.password })
  })

  it('repeats what an idempotency key was answered with', async () => {
    const identity = await core.apiKeys.authenticate(known.api_key, '127.0.0.1')
    const request = decode(api.messages.send.body, {
      ...{ channel: 'sms', to: '+15005550006', content: { text: 'once' } },
    })
    const options = { idempotency_key: 'release-fixture' }
    const again = await core.messages.send(identity, request, options)
    expect(again).toMatchObject({ replayed: true })
    expect(known.messages.map(({ id }) => id)).toContain(again.data.message_id)
  })

  it('sends what had been waiting and what is new, and cancels what is scheduled', async () => {
    const [waiting, scheduled] = known.messages.filter(({ status }) => status === 'queued')
    await core.messages.cancel(workspace_id, scheduled?.id ?? '')
    const identity = await core.apiKeys.authenticate(known.api_key, '127.0.0.1')
    const request = decode(api.messages.send.body, {
      ...{ channel: 'sms', to: '+15005550006', content: { text: 'After the upgrade' } },
    })
    const sent = await core.messages.send(identity, request, {})
    await core.startDispatch()
    for (const id of [waiting?.id ?? '', sent.data.message_id]) {
      const status = async () => (await core.messages.get(workspace_id, id)).status
      await expect.poll(status, { timeout: 20_000 }).toBe('delivered')
    }
    expect(await verifyLedger(url)).toMatchObject({ ok: true })
  })
})
