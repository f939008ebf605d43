import { setTimeout as pause } from 'node:timers/promises'
import type { Query } from '../stage/database.ts'
import type { Random } from '../stage/random.ts'
import { until } from '../stage/until.ts'
import type { Violations } from '../stage/violations.ts'
import type { Death } from './kill-at-commit.ts'
import type { Receiver } from './receiver.ts'
import type { Traffic } from './traffic.ts'

/** A service on its database, and its possible faults. */
export interface Stage {
  /** The addresses of the service. */
  urls(): readonly string[]
  /** The SMTP inlet of the server with this address, while it runs. */
  inletOf(url: string): string | null
  /** Causes a random fault, and resolves when the service runs again. Returns the faults. */
  causeFault(play: Play): Promise<Fault[]>
  query: Query
  /** The URL of the database for the commands of the operator. */
  database_url(): string
  /** The number of requests that a provider outside the service got, by message; default: there is none. */
  calls?: ReadonlyMap<string, number>
  /** Damage that the database finds in itself. */
  damage(): Promise<string[]>
  /** Whether the database was unavailable at times. */
  outages: boolean
  /** The output of all servers. */
  log(): string
  /** Kills the remaining processes. */
  close(): Promise<void>
}

/** The clients, the receiver and the generator around the service. */
export interface Play {
  /** Determines the faults and their times. */
  chance: Random
  traffic: Traffic
  receiver: Receiver
  violations: Violations
}

export interface Fault {
  /** The name of the fault in the report, after the number of times that it occurred. */
  kind: string
  /** The duration of the slowest answer during the fault, in ms. */
  slowest_ms: number
  /** From a fault that no server can survive alone until the first 201, and until each server gave one, in ms. */
  first_ms?: number
  all_ms?: number
}

/** The death between a commit that claims a message and the hand-over of that message. */
export const HAND_OVER: Death = { commit: 'hand_over', when: 'after' }

/** The maximum wait for any answer. */
export const ANSWER_MAX_MS = 25_000

/** Chooses each item once, in random order, before one repeats. */
export function bagOf<T>(items: readonly T[]): (chance: Random) => T {
  const bag: T[] = []
  return (chance) => {
    if (bag.length === 0) bag.push(...items)
    return bag.splice(chance.between(0, bag.length), 1)[0] as T
  }
}

/** The fault with the slowest answer during it, which must have come in bounded time. */
export function noteFault(kind: string, { traffic, violations }: Play): Fault {
  const slowest_ms = traffic.slowest_ms()
  const late = violations.rule('every request is answered in bounded time')
  if (slowest_ms > ANSWER_MAX_MS) late(`${Math.round(slowest_ms)} ms while ${kind}`)
  return { kind, slowest_ms }
}

/** Resolves when requests are accepted again, by any server or by one, without any action. */
export async function untilAccepted(
  kind: string,
  { traffic, violations }: Play,
  { max_ms, url }: { max_ms: number; url?: string },
): Promise<void> {
  const never = violations.rule('the service accepts requests again without any action')
  const before = traffic.accepted(url)
  const accepts = await until(() => traffic.accepted(url) !== before, { max_ms })
  if (!accepts) never(`not within ${max_ms} ms after ${kind}`)
}

const LIFE_MS = { min: 200, max: 1_500 }

/** The percentage of lives whose time starts with the first webhook; the others are killed soon after their start. */
const AT_WORK_PERCENT = 60
const AT_WORK_MAX_MS = 5_000

/** Lets the service work for a random time. */
export async function live({ chance, receiver }: Play): Promise<void> {
  if (chance.percent(AT_WORK_PERCENT)) await atWork(receiver)
  await pause(chance.between(LIFE_MS.min, LIFE_MS.max))
}

/** Resolves when the service has delivered a webhook, or after a timeout. */
async function atWork(receiver: Receiver): Promise<void> {
  const before = receiver.deliveries()
  await until(() => receiver.deliveries() !== before, { max_ms: AT_WORK_MAX_MS })
}
