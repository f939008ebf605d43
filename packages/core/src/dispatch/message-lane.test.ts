import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  AT,
  accepted,
  claimed,
  claimedMany,
  laneParts,
  stopTime,
  turn,
} from '../../test/dispatch/lane-parts.ts'
import type { ClaimedMessage, Routed } from '../rules/claim.ts'
import { messageLane } from './message-lane.ts'

const LEASE_MS = 60_000

let time: ReturnType<typeof stopTime>
beforeEach(() => {
  time = stopTime()
})
afterEach(() => time.restore())

function open({ lease_ms, all }: { lease_ms?: number; all?: number } = {}) {
  const parts = laneParts()
  const calls = { calls: 0, took_ms: 0 }
  const lane = messageLane({
    ...parts.parts,
    lease_ms,
    connections: all === undefined ? undefined : new Map([['a', { each: 1, all }]]),
    callsOf: () => ({ ...calls }),
  })
  let slots = 0
  let storing = 0
  return {
    ...parts,
    lane,
    calls,
    /** Runs the messages of a claim; `free` counts the slots that are free again. */
    async run(messages: ClaimedMessage[], claimed_ms = time.uptime()) {
      let isOver = false
      const done = (count: number) => {
        slots += count
      }
      const over = lane.run(
        messages,
        done,
        () => {},
        claimed_ms,
        (count) => {
          storing += count
        },
      )
      void over.then(() => {
        isOver = true
      })
      await turn()
      return { isOver: () => isOver }
    },
    free: () => slots,
    /** The messages whose results were handed to the storage. */
    storing: () => storing,
  }
}

describe('a claim of messages', () => {
  it('has a lease, a token of its own, and the time', async () => {
    const { lane, claims, clock } = open()
    clock.elapsed_ms = 7
    await lane.claim(5)
    await lane.claim(6)
    const offer = lane.offer(7)
    const terms = { now: AT, elapsed_ms: 7, lease_ms: LEASE_MS }
    expect([...claims, offer.terms]).toMatchObject([
      { ...terms, limit: 5 },
      { ...terms, limit: 6 },
      { ...terms, limit: 7 },
    ])
    expect(new Set([...claims, offer.terms].map(({ token }) => token)).size).toBe(3)
  })

  it('must not be overtaken by newer ones of its workspace, unless it belongs to a bulk', () => {
    const { lane } = open()
    expect(lane.workspaceOf?.({ workspace_id: 'w1', bulk_id: null })).toBe('w1')
    expect(lane.workspaceOf?.({ workspace_id: 'w1', bulk_id: 'b1' })).toBeNull()
  })

  it('has the lease of the settings', async () => {
    const { lane, claims } = open({ lease_ms: 5_000 })
    await lane.claim(1)
    expect(claims[0]?.lease_ms).toBe(5_000)
  })

  /** A lane whose provider a takes two messages that are not in flight yet; others wait. */
  function openForTwo() {
    const opened = open()
    opened.parts.routing.route = () => ({ provider: 'never', sender: null })
    const parts = {
      ...opened.parts,
      routing: {
        ...opened.parts.routing,
        route: (_: Routed, load?: { routed: ReadonlyMap<string, number> }) =>
          (load?.routed.get('a') ?? 0) < 2
            ? { provider: 'a', sender: null }
            : { provider: null, wait_ms: 1, error_message: 'busy' },
      },
    }
    return { ...opened, lane: messageLane(parts) }
  }

  it('counts its messages for their provider, and the next claim begins anew', async () => {
    const { lane, claims } = openForTwo()
    for (let i = 0; i < 2; i++) {
      await lane.claim(5)
      const route = claims[i]?.route
      const providers = Array.from({ length: 3 }, () => route?.(claimed()).provider)
      expect(providers).toEqual(['a', 'a', null])
    }
  })

  it('counts the messages of all transactions that have not ended', () => {
    const { lane } = openForTwo()
    const [first, second] = [lane.offer(1), lane.offer(1)]
    expect(first.terms.route(claimed()).provider).toBe('a')
    expect(second.terms.route(claimed()).provider).toBe('a')
    expect(second.terms.route(claimed()).provider).toBeNull()
    first.end()
    const third = lane.offer(1)
    expect(third.terms.route(claimed()).provider).toBe('a')
    expect(third.terms.route(claimed()).provider).toBeNull()
    second.end()
    third.end()
    const last = lane.offer(3)
    const providers = Array.from({ length: 3 }, () => last.terms.route(claimed()).provider)
    expect(providers).toEqual(['a', 'a', null])
  })
})

