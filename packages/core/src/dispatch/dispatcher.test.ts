import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { claimed, recordedRuntime, turn } from '../../test/dispatch/lane-parts.ts'
import { plainSealer } from '../../test/fixtures.ts'
import type { ClaimedMessage } from '../rules/claim.ts'
import type { DeliveryClaim, Lanes, MessageClaim } from '../storage/ports/hot.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { startDispatcher, startSweeper } from './dispatcher.ts'

beforeEach(() => {
  // Nothing happens that was not asked for.
  const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const
  vi.useFakeTimers({ toFake: [...toFake] })
})
afterEach(() => {
  vi.useRealTimers()
})

const HOUR_MS = 3_600_000

type Options = Parameters<typeof startDispatcher>[0]

/** A dispatcher over a storage in memory, and what happened in its order. */
function open(options: Partial<Options> = {}) {
  const { runtime, clock } = recordedRuntime()
  const events: string[] = []
  const claims: (MessageClaim | DeliveryClaim)[] = []
  const queue: ClaimedMessage[] = []
  const sends: (() => void)[] = []
  const low: string[] = []
  const held: { lanes: Partial<Lanes> | null; onClaim: () => void | Promise<void> } = {
    lanes: null,
    onClaim() {},
  }
  const wakes: ((work: 'messages' | 'deliveries' | null) => void)[] = []
  const storage = {
    hot: {
      setLanes(lanes: Partial<Lanes> | null) {
        held.lanes = lanes
        events.push(lanes ? 'lanes' : 'no lanes')
      },
      onWake(wake: (typeof wakes)[number]) {
        wakes.push(wake)
        return () => void events.push('hears no more')
      },
      async claimMessages(claim: MessageClaim) {
        claims.push(claim)
        events.push('messages')
        return queue.splice(0)
      },
      async claimDeliveries(claim: DeliveryClaim) {
        claims.push(claim)
        events.push('deliveries')
        await held.onClaim()
        return []
      },
      async settle(settlements: readonly unknown[]) {
        events.push('settled')
        return settlements.map(() => true)
      },
    },
    read: {
      webhookNotices: { due: async () => [] },
      lowBalances: {
        async due() {
          events.push('low balances')
          return [...low]
        },
      },
    },
    write: (work: (stores: object) => Promise<unknown>) =>
      work({
        lowBalances: {
          async claimNotice(workspace_id: string) {
            low.splice(low.indexOf(workspace_id), 1)
            return { workspace_id, available: 1, threshold: 2 }
          },
        },
        webhooks: {
          subscribers: async () => [{ id: 'h1', events: ['credits.low'], livemode: null }],
          async queue() {
            events.push('queued')
          },
        },
        eventLog: { isKept: async () => false },
      }),
  } as unknown as Storage
  const dispatcher = startDispatcher({
    storage,
    runtime,
    sealer: plainSealer(runtime),
    right: {
      async release() {
        events.push('released')
      },
    },
    performer: {
      send: (_, jobs) =>
        new Promise((resolve) => {
          events.push('send')
          sends.push(() =>
            resolve(
              jobs.map(() => ({
                type: 'accepted' as const,
                provider_message_id: 'P',
                lookup_after_ms: null,
              })),
            ),
          )
        }),
      lookup: async () => [],
      deliver: async () => null,
      async close() {
        events.push('performer closed')
      },
    },
    routing: {
      route: () => ({ provider: 'a', sender: 'ACME' }),
      isStopped: () => false,
      senderOf: () => 'ACME',
      traits: new Map(),
      async noteOutcomes() {},
      noteAnswer() {},
    },
    async receive() {},
    ...options,
  })
  return {
    dispatcher,
    clock,
    runtime,
    events,
    claims,
    queue,
    sends,
    low,
    held,
    wakes,
    /** What happens next because of this. */
    async after(work: () => void) {
      await turn()
      events.splice(0)
      work()
      await turn()
      return [...events]
    },
  }
}

