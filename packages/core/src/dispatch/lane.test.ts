import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { recordedRuntime, stopTime, turn as turns } from '../../test/dispatch/lane-parts.ts'
import type { Telemetry } from '../runtime/telemetry.ts'
import { batches, type Lane, persist, type RunningLane, startLane, uptimeMs } from './lane.ts'

const opened: RunningLane[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((lane) => lane.stop(0)))
})

/** A lane over items in memory, whose runs end when the test ends them. */
function openLane({
  slots = 4,
  batch = 2,
  gate = { is_paused: false },
  workspaceOf,
}: {
  slots?: number
  batch?: number
  gate?: { is_paused: boolean }
  workspaceOf?: Lane<string>['workspaceOf']
} = {}) {
  const queue: string[] = []
  const ran: { items: string[]; claimed_ms: number }[] = []
  const runs: {
    done: (count: number) => void
    look(): void
    storing: (count: number) => void
    fail: (error: Error) => void
  }[] = []
  const { runtime, logged, fields } = recordedRuntime()
  const counted: unknown[] = []
  const telemetry = {
    ...runtime.telemetry,
    claimed: (...about: unknown[]) => void counted.push(about),
  } as Telemetry
  const offered: number[] = []
  let stoppings = 0
  const ends: (() => void)[] = []
  const limits: number[] = []
  let offers = 0
  let claims = 0
  let onClaim:
    | ((
        claims: number,
        onLeft?: (workspaces: ReadonlySet<string> | null) => void,
      ) => string[] | Promise<string[] | null>)
    | null = null
  let onDone: (() => void) | null = null
  const lane: Lane<string> = {
    name: 'messages',
    ...(workspaceOf && { workspaceOf }),
    slots,
    batch,
    claim: async (limit, onLeft) => {
      claims += 1
      limits.push(limit)
      return (await onClaim?.(claims, onLeft)) ?? queue.splice(0, limit)
    },
    offer(limit) {
      offered.push(limit)
      offers += 1
      return {
        terms: {},
        end() {
          offers -= 1
        },
      }
    },
    async run(items, done, look, claimed_ms, storing) {
      ran.push({ items, claimed_ms })
      let left = items.length
      const some = (count: number) => {
        left -= count
        done(count)
      }
      await new Promise<void>((resolve, fail) => {
        ends.push(resolve)
        runs.push({ done: some, look, storing, fail })
      })
      if (left > 0) done(left)
      onDone?.()
    },
    stopping() {
      stoppings += 1
    },
  }
  const running = startLane(lane, runtime.log, telemetry, gate)
  opened.push(running)
  return {
    running,
    queue,
    ran,
    items: () => ran.flatMap(({ items }) => items),
    offers: () => offers,
    limits,
    runs,
    logged,
    fields,
    counted,
    offered,
    stoppings: () => stoppings,
    /** Replaces the claims from now on, which are numbered from 1. Null takes the items of the queue. */
    onClaim(claim: NonNullable<typeof onClaim>) {
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

it('a claim that ends early leaves the lane behind, so that nothing overtakes older items', async () => {
  const { running, onClaim, items } = openLane()
  await running.quiet()
  let room: unknown = 'not asked'
  onClaim((claims, onLeft) => {
    if (claims === 1) {
      onLeft?.(null)
      return ['a']
    }
    if (claims === 2) room = running.reserve(1)
    return []
  })
  running.wake()
  await expect.poll(() => room).toBeNull()
  expect(items()).toEqual(['a'])
})

describe('items whose results are being stored', () => {
  it('let the next claim begin, for at most four batches', async () => {
    const { queue, running, runs, items, limits, end } = openLane({ slots: 10, batch: 2 })
    queue.push(...'abcdefghijklmnopqrstuvwxyz')
    running.queued([])
    await expect.poll(items).toHaveLength(10)
    for (const { storing } of runs.slice()) storing(2)
    await expect.poll(items).toHaveLength(18)
    await turn()
    expect(items()).toHaveLength(18)
    expect(new Set(limits)).toEqual(new Set([2]))
    for (const { done } of runs.slice(0, 5)) done(2)
    // The slots of these are free, and the room of their storing is gone.
    await expect.poll(items).toHaveLength(20)
    end()
    await expect.poll(items).toHaveLength(26)
  })

  it('are in flight: the lane is not quiet and gives no room beyond its slots', async () => {
    const { queue, running, runs, items, end } = openLane({ slots: 4, batch: 2 })
    queue.push('a', 'b', 'c')
    running.queued([])
    await expect.poll(items).toEqual(['a', 'b', 'c'])
    for (const [i, { storing }] of runs.entries()) storing(i === 0 ? 2 : 1)
    await turn()
    expect(running.isQuiet()).toBe(false)
    expect(running.reserve(2)).toBeNull()
    end()
    await running.quiet()
    expect(running.isQuiet()).toBe(true)
  })
})

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

describe('the moments of a lane', () => {
  let time: ReturnType<typeof stopTime>
  let now_ms: number
  beforeEach(() => {
    time = stopTime()
    now_ms = 5_000
    vi.spyOn(performance, 'now').mockImplementation(() => now_ms)
  })
  afterEach(() => {
    vi.restoreAllMocks()
    time.restore()
  })

  const pass = (ms: number) => {
    now_ms += ms
    return time.pass(ms)
  }

  it('claims every 250 ms without being woken', async () => {
    const { limits } = openLane()
    await turns()
    expect(limits).toEqual([2])
    await pass(249)
    expect(limits).toHaveLength(1)
    await pass(1)
    expect(limits).toHaveLength(2)
    await pass(250)
    expect(limits).toHaveLength(3)
  })

  it('claims at once when it is woken, once, also while a claim is running', async () => {
    const { running, limits, onClaim } = openLane()
    await turns()
    running.wake()
    running.wake()
    await turns()
    expect(limits).toHaveLength(2)
    onClaim((claims) => {
      if (claims === 1) running.wake()
      return []
    })
    running.wake()
    await turns()
    expect(limits).toHaveLength(4)
    await pass(250)
    expect(limits).toHaveLength(5)
  })

  it('waits a second after a failed claim, even if it is woken meanwhile', async () => {
    const { running, limits, onClaim, logged, fields, queue, items } = openLane()
    const err = new Error('the database is away')
    onClaim((claims) => {
      if (claims > 1) return null as never
      running.wake()
      throw err
    })
    running.wake()
    await turns()
    expect(logged).toEqual(['claiming failed'])
    expect(fields).toEqual([{ err, lane: 'messages' }])
    expect(running.isQuiet()).toBe(false)
    // What is queued may be older.
    expect(running.reserve(1)).toBeNull()
    queue.push('a', 'b', 'c', 'd')
    limits.splice(0)
    await pass(999)
    expect(limits).toEqual([])
    await pass(1)
    // The failed claim holds no slots.
    expect(items()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('gives no room after a failed claim, though it was up to date before', async () => {
    const { running, onClaim } = openLane()
    await running.quiet()
    onClaim(() => {
      throw new Error('the database is away')
    })
    running.wake()
    await turns()
    expect(running.reserve(1)).toBeNull()
  })

  it('claims no more than it has slots for, and more as soon as some are free', async () => {
    const { queue, limits, runs, items, counted } = openLane({ slots: 5, batch: 3 })
    queue.push('a', 'b', 'c', 'd', 'e', 'f', 'g')
    await turns()
    expect(limits).toEqual([3, 2])
    expect(counted).toEqual([
      ['messages', 3, 0],
      ['messages', 2, 0],
    ])
    await pass(250)
    expect(limits).toHaveLength(2)
    runs[0]?.done(1)
    await turns()
    expect(limits).toEqual([3, 2, 1])
    runs[0]?.done(2)
    await turns()
    expect(limits).toEqual([3, 2, 1, 2])
    expect(items()).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  })

  it('does not look again when work ends and nothing waits, but when the work asks for it', async () => {
    const { queue, limits, runs, end } = openLane()
    queue.push('a')
    await turns()
    expect(limits).toEqual([2])
    runs[0]?.look()
    await turns()
    expect(limits).toEqual([2, 2])
    end()
    await turns()
    expect(limits).toEqual([2, 2])
  })

  it('frees the slots of work that failed, and logs it', async () => {
    const { queue, limits, runs, logged, fields } = openLane({ slots: 2, batch: 2 })
    queue.push('a', 'b', 'c')
    await turns()
    runs[0]?.done(1)
    await turns()
    expect(limits).toEqual([2, 1])
    const err = new Error('a defect')
    runs[0]?.fail(err)
    await turns()
    expect(logged).toEqual(['background work failed'])
    expect(fields).toEqual([{ err, lane: 'messages' }])
    expect(limits).toEqual([2, 1, 1])
  })

  it.each([
    [25, [10, 10, 10, 10]],
    [26, [10, 20, 40, 40]],
  ])('after full claims of %d ms claims %j', async (took_ms, expected) => {
    const { running, queue, limits, onClaim, counted } = openLane({ slots: 1_000, batch: 10 })
    await running.quiet()
    onClaim(() => {
      now_ms += took_ms
      return null as never
    })
    queue.push(...Array.from({ length: expected.reduce((a, b) => a + b) + 1 }, (_, i) => `${i}`))
    limits.splice(0)
    counted.splice(0)
    running.wake()
    await turns()
    expect(limits.slice(0, 4)).toEqual(expected)
    expect(counted[0]).toEqual(['messages', 10, took_ms])
    // After a claim that found less, the size is the first one again.
    running.wake()
    await turns()
    expect(limits.at(-1)).toBe(10)
  })

  it('claims nothing during a pause, and looks again after it', async () => {
    const gate = { is_paused: true }
    const { running, limits, queue, items } = openLane({ gate })
    queue.push('a')
    await turns()
    await pass(250)
    expect(limits).toEqual([])
    expect(running.isQuiet()).toBe(true)
    gate.is_paused = false
    await pass(250)
    expect(items()).toEqual(['a'])
  })

  it('is quiet after an empty claim, until it is woken or room is reserved', async () => {
    const { running, queue, end } = openLane()
    expect(running.isQuiet()).toBe(false)
    await running.quiet()
    expect(running.isQuiet()).toBe(true)
    running.wake()
    expect(running.isQuiet()).toBe(false)
    await turns()
    expect(running.isQuiet()).toBe(true)
    running.reserve(1)?.release()
    expect(running.isQuiet()).toBe(false)
    // It claims for this at once.
    await running.quiet()
    queue.push('a')
    running.wake()
    await turns()
    expect(running.isQuiet()).toBe(false)
    let isQuiet = false
    void running.quiet().then(() => {
      isQuiet = true
    })
    await turns()
    expect(isQuiet).toBe(false)
    end()
    await turns()
    expect(isQuiet).toBe(true)
  })

  it('is not quiet when it was woken during an empty claim', async () => {
    const { running, onClaim, queue, end, items } = openLane()
    await running.quiet()
    const seen: boolean[] = []
    onClaim((claims) => {
      seen.push(running.isQuiet())
      if (claims === 1) {
        running.wake()
        return []
      }
      return queue.splice(0)
    })
    queue.push('a')
    running.wake()
    await turns()
    expect(items()).toEqual(['a'])
    expect(seen).toEqual([false, false])
    end()
  })

  it('stops at once without work, and leaves no timer', async () => {
    const { running, limits, stoppings } = openLane()
    await turns()
    await running.stop(1_000)
    expect(stoppings()).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
    running.wake()
    await turns()
    expect(limits).toHaveLength(1)
  })

  it('stops when its work has ended, in parts', async () => {
    const { running, queue, runs, limits } = openLane()
    queue.push('a', 'b')
    await turns()
    let isStopped = false
    const stopped = running.stop(1_000).then(() => {
      isStopped = true
    })
    await turns()
    runs[0]?.done(1)
    await pass(500)
    expect(isStopped).toBe(false)
    const { length } = limits
    runs[0]?.done(1)
    await turns()
    expect(isStopped).toBe(true)
    await stopped
    expect(limits).toHaveLength(length)
    expect(vi.getTimerCount()).toBe(0)
  })

  it.each([
    [1_000, true],
    [0, false],
  ])('stops after %d ms, although work is in flight', async (grace_ms, waits) => {
    const { running, queue } = openLane()
    queue.push('a')
    await turns()
    let isStopped = false
    void running.stop(grace_ms).then(() => {
      isStopped = true
    })
    await turns()
    expect(isStopped).toBe(!waits)
    await pass(999)
    expect(isStopped).toBe(!waits)
    await pass(1)
    expect(isStopped).toBe(true)
  })

  it('tells the work when its claim began, or the transaction of its hand-over', async () => {
    const { running, queue, ran, onClaim, counted, offered } = openLane({ slots: 10, batch: 4 })
    await running.quiet()
    const began_ms = time.uptime()
    onClaim(async (claims) => {
      if (claims === 1) await time.pass(10)
      return queue.splice(0)
    })
    queue.push('a')
    running.wake()
    for (let i = 0; i < 3; i++) await turns()
    expect(ran).toEqual([{ items: ['a'], claimed_ms: began_ms }])
    const reserved_ms = time.uptime()
    const [some, none] = [running.reserve(3), running.reserve(1)]
    expect(offered).toEqual([3, 1])
    counted.splice(0)
    await pass(5)
    some?.handOver(['b', 'c'])
    none?.handOver([])
    expect(ran[1]).toEqual({ items: ['b', 'c'], claimed_ms: reserved_ms })
    expect(ran).toHaveLength(2)
    expect(counted).toEqual([['messages', 2, null]])
    // Three slots are in use.
    expect(running.reserve(8)).toBeNull()
  })

  it('has as much room as it has slots, less what is given and what runs', async () => {
    const { running, end } = openLane({ slots: 10, batch: 4 })
    await running.quiet()
    running.reserve(5)?.handOver(['a', 'b'])
    const rest = running.reserve(8)
    expect(rest).not.toBeNull()
    rest?.giveBack(['c'])
    const seven = running.reserve(7)
    expect(seven).not.toBeNull()
    seven?.release()
    end()
    await turns()
    expect(running.reserve(10)).not.toBeNull()
  })

  it('keeps the room of a claim free while it is behind', async () => {
    const { running, queue } = openLane({ slots: 10, batch: 4 })
    await running.quiet()
    queue.push('a')
    running.queued([])
    // The next claim takes what was queued; until then it needs its slots.
    const six = running.reserve(6)
    expect(six).not.toBeNull()
    six?.release()
    expect(running.reserve(7)).toBeNull()
    // After a refusal, what is queued now comes first.
    expect(running.reserve(6)).not.toBeNull()
  })

  it('is not woken by work that ended before, nor by a hand-over of all that was reserved', async () => {
    const { running, queue, limits, onClaim, end, runs, items } = openLane()
    queue.push('a')
    await turns()
    const reserved = running.reserve(1)
    runs[0]?.done(1)
    onClaim(() => {
      throw new Error('the database is away')
    })
    running.wake()
    await turns()
    const { length } = limits
    // It waits after the failure, unless slots become free.
    end()
    reserved?.handOver(['b'])
    await turns()
    expect(items()).toEqual(['a', 'b'])
    expect(limits).toHaveLength(length)
    end()
    await turns()
    expect(limits).toHaveLength(length + 1)
  })

  it('claims for a caller who asks whether it is quiet only if that is not known', async () => {
    const { running, queue, limits, end } = openLane()
    await running.quiet()
    await running.quiet()
    expect(limits).toHaveLength(1)
    queue.push('a')
    running.wake()
    await turns()
    const quiet = running.quiet()
    await turns()
    expect(limits).toHaveLength(2)
    end()
    await quiet
    expect(limits).toHaveLength(3)
  })

  it('ends an empty hand-over at once, while others are held', async () => {
    const { running, queue, offers } = openLane({ slots: 100, batch: 10 })
    await running.quiet()
    queue.push('old')
    running.queued([])
    running.reserve(1)?.handOver(['new'])
    running.reserve(1)?.handOver([])
    expect(offers()).toBe(1)
    await turns()
    expect(offers()).toBe(0)
  })

  it.each([
    ['at once after a claim that found less than its maximum', 1, ['new']],
    ['after the next claim if that one found its maximum', 11, ['old10', 'new']],
  ])('begins items for which a running claim had room: %s', async (_, count, last) => {
    const { running, queue, items, onClaim } = openLane({ slots: 100, batch: 10 })
    await running.quiet()
    let reserved: ReturnType<typeof running.reserve> = null
    onClaim((claims) => {
      if (claims === 1) reserved = running.reserve(1)
      if (claims === 2) handOver()
      return queue.splice(0, 10)
    })
    const handOver = () => reserved?.handOver(['new'])
    queue.push(...Array.from({ length: count }, (_, i) => `old${i}`))
    running.queued([])
    await turns()
    if (count === 1) handOver()
    expect(items().slice(-last.length)).toEqual(last)
  })

  it('begins held items after the claim that takes the older ones, and not after an earlier one', async () => {
    const { running, queue, items, onClaim } = openLane({ slots: 100, batch: 10 })
    await running.quiet()
    const during: string[][] = []
    onClaim((claims) => {
      if (claims === 1) {
        // Queued after this claim has looked: the next one takes it.
        queue.push('old')
        running.queued([])
        running.reserve(1)?.handOver(['new'])
        return []
      }
      during.push(items())
      return queue.splice(0)
    })
    running.wake()
    await turns()
    expect(during[0]).toEqual([])
    expect(items()).toEqual(['old', 'new'])
  })
})

describe('a lane that is behind with the items of one workspace', () => {
  /** Rows `w`: an item of the workspace; `w/`: one that others may pass. */
  const workspaceOf = (row: unknown) => (String(row).endsWith('/') ? null : String(row))

  it('gives room to other workspaces, and works on their items at once', async () => {
    const { running, queue, items, onClaim } = openLane({ slots: 100, batch: 10, workspaceOf })
    await running.quiet()
    let go = () => {}
    onClaim(() => new Promise((resolve) => (go = () => resolve(null))))
    queue.push('old')
    running.queued(['a', 'b/'])
    expect(['a', 'b', 'c'].map(running.isOpen)).toEqual([true, true, true])
    await turn()
    running.reserve(2, ['b', 'c'])?.handOver(['b1', 'c1'])
    expect(items()).toEqual(['b1', 'c1'])
    // This one may overtake an older item, so that it begins after the next claim.
    running.reserve(1, ['a'])?.handOver(['a1'])
    expect(items()).toEqual(['b1', 'c1'])
    onClaim(() => [])
    go()
    await expect.poll(items).toEqual(['b1', 'c1', 'old', 'a1'])
  })

  it('gives none to those of which a full claim left items, nor to any if it does not know', async () => {
    const { running, onClaim } = openLane({ slots: 100, batch: 1, workspaceOf })
    await running.quiet()
    let go = () => {}
    onClaim(async (claims, onLeft) => {
      if (claims > 3) return []
      onLeft?.(claims === 1 ? new Set(['a']) : null)
      if (claims === 3) await new Promise<void>((resolve) => (go = resolve))
      if (claims === 2) {
        running.queued(['b'])
        expect(['a', 'b', 'c'].map(running.isOpen)).toEqual([false, false, true])
        expect(running.reserve(1, ['c'])).not.toBeNull()
        expect(running.reserve(2, ['c', 'a'])).toBeNull()
        expect(running.reserve(1, ['c'])).toBeNull()
      }
      return ['x']
    })
    running.queued(['a'])
    await expect.poll(() => ['a', 'b', 'c'].map(running.isOpen)).toEqual([false, false, false])
    go()
  })

  it('keeps those of which items were queued while a claim looked', async () => {
    const { running, onClaim } = openLane({ slots: 100, batch: 1, workspaceOf })
    await running.quiet()
    const seen: boolean[][] = []
    onClaim((claims, onLeft) => {
      if (claims === 1) running.queued(['b', 'c/'])
      if (claims === 2) seen.push(['a', 'b', 'c'].map(running.isOpen))
      if (claims > 2) return []
      onLeft?.(new Set())
      return ['x']
    })
    running.queued(['a'])
    await expect.poll(() => seen).toEqual([[true, false, true]])
    await expect.poll(() => ['a', 'b', 'c'].map(running.isOpen)).toEqual([true, true, true])
  })

  it('gives none after a failed claim', async () => {
    const { running, onClaim } = openLane({ slots: 100, batch: 1, workspaceOf })
    await running.quiet()
    onClaim(() => Promise.reject(new Error('gone')))
    running.queued(['a'])
    await expect.poll(() => running.isOpen('c')).toBe(false)
    expect(running.reserve(1, ['c'])).toBeNull()
  })
})

it('a lane needs no telemetry and no gate, and nothing to do when it stops', async () => {
  const { runtime, logged } = recordedRuntime()
  const queue = ['a']
  const ran: string[] = []
  const lane: Lane<string> = {
    name: 'deliveries',
    slots: 2,
    batch: 1,
    claim: async () => queue.splice(0),
    offer: () => ({ terms: {}, end() {} }),
    run: async (items) => void ran.push(...items),
  }
  const running = startLane(lane, runtime.log)
  await running.quiet()
  running.reserve(1)?.handOver(['b'])
  await running.quiet()
  await running.stop(0)
  expect(ran).toEqual(['a', 'b'])
  expect(logged).toEqual([])
})

it('cuts items into batches', () => {
  expect(batches([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]])
  expect(batches([1, 2], 2)).toEqual([[1, 2]])
  expect(batches([], 2)).toEqual([])
})

describe('results whose storing failed', () => {
  let recorded: ReturnType<typeof recordedRuntime>
  beforeEach(() => {
    recorded = recordedRuntime()
  })

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
      const stored = persist(['a', 'b'], write, recorded.runtime.log)
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
    const err = new Error('the database does not answer')
    expect(recorded.fields).toEqual([{ err, items: 2 }, { err }])
    expect(recorded.logged[1]).toBe('an outcome was not stored')
  })

  it('are given up within one lease of a minute', async () => {
    const writes = await writesOf((items) => items.includes('b'))
    const [last_ms] = writes.at(-1) ?? [0]
    expect(last_ms).toBeGreaterThan(50_000)
    expect(last_ms).toBeLessThan(60_000)
  })
})
