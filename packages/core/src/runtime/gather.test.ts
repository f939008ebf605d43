import { describe, expect, it } from 'vitest'
import { gather } from './gather.ts'

type Job = () => number[] | Promise<number[]>

/** A queue that runs its jobs only on request, and what ran. */
function bench({
  batch_max = 10,
  refuse = () => false,
  isCommon = () => false,
}: {
  batch_max?: number
  refuse?: () => boolean
  isCommon?: () => boolean
} = {}) {
  const waiting: (() => Promise<void>)[] = []
  const batches: number[][] = []
  const enqueue = (job: Job) =>
    new Promise<number[]>((resolve, reject) => {
      if (refuse()) reject(new Error('the queue is full'))
      else waiting.push(async () => Promise.resolve().then(job).then(resolve, reject))
    })
  const run = (items: readonly number[]) => {
    batches.push([...items])
    if (items.includes(13)) throw new Error('13 is bad')
    return items.map((item) => item * 10)
  }
  return {
    call: gather(run, enqueue, { batch_max, isCommon }),
    batches,
    /** Runs the waiting jobs, and those that follow, until none waits. */
    async drain() {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        await next()
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

describe('gather', () => {
  it('runs what waits together at once, and gives each caller its own results', async () => {
    const { call, batches, drain } = bench()
    const answers = Promise.all([call([1, 2]), call([3]), call([4, 5, 6])])
    await drain()
    expect(await answers).toEqual([[10, 20], [30], [40, 50, 60]])
    expect(batches).toEqual([[1, 2, 3, 4, 5, 6]])
  })

  it('starts another batch for those who come after one has begun', async () => {
    const { call, batches, drain } = bench()
    const first = call([1])
    await drain()
    const second = call([2])
    await drain()
    expect([await first, await second]).toEqual([[10], [20]])
    expect(batches).toEqual([[1], [2]])
  })

  it('puts at most so many into one batch', async () => {
    const { call, batches, drain } = bench({ batch_max: 3 })
    const answers = Promise.all([call([1, 2]), call([3]), call([4]), call([5, 6]), call([7])])
    await drain()
    expect(await answers).toEqual([[10, 20], [30], [40], [50, 60], [70]])
    expect(batches).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  })

  it('never cuts what one caller gave, however much it is', async () => {
    const { call, batches, drain } = bench({ batch_max: 2 })
    const answers = Promise.all([call([1, 2, 3, 4, 5]), call([6])])
    await drain()
    expect(await answers).toEqual([[10, 20, 30, 40, 50], [60]])
    expect(batches).toEqual([[1, 2, 3, 4, 5], [6]])
  })

  it('tries a failing batch again in halves, so that one error fails only its caller', async () => {
    const { call, batches, drain } = bench()
    const answers = Promise.allSettled([call([1]), call([12, 13]), call([3])])
    await drain()
    expect(await answers).toMatchObject([
      { status: 'fulfilled', value: [10] },
      { status: 'rejected', reason: { message: '13 is bad' } },
      { status: 'fulfilled', value: [30] },
    ])
    expect(batches).toEqual([[1, 12, 13, 3], [1], [12, 13, 3], [12, 13], [3]])
  })

  it('finds one faulty caller among many in few tries', async () => {
    const { call, batches, drain } = bench({ batch_max: 1_000 })
    const answers = Promise.allSettled(Array.from({ length: 512 }, (_, i) => call([i])))
    await drain()
    const failed = (await answers).flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))
    expect(failed).toEqual([13])
    expect(batches.length).toBe(1 + 2 * Math.log2(512))
  })

  it('does not try each alone when the fault is not theirs', async () => {
    const { call, batches, drain } = bench({ isCommon: () => true })
    const answers = Promise.allSettled([call([1]), call([13]), call([3])])
    await drain()
    for (const answer of await answers) expect(answer.status).toBe('rejected')
    expect(batches).toEqual([[1, 13, 3]])
  })

  it('does not try again what a single caller gave', async () => {
    const { call, batches, drain } = bench()
    const answer = expect(call([13])).rejects.toThrow('13 is bad')
    await drain()
    await answer
    expect(batches).toEqual([[13]])
  })

  it('adds no caller to a batch that was refused before it ran', async () => {
    let full = true
    const { call, batches, drain } = bench({ refuse: () => full })
    await expect(call([1])).rejects.toThrow('the queue is full')
    full = false
    const answers = Promise.all([call([2]), call([3])])
    await drain()
    expect(await answers).toEqual([[20], [30]])
    expect(batches).toEqual([[2, 3]])
  })

  it('does nothing for nothing', async () => {
    const { call, batches } = bench()
    expect(await call([])).toEqual([])
    expect(batches).toEqual([])
  })
})