describe('a dispatcher', () => {
  it('claims of the lane that is asked to', async () => {
    const { dispatcher, after, events, wakes } = open()
    await turn()
    expect(events.toSorted()).toEqual(['deliveries', 'lanes', 'messages'])
    expect(await after(() => dispatcher.wake())).toEqual(['messages'])
    expect(await after(() => dispatcher.wakeDeliveries())).toEqual(['deliveries'])
    expect(await after(() => dispatcher.deliverNow('h1'))).toEqual(['deliveries'])
    const [wake] = wakes
    expect(await after(() => wake?.('messages'))).toEqual(['messages'])
    expect(await after(() => wake?.('deliveries'))).toEqual(['deliveries'])
    expect(await after(() => wake?.(null))).toEqual(['messages', 'deliveries'])
  })

  it('claims nothing while its gate is paused', async () => {
    const gate = { is_paused: true }
    const { dispatcher, after, events } = open({ gate })
    await turn()
    expect(events).toEqual(['lanes'])
    gate.is_paused = false
    expect(await after(() => dispatcher.wake())).toEqual(['messages'])
    expect(await after(() => dispatcher.wakeDeliveries())).toEqual(['deliveries'])
  })

  it('gives its lanes to transactions, and hears of what they queued', async () => {
    const { held, after } = open()
    await turn()
    const { messages, deliveries } = held.lanes ?? {}
    expect(messages?.reserve(1)).not.toBeNull()
    expect(deliveries?.reserve(1)).not.toBeNull()
    expect(deliveries?.testPace).toBeUndefined()
    expect(await after(() => messages?.queued([]))).toEqual(['messages'])
    expect(await after(() => deliveries?.queued([]))).toEqual(['deliveries'])
  })

  it('paces deliveries about test messages if they have a limit', async () => {
    const quotas = { test_deliveries_per_day: 10, test_deliveries_per_second: 1 }
    const { held, clock } = open({ quotas })
    const pace = held.lanes?.deliveries?.testPace
    const at = new Date(clock.at_ms)
    let due = at
    // More than the burst of any pace.
    for (let i = 0; i < 100; i++) due = pace?.('w1', at) ?? at
    expect(due.getTime()).toBeGreaterThan(at.getTime())
  })

  it('gives its claims the lease that it got', async () => {
    const { claims } = open({ lease_ms: 7_777 })
    await turn()
    expect(claims.map(({ lease_ms }) => lease_ms)).toEqual([7_777, 7_777])
  })

  it('is idle when both lanes are, after it looked at the providers and the balances', async () => {
    const watch = {
      async look() {
        events.push('watch')
      },
      async stop() {},
    }
    const { dispatcher, events, after, queue, sends, held } = open({ watch })
    let isIdle = false
    // A message falls due while the deliveries are claimed, and the lane of messages was quiet.
    held.onClaim = async () => {
      held.onClaim = () => {}
      await turn()
      queue.push(claimed())
      dispatcher.wake()
    }
    const began = await after(() => {
      void dispatcher.idle().then(() => {
        isIdle = true
      })
    })
    await turn()
    expect(began.slice(0, 2)).toEqual(['watch', 'low balances'])
    expect(events).toContain('send')
    expect(isIdle).toBe(false)
    for (const answer of sends) answer()
    await turn()
    expect(events).toContain('settled')
    expect(isIdle).toBe(true)
  })

  it('tells an owner of a low balance by mail and by a webhook, which it delivers at once', async () => {
    const mails: string[] = []
    const { dispatcher, low, after } = open({
      mailLowBalance: ({ workspace_id }) => void mails.push(workspace_id),
    })
    low.push('w1')
    const events = await after(() => void dispatcher.idle())
    expect(mails).toEqual(['w1'])
    // The row is read again once no other server works.
    expect(events.slice(0, 3)).toEqual(['low balances', 'low balances', 'queued'])
  })

  it('holds its right until its listeners and its providers have closed', async () => {
    const closed: string[] = []
    const { dispatcher, after, queue, sends, events } = open({
      watch: {
        async look() {},
        async stop() {
          closed.push('watch')
        },
      },
      listeners: {
        statesOf: () => [],
        async close(grace_ms) {
          events.push(`listeners closed in ${grace_ms}`)
        },
      },
    })
    await turn()
    queue.push(claimed())
    dispatcher.wake()
    const stopping = await after(() => void dispatcher.stop(1_000))
    expect(stopping).toEqual(['hears no more', 'no lanes'])
    expect(closed).toEqual(['watch'])
    for (const answer of sends) answer()
    await turn()
    expect(events.slice(2)).toEqual([
      'settled',
      'listeners closed in 5000',
      'performer closed',
      'released',
    ])
    // No timer is left that looks or sweeps.
    expect(vi.getTimerCount()).toBe(0)
  })

  it('stops without a watch, without listeners, and on a storage that no other process uses', async () => {
    const { dispatcher, events } = open()
    await turn()
    await dispatcher.stop(0)
    expect(events.slice(-2)).toEqual(['performer closed', 'released'])
  })
})

