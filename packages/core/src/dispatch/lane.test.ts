import { afterEach, describe, expect, it, vi } from 'vitest'
import { systemRuntime } from '../runtime/runtime.ts'
import { type Lane, persist, type RunningLane, startLane, uptimeMs } from './lane.ts'

const { log } = systemRuntime()
const opened: RunningLane[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((lane) => lane.stop(0)))
})

/** A lane over items in memory, whose runs end when the test ends them. */
function openLane({
  slots = 4,
  batch = 2,
  gate = { is_paused: false },
}: {
  slots?: number
  batch?: number
  gate?: { is_paused: boolean }
} = {}) {
  const queue: string[] = []
  const ran: { items: string[]; claimed_ms: number }[] = []
  const ends: (() => void)[] = []
  const limits: number[] = []
  let offers = 0
  let claims = 0
  let onClaim: ((claims: number) => string[] | Promise<string[] | null>) | null = null
  let onDone: (() => void) | null = null
  const lane: Lane<string> = {
    name: 'messages',
    slots,
    batch,
    claim: async (limit) => {
      claims += 1
      limits.push(limit)
      return (await onClaim?.(claims)) ?? queue.splice(0, limit)
    },
    offer() {
      offers += 1
      return {
        terms: {},
        end() {
          offers -= 1
        },
      }
    },
    async run(items, done, _look, claimed_ms) {
      ran.push({ items, claimed_ms })
      await new Promise<void>((resolve) => ends.push(resolve))
      done(items.length)
      onDone?.()
    },
  }
  const running = startLane(lane, log, undefined, gate)
  opened.push(running)
  return {
    running,
    queue,
    ran,
    items: () => ran.flatMap(({ items }) => items),
    offers: () => offers,
    limits,
    /** Replaces the claims from now on, which are numbered from 1. Null takes the items of the queue. */
    onClaim(claim: (claims: number) => string[] | Promise<string[] | null>) {
      claims = 0
      onClaim = claim
    },
    onDone(work: () => void) {
      onDone = work
    },
    end() {
      for (const end of ends.splice(0)) end()
    },
  }
}

