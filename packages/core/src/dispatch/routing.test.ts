import { describe, expect, it } from 'vitest'
import { AT, accepted, busy } from '../../test/dispatch/lane-parts.ts'
import { createCarriers, type Pace, type Pauses } from '../carriers/carriers.ts'
import type { Outcome } from '../contract/outside/provider.ts'
import type { Routed } from '../rules/claim.ts'
import type { Busy } from './in-flight.ts'
import { createRouting } from './routing.ts'

const message = (fields: Partial<Routed> = {}) =>
  ({
    channel: 'sms',
    livemode: true,
    sender: null,
    provider: null,
    attempt: 0,
    unknown_since: null,
    accepted: false,
    ...fields,
  }) as Routed

/** A routing over the providers a, b and c, whose pauses, pace and load the test sets. */
function open({ per_second = null as number | null, isRecorded = true } = {}) {
  const senders = { sms: ['ACME'] }
  const carriers = createCarriers(
    ['a', 'b', 'c'].map((name) => ({
      name,
      traits: {
        channels: ['sms'],
        senders,
        idempotent: false,
        lookup: false,
        messages_per_second: per_second,
      } as never,
    })),
  )
  const stopped = new Set<string>()
  const sent: unknown[] = []
  const noted: unknown[] = []
  const recorded: unknown[] = []
  const taken: Parameters<Pace['take']>[0][] = []
  const waits: Record<string, number> = {}
  const busy: Record<string, Busy> = {}
  const asked: unknown[] = []
  const clock = { at_ms: 50_000 }
  const pauses: Pauses = {
    allows: (provider) => !stopped.has(provider),
    isStopped: () => false,
    noteSend: (...about) => void sent.push(about),
    noteMisconfigured: async (...about) => void noted.push(['misconfigured', ...about]),
    noteAccepted: async (...about) => void noted.push(['accepted', ...about]),
    async refresh() {},
  }
  const routing = createRouting({
    carriers,
    pace: {
      take(about) {
        taken.push(about)
        return waits[about.provider] ?? 0
      },
      succeeded() {},
    } as Pace,
    pauses,
    elapsed: () => clock.at_ms,
    record: isRecorded
      ? {
          note: (...about) => void recorded.push(about),
          noteAnswer: (provider) => void recorded.push([provider, 'answered']),
        }
      : undefined,
  })
  const load = {
    inFlight: {
      busy(provider: string, more?: number) {
        asked.push([provider, more])
        return busy[provider] ?? null
      },
    },
    routed: new Map([['a', 3]]),
  }
  return { routing, load, stopped, sent, noted, recorded, taken, waits, busy, asked, clock }
}

const slow = (wait_ms: number): Busy => ({ wait_ms, is_slow: true })
const full = (wait_ms: number): Busy => ({ wait_ms, is_slow: false })
const to = (provider: string) => ({ provider, sender: 'ACME' })

describe('a message for busy providers', () => {
  it('gets the next one while the first is slow, and its pace and its pauses hear of it', () => {
    const { routing, load, busy, asked, taken, sent } = open({ per_second: 7 })
    busy.a = slow(1_000)
    expect(routing.route(message(), load)).toEqual(to('b'))
    expect(asked).toEqual([
      ['a', 3],
      ['b', undefined],
    ])
    const about = { provider: 'b', sender: 'ACME', per_second: 7, isRetry: false, at_ms: 50_000 }
    expect(taken).toEqual([about])
    expect(sent).toEqual([['b', 'ACME']])
  })

  it('waits for the first that is only full', () => {
    const { routing, load, busy, asked, sent } = open()
    Object.assign(busy, { a: full(300), b: slow(100) })
    const error_message = 'The provider is slow'
    const wait = { provider: null, wait_ms: 300, error_message }
    expect(routing.route(message(), load)).toEqual(wait)
    expect(asked).toHaveLength(1)
    expect(sent).toEqual([])
  })

  it.each<[string, Record<string, Busy>, string, number]>([
    ['the soonest of slow ones', { a: slow(900), b: slow(500), c: slow(700) }, 'b', 500],
    [
      'the first of slow ones that are equal',
      { a: slow(900), b: slow(500), c: slow(500) },
      'b',
      500,
    ],
    ['a full one after slow ones', { a: slow(900), b: full(400), c: slow(100) }, 'b', 400],
  ])('waits for %s, one message in a millisecond', (_, each, name, wait_ms) => {
    const { routing, load, busy, clock } = open()
    Object.assign(busy, each)
    const waitOf = () => (routing.route(message(), load) as { wait_ms: number }).wait_ms
    expect([waitOf(), waitOf(), waitOf()]).toEqual([wait_ms, wait_ms + 1, wait_ms + 2])
    clock.at_ms += 1
    expect(waitOf()).toBe(wait_ms + 2)
    clock.at_ms += 1_000
    expect(waitOf()).toBe(wait_ms)
    // The waits for another provider are their own.
    for (const other of ['a', 'b', 'c']) if (other !== name) delete busy[other]
    busy.a = full(wait_ms)
    expect(waitOf()).toBe(wait_ms)
  })

  it('waits for the pace of one rather than for a slow one', () => {
    const { routing, load, busy, waits } = open()
    busy.a = slow(10)
    Object.assign(waits, { b: 900, c: 800 })
    const error_message = 'The rate limit is reached'
    expect(routing.route(message(), load)).toEqual({ provider: null, wait_ms: 800, error_message })
  })

  it('asks for no load if it has none', () => {
    const { routing, asked } = open()
    expect(routing.route(message())).toEqual(to('a'))
    expect(asked).toEqual([])
  })
})

