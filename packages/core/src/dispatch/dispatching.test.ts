import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { countTelemetry } from '../../test/count-telemetry.ts'
import { accepted, turn } from '../../test/dispatch/lane-parts.ts'
import { builders, plainSealer, testRuntime } from '../../test/fixtures.ts'
import { migratedFolder } from '../../test/migrated-file.ts'
import { createCarriers } from '../carriers/carriers.ts'
import type { Outcome, ProviderContext, SendJob, Traits } from '../contract/outside/provider.ts'
import type { ProviderFault } from '../providers/defined/definition.ts'
import type { InstalledProvider } from '../providers/installed.ts'
import { openStorage } from '../storage/open.ts'
import type { Storage } from '../storage/ports/storage.ts'
import { createDispatching, type Dispatching, type DispatchParts } from './dispatching.ts'

const logged: string[] = []
const { telemetry } = countTelemetry()
const note = (_: object, text: string) => void logged.push(text)
const runtime = {
  ...testRuntime('dispatching'),
  log: { debug() {}, info: note, warn: note, error: note },
  telemetry,
}

let folder: string
let storage: Storage
let opened: Dispatching[]
beforeEach(async () => {
  folder = await migratedFolder('svc-dispatching-')
  const file = `file:${join(folder, 'svc.db')}`
  storage = await openStorage(file, runtime, { clock: 'caller', durability: 'none' })
  opened = []
  logged.splice(0)
})
afterEach(async () => {
  for (const one of opened) await one.stop(0)
  for (const one of opened) await one.closeProviders()
  await storage.close()
  rmSync(folder, { recursive: true })
})

/** A provider that the test answers, and what happened to it. */
function provider(name: string, traits: Partial<Traits> = {}, isOwn = true) {
  const events: string[] = []
  const contexts: ProviderContext[] = []
  const sends: { jobs: readonly SendJob[]; answer(outcome: Outcome): void }[] = []
  let call: () => void = () => {}
  const isCalled = new Promise<void>((resolve) => {
    call = resolve
  })
  let report: (fault: ProviderFault) => void = () => {}
  const installed: InstalledProvider = {
    name,
    type: 'custom',
    source: isOwn
      ? null
      : ({ name, from: 'settings', settings: { type: 'sandbox', name } } as never),
    traits: {
      channels: ['sms'],
      senders: {},
      idempotent: false,
      lookup: false,
      callback_bytes: null,
      listens: false,
      connected: false,
      messages_per_second: null,
      handles_stop: false,
      ...traits,
    },
    async open(context, onFault) {
      events.push('opened')
      contexts.push(context as ProviderContext)
      report = onFault
      return {
        name,
        send: (jobs) =>
          new Promise((resolve) => {
            sends.push({ jobs, answer: (outcome) => resolve(jobs.map(() => outcome)) })
            call()
          }),
        async listen() {
          events.push('listening')
          return {
            states: () => [{ name, state: 'up', detail: '' }],
            async close(grace_ms) {
              events.push(grace_ms === 0 ? 'cut off' : 'listened')
            },
          }
        },
        async close() {
          events.push('closed')
        },
      }
    },
  }
  return {
    installed,
    events,
    contexts,
    sends,
    isCalled,
    fault: (fault: ProviderFault) => report(fault),
  }
}

function open(
  providers: ReturnType<typeof provider>[],
  { threads = 0, secret = async () => 'secret' } = {},
) {
  const noted: [string, Outcome['type'][]][] = []
  const installed = providers.map((one) => one.installed)
  const dispatching = createDispatching({
    storage,
    runtime,
    sealer: plainSealer(runtime),
    tracing: null,
    record: {
      note: (name, outcomes) => void noted.push([name, outcomes.map(({ type }) => type)]),
      noteAnswer() {},
      of: () => ({}) as never,
    },
    providers: installed,
    targets: { allow_http: false, allow_nets: [] },
    public_url: () => 'https://svc.example',
    secret,
    threads,
    lease_ms: undefined,
    quotas: { test_deliveries_per_day: 10, test_deliveries_per_second: 10 },
  })
  opened.push(dispatching)
  const pauses = { dispatch: false, stopped: new Set<string>(), order: [] as string[] }
  const parts: DispatchParts = {
    carriers: createCarriers(installed),
    gate: {
      get is_paused() {
        return pauses.dispatch
      },
      async refresh() {
        pauses.order.push('gate')
      },
    },
    fallBack: async () => {},
    stepBroadcast: async () => false,
    stepBulk: async () => false,
    pauses: {
      allows: (name) => !pauses.stopped.has(name),
      isStopped: (name) => pauses.stopped.has(name),
      noteSend() {},
      async noteMisconfigured() {},
      async noteAccepted() {},
      async refresh() {
        pauses.order.push('providers')
      },
    },
    reports: { async receiveReports() {}, settleParked: async () => 0 },
    async receive() {},
    sendReplies: async () => null,
    mailWebhooks: () => false,
    mailLowBalance() {},
    async beforeStart() {
      pauses.order.push('before')
    },
    retention: null,
    history: null,
    auditRetention: { async apply() {} } as never,
    verification_retention_days: undefined,
    partitions_ahead: undefined,
    txtLookup: (async () => []) as never,
  }
  return { dispatching, parts, pauses, noted }
}