/** Lets the claim that the lane has begun end. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('room in a lane', () => {
  it('is given only after a claim found fewer items than its limit', async () => {
    const { running, queue, items } = openLane({ slots: 8 })
    queue.push('a', 'b', 'c')
    expect(running.reserve(1)).toBeNull()
    await expect.poll(items).toEqual(['a', 'b', 'c'])
    expect(running.reserve(1)).not.toBeNull()
  })

  it('is given once, and is free again after a hand-over, its work or a rollback', async () => {
    const { running, items, offers, end } = openLane()
    await running.quiet()
    const [first, second] = [running.reserve(3), running.reserve(1)]
    expect([first, second, running.reserve(1)]).toEqual([
      expect.anything(),
      expect.anything(),
      null,
    ])
    first?.handOver(['a', 'b'])
    second?.release()
    expect(items()).toEqual(['a', 'b'])
    expect(offers()).toBe(0)
    await turn()
    const third = running.reserve(2)
    expect([third, running.reserve(1)]).toEqual([expect.anything(), null])
    third?.release()
    end()
    await running.quiet()
    expect(running.reserve(4)).not.toBeNull()
  })

  it('is not given after a refusal, so that later items do not overtake', async () => {
    const { running, queue, items } = openLane()
    await running.quiet()
    expect(running.reserve(5)).toBeNull()
    expect(running.reserve(1)).toBeNull()
    queue.push('old')
    running.queued([])
    expect(running.reserve(1)).toBeNull()
    await expect.poll(items).toEqual(['old'])
    expect(running.reserve(1)).not.toBeNull()
  })

  it('is not given while more items wait than a claim may take', async () => {
    const { running, queue, items, end, onDone } = openLane({ slots: 4, batch: 4 })
    queue.push('a', 'b', 'c', 'd', 'e')
    const room: unknown[] = []
    onDone(() => room.push(running.reserve(1)))
    await expect.poll(items).toEqual(['a', 'b', 'c', 'd'])
    end()
    await expect.poll(items).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(room).toEqual([null])
  })

  it('is not given after a claim that may have missed items', async () => {
    const { running, queue, onClaim } = openLane()
    await running.quiet()
    const room: unknown[] = []
    onClaim((claims) => {
      // The items are queued after the first claim has looked; the second claim takes them.
      if (claims === 1) running.queued([])
      if (claims === 2) room.push(running.reserve(1))
      return queue.splice(0)
    })
    running.wake()
    await expect.poll(() => room).toEqual([null])
  })

  it('is not given from the moment of a pause, before the next claim', async () => {
    const gate = { is_paused: false }
    const { running } = openLane({ gate })
    await running.quiet()
    gate.is_paused = true
    expect(running.reserve(1)).toBeNull()
  })

  it('is not given after a pause until a claim has found the items of the pause', async () => {
    const gate = { is_paused: true }
    const { running } = openLane({ gate })
    await running.quiet()
    gate.is_paused = false
    expect(running.reserve(1)).toBeNull()
    running.wake()
    await running.quiet()
    expect(running.reserve(1)).not.toBeNull()
  })

  it('is not given while the lane is stopped', async () => {
    const { running } = openLane()
    await running.quiet()
    void running.stop(0)
    expect(running.reserve(1)).toBeNull()
  })

  it('counts as work: the lane is not quiet and does not stop before it', async () => {
    const { running, end } = openLane()
    await running.quiet()
    const reservation = running.reserve(1)
    expect(running.isQuiet()).toBe(false)
    let isStopped = false
    const stopped = running.stop(60_000).then(() => {
      isStopped = true
    })
    await turn()
    reservation?.handOver(['a'])
    await turn()
    expect(isStopped).toBe(false)
    end()
    await stopped
  })

  it('has a lease from before the transaction, and none if the commit is unknown', async () => {
    const { running, ran } = openLane()
    await running.quiet()
    const before = uptimeMs()
    const [known, unknown] = [running.reserve(1), running.reserve(1)]
    const after = uptimeMs()
    await new Promise((resolve) => setTimeout(resolve, 30))
    known?.handOver(['a'])
    unknown?.giveBack(['b'])
    const [first, second] = ran
    expect(first?.claimed_ms).toBeGreaterThanOrEqual(before)
    expect(first?.claimed_ms).toBeLessThanOrEqual(after)
    expect(second).toEqual({ items: ['b'], claimed_ms: Number.NEGATIVE_INFINITY })
  })
})

describe('a lane that is behind', () => {
  it('catches up while items arrive during each claim, and none overtakes', async () => {
    const { running, queue, items, onClaim } = openLane({ slots: 100, batch: 10 })
    await running.quiet()
    const sent: string[] = []
    const taken: string[] = []
    /** Sends an item as a transaction does: with room it is handed over, else it is queued. */
    function send(name: string) {
      sent.push(name)
      const reservation = running.reserve(1)
      if (reservation) reservation.handOver([name])
      else {
        queue.push(name)
        running.queued([name])
      }
    }
    onClaim((claims) => {
      const found = queue.splice(0, 10)
      // They arrive after the claim has looked.
      for (const part of ['a', 'b', 'c']) if (claims <= 20) send(`${claims}${part}`)
      taken.push(...found)
      return found
    })
    // More than a claim takes.
    queue.push(...Array.from({ length: 12 }, (_, i) => `old${i}`))
    running.queued([])
    await expect.poll(items).toHaveLength(12 + 3 * 4)
    expect(items().slice(12)).toEqual(sent)
    // Only what arrived while more waited than a claim takes was queued; the rest was handed over.
    expect(taken).toHaveLength(12 + 3)
    expect(running.reserve(1)).not.toBeNull()
  })

  it('begins what was handed over meanwhile only after the claim of the older items', async () => {
    const { running, queue, items, onClaim } = openLane({ slots: 100, batch: 10 })
    await running.quiet()
    queue.push('old')
    running.queued([])
    const during: string[][] = []
    onClaim(() => {
      during.push(items())
      return queue.splice(0, 10)
    })
    running.reserve(1)?.handOver(['new'])
    expect(items()).toEqual([])
    await expect.poll(items).toEqual(['old', 'new'])
    expect(during[0]).toEqual([])
  })

  it('takes more at once while full claims are slow', async () => {
    const { running, queue, limits, onClaim, end } = openLane({ slots: 1_000, batch: 10 })
    await running.quiet()
    onClaim(() => new Promise((resolve) => setTimeout(() => resolve(null), 40)))
    queue.push(...Array.from({ length: 100 }, (_, i) => `${i}`))
    limits.splice(0)
    running.wake()
    await expect.poll(() => queue).toEqual([])
    end()
    expect(limits.slice(0, 4)).toEqual([10, 20, 40, 40])
  })

  it('begins held items when it stops, and when a pause begins', async () => {
    const gate = { is_paused: false }
    const { running, queue, items, onClaim } = openLane({
      slots: 100,
      batch: 10,
      gate,
    })
    await running.quiet()
    onClaim(() => [])
    queue.push('old')
    running.queued([])
    running.reserve(1)?.handOver(['a'])
    gate.is_paused = true
    await expect.poll(items).toEqual(['a'])
    gate.is_paused = false
    running.wake()
    await turn()
    running.queued([])
    running.reserve(1)?.handOver(['b'])
    void running.stop(0)
    await expect.poll(items).toEqual(['a', 'b'])
  })
})

describe('results whose storing failed', () => {
  /** The writes of a storing of two results, with their times, while `isRefused` refuses writes. */
  async function writesOf(isRefused: (items: readonly string[]) => boolean) {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    try {
      const began = Date.now()
      const writes: [number, string][] = []
      const write = async (items: readonly string[]) => {
        writes.push([Date.now() - began, items.join()])
        if (isRefused(items)) throw new Error('the database does not answer')
      }
      const stored = persist(['a', 'b'], write, log)
      await vi.runAllTimersAsync()
      await stored
      return writes
    } finally {
      vi.useRealTimers()
    }
  }

  it('are stored again after 100 ms, each alone, and the failed one after 500 ms more', async () => {
    let refusals = 2
    const isRefused = (items: readonly string[]) => items.includes('b') && refusals-- > 0
    expect(await writesOf(isRefused)).toEqual([
      [0, 'a,b'],
      [100, 'a'],
      [100, 'b'],
      [600, 'b'],
    ])
  })

  it('are given up within one lease of a minute', async () => {
    const writes = await writesOf((items) => items.includes('b'))
    const [last_ms] = writes.at(-1) ?? [0]
    expect(last_ms).toBeGreaterThan(50_000)
    expect(last_ms).toBeLessThan(60_000)
  })
})
