import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Connection, connect } from './connection.ts'
import { createWriter, type Writer, WriterBusy } from './writer.ts'

let folder: string
let connection: Connection
let reader: Connection
let failures: Error[]
let writer: Writer

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-writer-'))
  const file = join(folder, 'writer.db')
  connection = connect(file)
  connection.exec(`
    create table t (n integer primary key, parent integer references t (n) deferrable initially deferred)
  `)
  reader = connect(file, { readonly: true })
  failures = []
  writer = createWriter(connection, { onFailure: (error) => failures.push(error) })
})

afterEach(async () => {
  await writer.idle()
  reader.close()
  connection.close()
  await rm(folder, { recursive: true })
})

const insert = (n: number, parent: number | null = null) =>
  connection.prepare('insert into t (n, parent) values (?, ?)').run(n, parent)

/** What is committed, as another connection sees it. */
const committed = () => reader.prepare('select n from t order by n').pluck().all()

/** The connection, with another effect of the statement `text`. */
function faulty(text: string, run: (real: () => void) => void): Connection {
  return new Proxy(connection, {
    get(target, property) {
      if (property === 'prepare') {
        return (sql: string) => {
          const statement = target.prepare(sql)
          return sql === text ? { run: () => run(() => statement.run()) } : statement
        }
      }
      const value = Reflect.get(target, property, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function sqliteError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

describe('the writer', () => {
  it('answers what the job answered, synchronous or not', async () => {
    expect(await writer.run(() => 1)).toBe(1)
    expect(await writer.run(async () => 2)).toBe(2)
  })

  it('commits jobs that wait together in one transaction, in their order', async () => {
    let commits = 0
    const counting = faulty('commit', (real) => {
      commits += 1
      real()
    })
    const grouped = createWriter(counting, { onFailure: () => {} })
    const order: number[] = []
    const jobs = Array.from({ length: 50 }, (_, n) =>
      grouped.run(async () => {
        await setImmediate()
        insert(n)
        order.push(n)
      }),
    )
    await Promise.all(jobs)
    expect(commits).toBe(1)
    expect(order).toEqual(Array.from({ length: 50 }, (_, n) => n))
    expect(committed()).toEqual(order)
  })

  it('resolves no job before the commit', async () => {
    const seen = Array.from({ length: 20 }, (_, n) =>
      writer.run(() => insert(n)).then(() => committed().includes(n)),
    )
    expect(await Promise.all(seen)).toEqual(seen.map(() => true))
  })

  it('shows nothing of a job before its neighbours are done', async () => {
    const [, seen] = await Promise.all([
      writer.run(() => insert(1)),
      writer.run(async () => {
        await setImmediate()
        return committed()
      }),
    ])
    expect(seen).toEqual([])
    expect(committed()).toEqual([1])
  })

  it('undoes a job that throws, and no other', async () => {
    const fault = new Error('the job failed')
    const settled = await Promise.allSettled([
      writer.run(() => insert(1)),
      writer.run(() => {
        insert(2)
        throw fault
      }),
      writer.run(async () => {
        insert(3)
        await setImmediate()
        throw fault
      }),
      writer.run(() => {
        insert(4)
        insert(1)
      }),
      writer.run(() => insert(5)),
    ])
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
      'fulfilled',
    ])
    expect(settled[1]).toMatchObject({ reason: fault })
    expect(settled[2]).toMatchObject({ reason: fault })
    expect(settled[3]).toMatchObject({ reason: { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' } })
    expect(committed()).toEqual([1, 5])
  })

  it('undoes the first job of a transaction alone, and runs the others', async () => {
    const failing = async () => {
      insert(1)
      throw new Error('the job failed')
    }
    const settled = await Promise.allSettled([
      writer.run(failing),
      writer.run(failing),
      writer.run(() => insert(1)),
      writer.runInBackground(() => insert(2)),
    ])
    expect(settled.map(({ status }) => status)).toEqual([
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(committed()).toEqual([1, 2])
  })

  it('rejects all jobs when the commit fails, stores nothing, and continues', async () => {
    const settled = await Promise.allSettled([
      writer.run(() => insert(1)),
      // Only the commit detects the missing parent.
      writer.run(() => insert(2, 99)),
      writer.run(() => insert(3)),
    ])
    expect(settled).toMatchObject(
      settled.map(() => ({
        status: 'rejected',
        reason: { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' },
      })),
    )
    expect(committed()).toEqual([])
    expect(failures).toEqual([])
    await writer.run(() => insert(4))
    expect(committed()).toEqual([4])
  })

  it('rejects all jobs when one ends the transaction, and continues', async () => {
    await writer.run(() => insert(1))
    const settled = await Promise.allSettled([
      writer.run(() => insert(2)),
      writer.run(() => connection.exec('insert or rollback into t (n) values (1)')),
      writer.run(() => insert(3)),
    ])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(committed()).toEqual([1])
    await writer.run(() => insert(4))
    expect(committed()).toEqual([1, 4])
  })

  it('promises nothing more after the disk failed', async () => {
    const broken = createWriter(
      faulty('commit', () => {
        throw sqliteError('SQLITE_IOERR_FSYNC')
      }),
      { onFailure: (error) => failures.push(error) },
    )
    const jobs = [broken.run(() => insert(1)), broken.run(() => insert(2))]
    const settled = await Promise.allSettled(jobs)
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(failures.map(({ message }) => message)).toEqual([
      'the database failed; restart the service',
    ])
    await expect(broken.run(() => insert(3))).rejects.toThrow('restart the service')
    expect(committed()).toEqual([])
  })

  it('rejects all waiting jobs after a disk failure', async () => {
    const broken = createWriter(
      faulty('begin immediate', () => {
        throw sqliteError('SQLITE_IOERR')
      }),
      { onFailure: (error) => failures.push(error) },
    )
    const jobs = Array.from({ length: 300 }, (_, n) => broken.run(() => insert(n)))
    const settled = await Promise.allSettled(jobs)
    expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(failures).toHaveLength(1)
    await broken.idle()
  })

  it('goes on after a moment in which another process held the lock', async () => {
    let busy = true
    const locked = createWriter(
      faulty('begin immediate', (real) => {
        if (busy) throw sqliteError('SQLITE_BUSY')
        real()
      }),
      { onFailure: (error) => failures.push(error) },
    )
    await expect(locked.run(() => insert(1))).rejects.toThrow('SQLITE_BUSY')
    busy = false
    await locked.run(() => insert(2))
    expect(committed()).toEqual([2])
    expect(failures).toEqual([])
  })

  it('refuses more than it can hold, and does what it took', async () => {
    const taken: Promise<unknown>[] = []
    for (let n = 0; n < 10_000; n++) taken.push(writer.run(() => insert(n)))
    await expect(writer.run(() => insert(-1))).rejects.toBeInstanceOf(WriterBusy)
    await Promise.all(taken)
    expect(committed()).toHaveLength(10_000)
    await writer.run(() => insert(-1))
  })

  it('is idle when everything that was asked for is on disk', async () => {
    for (let n = 0; n < 300; n++) void writer.run(() => insert(n))
    await writer.idle()
    expect(committed()).toHaveLength(300)
    await writer.idle()
  })

  describe('with background work', () => {
    /** Adds background jobs; each records its number when it runs. */
    const inBackground = (count: number, ran: number[], each: (n: number) => void = () => {}) =>
      Array.from({ length: count }, (_, n) =>
        writer.runInBackground(() => {
          insert(n)
          ran.push(n)
          each(n)
        }),
      )

    it('runs callers first, whatever waited before them', async () => {
      const ran: number[] = []
      const background = inBackground(40, ran)
      expect(await writer.run(() => ran.length)).toBe(0)
      await Promise.all(background)
      expect(ran).toStrictEqual(Array.from({ length: 40 }, (_, n) => n))
      expect(committed()).toStrictEqual(ran)
    })

    it('lets a caller in between two jobs, and does not commit before it', async () => {
      const ran: number[] = []
      let caller: Promise<number> | undefined
      // Together they take longer than one commit may.
      const background = inBackground(40, ran, (n) => {
        const until = performance.now() + 2
        while (performance.now() < until) {
          // The job's own work.
        }
        if (n > 0) return
        caller = setImmediate().then(() =>
          writer.run(() => {
            insert(1_000)
            return ran.length
          }),
        )
      })
      await background[0]
      const before = await caller
      expect(before).toBeGreaterThan(0)
      expect(before).toBeLessThan(40)
      await Promise.all(background)
    })

    it('runs a background job in each commit, however many callers there are', async () => {
      let commits = 0
      const counting = createWriter(connection, {
        onFailure: () => {},
        onCommit: () => {
          commits += 1
        },
      })
      let left = 20
      const background = Array.from({ length: left }, () =>
        counting.runInBackground(() => {
          left -= 1
        }),
      )
      let callers = 0
      const call = async () => {
        while (left > 0) await counting.run(() => insert(callers++))
      }
      await Promise.all([call(), call(), call(), ...background])
      expect(commits).toBeLessThanOrEqual(21)
    })

    describe('on a clock', () => {
      let now: number
      /** The number of jobs of each commit. */
      let commits: number[]
      let timed: Writer

      beforeEach(() => {
        now = 0
        commits = []
        timed = createWriter(connection, {
          onFailure: (error) => failures.push(error),
          onCommit: (jobs) => commits.push(jobs),
          elapsed: () => now,
        })
      })

      const jobsOf = (count: number, each_ms: number) =>
        Array.from({ length: count }, () =>
          timed.runInBackground(() => {
            now += each_ms
          }),
        )
      const callFor = (ms: number) =>
        timed.run(() => {
          now += ms
        })

      it('commits short callers before a background job that takes longer', async () => {
        await Promise.all(jobsOf(1, 5))
        const order: string[] = []
        const job = jobsOf(1, 5).map((stored) => stored.then(() => order.push('job')))
        await callFor(1).then(() => order.push('caller'))
        await Promise.all(job)
        expect(order).toEqual(['caller', 'job'])
        expect(commits).toEqual([1, 1, 1])
      })

      it('commits callers and background jobs together if the jobs take no longer', async () => {
        await Promise.all(jobsOf(1, 5))
        await Promise.all([...jobsOf(2, 5), callFor(6)])
        expect(commits).toEqual([1, 3])
      })

      it('runs a long background job in every second commit, even with many callers', async () => {
        let left = 20
        const jobs = Array.from({ length: left }, () =>
          timed.runInBackground(() => {
            now += 5
            left -= 1
          }),
        )
        const call = async () => {
          while (left > 0) await callFor(0.1)
        }
        await Promise.all([call(), call(), call(), ...jobs])
        expect(commits.length).toBeLessThanOrEqual(41)
      })

      it('keeps commits of background jobs short while callers come', async () => {
        await Promise.all(jobsOf(24, 1))
        await callFor(1)
        await Promise.all(jobsOf(6, 1))
        now += 1_000
        await Promise.all(jobsOf(12, 1))
        expect(commits).toEqual([12, 12, 1, 3, 3, 12])
      })
    })

    it('rejects background jobs while no transaction can begin', async () => {
      const locked = createWriter(
        faulty('begin immediate', () => {
          throw sqliteError('SQLITE_BUSY')
        }),
        { onFailure: (error) => failures.push(error) },
      )
      await expect(locked.runInBackground(() => {})).rejects.toThrow('SQLITE_BUSY')
      await locked.idle()
    })

    it('refuses background work by itself: callers are still let in', async () => {
      const ran: number[] = []
      const taken = inBackground(10_000, ran)
      await expect(writer.runInBackground(() => {})).rejects.toBeInstanceOf(WriterBusy)
      await writer.run(() => insert(-1))
      await Promise.all(taken)
    })

    it('rejects what waits when the disk fails, and what ran before it', async () => {
      const broken = createWriter(
        faulty('commit', () => {
          throw sqliteError('SQLITE_IOERR_FSYNC')
        }),
        { onFailure: (error) => failures.push(error) },
      )
      const jobs = Array.from({ length: 300 }, () => broken.runInBackground(() => {}))
      const settled = await Promise.allSettled([...jobs, broken.run(() => {})])
      expect(new Set(settled.map(({ status }) => status))).toEqual(new Set(['rejected']))
      expect(failures).toHaveLength(1)
    })
  })
})
