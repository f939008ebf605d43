import { describe, expect, it } from 'vitest'
import { type Checkpoint, createLogWatch } from './after-commit.ts'

const MIB = 1024 * 1024

/** A watch whose clock, log and checkpoints are set by hand. A commit comes every second. */
function watched() {
  const state = {
    now: 0,
    mib: 0,
    checkpoints: 0,
    result: { is_complete: true } as Checkpoint | Error,
  }
  const notes: [fields: object, text: string][] = []
  const watch = createLogWatch({
    log: { warn: (fields, text) => void notes.push([fields, text]) },
    logBytes: () => state.mib * MIB,
    checkpoint() {
      state.checkpoints += 1
      if (state.result instanceof Error) throw state.result
      return state.result
    },
    now: () => state.now,
  })
  function commit(mib: number): void {
    state.now += 1_000
    state.mib = mib
    watch.committed()
  }
  return { state, notes, watch, commit }
}

const refused = (code: string) => Object.assign(new Error('secret text'), { code })

describe('the watch over the log of SQLite', () => {
  it('leaves a log to the automatic checkpoints that does not outgrow them', () => {
    const { state, commit } = watched()
    for (const mib of [1, 8, 9, 15, 16]) commit(mib)
    expect(state.checkpoints).toBe(0)
  })

  it('makes a checkpoint when the log grows beyond 16 MiB, and only while it grows', () => {
    const { state, notes, watch, commit } = watched()
    for (const mib of [17, 17, 17, 20, 20]) commit(mib)
    expect(state.checkpoints).toBe(2)
    expect(watch.fault()).toBeNull()
    expect(notes).toEqual([])
  })

  it('looks at most once a second', () => {
    const { state, watch, commit } = watched()
    commit(17)
    state.mib = 30
    state.now += 999
    watch.committed()
    expect(state.checkpoints).toBe(1)
    state.now += 1
    watch.committed()
    expect(state.checkpoints).toBe(2)
  })

  it('reports a checkpoint that fails, each cause once, and its end', () => {
    const { state, notes, watch, commit } = watched()
    state.result = refused('SQLITE_IOERR_WRITE')
    for (const mib of [17, 18, 18]) commit(mib)
    expect(state.checkpoints).toBe(3)
    expect(watch.fault()).toBe('SQLITE_IOERR_WRITE')
    state.result = refused('SQLITE_FULL')
    commit(19)
    expect(watch.fault()).toBe('SQLITE_FULL')
    state.result = { is_complete: true }
    commit(19)
    expect(watch.fault()).toBeNull()
    expect(notes).toEqual([
      [
        { reason: 'SQLITE_IOERR_WRITE', log_mib: 17 },
        expect.stringContaining('cannot write its log back'),
      ],
      [
        { reason: 'SQLITE_FULL', log_mib: 19 },
        expect.stringContaining('cannot write its log back'),
      ],
      [{ log_mib: 19 }, 'SQLite writes its log back again'],
    ])
  })

  it('reports once a log that a long read keeps beyond 256 MiB, which is no fault', () => {
    const { state, notes, watch, commit } = watched()
    state.result = { is_complete: false }
    for (const mib of [100, 200, 257, 258, 300]) commit(mib)
    expect(notes).toEqual([[{ log_mib: 257 }, expect.stringContaining('a long read')]])
    commit(64)
    for (const mib of [250, 260]) commit(mib)
    expect(notes).toHaveLength(2)
    expect(watch.fault()).toBeNull()
    expect(state.checkpoints).toBe(7)
  })

  describe('with a thread that writes the log back', () => {
    /** A thread whose write-backs end when the test says so. */
    function withThread() {
      const state = { now: 0, waiting: 0, checkpoints: 0, runs: 0, mib: 0 }
      let end = (_error?: Error) => {}
      const watch = createLogWatch({
        logBytes: () => state.mib * MIB,
        checkpoint() {
          state.checkpoints += 1
          return { is_complete: true }
        },
        behind: {
          waiting: () => state.waiting,
          run() {
            state.runs += 1
            return new Promise<void>((resolve, reject) => {
              end = (error) => (error ? reject(error) : resolve())
            })
          },
        },
        now: () => state.now,
      })
      async function commit(waiting: number): Promise<void> {
        state.waiting = waiting
        watch.committed()
      }
      async function ended(error?: Error): Promise<void> {
        end(error)
        await new Promise((resolve) => setImmediate(resolve))
      }
      return { state, watch, commit, ended }
    }

    it('begins at 2,000 pages, one at a time, and completes the rest itself', async () => {
      const { state, commit, ended } = withThread()
      await commit(1_999)
      expect(state.runs).toBe(0)
      for (const waiting of [2_000, 5_000]) await commit(waiting)
      expect(state).toMatchObject({ runs: 1, checkpoints: 0 })
      await ended()
      await commit(500)
      await commit(20)
      expect(state).toMatchObject({ runs: 1, checkpoints: 1 })
    })

    it('lets the thread continue if the rest is long', async () => {
      const { state, commit, ended } = withThread()
      await commit(9_000)
      await ended()
      await commit(2_500)
      expect(state).toMatchObject({ runs: 2, checkpoints: 0 })
    })

    it('writes back itself what the thread could not, however much it is', async () => {
      const { state, commit, ended } = withThread()
      await commit(2_000)
      await ended(new Error('a reading thread died'))
      await commit(9_000)
      expect(state).toMatchObject({ runs: 1, checkpoints: 1 })
    })

    it('waits five seconds for a thread while the log grows', async () => {
      const { state, commit } = withThread()
      await commit(2_000)
      for (const second of [1, 2, 3, 4]) {
        Object.assign(state, { now: second * 1_000, mib: 20 + second })
        await commit(4_000)
      }
      expect(state.checkpoints).toBe(0)
      Object.assign(state, { now: 5_000, mib: 30 })
      await commit(4_000)
      expect(state).toMatchObject({ runs: 1, checkpoints: 1 })
    })
  })
})
