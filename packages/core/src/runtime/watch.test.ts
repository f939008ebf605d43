import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import { startStepWatch, startWatch, type Watch } from './watch.ts'

const runtime = testRuntime('watch')
const gate = { is_paused: false }
let due: number
let done: number
/** What happens between two pieces of work. */
let between: () => unknown
let is_more_soon: boolean
let watch: Watch

/** Lets time pass, and the work that begins in it. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await new Promise(setImmediate)
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  due = 3
  done = 0
  gate.is_paused = false
  between = () => {}
  is_more_soon = false
  watch = startWatch({
    name: 'pieces',
    storage: {},
    runtime,
    gate,
    isDue: async () => due > 0,
    async work(isHeld) {
      for (; due > 0 && !isHeld(); due--) {
        done += 1
        await between()
      }
      return is_more_soon
    },
    failed: 'pieces wait',
  })
})
afterEach(async () => {
  await watch.stop()
  vi.useRealTimers()
})

it('looks once a second', async () => {
  vi.advanceTimersByTime(999)
  expect(done).toBe(0)
  vi.advanceTimersByTime(1)
  await watch.look()
  expect([due, done]).toEqual([0, 3])
})

it('looks again after 25 ms while its work has more to do soon', async () => {
  const doneAfter = async (ms: number) => {
    await pass(ms)
    return done
  }
  is_more_soon = true
  await watch.look()
  due = 1
  expect(await doneAfter(24)).toBe(3)
  is_more_soon = false
  expect(await doneAfter(1)).toBe(4)
  due = 1
  expect(await doneAfter(900)).toBe(4)
})

it('begins nothing while the gate is paused, and ends its round when it is', async () => {
  gate.is_paused = true
  await watch.look()
  expect(done).toBe(0)
  gate.is_paused = false
  between = () => {
    gate.is_paused = true
  }
  await watch.look()
  expect([due, done]).toEqual([2, 1])
})

it('waits at its end for the work in progress, and begins no further work', async () => {
  let finish = () => {}
  between = () => new Promise<void>((resolve) => (finish = resolve))
  const looking = watch.look()
  await new Promise(setImmediate)
  expect(done).toBe(1)
  const stopping = watch.stop()
  finish()
  await Promise.all([looking, stopping])
  await watch.look()
  expect([due, done]).toEqual([2, 1])
})

it('tries again after an error', async () => {
  between = () => Promise.reject(new Error('the disk is full'))
  await watch.look()
  between = () => {}
  await watch.look()
  expect([due, done]).toEqual([0, 4])
})

it('reads what is due once for each look while a row is behind', async () => {
  const rows = [{ workspace_id: 'w', id: 'a' }]
  const steps: (boolean | 'behind')[] = [true, 'behind', 'behind', false]
  const limits: number[] = []
  const stepping = startStepWatch({
    name: 'rows',
    storage: {},
    runtime,
    due: async (limit) => {
      limits.push(limit)
      return rows
    },
    step: async () => steps.shift() ?? false,
    waits: 'a row waits',
    failed: 'rows wait',
  })
  await stepping.look()
  // Whether one is due, and the rows before each step.
  expect(limits.splice(0)).toEqual([1, 1_000, 1_000])
  await pass(25)
  expect(limits.splice(0)).toEqual([1_000])
  await pass(25)
  expect(limits.splice(0)).toEqual([1_000])
  expect(steps).toEqual([])
  // The last one was not behind.
  await pass(25)
  expect(limits).toEqual([])
  await stepping.look()
  expect(limits).toEqual([1, 1_000])
  await stepping.stop()
})

it('does the steps of more due rows than one query returns', async () => {
  const rows = Array.from({ length: 2_500 }, (_, i) => ({ workspace_id: 'w', id: `${i}` }))
  const stepping = startStepWatch({
    name: 'rows',
    storage: {},
    runtime,
    due: async (limit) => rows.slice(0, limit),
    // A row whose step is done is not due any more.
    step: async (row) => {
      rows.splice(rows.indexOf(row), 1)
      return false
    },
    waits: 'a row waits',
    failed: 'rows wait',
  })
  await stepping.look()
  expect(rows).toEqual([])
  await stepping.stop()
})