describe('claimed messages', () => {
  it('go to their providers in calls of at most 64, and free their slots call by call', async () => {
    const { run, sends, free, settled } = open()
    const toB = claimed({ message_id: 'b', route: { provider: 'b', sender: null } })
    const running = await run([toB, ...claimedMany(65)])
    expect(sends.map(({ provider, jobs }) => [provider, jobs.length])).toEqual([
      ['b', 1],
      ['a', 64],
      ['a', 1],
    ])
    expect([free(), settled.length]).toEqual([0, 0])
    await sends[1]?.answer(accepted)
    expect([free(), settled.length]).toEqual([64, 64])
    await sends[2]?.answer(accepted)
    expect(running.isOver()).toBe(false)
    await sends[0]?.answer(accepted)
    expect(running.isOver()).toBe(true)
    expect([free(), settled.length]).toEqual([66, 66])
    expect(settled.at(-1)).toMatchObject({ message_id: 'b', provider: 'b', token: 't1', at: AT })
  })

  it('only wait for their storing when their call has ended', async () => {
    const { run, sends, free, storing, parts } = open()
    let store = () => {}
    vi.spyOn(parts.storage.hot, 'settle').mockImplementation(
      () => new Promise((resolve) => (store = () => resolve([]))),
    )
    const running = await run(claimedMany(2))
    expect(storing()).toBe(0)
    await sends[0]?.answer(accepted)
    expect([storing(), free()]).toEqual([2, 0])
    expect(running.isOver()).toBe(false)
    store()
    await turn()
    expect([storing(), free()]).toEqual([2, 2])
    expect(running.isOver()).toBe(true)
  })

  it('are looked up in calls of at most 64 with the provider that has them', async () => {
    const { run, lookups, free, settled, sends } = open()
    const running = await run([
      ...claimedMany(65, { task: 'lookup', provider: 'a', route: null, status: 'sent' }),
      claimed({ message_id: 'x', task: 'lookup', provider: 'b', route: null, status: 'sent' }),
    ])
    expect(lookups.map(({ provider, jobs }) => [provider, jobs.length])).toEqual([
      ['a', 64],
      ['a', 1],
      ['b', 1],
    ])
    await lookups[0]?.answer({ type: 'not_found' })
    expect(free()).toBe(64)
    await lookups[1]?.answer({ type: 'not_found' })
    await lookups[2]?.answer({ type: 'unavailable' })
    expect(running.isOver()).toBe(true)
    expect(free()).toBe(66)
    expect(sends).toEqual([])
    expect(settled.at(-1)?.result).toEqual({ task: 'lookup', found: { type: 'unavailable' } })
    expect(settled[0]?.result).toEqual({ task: 'lookup', found: { type: 'not_found' } })
  })

  const minuteAgo = new Date(AT.getTime() - 60_000)
  it.each<[string, Partial<ClaimedMessage>, object]>([
    [
      'was interrupted is in doubt, also after it expired',
      { interrupted: true, route: null, provider: 'b', expires_at: AT, suppressed: true },
      {
        task: 'send',
        attempt: 3,
        outcome: { type: 'ambiguous', error_code: 'interrupted' },
        sender: 'number of b',
      },
    ],
    [
      'was sent already needs nothing more',
      { status: 'sent' },
      {
        task: 'lookup',
        found: { type: 'found', receipts: [], replies: [], lookup_after_ms: null },
      },
    ],
    ['is suppressed is settled so', { suppressed: true, route: null }, { task: 'suppressed' }],
    [
      'has no provider now waits',
      { route: { provider: null, wait_ms: 9, error_message: 'paused' } },
      { task: 'postponed', wait_ms: 9, error_message: 'paused' },
    ],
    [
      'expires now is not sent',
      { expires_at: AT },
      {
        task: 'send',
        attempt: 3,
        outcome: { type: 'rejected', error_code: 'expired' },
        by_service: true,
      },
    ],
    [
      'expired is not sent',
      { expires_at: minuteAgo },
      { task: 'send', outcome: { type: 'rejected', error_code: 'expired' } },
    ],
  ])('that %s, without a call', async (_, fields, result) => {
    const { run, settled, free, sends, lookups } = open()
    const running = await run([claimed(fields), claimed({ message_id: 'm2', ...fields })])
    expect(running.isOver()).toBe(true)
    expect([sends, lookups]).toEqual([[], []])
    expect(settled).toHaveLength(2)
    expect(settled[0]?.result).toMatchObject(result)
    expect(free()).toBe(2)
  })

  it('are sent while they have not expired', async () => {
    const { run, sends } = open()
    await run([claimed({ expires_at: new Date(AT.getTime() + 1) })])
    expect(sends).toHaveLength(1)
  })

  it('are not looked up with a slow provider that has its maximum in calls', async () => {
    const { run, clock, sends, lookups, results } = open()
    await run(claimedMany(384))
    clock.elapsed_ms = 5_000
    const lookup = { task: 'lookup', route: null, status: 'sent' } as const
    const running = await run([claimed({ ...lookup, message_id: 'full', provider: 'a' })])
    expect(running.isOver()).toBe(true)
    expect(results().full).toEqual({ task: 'lookup', found: { type: 'unavailable' } })
    expect(lookups).toEqual([])
    await run([claimed({ ...lookup, provider: 'b' })])
    expect(lookups).toHaveLength(1)
    await sends[0]?.answer(accepted)
    await run([claimed({ ...lookup, provider: 'a' })])
    expect(lookups).toHaveLength(2)
  })

  it('are called only in the first half of their lease', async () => {
    const { run, sends, outcomes } = open()
    await run([claimed()], time.uptime() - 30_000)
    expect(sends).toHaveLength(1)
    const running = await run([claimed({ message_id: 'late' })], time.uptime() - 30_010)
    expect(running.isOver()).toBe(true)
    expect(sends).toHaveLength(1)
    expect(outcomes().late).toBe('not_called')
  })

  it.each([
    [60_000, 30_000],
    [10_000, 5_000],
    [200_000, 30_000],
  ])('with a lease of %d ms count as not answered after %d ms', async (lease_ms, max_ms) => {
    const { run, outcomes, free } = open({ lease_ms })
    const running = await run([claimed()], time.uptime() - lease_ms + max_ms)
    await time.pass(max_ms - 1)
    expect(free()).toBe(0)
    await time.pass(1)
    expect(running.isOver()).toBe(true)
    expect(outcomes()).toEqual({ m1: 'no_answer' })
  })
})

