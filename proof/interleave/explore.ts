import type { Random } from '../stage/random.ts'
import type { Fate, Gate, Step } from './gate.ts'

/** Decides what runs next: the number of a waiting statement, and what happens to it. */
export interface Chooser {
  /** `isFree`: the server of the last statement cannot go on. Otherwise its next statement has the number 0. */
  choose(count: number, isFree: boolean): number
  fate(): Fate
}

/** One order of the statements of several servers, as it ran. */
export interface Order {
  /** Each statement in its turn: `server.line label`, with its fate unless it just ran. */
  trace: string[]
  /** How often a statement waited for a lock that another server held. */
  blocked: number
  outcomes: PromiseSettledResult<unknown>[]
}

/** Finds which of these sessions wait for a lock. */
export type LocksOf = (pids: readonly number[]) => Promise<Set<number>>

/** The time after which a statement without an answer is looked up among the waiting ones. Most statements end within it. */
const LOOK_MS = 5
/** A statement that neither ends nor waits for a lock for this time is a fault of the explorer. */
const STUCK_MS = 20_000

/**
 * Runs each operation on the server of its gate. Statements run one at a time, in the order of the chooser, except that a
 * statement that waits for a lock keeps waiting while others run.
 */
export async function runOrder(
  gates: readonly Gate[],
  operations: readonly (() => Promise<unknown>)[],
  { chooser, locksOf }: { chooser: Chooser; locksOf: LocksOf },
): Promise<Order> {
  const trace: string[] = []
  /** The statements that wait for locks, with their servers. */
  const inFlight = new Map<Step, number>()
  let blocked = 0
  let last = -1
  const settled = operations.map(() => false)
  for (const gate of gates) gate.shut()
  const outcomes = operations.map(async (operation, i) => {
    try {
      return await operation()
    } finally {
      settled[i] = true
    }
  })
  const all = Promise.allSettled(outcomes)
  try {
    for (;;) {
      await calm(gates, settled, { inFlight, outcomes, locksOf })
      const steps = gates.flatMap((gate, i) =>
        settled[i] ? [] : gate.waiting().map((step) => ({ i, step })),
      )
      if (steps.length === 0) {
        if (settled.every(Boolean)) break
        // A deadlock: the server ends it.
        await Promise.race([...inFlight.keys()].map(({ done }) => done))
        continue
      }
      steps.sort((a, b) => Number(b.i === last) - Number(a.i === last))
      const { i, step } = steps[
        chooser.choose(steps.length, steps[0]?.i !== last)
      ] as (typeof steps)[number]
      last = i
      const fate = chooser.fate()
      trace.push(`${i}.${step.line} ${step.label}${fate === 'runs' ? '' : ` (${fate})`}`)
      step.release(fate)
      if (await ends(step, locksOf)) continue
      inFlight.set(step, i)
      blocked++
      trace.push(`${i}.${step.line} waits for a lock`)
    }
  } finally {
    for (const gate of gates) gate.open()
  }
  return { trace, blocked, outcomes: await all }
}

/** Whether the statement ended; false if it waits for a lock. */
async function ends(step: Step, locksOf: LocksOf): Promise<boolean> {
  const until = performance.now() + STUCK_MS
  while (performance.now() < until) {
    if (await within(LOOK_MS, step.done)) return true
    if ((await locksOf([step.pid])).has(step.pid)) return false
  }
  throw new Error(`neither ended nor blocked: ${step.label}`)
}

/**
 * Resolves when each operation has ended, or has a statement that waits: at its gate, or for a lock. A session that got
 * its lock runs to the end of its statement first.
 */
async function calm(
  gates: readonly Gate[],
  settled: readonly boolean[],
  { inFlight, outcomes, locksOf }: CalmParts,
): Promise<void> {
  const pids = [...inFlight.keys()].map(({ pid }) => pid)
  const waiting = pids.length > 0 ? await locksOf(pids) : new Set()
  for (const step of inFlight.keys()) {
    if (!waiting.has(step.pid) && (await ends(step, locksOf))) inFlight.delete(step)
  }
  for (const [i, gate] of gates.entries()) {
    const isBlocked = () => [...inFlight.values()].includes(i)
    while (!settled[i] && gate.waiting().length === 0 && !isBlocked()) {
      await Promise.race([gate.arrived(), outcomes[i]?.catch(() => {})])
    }
  }
}

interface CalmParts {
  inFlight: Map<Step, number>
  outcomes: readonly Promise<unknown>[]
  locksOf: LocksOf
}

async function within(ms: number, done: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  const isDone = await Promise.race([done.then(() => true as const), late])
  clearTimeout(timer)
  return isDone
}

/**
 * Chooses every order with at most `preemptions_max` switches away from a server that could go on, depth first: almost all
 * defects of concurrency need one or two. `next` returns false after the last order.
 */
export function exhaustive(preemptions_max: number): Chooser & { next(): boolean } {
  const path: { count: number; index: number }[] = []
  let depth = 0
  let preemptions = 0
  return {
    choose(count, isFree) {
      const allowed = isFree || preemptions < preemptions_max ? count : 1
      // A server may behave differently at a repetition, for example after a pause; the path goes on from there.
      if (path[depth] && path[depth]?.count !== allowed) path.splice(depth)
      if (!path[depth]) path.push({ count: allowed, index: 0 })
      const index = path[depth++]?.index ?? 0
      if (!isFree && index > 0) preemptions++
      return index
    },
    fate: () => 'runs',
    next() {
      depth = 0
      preemptions = 0
      for (;;) {
        const last = path.at(-1)
        if (!last) return false
        if (++last.index < last.count) return true
        path.pop()
      }
    },
  }
}

const FAULTS: readonly Fate[] = [
  'serialization_failure',
  'deadlock_detected',
  'lost_before',
  'lost_after',
]

/** The expected number of statements, of which one at most meets a fault. */
const FAULTY_WITHIN = 12

/** Chooses at random; two of three orders have one fault. */
export function randomly(random: Random): Chooser {
  let left = random.percent(67) ? random.between(0, FAULTY_WITHIN) : -1
  return {
    choose: (count) => random.between(0, count),
    fate: () => (left-- === 0 ? random.pick(FAULTS) : 'runs'),
  }
}
