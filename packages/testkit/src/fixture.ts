import { createHash } from 'node:crypto'
import { EVENTS, type EventKind, type WireEventData } from '@svc/core/contract'

/** An event with its id, as a receiver gets it; the body is `{ event, data }`. */
export interface TestEvent<Kind extends EventKind = EventKind> {
  /** The id of the event (`webhook-id`), the same on every attempt. */
  event_id: string
  event: Kind
  data: WireEventData<Kind>
}

/**
 * Fields at any depth: an object is merged into the existing one, and `undefined` removes a field.
 */
export type Overrides<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: Overrides<T[Key]> | undefined }
    : T

/** Options of `fixture`. */
export interface FixtureOptions {
  /**
   * Another seed gives other ids. Fixtures with the same seed describe the same message, so
   * `message.sent` and `message.delivered` belong together.
   */
  seed?: number
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * Returns an event of a kind: the example of the API documentation with your fields merged in.
 * Equal arguments give equal events; other data gives another `event_id`. Source: contract section
 * 7.
 *
 * @throws TypeError for an unknown kind.
 * @example
 * const event = fixture('message.failed', { error_code: 'undelivered', metadata: { order_id: 'A1' } })
 */
export function fixture<Kind extends EventKind>(
  kind: Kind,
  data: Overrides<WireEventData<Kind>> = {} as Overrides<WireEventData<Kind>>,
  { seed = 0 }: FixtureOptions = {},
): TestEvent<Kind> {
  if (!Object.hasOwn(EVENTS, kind)) {
    const kinds = Object.keys(EVENTS).join(', ')
    throw new TypeError(`${JSON.stringify(kind)} is not an event; use one of ${kinds}`)
  }
  const merged = merge(seeded(EVENTS[kind].example, seed), data) as WireEventData<Kind>
  return { event_id: eventIdOf(kind, merged, seed), event: kind, data: merged }
}

/** Derives a UUIDv7 from an event, with the time of the event's `occurred_at`. */
export function eventIdOf(event: string, data: unknown, seed = 0): string {
  const occurred = Date.parse(String((data as { occurred_at?: unknown } | null)?.occurred_at))
  const at_ms = Number.isNaN(occurred) ? 0 : Math.max(0, occurred)
  return uuidOf(at_ms, JSON.stringify([event, data, seed]))
}

/** Derives a UUIDv7 from a time and a name. */
function uuidOf(at_ms: number, name: string): string {
  const time = at_ms.toString(16).padStart(12, '0')
  const digest = createHash('sha256').update(name).digest('hex')
  const variant = (8 + (Number.parseInt(digest.slice(3, 4), 16) % 4)).toString(16)
  const tail = `7${digest.slice(0, 3)}-${variant}${digest.slice(4, 7)}-${digest.slice(8, 20)}`
  return `${time.slice(0, 8)}-${time.slice(8)}-${tail}`
}

/** Returns a copy with the ids of the seed; seed 0 keeps the example's own ids. */
function seeded(value: unknown, seed: number): unknown {
  if (typeof value === 'string') {
    if (seed === 0 || !UUID.test(value)) return value
    return uuidOf(Number.parseInt(value.slice(0, 13).replace('-', ''), 16), `${seed} ${value}`)
  }
  if (Array.isArray(value)) return value.map((each) => seeded(each, seed))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, seeded(each, seed)]))
}

function merge(base: unknown, over: unknown): unknown {
  if (!isObject(base) || !isObject(over)) return over
  const merged = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(over)) {
    if (value === undefined) merged.delete(key)
    else merged.set(key, merge(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