async function accept(count: number): Promise<void> {
  const make = builders(runtime)
  const workspace = make.workspace()
  await storage.write(async ({ workspaces, credits }) => {
    await workspaces.insert(workspace)
    await credits.open(workspace.id, runtime.now())
  })
  for (let i = 0; i < count; i++) {
    await storage.hot.accept([{ ...make.send(workspace.id, {}), debit: null }])
  }
}

describe('dispatching', () => {
  it('starts once, reads the pauses first, and can be asked for nothing before', async () => {
    const { dispatching, parts, pauses } = open([])
    expect(dispatching.isRunning()).toBe(false)
    dispatching.wake()
    dispatching.wakeDeliveries()
    dispatching.deliverNow('h1')
    await dispatching.readPauses()
    expect(pauses.order).toEqual([])
    expect(dispatching.connectionsOf('a')).toEqual([])
    const [first, second] = await Promise.all([dispatching.start(parts), dispatching.start(parts)])
    expect(first).toBe(second)
    expect(dispatching.isRunning()).toBe(true)
    expect(pauses.order).toEqual(['gate', 'providers', 'before'])
    await dispatching.readPauses()
    expect(pauses.order).toHaveLength(5)
    dispatching.wake()
    dispatching.wakeDeliveries()
    dispatching.deliverNow('h1')
    await dispatching.stop(0)
    expect(dispatching.isRunning()).toBe(false)
  })

  it('claims again as soon as it is asked to, and reads the pauses before it is idle', async () => {
    const { dispatching, parts, pauses } = open([])
    const asked: string[] = []
    const { claimMessages, claimDeliveries } = storage.hot
    storage.hot.claimMessages = (...args) => {
      asked.push('messages')
      return claimMessages(...args)
    }
    storage.hot.claimDeliveries = (...args) => {
      asked.push('deliveries')
      return claimDeliveries(...args)
    }
    // Without the timer, nothing is claimed that was not asked for.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { idle } = await dispatching.start(parts)
      await idle()
      expect(pauses.order).toEqual(['gate', 'providers', 'before', 'gate', 'providers'])
      async function askedBy(ask: () => void) {
        await turn()
        asked.splice(0)
        ask()
        await turn()
        return [...asked]
      }
      expect(await askedBy(() => dispatching.wake())).toEqual(['messages'])
      expect(await askedBy(() => dispatching.wakeDeliveries())).toEqual(['deliveries'])
      expect(await askedBy(() => dispatching.deliverNow('h1'))).toEqual(['deliveries'])
    } finally {
      vi.useRealTimers()
      Object.assign(storage.hot, { claimMessages, claimDeliveries })
    }
  })

  it('is a right that only one has: another gets it after a stop', async () => {
    const [first, second] = [open([]), open([])]
    await first.dispatching.start(first.parts)
    await expect(second.dispatching.start(second.parts)).rejects.toThrow()
    await first.dispatching.stop(0)
    await second.dispatching.start(second.parts)
    expect(second.dispatching.isRunning()).toBe(true)
  })

  it('can start again after a start that failed, which holds nothing', async () => {
    const a = provider('a', { listens: true })
    const b = provider('b', { listens: true })
    const one = open([a, b])
    let isRefused = true
    const listen = b.installed.open
    Object.assign(b.installed, {
      open: async (...context: Parameters<typeof listen>) => {
        if (isRefused) throw new Error('the port is in use')
        return listen(...context)
      },
    })
    await expect(one.dispatching.start(one.parts)).rejects.toThrow('the port is in use')
    expect(one.dispatching.isRunning()).toBe(false)
    expect(a.events).toEqual(['opened', 'listening', 'cut off'])
    const other = open([])
    await other.dispatching.start(other.parts)
    await other.dispatching.stop(0)
    isRefused = false
    await one.dispatching.start(one.parts)
    expect(one.dispatching.isRunning()).toBe(true)
  })

  it('that failed after its providers listened listens no more', async () => {
    const a = provider('a', { listens: true })
    const { dispatching, parts } = open([a])
    const setLanes = storage.hot.setLanes
    storage.hot.setLanes = () => {
      throw new Error('a defect')
    }
    await expect(dispatching.start(parts)).rejects.toThrow('a defect')
    storage.hot.setLanes = setLanes
    expect(a.events).toEqual(['opened', 'listening', 'cut off'])
    expect(dispatching.connectionsOf('a')).toEqual([])
  })

  it('stops after a start that failed, and closes providers that were never opened', async () => {
    const { dispatching, parts } = open([], {
      secret: () => Promise.reject(new Error('no secret')),
    })
    await expect(dispatching.start(parts)).rejects.toThrow('no secret')
    await dispatching.stop(0)
    await dispatching.closeProviders()
    const never = open([])
    await never.dispatching.stop(0)
    await never.dispatching.closeProviders()
  })
})

