import type { Query } from './evidence.ts'
import type { Random } from './random.ts'
import type { Receiver } from './receiver.ts'
import type { Traffic } from './traffic.ts'
import type { Violations } from './violations.ts'

/** A service on its database, and what can befall them. */
export interface Stage {
  /** Where the service answers. */
  urls(): readonly string[]
  /** Lets something bad happen, as chance has it, and resolves when the service is whole again. Answers what it was. */
  suffer(play: Play): Promise<Misfortune[]>
  query: Query
  /** What the database finds damaged in itself. */
  damage(): Promise<string[]>
  /** Whether the database was away at times. */
  outages: boolean
  /** Everything that the servers wrote. */
  log(): string
  /** Kills whatever is left. */
  close(): Promise<void>
}

/** Everybody around the service while it suffers. */
export interface Play {
  /** Decides what happens, and when. */
  chance: Random
  traffic: Traffic
  receiver: Receiver
  violations: Violations
}

export interface Misfortune {
  /** In words that follow a number of times. */
  kind: string
  /** The slowest answer that anybody got meanwhile. */
  slowest_ms: number
}

const LIFE_MS = { min: 200, max: 1_500 }

/** So many lives count from the first webhook on: a service that has hardly begun is killed in the other ones. */
const AT_WORK_PERCENT = 60
const AT_WORK_MAX_MS = 5_000

/** Lets the service work for a while. */
export async function live({ chance, receiver }: Play): Promise<void> {
  if (chance.percent(AT_WORK_PERCENT)) await atWork(receiver)
  await pause(chance.between(LIFE_MS.min, LIFE_MS.max))
}

/** Resolves when the service has delivered something, or does not come to it. */
async function atWork(receiver: Receiver): Promise<void> {
  const before = receiver.deliveries()
  const until = performance.now() + AT_WORK_MAX_MS
  while (receiver.deliveries() === before && performance.now() < until) await pause(10)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