/** A sweeper over a storage whose steps return these counts, else 0, and what each step was asked for. */
function openSweeper(
  answers: Record<string, number[]> = {},
  options: Partial<Parameters<typeof startSweeper>[0]> = {},
  hot: object = {},
) {
  const { runtime, clock, logged, fields, counts } = recordedRuntime()
  const steps: [step: string, hours: number, max: number][] = []
  const held: { onStep: (step: string) => void | Promise<void> } = { onStep() {} }
  const step = (name: string) => async (before: Date, max: number) => {
    steps.push([name, (clock.at_ms - before.getTime()) / HOUR_MS, max])
    await held.onStep(name)
    return answers[name]?.shift() ?? 0
  }
  const page =
    (name: string) =>
    async (now: Date, { limit }: { limit: number }) => {
      steps.push([name, (clock.at_ms - now.getTime()) / HOUR_MS, limit])
      await held.onStep(name)
      return []
    }
  const storage = {
    hot: { sweepCounters: step('counters'), ...hot },
    read: {
      verifications: { due: async () => [] },
      creditSums: {
        async due({ limit }: { limit: number }) {
          steps.push(['credit sums', 0, limit])
          await held.onStep('credit sums')
          return []
        },
      },
      recipientIndex: {
        async due({ messages }: { messages: number }) {
          steps.push(['recipients', 0, messages])
          await held.onStep('recipients')
          return []
        },
      },
    },
    write: (work: (stores: object) => Promise<unknown>) =>
      work({
        messages: { forgetAnswers: step('answers') },
        files: { forgetUnused: step('files') },
        accountTokens: { forget: step('account tokens') },
        sessions: { forget: step('ended sessions') },
        invitations: { forget: step('invitations') },
        loginNetworks: { forget: step('login networks') },
        webhooks: {
          forgetHosts: step('hosts of webhooks'),
          forgetHours: (hour: number, max: number) =>
            step('hours of webhooks')(new Date(hour * HOUR_MS), max),
        },
        receivedMessages: { forgetParts: step('received parts') },
        creditHolds: { overdue: page('holds') },
        creditLots: { due: page('lots') },
        verifications: {
          removeCodes: step('codes'),
          removeEnded: ({ ended }: { ended: Date }, max: number) =>
            step('verifications')(ended, max),
        },
      }),
  } as unknown as Storage
  const sweeper = startSweeper({ storage, runtime, ...options })
  const names = () => steps.map(([name]) => name)
  return { sweeper, storage, runtime, steps, names, held, clock, logged, fields, counts }
}

const STEPS: [string, number, number][] = [
  ['answers', 24, 1_000],
  ['files', 1, 4],
  ['account tokens', 0, 1_000],
  ['ended sessions', 0, 1_000],
  ['invitations', 0, 1_000],
  ['login networks', 30 * 24, 1_000],
  ['counters', 0, 1_000],
  ['hosts of webhooks', 24, 1_000],
  ['hours of webhooks', 31 * 24, 1_000],
  ['received parts', 24, 1_000],
  ['holds', 0, 100],
  ['lots', 0, 100],
  ['codes', 24, 100],
  ['verifications', 30 * 24, 1_000],
  ['recipients', 0, 1_024],
  ['credit sums', 0, 1_000],
]