describe('a provider', () => {
  it('listens if it does, and says its connections', async () => {
    const [a, b] = [provider('a', { listens: true }), provider('b')]
    const { dispatching, parts } = open([a, b])
    await dispatching.start(parts)
    expect(a.events).toEqual(['opened', 'listening'])
    expect(b.events).toEqual([])
    expect(dispatching.connectionsOf('a')).toEqual([{ name: 'a', state: 'up', detail: '' }])
    expect(dispatching.connectionsOf('b')).toEqual([])
    await dispatching.stop(0)
    expect(a.events).toContain('listened')
    await dispatching.closeProviders()
    expect(a.events).toContain('closed')
  })

  it('gets the addresses of the service and its secret, and its faults are logged', async () => {
    const a = provider('a')
    const { dispatching } = open([a])
    await dispatching.provider('a')
    expect(a.contexts[0]).toMatchObject({
      public_url: 'https://svc.example',
      callback_url: 'https://svc.example/callbacks/a',
      secret: 'secret',
    })
    a.fault({ provider: 'a' } as never)
    expect(logged).toEqual(['the code of a provider failed'])
    await expect(dispatching.provider('x')).rejects.toThrow('there is no provider named x')
  })

  it.each([
    // One of the settings is opened again for operators, who try it during a pause.
    [false, false, 2, [true, true]],
    // A connection, and a provider of the embedding program, is opened once.
    [true, false, 1, [false]],
    [false, true, 1, [false]],
  ])(
    'connected: %s, of the program: %s is opened %d times for dispatching and operators',
    async (connected, isOwn, times, during) => {
      const a = provider('a', { listens: true, connected }, isOwn)
      const { dispatching, parts, pauses } = open([a])
      await dispatching.start(parts)
      const tried = await dispatching.provider('a')
      expect(await dispatching.provider('a')).toBe(tried)
      expect(a.events.filter((one) => one === 'opened')).toHaveLength(times)
      const may = () => a.contexts.map(({ may_start }) => may_start?.())
      expect(may()).toEqual(a.contexts.map(() => true))
      pauses.stopped.add('a')
      await dispatching.readPauses()
      expect(may()).toEqual(times === 2 ? [false, true] : during)
      pauses.stopped.clear()
      pauses.dispatch = true
      await dispatching.readPauses()
      expect(may()).toEqual(times === 2 ? [false, true] : during)
      pauses.dispatch = false
      await dispatching.readPauses()
      expect(may()).toEqual(a.contexts.map(() => true))
      a.events.splice(0)
      await dispatching.stop(0)
      await dispatching.closeProviders()
      expect(a.events.filter((one) => one === 'closed').length).toBeGreaterThanOrEqual(times)
    },
  )
})

describe('accepted messages', () => {
  async function atOnce(traits: Partial<Traits>, count: number, threads = 0, isOwn = true) {
    const a = provider('a', traits, isOwn)
    const { dispatching, parts, noted } = open([a], { threads })
    await accept(count)
    const { idle } = await dispatching.start(parts)
    const ended = idle()
    await Promise.race([a.isCalled, ended])
    await turn()
    const sent = a.sends.reduce((sum, { jobs }) => sum + jobs.length, 0)
    const answering = setInterval(() => {
      for (const { answer } of a.sends) answer(accepted)
    }, 5)
    await ended
    clearInterval(answering)
    return { sent, noted, a }
  }

  it('go to their provider, and their outcomes are counted', async () => {
    const { sent, noted } = await atOnce({}, 3)
    expect(sent).toBe(3)
    expect(noted.flatMap(([, types]) => types)).toEqual(['accepted', 'accepted', 'accepted'])
    expect(noted[0]?.[0]).toBe('a')
  })

  it.each([
    [0, {}, 1],
    [1, {}, 0],
    [1, { connected: true }, 1],
  ])(
    'with %d threads, and the traits %j: %d go from this thread',
    async (threads, traits, here) => {
      const { sent, noted } = await atOnce(traits, 1, threads, false)
      expect(sent).toBe(here)
      expect(noted).toEqual([['a', ['accepted']]])
    },
  )

  it.each([
    [1, 0, 1],
    [2, 0, 2],
    [1, 2, 2],
  ])(
    'wait while %d connections, in each of %d threads, carry %d',
    async (connections, threads, all) => {
      expect((await atOnce({ connections }, 3, threads)).sent).toBe(all)
    },
  )
})
