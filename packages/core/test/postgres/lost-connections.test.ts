import { once } from 'node:events'
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { connect } from '../../src/storage/postgres/engine/connection.ts'
import { databaseOn } from '../../src/storage/postgres/engine/database.ts'
import { SMS_PRICE, testRuntime } from '../fixtures.ts'
import { only } from '../storage/bench.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()

let other: pg.Client
beforeEach(async () => {
  other = await bench.connect()
})
afterEach(() => other?.end())

describe('connections that are lost', () => {
  /**
   * Cuts every connection of the storage; answers how many there were. Waits until they are closed, or only asks the
   * server to close them.
   */
  async function cut({ wait_ms = 10_000 } = {}): Promise<number> {
    const { rowCount } = await other.query(
      "select pg_terminate_backend(pid, $1) from pg_stat_activity where application_name like 'svc/%' and datname = current_database()",
      [wait_ms],
    )
    return rowCount ?? 0
  }

  it('while unused fail no call', async () => {
    const id = await bench.workspace(2)
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    expect(await cut()).toBeGreaterThan(0)
    await bench.storage.ping()
    await cut()
    expect(await bench.accept(bench.make.send(id))).toEqual({ outcome: 'accepted' })
    await cut()
    await bench.storage.write(({ credits }) => credits.post(id, bench.make.grant(SMS_PRICE)))
    await cut()
    expect(await bench.account(id)).toMatchObject({ balance: SMS_PRICE, seq: 4 })
  })

  it('in the middle of the work lose nothing that was answered, and charge nothing twice', async () => {
    const id = await bench.workspace(100_000)
    const accepted: string[] = []
    let going = true
    const callers = Array.from({ length: 16 }, async () => {
      while (going) {
        const request = bench.make.send(id)
        const answer = await bench.accept(request).catch(() => null)
        if (answer?.outcome === 'accepted') accepted.push(only(request.messages).id)
      }
    })
    for (let i = 0; i < 15; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40))
      await cut({ wait_ms: 0 })
    }
    going = false
    await Promise.all(callers)

    await bench.expectSound(id)
    const { messages } = bench.storage.read
    const stored = await messages.list(id, {}, { limit: 1_000_000, offset: 0 })
    const known = new Set(stored.map((message) => message.id))
    expect(accepted.filter((message) => !known.has(message))).toEqual([])
    expect(accepted.length).toBeGreaterThan(0)
  })

  it.each([
    ['by the server before the transaction began, repeat it', { R: 'ProcessInterrupts' }, 'done'],
    ['by a pooler, which does not know what ran, do not', {}, 'commit_unknown'],
  ])('%s', async (_, fields, fate) => {
    const proxy = await openProxy(inject('postgresUrl'))
    const pool = new pg.Pool({ connectionString: proxy.url, max: 1 })
    pool.on('connect', (client) => client.on('error', () => {})).on('error', () => {})
    const database = databaseOn(pool, { random: () => 0, answer_max_ms: 10_000 })
    await pool.query('select 1')
    proxy.endAtNextQuery(errorResponse({ ...TERMINATION, ...fields }))
    const answer = await database
      .transact(async (tx) => void tx.rows({ name: 'one', text: 'select 1' }))
      .then(() => 'done')
      .catch(({ code }) => code)
    expect(answer).toBe(fate)
    await pool.end()
    await proxy.close()
  })

  it('in the read that completes them do not end the process', async () => {
    const proxy = await openProxy(inject('postgresUrl'))
    const connections = await connect(proxy.url, { log: testRuntime('lost').log })
    proxy.cutNext()
    const client = await connections.connect?.()
    await expect(client?.query('select 1')).rejects.toThrow()
    await connections.end()
    await proxy.close()
  })
})

const READY = Buffer.from('Z\0\0\0\u0005I', 'latin1')
const TERMINATION = { S: 'FATAL', V: 'FATAL', C: '57P01', M: 'terminated' }

function errorResponse(fields: Record<string, string>): Buffer {
  const texts = Object.entries(fields).map(([type, text]) => `${type}${text}\0`)
  const body = Buffer.from(`${texts.join('')}\0`)
  const head = Buffer.from('E\0\0\0\0')
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/**
 * Passes connections to a database. Ends one with an error behind the first `ReadyForQuery` after `cutNext`, or with a
 * message in place of the answer to a query.
 */
async function openProxy(url: string) {
  const { host, port, user, password, database } = new pg.Client(url)
  const sockets = new Set<Socket>()
  let cuts = false
  let ending: Buffer | null = null
  const server = createServer((near) => {
    const far = host.startsWith('/')
      ? connectSocket(`${host}/.s.PGSQL.${port}`)
      : connectSocket({ host, port })
    const isCut = cuts
    cuts = false
    let startup = Buffer.alloc(0)
    near.on('data', (chunk) => {
      if (!ending) return far.write(chunk)
      near.end(ending)
      ending = null
    })
    far.on('data', (chunk) => {
      if (!isCut) return near.write(chunk)
      startup = Buffer.concat([startup, chunk])
      if (startup.includes(READY)) near.end(Buffer.concat([startup, errorResponse(TERMINATION)]))
    })
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => [near, far].map((each) => each.destroy()))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `postgres://${user}${password ? `:${encodeURIComponent(password)}` : ''}@127.0.0.1:${(server.address() as AddressInfo).port}/${database}`,
    cutNext() {
      cuts = true
    },
    endAtNextQuery(message: Buffer) {
      ending = message
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