describe('mails with stored files', () => {
  const file = { filename: 'a.pdf', size_bytes: 24 * 2 ** 20 }
  const mail = (message_id: string, provider = 'a') =>
    claimed({
      message_id,
      channel: 'email',
      content: { subject: 'x', text: 'x', attachments: [file] },
      route: { provider, sender: null },
    } as never)

  it('are loaded and sent one after the other, and others are not held up', async () => {
    const { run, sends, free } = open()
    const running = await run([mail('large1'), mail('large2'), claimed({ message_id: 'small' })])
    const sent = () => sends.map(({ jobs }) => jobs.map(({ message_id }) => message_id))
    expect(sent()).toEqual([['small'], ['large1']])
    const [loaded] = sends[1]?.jobs ?? []
    expect(loaded?.content).toMatchObject({
      attachments: [{ filename: 'a.pdf', content: new Uint8Array(Buffer.from('AAAA')) }],
    })
    await sends[1]?.answer(accepted)
    expect(free()).toBe(1)
    expect(sent()).toEqual([['small'], ['large1'], ['large2']])
    await sends[2]?.answer(accepted)
    await sends[0]?.answer(accepted)
    expect(running.isOver()).toBe(true)
    expect(free()).toBe(3)
  })

  it('wait for no connection in the lane', async () => {
    const { run, sends } = open({ all: 1 })
    await run([mail('large'), claimed({ message_id: 'small' })])
    const sent = sends.map(({ jobs }) => jobs.map(({ message_id }) => message_id))
    expect(sent.toSorted()).toEqual([['large'], ['small']])
  })

  it('are not loaded for the sandbox', async () => {
    const { run, sends } = open()
    await run([mail('large', 'sandbox')])
    expect(sends[0]?.jobs[0]?.content).toMatchObject({ attachments: [file] })
  })

  it('return to the queue when the service stops', async () => {
    const { run, sends, lane, outcomes } = open()
    await run([mail('large1'), mail('large2')])
    lane.stopping?.()
    await turn()
    expect(outcomes()).toEqual({ large2: 'not_called' })
    await sends[0]?.answer(accepted)
    expect(outcomes()).toEqual({ large1: 'accepted', large2: 'not_called' })
  })
})

