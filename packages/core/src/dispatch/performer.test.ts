import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stopTime } from '../../test/dispatch/lane-parts.ts'
import { answer, type HttpPeer, openHttpPeer } from '../../test/providers/http-peer.ts'
import type { LookupJob, Provider, ProviderContext, SendJob } from '../contract/outside/provider.ts'
import type { DeliverJob } from '../webhooks/deliver.ts'
import { uptimeMs } from './lane.ts'
import { createCallGate, createPerformer, createProviders, FRESH_MS } from './performer.ts'

const NAMES = ['a', 'b']

it('lets calls begin until a pause was read, in every thread that has its memory', () => {
  const gate = createCallGate(NAMES)
  const thread = createCallGate(NAMES, gate.cells)
  const may = () => ['a', 'b', null].map(thread.mayStart)
  expect(may()).toEqual([true, true, true])
  gate.noteProviders(uptimeMs(), (name) => name === 'b')
  expect(may()).toEqual([true, false, true])
  gate.noteDispatch(uptimeMs(), true)
  expect(may()).toEqual([false, false, false])
  gate.noteDispatch(uptimeMs(), false)
  expect(may()).toEqual([true, false, true])
})

it('lets no call begin when the last reading is too old to know of a pause', () => {
  const gate = createCallGate(NAMES)
  gate.noteProviders(uptimeMs() - FRESH_MS, () => false)
  expect([gate.mayStart('a'), gate.mayStart(null)]).toEqual([false, true])
  gate.noteDispatch(uptimeMs() - FRESH_MS, false)
  expect(gate.mayStart(null)).toBe(false)
})

it('asks no provider about a message while everything is paused, but while the provider is', async () => {
  const gate = createCallGate(NAMES)
  const asked: string[] = []
  const provider = {
    name: 'a',
    send: async () => [],
    async lookup(jobs: readonly LookupJob[]) {
      asked.push(...jobs.map(({ message_id }) => message_id))
      return jobs.map(() => ({ type: 'not_found' as const }))
    },
  } satisfies Provider
  const performer = createPerformer({
    now: () => new Date(),
    targets: { allow_http: false, allow_nets: [] },
    providers: { open: async () => provider, async close() {} },
    mayStart: gate.mayStart,
  })
  const jobs = [{ message_id: 'm1' } as LookupJob]
  gate.noteProviders(uptimeMs(), () => true)
  expect(await performer.lookup('a', jobs)).toEqual([{ type: 'not_found' }])
  gate.noteDispatch(uptimeMs(), true)
  expect(await performer.lookup('a', jobs)).toEqual([{ type: 'not_begun' }])
  expect(asked).toEqual(['m1'])
})

describe('a call gate', () => {
  let time: ReturnType<typeof stopTime>
  beforeEach(() => {
    time = stopTime()
  })
  afterEach(() => time.restore())

  it('closes when a reading is five seconds old, to the millisecond', () => {
    const gate = createCallGate(NAMES)
    const read_at_ms = time.uptime()
    gate.noteDispatch(read_at_ms, false)
    gate.noteProviders(read_at_ms, () => false)
    const may = (at_ms: number) => ['a', null].map((name) => gate.mayStart(name, at_ms))
    expect(may(read_at_ms + FRESH_MS - 1)).toEqual([true, true])
    expect(may(read_at_ms + FRESH_MS)).toEqual([false, false])
    gate.noteDispatch(read_at_ms + 1, false)
    expect(may(read_at_ms + FRESH_MS)).toEqual([false, true])
    gate.noteProviders(read_at_ms + 1, () => false)
    expect(may(read_at_ms + FRESH_MS)).toEqual([true, true])
    // Without a time it takes the present one.
    expect(gate.mayStart('a')).toBe(true)
  })

  it('opens a provider again, and lets providers begin that it does not know', () => {
    const gate = createCallGate(NAMES)
    gate.noteProviders(time.uptime(), () => true)
    expect(['a', 'b', 'other'].map((name) => gate.mayStart(name))).toEqual([false, false, true])
    gate.noteProviders(time.uptime(), (name) => name === 'a')
    expect(['a', 'b', 'other'].map((name) => gate.mayStart(name))).toEqual([false, true, true])
  })

  it('counts the requests of all threads, of each provider for itself', () => {
    const gate = createCallGate(NAMES)
    const thread = createCallGate(NAMES, gate.cells)
    thread.noteCall('a', 10.4)
    gate.noteCall('a', 20.5)
    thread.noteCall('b', 7)
    gate.noteCall('other', 9)
    for (const each of [gate, thread]) {
      expect(['a', 'b', 'other'].map(each.callsOf)).toEqual([
        { calls: 2, took_ms: 31 },
        { calls: 1, took_ms: 7 },
        { calls: 0, took_ms: 0 },
      ])
    }
    // Requests are no pauses.
    expect(['a', 'b', null].map((name) => gate.mayStart(name))).toEqual([true, true, true])
  })
})

