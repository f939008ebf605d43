import { afterEach, describe, expect, it } from 'vitest'
import { patient, postgresBench } from './bench.ts'

const bench = postgresBench()

describe('a database that takes no writes, as after a failover to a standby', () => {
  /** For sessions that begin from now on, and those that are there already. */
  async function setReadOnly(is: 'on' | 'off'): Promise<void> {
    const owner = await bench.connect()
    await owner.query('set default_transaction_read_only = off')
    const { rows } = await owner.query('select current_database() as name')
    await owner.query(`alter database ${rows[0].name} set default_transaction_read_only = ${is}`)
    await owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'svc/%'",
    )
    await owner.end()
  }
  afterEach(() => setReadOnly('off'))

  it('is not used and not called well, and is used again once it takes them', async () => {
    const workspaceId = await bench.workspace()
    await setReadOnly('on')
    await expect(bench.storage.ping()).rejects.toThrow()
    await expect(bench.accept(bench.make.send(workspaceId))).rejects.toMatchObject({
      code: 'not_done',
      message: expect.stringContaining('takes no writes'),
    })

    await setReadOnly('off')
    const accepted = async () => (await bench.accept(bench.make.send(workspaceId))).outcome
    await expect.poll(() => accepted().catch(() => 'failed'), patient).toBe('accepted')
    await expect(bench.storage.ping()).resolves.toBeUndefined()
    await bench.expectSound(workspaceId)
  })

  it('to which open sessions lead, is left by them', async () => {
    const workspaceId = await bench.workspace()
    await bench.accept(bench.make.send(workspaceId))
    // Sessions as they are when their server has become a standby under them.
    const owner = await bench.connect()
    await owner.query(`create function refuse() returns trigger language plpgsql as $$
      begin raise exception 'cannot execute INSERT in a read-only transaction' using errcode = '25006'; end $$`)
    await owner.query(
      'create trigger refuse before insert on messages for each statement execute function refuse()',
    )
    const pids = async () => {
      const { rows } = await owner.query(
        `select pid from pg_stat_activity where datname = current_database() and application_name like 'svc/%'`,
      )
      return new Set(rows.map(({ pid }) => pid))
    }
    const before = await pids()
    await expect(bench.accept(bench.make.send(workspaceId))).rejects.toThrow('went away')
    await owner.query('drop trigger refuse on messages')
    await owner.query('drop function refuse')
    expect((await bench.accept(bench.make.send(workspaceId))).outcome).toBe('accepted')
    expect([...(await pids())].every((pid) => before.has(pid))).toBe(false)
  })
})

it('a database whose disk is full is not called well, though it answers and takes small writes', async () => {
  const workspaceId = await bench.workspace()
  const owner = await bench.connect()
  await owner.query(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`)
  await owner.query(
    'create trigger refuse before insert on messages for each statement execute function refuse()',
  )
  await expect(bench.storage.ping()).resolves.toBeUndefined()
  await expect(bench.accept(bench.make.send(workspaceId))).rejects.toThrow('No space left')
  await expect(bench.storage.ping()).rejects.toThrow('the disk refused a write')
})

it('a ping commits something where nothing else is written', async () => {
  const owner = await bench.connect()
  const lsn = async () =>
    (await owner.query('select pg_current_wal_insert_lsn() as lsn')).rows[0].lsn
  const before = await lsn()
  await bench.storage.ping()
  expect(await lsn()).not.toBe(before)
})
