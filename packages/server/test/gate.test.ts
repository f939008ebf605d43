import { Socket } from 'node:net'
import { SvcError } from '@svc/core/contract'
import Fastify, { type FastifyRequest } from 'fastify'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGate, type Load, type Phase, watchLoopDelay } from '../src/admission/gate.ts'

const LIST = { rate: 'general' } as const
const SEND = { rate: 'general', idempotent: true } as const
const HEALTH = { rate: 'exempt' } as const
// Without one for the delay, which this process has.
const BOUNDS = { requests: 2, delay_ms: Number.POSITIVE_INFINITY }

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const one of opened.splice(0)) await one.close()
})

function open(measured?: () => Load) {
  const app = Fastify()
  opened.push(app)
  const phase: Phase = { now: 'open' }
  const beyond = new WeakSet<Socket>()
  const gate = createGate(app, { bounds: BOUNDS, beyond, phase, measured })
  const request = { raw: { socket: new Socket() } as FastifyRequest['raw'] }
  /** Whether a request to the endpoint is admitted. */
  const admits = async (endpoint: Parameters<typeof gate.admit>[0]) => {
    let ran = false
    try {
      await gate.admit(endpoint, request, () => {
        ran = true
      })
    } catch (error) {
      expect(error).toMatchObject({ code: 'rate_limit_exceeded', status: 429, retry_after_s: 5 })
      expect(ran).toBe(true)
      return false
    }
    expect(ran).toBe(true)
    return true
  }
  return { app, gate, phase, beyond, request, admits }
}

const QUIET: Load = { requests: 1, delay_ms: 0 }
const FULL: Load = { requests: 3, delay_ms: 0 }

describe('the gate', () => {
  it('answers what is kept, and lets sends wait, while its server accepts connections', async () => {
    const { app, admits } = open(() => QUIET)
    expect(await admits(SEND)).toBe(true)
    app.server.emit('connection', new Socket())
    let isSent = false
    const sending = admits(SEND).then((isAdmitted) => {
      isSent = isAdmitted
    })
    expect(await admits(HEALTH)).toBe(true)
    expect(isSent).toBe(false)
    await sending
    expect(isSent).toBe(true)
  })

  it('refuses under load, but never what is kept or asks for no endpoint', async () => {
    const { gate, admits } = open(() => FULL)
    expect(await admits(LIST)).toBe(false)
    expect(await admits(SEND)).toBe(false)
    expect(await admits(HEALTH)).toBe(true)
    expect(await admits(null)).toBe(true)
    expect(() => gate.checkLoad('sends')).toThrow(SvcError)
    expect(() => gate.checkLoad('kept')).not.toThrow()
  })

  it('refuses nothing without load, also while the app lingers', async () => {
    const { gate, phase, admits } = open(() => QUIET)
    for (const now of ['open', 'lingering'] as const) {
      phase.now = now
      expect(await admits(LIST)).toBe(true)
      expect(() => gate.checkLoad('lists')).not.toThrow()
    }
  })

  it('refuses all but what is kept while the app ends', async () => {
    const { phase, gate, admits } = open(() => QUIET)
    phase.now = 'ending'
    expect(await admits(SEND)).toBe(false)
    expect(await admits(HEALTH)).toBe(true)
    expect(() => gate.checkLoad('sends')).toThrow(SvcError)
  })

  it('refuses all but what is kept on a connection above the limit', async () => {
    const { beyond, request, admits } = open(() => QUIET)
    beyond.add(request.raw.socket)
    expect(await admits(SEND)).toBe(false)
    expect(await admits(HEALTH)).toBe(true)
    expect(await admits(null)).toBe(true)
  })

  it('reports an error of the admission before the load', async () => {
    const { gate, request } = open(() => FULL)
    const fail = () => {
      throw new Error('no credential')
    }
    expect(() => gate.admit(SEND, request, fail)).toThrow('no credential')
    const failing = async () => fail()
    await expect(gate.admit(SEND, request, failing)).rejects.toThrow('no credential')
  })

  it('lets 64 requests begin at once, the next in their turn, and what is kept without one', async () => {
    const { gate, request } = open(() => QUIET)
    const begun: string[] = []
    const admit = (endpoint: typeof SEND | typeof HEALTH, name: string) =>
      gate.admit(endpoint, request, () => void begun.push(name))
    const names = Array.from({ length: 64 }, (_, i) => `${i}`)
    for (const name of names) expect(admit(SEND, name)).toBeUndefined()
    const next = admit(SEND, 'next')
    expect(admit(HEALTH, 'health')).toBeUndefined()
    expect(begun).toEqual([...names, 'health'])
    await next
    expect(begun).toEqual([...names, 'health', 'next'])
  })
})

it('counts work as load until it ends, returns, throws or fails', async () => {
  const { gate, admits } = open()
  let end = () => {}
  const held = new Promise<void>((resolve) => {
    end = resolve
  })
  for (let i = 0; i < 3; i++) {
    expect(gate.during(() => i)).toBe(i)
    expect(() =>
      gate.during(() => {
        throw new Error('at once')
      }),
    ).toThrow('at once')
    await expect(gate.during(() => Promise.reject(new Error('later')))).rejects.toThrow('later')
  }
  const first = gate.during(() => held)
  expect(await admits(SEND)).toBe(true)
  expect(await admits(LIST)).toBe(false)
  const second = gate.during(() => held)
  expect(await admits(SEND)).toBe(false)
  end()
  await Promise.all([first, second])
  expect(await admits(LIST)).toBe(true)
})

it('measures the event loop until it is stopped, or the app closes', async () => {
  vi.useFakeTimers()
  const loop = watchLoopDelay()
  const { app } = open()
  expect(vi.getTimerCount()).toBe(2)
  loop.stop()
  expect(vi.getTimerCount()).toBe(1)
  await app.close()
  expect(vi.getTimerCount()).toBe(0)
})