describe('opened providers', () => {
  function open(parts: Partial<Parameters<typeof createProviders>[0]> = {}) {
    const contexts: ProviderContext[] = []
    const faults: unknown[] = []
    const closed: string[] = []
    const fails: Error[] = []
    const provider = (name: string) => ({
      name,
      async open(context: ProviderContext, onFault: (fault: never) => void) {
        contexts.push(context)
        onFault(name as never)
        const failure = fails.shift()
        if (failure) throw failure
        return { name, send: async () => [], close: async () => void closed.push(name) }
      },
    })
    const providers = createProviders({
      providers: [provider('a'), provider('b')],
      public_url: 'https://svc.example',
      secret: 'secret',
      onFault: (fault) => void faults.push(fault),
      ...parts,
    })
    return { providers, contexts, faults, closed, fails }
  }

  it('are opened once, at their first use, with their addresses and the secret', async () => {
    const { providers, contexts, faults } = open()
    const [first, second] = await Promise.all([providers.open('a'), providers.open('a')])
    expect(second).toBe(first)
    expect(await providers.open('a')).toBe(first)
    expect(contexts).toMatchObject([
      {
        public_url: 'https://svc.example',
        callback_url: 'https://svc.example/callbacks/a',
        secret: 'secret',
      },
    ])
    expect(faults).toEqual(['a'])
    expect(contexts[0]?.may_start?.()).toBe(true)
    contexts[0]?.note_call?.(1)
    await expect(providers.open('c')).rejects.toThrow('there is no provider named c')
  })

  it('ask whether a request may begin, and count it, by their own name', async () => {
    const noted: unknown[] = []
    const { providers, contexts } = open({
      mayStart: (name) => name === 'b',
      noteCall: (name, ms) => void noted.push([name, ms]),
    })
    await providers.open('a')
    await providers.open('b')
    expect(contexts.map(({ may_start }) => may_start?.())).toEqual([false, true])
    for (const { note_call } of contexts) note_call?.(5)
    expect(noted).toEqual([
      ['a', 5],
      ['b', 5],
    ])
  })

  it('are opened again after a failure, and all that opened are closed', async () => {
    const { providers, contexts, closed, fails } = open()
    fails.push(new Error('the port is in use'), new Error('the port is in use'))
    await expect(providers.open('a')).rejects.toThrow('the port is in use')
    await expect(providers.open('b')).rejects.toThrow('the port is in use')
    await providers.open('a')
    await providers.open('a')
    expect(contexts).toHaveLength(3)
    await providers.close()
    expect(closed).toEqual(['a'])
  })

  it('are opened once after a failure, also if several waited for it', async () => {
    const { providers, contexts, fails } = open()
    fails.push(new Error('the port is in use'))
    const first = providers.open('a').catch(() => providers.open('a'))
    const second = providers.open('a').catch(() => providers.open('a'))
    expect(await first).toBe(await second)
    expect(await providers.open('a')).toBe(await first)
    expect(contexts).toHaveLength(2)
  })

  it('close although one of them fails to open or to close', async () => {
    const closed: string[] = []
    const one = (name: string, close?: () => Promise<void>) => ({
      name,
      open: async () => ({ name, send: async () => [], ...(close && { close }) }),
    })
    const { providers } = open({
      providers: [
        one('a', () => Promise.reject(new Error('a defect'))),
        one('b'),
        one('c', async () => void closed.push('c')),
        { name: 'd', open: () => Promise.reject(new Error('a defect')) },
      ],
    })
    for (const name of ['a', 'b', 'c']) await providers.open(name)
    const failing = providers.open('d')
    await providers.close()
    await expect(failing).rejects.toThrow('a defect')
    expect(closed).toEqual(['c'])
  })
})

