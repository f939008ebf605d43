import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openReaders, type Readers } from './readers.ts'

/** A thread that answers each query with its text and number, fails at `fail`, dies at `die`, waits at `wait`. */
const THREAD = `
  import { parentPort, threadId } from 'node:worker_threads'
  parentPort.on('message', ({ text, parameters }) => {
    if (text === 'die') process.exit(1)
    if (text === 'throw') throw new Error('thrown')
    if (text === 'fail') parentPort.postMessage({ failure: { message: 'no such table', code: 'SQLITE_ERROR' } })
    else if (text === 'wait') Atomics.wait(parameters[0], 0, 0), parentPort.postMessage({ rows: [text] })
    else parentPort.postMessage({ rows: [text, threadId] })
  })`

describe('reading threads', () => {
  let folder: string
  let opened: Readers[]
  let deaths: unknown[]
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-readers-'))
    writeFileSync(join(folder, 'thread.mjs'), THREAD)
    opened = []
    deaths = []
  })
  afterEach(async () => {
    for (const readers of opened) await readers.close()
    rmSync(folder, { recursive: true })
  })

  function open(threads = 1, idle_ms = 60_000): Readers {
    const log = { error: (fields: object) => void deaths.push(fields) }
    const worker = join(folder, 'thread.mjs')
    const readers = openReaders(join(folder, 'svc.db'), { threads, log, worker, idle_ms })
    opened.push(readers)
    return readers
  }

  /** A query that a thread answers after its release. */
  function held(readers: Readers) {
    const gate = new Int32Array(new SharedArrayBuffer(4))
    const answer = readers.query('wait', [gate], 'all')
    const letGo = () => {
      Atomics.store(gate, 0, 1)
      Atomics.notify(gate, 0)
    }
    return { answer, letGo }
  }

  it('answers in order, and each question with its own', async () => {
    const { query } = open()
    const asked = Array.from({ length: 20 }, (_, i) => `question ${i}`)
    const answers = await Promise.all(asked.map((text) => query(text, [], 'all')))
    expect(answers.map(({ rows }) => rows[0])).toEqual(asked)
    expect(new Set(answers.map(({ rows }) => rows[1])).size).toBe(1)
  })

  it('run a short query beside a long one, where there are two', async () => {
    const readers = open(2)
    const { answer, letGo } = held(readers)
    expect((await readers.query('another', [], 'all')).rows[0]).toBe('another')
    letGo()
    expect((await answer).rows).toEqual(['wait'])
  })

  it('tell what went wrong with a question, and go on', async () => {
    const { query } = open()
    await expect(query('fail', [], 'all')).rejects.toMatchObject({
      message: 'no such table',
      code: 'SQLITE_ERROR',
    })
    expect((await query('next', [], 'all')).rows[0]).toBe('next')
    expect(deaths).toEqual([])
  })

  it.each(['die', 'throw'])('that %s fail their question alone and are replaced', async (text) => {
    const { query } = open()
    const [first, dying, behind] = await Promise.allSettled(
      ['first', text, 'behind'].map((each) => query(each, [], 'all')),
    )
    expect(first).toMatchObject({ status: 'fulfilled' })
    expect(dying).toMatchObject({ status: 'rejected' })
    expect(behind).toMatchObject({ status: 'fulfilled' })
    expect(deaths).toHaveLength(1)
  })

  it('end when they are idle, but not while a query runs', async () => {
    const readers = open(2, 1)
    const { answer, letGo } = held(readers)
    const threadOf = async () => (await readers.query('which', [], 'all')).rows[1]
    const first = await threadOf()
    await expect.poll(threadOf, { interval: 20, timeout: 10_000 }).not.toBe(first)
    letGo()
    expect((await answer).rows).toEqual(['wait'])
    expect(deaths).toEqual([])
  })

  it('refuse more than may wait, as overload', async () => {
    const readers = open()
    const { answer, letGo } = held(readers)
    const waiting = Array.from({ length: 1_000 }, (_, i) => readers.query(`${i}`, [], 'all'))
    await expect(readers.query('too many', [], 'all')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
    })
    letGo()
    await Promise.all([answer, ...waiting])
  })

  it('refuse waiting queries when they are closed, and later ones', async () => {
    const readers = open()
    const { answer } = held(readers)
    const behind = readers.query('behind', [], 'all')
    const refused = [answer, behind].map((each) => expect(each).rejects.toThrow('is closed'))
    await readers.close()
    await Promise.all(refused)
    await expect(readers.query('late', [], 'all')).rejects.toThrow('the database is closed')
    expect(deaths).toEqual([])
  })
})
