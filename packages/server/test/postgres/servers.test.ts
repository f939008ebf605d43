import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Svc } from '@svc/client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../../core/test/postgres-database.ts'
import { type RunningServer, readConfig, startServer } from '../../src/index.ts'

let folder: string
let database: TestDatabase
let servers: RunningServer[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-servers-'))
  database = await createEmptyDatabase()
  // Only the URL of the database is set: each server has a folder of its own, as on two machines.
  const start = (name: string) =>
    startServer({
      config: readConfig({
        PORT: '0',
        SVC_DATA_DIR: join(folder, name),
        SVC_DATABASE_URL: database.url,
        SVC_SIGNUP_CREDITS: '50',
        SVC_LOG_LEVEL: 'silent',
      }),
    })
  // Both find an empty database at the same moment.
  servers = await Promise.all([start('a'), start('b')])
})

afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()))
  await database.drop()
  rmSync(folder, { recursive: true, force: true })
})

it('two servers on one database are one service', async () => {
  const [one, other] = servers.map(({ url }) => url) as [string, string]
  const signup = { email: 'owner@example.com', password: 'long enough', company_name: 'A' }
  await new Svc({ baseUrl: one }).workspaces.signup(signup)
  const { token } = await new Svc({ baseUrl: other }).workspaces.login(signup)
  // A session of one server is valid at the other.
  const { key: api_key } = await new Svc({ baseUrl: one, token }).apiKeys.create({
    name: 'A',
  })

  const clients = [one, other].map(
    (base_url) => new Svc({ baseUrl: base_url, apiKey: api_key, token }),
  )
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      clients[i % 2]?.messages.send({
        to: `+1415555${1000 + i}`,
        channel: 'sms',
        content: { text: 'Hello' },
      }),
    ),
  )
  expect(new Set(sent.map((message) => message?.message_id)).size).toBe(40)
  for (const client of clients) {
    const delivered = async () =>
      (await client.messages.list({ status: 'delivered', limit: 100 })).pagination.total
    await expect.poll(delivered, { timeout: 15_000 }).toBe(40)
    expect((await client.workspaces.account()).credits_balance).toBe(10)
  }
  // No folder has anything that another server needs.
  expect(['a', 'b'].flatMap((name) => filesIn(join(folder, name)))).toEqual([])
})

function filesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
