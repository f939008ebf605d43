import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../src/storage/postgres/engine/connection.ts'
import { testRuntime } from '../fixtures.ts'
import { createDatabase, type TestDatabase } from '../postgres-database.ts'
import { ownerOf } from '../postgres-server.ts'

const PGBOUNCER = '/usr/sbin/pgbouncer'

let folder: string
let database: TestDatabase
const poolers: ChildProcess[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-pooler-'))
  database = await createDatabase()
})
afterAll(async () => {
  for (const child of poolers) {
    if (child.exitCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts PgBouncer before the database, and returns the URL of the database behind it. */
async function startPooler(pool_mode: string, options = ''): Promise<string> {
  const url = new URL(database.url)
  const port = await freePort()
  const name = url.pathname.slice(1)
  const host = url.searchParams.get('host') ?? decodeURIComponent(url.hostname)
  const password = decodeURIComponent(url.password)
  const login = `user=${decodeURIComponent(url.username)}${password && ` password=${password}`}`
  const file = join(folder, `${port}.ini`)
  writeFileSync(
    file,
    `[databases]
${name} = host=${host} port=${url.port || 5432} dbname=${name} ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${pool_mode}
${options}
`,
  )
  const { uid, gid } = ownerOf(folder)
  if (uid !== undefined && gid !== undefined) {
    chownSync(folder, uid, gid)
    chownSync(file, uid, gid)
  }
  const child = spawn(PGBOUNCER, [file], { uid, gid, stdio: 'ignore' })
  poolers.push(child)
  await expect.poll(() => listens(port), { timeout: 10_000 }).toBe(true)
  return `postgres://${url.username}@127.0.0.1:${port}/${name}`
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

const { log } = testRuntime('pooler')

it('takes a direct connection, however often', async () => {
  for (let i = 0; i < 3; i++) await (await connect(database.url, { log })).end()
})

describe.skipIf(!existsSync(PGBOUNCER))('behind PgBouncer', () => {
  it.each([
    ['one', 'default_pool_size = 1'],
    ['several', ''],
    ['several, in turn', 'server_round_robin = 1'],
  ])(
    'a pool of transactions with %s sessions is refused, also when it is warm',
    async (_, options) => {
      const url = await startPooler('transaction', options)
      for (let i = 0; i < 3; i++) {
        await expect(connect(url, { log })).rejects.toThrow(
          /^cannot use the PostgreSQL database .*: a pooler gives each transaction another session, .*pool_mode = session\)$/,
        )
      }
    },
  )

  it('a pool of sessions is taken', async () => {
    const url = await startPooler('session')
    for (let i = 0; i < 3; i++) await (await connect(url, { log })).end()
  })
})
