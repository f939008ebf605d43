import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { api } from '../src/contract/api.ts'
import { decode } from '../src/contract/decode.ts'
import { createCore } from '../src/core.ts'
import { migrationStatus } from '../src/storage/archive/open.ts'
import { verifyLedger } from '../src/storage/ledger/verify-ledger.ts'
import { connect } from '../src/storage/sqlite/connection.ts'
import { createDatabase, type TestDatabase } from './postgres-database.ts'

const FOLDER = fileURLToPath(new URL('fixtures/releases', import.meta.url))
const RELEASES = readdirSync(FOLDER).flatMap((name) => /^(.+)\.json$/.exec(name)?.[1] ?? [])

/** What the release itself answered about its database. */
interface Known {
  api_key: string
  password: string
  account: { id: string; email: string; credits_balance: number }
  messages: { id: string; status: string; scheduled_at: string | null; metadata: object }[]
  contacts: object[]
  suppressions: object[]
}

const keptOf = (name: string) => readFileSync(join(FOLDER, name))
const WHOLE_PAGE = { page: 1, limit: 100 }

function onEngine(engine: string, release: string): () => Promise<string> {
  if (engine === 'SQLite') return () => sqliteOf(release)
  return async () => {
    postgres = await createDatabase()
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

async function sqliteOf(release: string): Promise<string> {
  const file = join(folder, `${release}.db`)
  writeFileSync(file, gunzipSync(keptOf(`${release}.db.gz`)), { mode: 0o600 })
  return `file:${file}`
}

const cases = RELEASES.flatMap((release) =>
  ['SQLite', 'PostgreSQL'].map((engine) => ({ release, engine })),
)

it('there is a release to upgrade from', () => {
  expect(RELEASES).toContain('0.1.0')
})

describe.each(cases)('the database of $release on $engine', ({ release, engine }) => {
  const known = JSON.parse(keptOf(`${release}.json`).toString()) as Known
  const workspace_id = known.account.id
  let url: string
  let core: Awaited<ReturnType<typeof createCore>>
  beforeAll(async () => {
    url = await onEngine(engine, release)()
    core = await createCore({ database_url: url, threads: 0 })
  })
  afterAll(() => core?.close())

  it('is brought to the schema of today, and its books add up', async () => {
    expect(await migrationStatus(url)).toMatchObject({ pending: [], is_newer: false })
    expect(await verifyLedger(url)).toMatchObject({ ok: true })
  })

  it('has everything that the release had', async () => {
    const query = decode(api.messages.list.query, { limit: '100' })
    const { messages, ...page } = await core.messages.list(workspace_id, query)
    const listed = api.messages.list.data.encode({ messages, ...page })
    expect(listed.messages).toMatchObject(known.messages)
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
    expect(await core.messages.send(identity, request, options)).toMatchObject({
      replayed: Date.now() < Date.parse('2026-11-22'),
    })
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

it('a database that knows a migration which this program does not is refused in one line', async () => {
  const url = await sqliteOf('0.1.0')
  await (await createCore({ database_url: url, threads: 0 })).close()
  const database = connect(url.slice('file:'.length))
  database.prepare("update svc_migrations set hash = 'of tomorrow' where rowid = 1").run()
  database.close()
  await expect(createCore({ database_url: url, threads: 0 })).rejects.toThrow(
    /^the database was made by a newer version of svc; install that version, or restore an older backup$/,
  )
})
