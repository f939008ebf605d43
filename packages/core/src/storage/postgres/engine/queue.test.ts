import { describe, expect, it } from 'vitest'
import { createQueue } from './queue.ts'

/** A job that ends on request. */
function job() {
  let end: () => void = () => {}
  let begun = false
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return {
    run: async () => {
      begun = true
      await ended
      return 'done'
    },
    end,
    hasBegun: () => begun,
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const turns = async () => {
  for (let i = 0; i < 5; i++) await turn()
}

describe('the queue', () => {
  it('runs so many jobs at once and the others in their order', async () => {
    const queue = createQueue({ at_once: 2, waiting_max: 10, wait_max_ms: 10_000 })
    const jobs = [job(), job(), job(), job()]
    const answers = jobs.map(({ run }) => queue.run(run))
    const begun = () => jobs.map(({ hasBegun }) => hasBegun())
    await turns()
    expect(begun()).toEqual([true, true, false, false])
    jobs[1]?.end()
    await turns()
    expect(begun()).toEqual([true, true, true, false])
    for (const { end } of jobs) end()
    expect(await Promise.all(answers)).toEqual(['done', 'done', 'done', 'done'])
  })

  it('begins no job before its caller has gone on', async () => {
    const queue = createQueue({ at_once: 1, waiting_max: 10, wait_max_ms: 10_000 })
    const first = job()
    first.end()
    const answer = queue.run(first.run)
    expect(first.hasBegun()).toBe(false)
    await Promise.resolve()
    expect(first.hasBegun()).toBe(false)
    expect(await answer).toBe('done')
  })

  it('goes on after a job that failed', async () => {
    const queue = createQueue({ at_once: 1, waiting_max: 10, wait_max_ms: 10_000 })
    const fault = new Error('no')
    const failed = queue.run(() => {
      throw fault
    })
    const next = queue.run(async () => 1)
    await expect(failed).rejects.toBe(fault)
    expect(await next).toBe(1)
  })

  it('refuses more than may wait, and takes the next when there is room again', async () => {
    const queue = createQueue({ at_once: 1, waiting_max: 2, wait_max_ms: 10_000 })
    const jobs = [job(), job(), job()]
    const answers = [queue.run((jobs[0] as ReturnType<typeof job>).run)]
    await turns()
    for (const { run } of jobs.slice(1)) answers.push(queue.run(run))
    await expect(queue.run(async () => 'one too many')).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      retry_after_s: 5,
    })
    for (const { end } of jobs) end()
    await Promise.all(answers)
    expect(await queue.run(async () => 'room again')).toBe('room again')
  })

  it('refuses a job that waited too long, without running it', async () => {
    const queue = createQueue({ at_once: 1, waiting_max: 10, wait_max_ms: 50 })
    const [first, late] = [job(), job()]
    const answer = queue.run(first.run)
    await expect(queue.run(late.run)).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
    first.end()
    expect(await answer).toBe('done')
    expect(await queue.run(async () => 'room again')).toBe('room again')
    expect(late.hasBegun()).toBe(false)
    await queue.close()
  })

  it('closes when everything it took has ended, and takes nothing more', async () => {
    const queue = createQueue({ at_once: 1, waiting_max: 10, wait_max_ms: 10_000 })
    const jobs = [job(), job()]
    const answers = jobs.map(({ run }) => queue.run(run))
    let closed = false
    const closing = queue.close().then(() => {
      closed = true
    })
    await expect(queue.run(async () => 1)).rejects.toThrow('the storage is closed')
    jobs[0]?.end()
    await turns()
    expect(closed).toBe(false)
    jobs[1]?.end()
    await closing
    expect(await Promise.all(answers)).toEqual(['done', 'done'])
    await createQueue({ at_once: 1, waiting_max: 1, wait_max_ms: 10_000 }).close()
  })
})