describe('messages of a provider with few connections', () => {
  const sent = ({ sends }: ReturnType<typeof laneParts>) =>
    sends.flatMap(({ jobs }) => jobs.map(({ message_id }) => message_id))

  it('wait in their order for a connection, and a message frees its slot when it has ended', async () => {
    const opened = open({ all: 2 })
    const { run, sends, free, writes } = opened
    const running = await run(claimedMany(4))
    expect(sent(opened)).toEqual(['m0', 'm1'])
    expect(sends.map(({ jobs }) => jobs.length)).toEqual([1, 1])
    await sends[1]?.answer(accepted)
    expect(sent(opened)).toEqual(['m0', 'm1', 'm2'])
    expect(free()).toBe(1)
    await sends[0]?.answer(accepted)
    await sends[2]?.answer(accepted)
    await sends[3]?.answer(accepted)
    expect(running.isOver()).toBe(true)
    expect(sent(opened)).toEqual(['m0', 'm1', 'm2', 'm3'])
    expect(free()).toBe(4)
    expect(writes).toEqual([['m1'], ['m0'], ['m2'], ['m3']])
    // Nothing waits, so nothing is looked for any more.
    await time.pass(500)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('go in calls of as many as a connection carries soon, and those without room wait', async () => {
    const opened = open({ all: 1 })
    const { run, sends, calls, clock } = opened
    await run(claimedMany(30))
    clock.elapsed_ms = 10
    Object.assign(calls, { calls: 1, took_ms: 10 })
    await sends[0]?.answer(accepted)
    // The connection carries 26 messages of 10 ms in a quarter of a second, and 10 in the time of one call.
    expect(sends.map(({ jobs }) => jobs.length)).toEqual([1, 10, 10, 6])
    expect(sent(opened)).toEqual(claimedMany(27).map(({ message_id }) => message_id))
  })

  it('count as waiting, so that claims take no more than the provider can carry', async () => {
    const parts = open({ all: 1 })
    let busy: unknown = null
    const lane = messageLane({
      ...parts.parts,
      connections: new Map([['a', { each: 1, all: 1 }]]),
      routing: {
        ...parts.parts.routing,
        route(_, load) {
          busy = load?.inFlight.busy('a', load.routed.get('a'))
          return { provider: null, wait_ms: 1, error_message: 'busy' }
        },
      },
    })
    const look = () => {
      lane.offer(1).terms.route(claimed())
      return busy
    }
    expect(look()).toBeNull()
    void lane.run(
      claimedMany(33),
      () => {},
      () => {},
      time.uptime(),
      () => {},
    )
    await turn()
    // One in a call, and 32 that wait while no latency is known.
    expect(look()).not.toBeNull()
    await parts.sends[0]?.answer(accepted)
    expect(look()).toBeNull()
    lane.stopping?.()
    await turn()
    expect(look()).toBeNull()
    await parts.sends[1]?.answer(accepted)
    expect(look()).toBeNull()
  })

  it.each<[string, number, Partial<ClaimedMessage>, number]>([
    ['10 s in the lane', 10_000, {}, 0],
    ['half of their lease', 3_000, {}, 27_000],
    ['the time at which they expire', 2_000, { expires_at: new Date(AT.getTime() + 2_000) }, 0],
  ])('return to the queue after %s', async (_, wait_ms, fields, since_ms) => {
    const { run, sends, outcomes, results, free } = open({ all: 1 })
    const running = await run(
      [claimed({ message_id: 'first' }), ...claimedMany(2, fields)],
      time.uptime() - since_ms,
    )
    await time.pass(wait_ms - 500)
    await time.pass(500)
    expect(free()).toBe(0)
    await time.pass(500)
    expect(outcomes()).toEqual({ m0: 'not_called', m1: 'not_called' })
    expect(results().m0).toMatchObject({ never_accepted: true, by_service: true })
    expect(free()).toBe(2)
    expect(running.isOver()).toBe(false)
    await sends[0]?.answer(accepted)
    expect(running.isOver()).toBe(true)
    expect(sends).toHaveLength(1)
    expect(free()).toBe(3)
  })

  it('wait on when others return to the queue', async () => {
    const opened = open({ all: 1 })
    const { run, sends, outcomes } = opened
    await run([claimed({ message_id: 'first' })])
    await run([claimed({ message_id: 'early' })], time.uptime() - 27_000)
    await run([claimed({ message_id: 'late' })])
    await time.pass(3_000)
    await time.pass(500)
    expect(outcomes()).toEqual({ early: 'not_called' })
    await sends[0]?.answer(accepted)
    expect(sent(opened)).toEqual(['first', 'late'])
  })

  it('return to the queue when the service stops, and no further ones wait', async () => {
    const { run, sends, lane, outcomes, free } = open({ all: 1 })
    const running = await run(claimedMany(3))
    lane.stopping?.()
    await turn()
    expect(outcomes()).toEqual({ m1: 'not_called', m2: 'not_called' })
    await sends[0]?.answer(accepted)
    expect(running.isOver()).toBe(true)
    expect(free()).toBe(3)
    const late = await run([claimed({ message_id: 'late' })])
    expect(late.isOver()).toBe(true)
    expect(sends).toHaveLength(1)
    expect(outcomes()).toMatchObject({ late: 'not_called' })
  })

  it('in one call start by the earliest of their times', async () => {
    const opened = open()
    const { sends, calls, outcomes } = opened
    const starts: number[] = []
    const { send } = opened.parts.performer
    opened.parts.performer.send = (provider, jobs, ...rest: unknown[]) => {
      starts.push(rest[0] as number)
      return send(provider, jobs)
    }
    const lane = messageLane({
      ...opened.parts,
      connections: new Map([['a', { each: 10, all: 1 }]]),
      callsOf: () => ({ ...calls }),
    })
    const soon = { expires_at: new Date(AT.getTime() + 5_000) }
    const messages = [
      claimed(),
      claimed({ message_id: 'm2' }),
      claimed({ message_id: 'm3', ...soon }),
    ]
    void lane.run(
      messages,
      () => {},
      () => {},
      time.uptime(),
      () => {},
    )
    await turn()
    Object.assign(calls, { calls: 1, took_ms: 10 })
    await sends[0]?.answer(accepted)
    expect(sends[1]?.jobs).toHaveLength(2)
    expect(starts).toEqual([time.uptime() + 10_000, time.uptime() + 5_000])
    await sends[1]?.answer(accepted)
    expect(outcomes()).toEqual({ m1: 'accepted', m2: 'accepted', m3: 'accepted' })
  })
})
