import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Connection, connect } from './connection.ts'
import { createWriter, type Writer } from './writer.ts'

let folder: string
let connection: Connection
let writer: Writer
let commits: number[]
let told: string[]
let undone: number[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-writer-'))
  connection = connect(join(folder, 'writer.db'))
  connection.exec('create table t (n integer primary key)')
  commits = []
  told = []
  undone = []
  writer = createWriter(connection, {
    onFailure: () => {},
    onCommit: (jobs, duration_ms) => {
      expect(duration_ms).toBeGreaterThan(0)
      commits.push(jobs)
    },
  })
})

afterEach(async () => {
  await writer.idle()
  connection.close()
  await rm(folder, { recursive: true })
})

/** A job that inserts a number and reports it after the commit. */
const job = (n: number) => () => {
  connection.prepare('insert into t (n) values (?)').run(n)
  writer.afterCommit(
    () => told.push(`${n}, in a transaction: ${connection.inTransaction}`),
    () => undone.push(n),
  )
}

it('does what was to be done after the commit once it returned, in order, and undoes nothing', async () => {
  await Promise.all([writer.run(job(1)), writer.run(job(2))])
  expect(told).toEqual(['1, in a transaction: false', '2, in a transaction: false'])
  expect([commits, undone]).toEqual([[2], []])
})

it('does it for no job that was undone', async () => {
  const failing = () => {
    job(2)()
    throw new Error('undo me')
  }
  const results = await Promise.allSettled([
    writer.run(job(1)),
    writer.run(failing),
    writer.run(job(3)),
  ])
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(told.map((line) => line[0])).toEqual(['1', '3'])
  expect(undone).toEqual([2])
})

it('runs for no job when the commit fails, nor later', async () => {
  connection.exec(
    'create table child (n integer references t (n) deferrable initially deferred) strict',
  )
  const orphan = () => {
    connection.prepare('insert into child (n) values (99)').run()
  }
  const results = await Promise.allSettled([writer.run(job(1)), writer.run(orphan)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect([told, commits, undone]).toEqual([[], [], [1]])
  await writer.run(job(2))
  expect(told.map((line) => line[0])).toEqual(['2'])
  expect([commits, undone]).toEqual([[1], [1]])
})