describe('a performer', () => {
  const START_MAX = 2_000_000
  let time: ReturnType<typeof stopTime>
  const closing: (() => Promise<unknown>)[] = []
  beforeEach(() => {
    time = stopTime()
  })
  afterEach(async () => {
    time.restore()
    for (const close of closing.splice(0)) await close()
  })

  function open({ may = true, lookup = true } = {}) {
    const state = { may, asked: [] as unknown[], closed: 0 }
    const sent: (readonly SendJob[])[] = []
    const provider: Provider = {
      name: 'a',
      async send(jobs) {
        sent.push(jobs)
        return []
      },
      ...(lookup && { lookup: async () => [] }),
    }
    const performer = createPerformer({
      now: () => new Date('2026-05-04T09:00:00Z'),
      targets: { allow_http: true, allow_nets: ['127.0.0.0/8'] },
      mayStart(...about) {
        state.asked.push(about)
        return state.may
      },
      providers: {
        open: async () => provider,
        async close() {
          state.closed += 1
        },
      },
    })
    closing.push(() => performer.close())
    return { performer, state, sent }
  }

  it('sends until the time at which the lease may have ended, if the provider is not paused', async () => {
    const { performer, state, sent } = open()
    const jobs = [{ message_id: 'm1', channel: 'sms' } as SendJob]
    const at_ms = time.uptime()
    expect(await performer.send('a', jobs, at_ms)).toEqual([])
    expect(state.asked).toEqual([['a', at_ms]])
    expect(sent).toEqual([jobs])
    expect(sent[0]?.[0]).toBe(jobs[0])
    expect(await performer.send('a', jobs, at_ms - 1)).toBeNull()
    state.may = false
    expect(await performer.send('a', jobs, at_ms)).toBeNull()
    expect(sent).toHaveLength(1)
  })

  it('gives the files of a mail to its provider as texts', async () => {
    const { performer, sent } = open()
    const content = {
      attachments: [{ filename: 'a', content: new Uint8Array(Buffer.from('QUJD')) }],
    }
    const jobs = ['email', 'sms'].map((channel) => ({ channel, content }) as never as SendJob)
    await performer.send('a', jobs, START_MAX)
    expect(sent[0]?.map(({ content }) => content)).toEqual([
      { attachments: [{ filename: 'a', content: 'QUJD' }] },
      content,
    ])
  })

  it('says that a provider without a look-up has none, even during a pause', async () => {
    const { performer, state } = open({ lookup: false, may: false })
    const jobs = [{ message_id: 'm1' }, { message_id: 'm2' }] as LookupJob[]
    const answers = await performer.lookup('a', jobs)
    expect(answers).toEqual([{ type: 'unavailable' }, { type: 'unavailable' }])
    expect(state.asked).toEqual([])
  })

  describe('that delivers', () => {
    let peer: HttpPeer
    beforeEach(async () => {
      peer = await openHttpPeer()
    })
    afterEach(() => peer.close())

    const job = (): DeliverJob => ({
      delivery_id: 'd1',
      format: 'svc',
      workspace_id: 'w1',
      message: null,
      event_id: 'e1',
      event: 'webhook.test',
      url: `${peer.url}/`,
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      other_secret: null,
      headers: {},
      body: '{}',
      attempt: 1,
    })

    it('begins until its time, unless everything is paused, and closes its connections', async () => {
      const { performer, state } = open()
      peer.otherwise(answer(200))
      const at_ms = time.uptime()
      expect(await performer.deliver([job()], at_ms - 1)).toBeNull()
      expect(state.asked).toEqual([])
      state.may = false
      expect(await performer.deliver([job()], at_ms)).toBeNull()
      expect(state.asked).toEqual([[null, at_ms]])
      state.may = true
      expect(await performer.deliver([job()], at_ms)).toMatchObject([{ response_status: 200 }])
      // It asks again right before the request.
      expect(state.asked.slice(2)).toContainEqual([null])
      expect(await performer.deliver([job()], at_ms)).toMatchObject([{ response_status: 200 }])
      expect(peer.requests).toHaveLength(2)
      expect(peer.requests[0]?.headers['webhook-timestamp']).toBe('1777885200')
      expect(peer.connections()).toBe(1)
      await performer.close()
      await expect.poll(() => peer.connections()).toBe(0)
      expect(state.closed).toBe(1)
    })
  })

  it('that delivered nothing closes its providers', async () => {
    const { performer, state } = open()
    await performer.close()
    expect(state.closed).toBe(1)
  })

  it('without a gate may begin everything', async () => {
    const provider: Provider = { name: 'a', send: async () => [], lookup: async () => [] }
    const performer = createPerformer({
      now: () => new Date(),
      targets: { allow_http: false, allow_nets: [] },
      providers: { open: async () => provider, async close() {} },
    })
    expect(await performer.send('a', [], START_MAX)).toEqual([])
    expect(await performer.lookup('a', [{} as LookupJob])).toEqual([])
    await performer.close()
  })
})
