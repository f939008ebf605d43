import type { SendJob } from '../../packages/core/src/contract/outside/provider.ts'
import { elapsedMs, isWaking, later, running } from './clock.ts'
import { type Carried, createToggle, type Model, type Person } from './model.ts'
import { mixed } from './random.ts'
import type { Connection, World } from './world.ts'

/** The world and what is known of it; both are replaced for each seed, because providers are defined once. */
export interface Outside {
  world: World
  model: Model
  /** Reads the database of the running service. */
  database(): Connection
}

export let outside: Outside

export function setOutside(next: Outside): void {
  outside = next
}

/** What was sent to a suspended machine is sent again within this time after it woke up. */
const SENT_AGAIN_MS = 12_000

/** Resolves after `ms`, unless the process that asks was killed meanwhile. */
export function answerIn<T>(ms: number, answer: () => T): Promise<T> {
  const asking = running.process
  return new Promise((resolve, reject) => {
    function arrive(): void {
      if (asking !== running.process) return
      if (isWaking()) {
        later(arrive, mixed(outside.world.seed, Math.floor(elapsedMs()), ms) % SENT_AGAIN_MS)
        return
      }
      try {
        resolve(answer())
      } catch (error) {
        reject(error)
      }
    }
    later(arrive, ms)
  })
}

export function carriedOf(id: string): Carried {
  const { carried } = outside.model
  const known = carried.get(id)
  if (known) return known
  const one: Carried = {
    calls: 0,
    copies: 0,
    mayRepeat: true,
    status: 'sent',
    mayArrive: false,
    part_of: null,
    follows: 0,
    durations: [],
    isEnded: false,
    people: new Map(),
    not_before_ms: null,
  }
  carried.set(id, one)
  return one
}

export function personOf({ people }: Carried, address: string): Person {
  const known = people.get(address)
  if (known) return known
  const person: Person = { copies: 0, wasReported: false, reports: [] }
  people.set(address, person)
  return person
}

/** The recipients of a mail to several to which it is sent now. */
export const dueOf = ({ recipients = [] }: SendJob): string[] =>
  recipients.flatMap(({ address, is_due }) => (is_due ? address : []))

/** The fate of a message is in its address, so that it does not depend on other messages. */
export function fateOf(recipient: string): number {
  return Number(recipient.replace(/^\+1415|\D/g, ''))
}

/** The state of an opt-out. */
export function optOutOf(place: number, channel: string, address: string) {
  const { optOuts } = outside.model
  const key = `${place} ${channel} ${address}`
  const known = optOuts.get(key)
  if (known) return known
  const one = { toggle: createToggle(), since_ms: 0 }
  optOuts.set(key, one)
  return one
}

/** The bytes of a file, which follow from its name. */
export function fileOf(name: string): Buffer {
  const [, size = '0', fate = '0'] = /^f(\d+)-(\d+)\.txt$/.exec(name) ?? []
  return Buffer.alloc(Number(size), `${fate} `)
}