describe('a sweep', () => {
  it('removes what is that old, in small steps', async () => {
    const { sweeper, steps, counts, logged } = openSweeper()
    await sweeper.sweep()
    expect(steps).toEqual(STEPS)
    expect(counts).toEqual({ 'swept done': 1 })
    expect(logged).toEqual([])
    await sweeper.stop()
  })

  it.each(STEPS.slice(0, 9))(
    'repeats the step of the %s until less than its maximum was there',
    async (name, _, max) => {
      const { sweeper, names } = openSweeper({ [name]: [max, max, max - 1, max] })
      await sweeper.sweep()
      expect(names().filter((one) => one === name)).toHaveLength(3)
      expect(names()).toHaveLength(STEPS.length + 2)
      await sweeper.stop()
    },
  )

  it.each(STEPS)(
    'continues after a failure of the step of the %s, and counts as failed',
    async (name) => {
      const { sweeper, names, held, logged, fields, counts } = openSweeper()
      const err = new Error('the database is away')
      held.onStep = (step) => {
        if (step === name) throw err
      }
      await sweeper.sweep()
      expect(names()).toEqual(STEPS.map(([one]) => one))
      expect(logged).toEqual(['sweeping failed'])
      expect(fields).toEqual([{ err, step: name }])
      expect(counts).toEqual({ 'swept failed': 1 })
      held.onStep = () => {}
      await sweeper.sweep()
      expect(counts).toEqual({ 'swept failed': 1, 'swept done': 1 })
      await sweeper.stop()
    },
  )

  it('leaves out counters that a storage does not sweep', async () => {
    const { sweeper, names, logged } = openSweeper({}, {}, { sweepCounters: undefined })
    await sweeper.sweep()
    expect(logged).toEqual([])
    expect(names()).toEqual(STEPS.map(([one]) => one).filter((one) => one !== 'counters'))
    await sweeper.stop()
  })

  it('needs no telemetry', async () => {
    const { storage, runtime, steps, logged } = openSweeper()
    const sweeper = startSweeper({
      storage,
      runtime: { ...runtime, telemetry: undefined } as never,
    })
    await sweeper.sweep()
    expect(steps).toEqual(STEPS)
    expect(logged).toEqual([])
    await sweeper.stop()
  })

  it('of a dispatcher uses its storage and applies its retention times', async () => {
    const applied: string[] = []
    const hears = (name: string) => ({ apply: async () => void applied.push(name) }) as never
    const { storage, runtime, steps } = openSweeper()
    const { dispatcher } = open({
      storage: { ...storage, hot: { ...storage.hot, setLanes() {} } } as never,
      runtime,
      gate: { is_paused: true },
      retention: hears('retention'),
      auditRetention: hears('audit log'),
    })
    await dispatcher.sweep()
    expect(steps).toEqual(STEPS)
    expect(applied).toEqual(['retention', 'audit log'])
    await dispatcher.stop(0)
  })

  it('applies the retention times, and then checks the domains', async () => {
    const applied: [string, boolean][] = []
    const hears = (name: string) => ({
      async apply(isStopping: () => boolean) {
        applied.push([name, isStopping()])
        void sweeper.stop()
        applied.push([name, isStopping()])
        throw new Error('the disk is full')
      },
    })
    const domain = {
      async due() {
        applied.push(['sending domains', true])
        throw new Error('the disk is full')
      },
    }
    const { sweeper, storage, fields } = openSweeper(
      {},
      {
        retention: hears('retention') as never,
        auditRetention: hears('audit log') as never,
        txtLookup: (async () => []) as never,
      },
    )
    Object.assign(storage.read, { sendingDomains: domain })
    await sweeper.sweep()
    expect(applied).toEqual([
      ['retention', false],
      ['retention', true],
      ['audit log', true],
      ['audit log', true],
      ['sending domains', true],
    ])
    expect(fields).toMatchObject([
      { step: 'retention' },
      { step: 'audit log' },
      { step: 'sending domains' },
    ])
  })

  it('is one at a time, and begins no further step when it stops', async () => {
    const { sweeper, names, held } = openSweeper({ answers: Array(100).fill(1_000) })
    let go = () => {}
    held.onStep = () =>
      new Promise((resolve) => {
        go = resolve
      })
    const first = sweeper.sweep()
    const second = sweeper.sweep()
    expect(second).toBe(first)
    await turn()
    let isStopped = false
    const stopped = sweeper.stop().then(() => {
      isStopped = true
    })
    await turn()
    expect(isStopped).toBe(false)
    go()
    await stopped
    expect(names()).toEqual(['answers'])
  })

  it('happens every minute until it is stopped, and at once when it is asked for', async () => {
    const { sweeper, counts } = openSweeper()
    await vi.advanceTimersByTimeAsync(59_999)
    expect(counts).toEqual({})
    await vi.advanceTimersByTimeAsync(1)
    await turn()
    expect(counts).toEqual({ 'swept done': 1 })
    await vi.advanceTimersByTimeAsync(120_000)
    await turn()
    await sweeper.sweep()
    const { 'swept done': before } = counts
    expect(before).toBeGreaterThan(2)
    await sweeper.stop()
    await vi.advanceTimersByTimeAsync(120_000)
    await turn()
    expect(counts).toEqual({ 'swept done': before })
  })

  it('leaves the work to another server that sweeps, and survives a database that is away', async () => {
    const asked: string[] = []
    const { sweeper, storage, steps, logged, fields } = openSweeper()
    const err = new Error('the database is away')
    Object.assign(storage, {
      async alone(name: string, work: () => Promise<void>) {
        asked.push(name)
        if (asked.length === 2) throw err
        if (asked.length === 3) await work()
      },
    })
    await sweeper.sweep()
    expect(steps).toEqual([])
    await sweeper.sweep()
    expect(logged).toEqual(['sweeping failed'])
    expect(fields).toEqual([{ err }])
    await sweeper.sweep()
    expect(steps).toEqual(STEPS)
    expect(asked).toEqual(['sweep', 'sweep', 'sweep'])
    await sweeper.stop()
  })
})
