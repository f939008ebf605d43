import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { units } from '../../src/contract/fields/units.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import { assertDurable, connect } from '../../src/storage/postgres/engine/connection.ts'
import { openPostgres } from '../../src/storage/postgres/postgres.ts'
import { SMS_PRICE } from '../fixtures.ts'
import { createEmptyDatabase } from '../postgres-database.ts'
import { startPostgres } from '../postgres-server.ts'
import { postgresBench } from './bench.ts'

const bench = postgresBench()
const runtime = systemRuntime()

/** What opening this URL fails with. */
async function faultOf(url: string): Promise<Error> {
  const storage = await openPostgres(url, runtime).catch((error: Error) => error)
  if (storage instanceof Error) return storage
  await storage.close()
  throw new Error('it opened')
}

describe('a commit', () => {
  it.each(['off', 'local', 'remote_write', 'on'])(
    'is flushed although the database has synchronous_commit=%s',
    async (setting) => {
      const owner = await bench.connect()
      const { rows } = await owner.query('select current_database() as name')
      const name = rows[0].name
      await owner.query(`alter database ${name} set synchronous_commit = ${setting}`)
      const connections = await connect(bench.url(), runtime)
      try {
        for (const pool of [connections.hot, connections.cold]) {
          const { rows } = await pool.query('show synchronous_commit')
          expect(rows).toEqual([{ synchronous_commit: 'on' }])
        }
      } finally {
        await connections.end()
        await owner.query(`alter database ${name} reset synchronous_commit`)
      }
    },
  )

  it('is waited for on the standby where that is configured', async () => {
    const client = await bench.connect()
    await client.query('set synchronous_commit = remote_apply')
    await expect(assertDurable(client)).resolves.toBeUndefined()
    await client.query('set synchronous_commit = local')
    await expect(assertDurable(client)).rejects.toThrow(
      'PostgreSQL would not flush commits to disk (fsync=on, synchronous_commit=local)',
    )
  })

  it('is refused by a session that would not flush it', async () => {
    const server = await startPostgres({ settings: { fsync: 'off' } })
    try {
      const { message } = await faultOf(server.url)
      expect(message).toMatch(
        /^cannot use the PostgreSQL database \S+ postgres: PostgreSQL would not flush commits to disk \(fsync=off, synchronous_commit=on\)$/,
      )
    } finally {
      await server.stop()
    }
  })
})

describe('a database', () => {
  it('that cannot hold every text is refused', async () => {
    const ascii = await createEmptyDatabase("encoding 'SQL_ASCII' template template0")
    try {
      expect((await faultOf(ascii.url)).message).toMatch(
        /its encoding is SQL_ASCII; svc needs UTF8$/,
      )
    } finally {
      await ascii.drop()
    }
  })

  it('refuses to change or delete a ledger entry', async () => {
    const id = await bench.workspace(1)
    const owner = await bench.connect()
    for (const statement of [
      'update ledger_entries set amount = 1',
      'delete from ledger_entries',
    ]) {
      await expect(owner.query(statement)).rejects.toThrow('ledger_entries is append-only')
    }
    expect(await bench.ledger(id)).toMatchObject([{ amount: SMS_PRICE }])
  })

  it.each([
    ['held', -1],
    ['credit_limit', -1],
    ['balance', 1_000_000_000_000_000],
    ['balance', -1_000_000_000_000_000],
  ])('refuses an account whose %s is %d', async (column, value) => {
    const id = await bench.workspace(1)
    const owner = await bench.connect()
    const update = `update credit_accounts set ${column} = $1 where workspace_id = $2`
    await expect(owner.query(update, [value, id])).rejects.toThrow(/violates check constraint/)
  })

  it('whose numbers no program could count exactly is read by no verb', async () => {
    const id = await bench.workspace(1)
    const owner = await bench.connect()
    await owner.query('update credit_accounts set seq = 9007199254740993 where workspace_id = $1', [
      id,
    ])
    await expect(bench.account(id)).rejects.toThrow('9007199254740993 is past 2^53')
    await expect(bench.accept(bench.make.send(id))).rejects.toThrow('9007199254740993 is past 2^53')
  })
})

describe('an error', () => {
  const everything = (error: unknown) =>
    inspect(error, { depth: 10, showHidden: true, maxStringLength: null })

  it.each([
    ['nothing listens', 'postgres://svc:hunter2@127.0.0.1:1/svc'],
    ['the host does not exist', 'postgres://svc:hunter2@no-such-host.invalid/svc'],
    ['the address is nonsense', 'postgres://svc:hunter2@[nonsense/svc'],
    ['the port is nonsense', 'postgres://svc:hunter2@localhost:hunter2/svc'],
    ['the password is part of the name', 'postgres://svc:hunter2@127.0.0.1:1/hunter2'],
  ])('does not show the password when %s', async (_, url) => {
    const error = await faultOf(url)
    expect(error.message).toMatch(
      /^cannot use the PostgreSQL database |^database_url is not a valid /,
    )
    expect(everything(error)).not.toContain('hunter2')
  })

  it('names a database that does not exist, in one line', async () => {
    const url = new URL(bench.url())
    url.pathname = '/nowhere'
    url.password = 'hunter2'
    const error = await faultOf(url.href)
    expect(error.message).toMatch(/nowhere: database "nowhere" does not exist$/)
    expect(everything(error)).not.toContain('hunter2')
  })

  it('does not show the values of the statement', async () => {
    const { make, storage } = bench
    const key = make.apiKey(await bench.workspace(), { name: 'a private name' })
    const insert = () => storage.write(({ apiKeys }) => apiKeys.insert(key))
    await insert()
    const request = make.send(key.workspace_id, {
      recipient: '+255711111111',
      credits_used: units(0),
    })
    await storage.hot.accept([request])
    const faults = [
      await insert().catch((error) => error),
      await storage.hot.accept([request]).catch((error) => error),
      await storage.read.messages
        .list(
          key.workspace_id,
          { recipient: '\0+255711111111' },
          {
            limit: 1,
            offset: 0,
          },
        )
        .catch((error) => error),
    ]
    expect(faults).toMatchObject([
      { code: '23505', constraint: 'api_keys_workspace_id_id_pk' },
      { code: '23505', constraint: 'messages_workspace_id_id_pk' },
      { code: '22021' },
    ])
    for (const fault of faults) {
      for (const value of [key.key_hash, 'a private name', '+255711111111', key.workspace_id]) {
        expect(everything(fault)).not.toContain(value)
      }
    }
  })
})
