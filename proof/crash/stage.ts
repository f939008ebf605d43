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
}

/** The death between a commit that claims a message and the hand-over of that message. */
export const HAND_OVER: Death = { commit: 'hand_over', when: 'after' }

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
