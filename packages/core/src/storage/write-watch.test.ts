import { expect, it } from 'vitest'
import { createWriteWatch } from './after-commit.ts'

/** A watch whose clock is moved by hand, over a probe that fails while `broken` is set. */
function watched() {
  const state = { now: 0, probes: 0, broken: false }
  const watch = createWriteWatch({
    refuses: (error) => (error as Error).message === 'disk full',
    async probe() {
      state.probes += 1
      if (state.broken) throw new Error('no write')
    },
    now: () => state.now,
  })
  return { state, watch }
}

it('probes where no write was made for two seconds, once for all who ask', async () => {
  const { state, watch } = watched()
  await Promise.all([watch.check(), watch.check()])
  state.now = 1_999
  await watch.check()
  expect(state.probes).toBe(1)
  state.now = 2_000
  await watch.check()
  expect(state.probes).toBe(2)
  state.now = 3_000
  watch.wrote()
  state.now = 4_999
  await watch.check()
  expect(state.probes).toBe(2)
})

it('probes again as soon as a probe has failed', async () => {
  const { state, watch } = watched()
  state.broken = true
  await expect(watch.check()).rejects.toThrow('no write')
  await expect(watch.check()).rejects.toThrow('no write')
  state.broken = false
  await watch.check()
  expect(state.probes).toBe(3)
})

it('counts a write that the disk refused for ten seconds, whatever succeeds meanwhile', async () => {
  const { state, watch } = watched()
  watch.failed(new Error('disk full'))
  watch.wrote()
  state.now = 9_999
  watch.wrote()
  await expect(watch.check()).rejects.toThrow('the disk refused a write')
  state.now = 10_000
  await watch.check()
})

it('ignores errors that say nothing of the disk', async () => {
  const { watch } = watched()
  watch.failed(new Error('UNIQUE constraint failed'))
  await watch.check()
})