describe('a message that was tried', () => {
  it.each<[string, Partial<Routed>, string | null]>([
    ['with a first attempt', { attempt: 1, provider: 'a' }, 'b'],
    ['with the last provider', { attempt: 1, provider: 'c' }, 'a'],
    ['without an attempt that counts', { attempt: 0, provider: 'b' }, 'a'],
    ['with an unknown outcome', { attempt: 1, provider: 'b', unknown_since: AT }, 'b'],
    ['with an unknown outcome at first', { attempt: 0, provider: 'c', unknown_since: AT }, 'c'],
    ['and accepted in part', { attempt: 1, provider: 'b', accepted: true }, 'b'],
    ['and accepted in part at first', { attempt: 0, provider: 'c', accepted: true }, 'c'],
  ])('%s goes to the right provider', (_, fields, provider) => {
    const { routing, taken } = open()
    expect(routing.route(message(fields)).provider).toBe(provider)
    expect(taken[0]?.isRetry).toBe(fields.attempt === 1)
    expect(taken[0]?.per_second).toBeNull()
  })

  it('goes to all others and to the last one again, each once', () => {
    const { routing, waits, taken } = open()
    Object.assign(waits, { a: 5, b: 4, c: 3 })
    expect(routing.route(message({ attempt: 1, provider: 'b' }))).toMatchObject({ wait_ms: 3 })
    expect(taken.map(({ provider }) => provider)).toEqual(['c', 'a', 'b'])
  })
})

describe('messages of which all providers are paused', () => {
  it('wait a second, and longer the more there are: fifty a second, up to 15 s, then a thousand', () => {
    const { routing, stopped, clock } = open()
    for (const name of ['a', 'b', 'c']) stopped.add(name)
    const first = routing.route(message())
    const error_message = 'The provider is paused'
    expect(first).toEqual({ provider: null, wait_ms: 1_000, error_message })
    const waitOf = () => (routing.route(message()) as { wait_ms: number }).wait_ms
    expect([waitOf(), waitOf(), waitOf()]).toEqual([1_020, 1_040, 1_060])
    let last = 0
    for (let i = 0; i < 700; i++) last = waitOf()
    expect(last).toBe(15_003)
    expect([waitOf(), waitOf()]).toEqual([15_004, 15_005])
    clock.at_ms += 60_000
    expect(waitOf()).toBe(1_000)
  })

  it('wait with a reason that names no pause if there is no provider for them', () => {
    const { routing } = open()
    const reasonOf = (fields: Partial<Routed>) =>
      (routing.route(message(fields)) as { error_message: string }).error_message
    expect(reasonOf({ sender: 'OTHER' })).toBe('No available provider can send from this sender')
    expect(reasonOf({ channel: 'voice', provider: 'a', attempt: 1 })).toBe(
      'The provider of this message is not in the settings',
    )
  })
})

describe('the outcomes of a provider', () => {
  const wrong = (what: 'provider' | 'sender', type = 'retry'): Outcome =>
    ({ ...busy, type, misconfigured: what }) as never

  it('are counted, without those of the service', async () => {
    const { routing, recorded, noted } = open()
    await routing.noteOutcomes('a', [
      { sender: 'ACME', outcome: busy },
      { sender: 'ACME', outcome: wrong('provider'), by_service: true },
      { sender: null, outcome: accepted, by_service: false },
    ])
    expect(recorded).toEqual([['a', [busy, accepted]]])
    expect(noted).toEqual([
      ['misconfigured', 'a', null, wrong('provider')],
      ['accepted', 'a', null],
    ])
  })

  it('need no record', async () => {
    const { routing, noted } = open({ isRecorded: false })
    await routing.noteOutcomes('a', [{ sender: null, outcome: accepted }])
    routing.noteAnswer('a')
    expect(noted).toEqual([['accepted', 'a', null]])
  })

  it('may come late', () => {
    const { routing, recorded } = open()
    routing.noteAnswer('a')
    expect(recorded).toEqual([['a', 'answered']])
  })

  it('pause it, or one of its senders that are in the settings', async () => {
    const { routing, noted } = open()
    await routing.noteOutcomes('a', [
      { sender: 'ACME', outcome: wrong('provider') },
      { sender: 'ACME', outcome: wrong('sender') },
      { sender: 'OTHER', outcome: wrong('sender') },
      { sender: null, outcome: wrong('sender') },
      { sender: 'ACME', outcome: wrong('provider', 'rejected') },
      { sender: 'ACME', outcome: busy },
    ])
    expect(noted).toEqual([
      ['misconfigured', 'a', null, wrong('provider')],
      ['misconfigured', 'a', 'ACME', wrong('sender')],
      ['misconfigured', 'a', null, wrong('sender')],
    ])
  })
})
