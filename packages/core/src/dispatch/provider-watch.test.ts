import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { recordedRuntime, turn } from '../../test/dispatch/lane-parts.ts'
import type { Provider, Report } from '../contract/outside/provider.ts'
import { PARKED_PAGE } from '../messages/reports.ts'
import { startListening, startProviderWatch } from './provider-watch.ts'

describe('a provider that listens', () => {
  function parts() {
    const { runtime, logged, fields } = recordedRuntime()
    const received: unknown[] = []
    const closed: unknown[] = []
    const listens = new Map<string, Parameters<NonNullable<Provider['listen']>>[0]>()
    const provider = (name: string, closes = async () => {}): Provider => ({
      name,
      send: async () => [],
      async listen(context) {
        listens.set(name, context)
        return {
          states: () => [{ name, state: 'up', detail: '' }],
          close(grace_ms) {
            closed.push([name, grace_ms])
            return closes()
          },
        }
      },
    })
    const opened: Record<string, Provider> = {
      a: provider('a', () => Promise.reject(new Error('a defect'))),
      b: provider('b'),
      silent: { name: 'silent', send: async () => [] },
    }
    const start = (providers: readonly string[]) =>
      startListening({
        providers,
        async open(name) {
          const found = opened[name]
          if (!found) throw new Error('the port is in use')
          return found
        },
        async receiveReports(name, reports) {
          received.push([name, reports])
        },
        log: runtime.log,
      })
    return { start, listens, received, closed, logged, fields }
  }

  it('gives its reports under its name, and logs under it', async () => {
    const { start, listens, received, logged, fields } = parts()
    const { statesOf } = await start(['a', 'silent', 'b'])
    const reports: Report[] = []
    await listens.get('b')?.receive(reports)
    expect(received).toEqual([['b', reports]])
    listens.get('a')?.note('warn', 'the peer is slow', { seconds: 3 })
    listens.get('a')?.note('info', 'a line', {})
    expect(logged).toEqual(['the peer is slow', 'a line'])
    expect(fields).toEqual([{ seconds: 3, provider: 'a' }, { provider: 'a' }])
    expect(statesOf('b')).toEqual([{ name: 'b', state: 'up', detail: '' }])
    expect(statesOf('silent')).toEqual([])
  })

  it('closes with the time it gets, also if another fails to', async () => {
    const { start, closed } = parts()
    const { close } = await start(['a', 'b'])
    await close(1_234)
    expect(closed).toEqual([
      ['a', 1_234],
      ['b', 1_234],
    ])
  })

  it('closes at once if another cannot listen', async () => {
    const { start, closed } = parts()
    await expect(start(['a', 'b', 'refused'])).rejects.toThrow('the port is in use')
    expect(closed).toEqual([
      ['a', 0],
      ['b', 0],
    ])
  })
})

describe('the watch of the providers', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  function open(pages: readonly number[] = []) {
    const { runtime, logged, fields } = recordedRuntime()
    const done: string[] = []
    const left = [...pages]
    const state: { onRead: () => void | Promise<void> } = { onRead() {} }
    const watch = startProviderWatch({
      async readPauses() {
        done.push('pauses')
        await state.onRead()
      },
      async settleParked() {
        done.push('page')
        return left.shift() ?? 0
      },
      runtime,
    })
    return { watch, done, state, logged, fields }
  }

  it.each([
    ['to the end', [PARKED_PAGE, PARKED_PAGE, PARKED_PAGE - 1, 1], 3],
    ['up to a maximum of pages', Array(50).fill(PARKED_PAGE), 10],
  ])('reads the pauses, and settles parked receipts %s, in one round', async (_, pages, looks) => {
    const { watch, done } = open(pages)
    await watch.look()
    expect(done).toEqual(['pauses', ...Array(looks).fill('page')])
    await watch.stop()
  })

  it('has a round every second, until it is stopped', async () => {
    const { watch, done } = open()
    vi.advanceTimersByTime(999)
    await turn()
    expect(done).toEqual([])
    vi.advanceTimersByTime(1)
    await turn()
    expect(done).toEqual(['pauses', 'page'])
    vi.advanceTimersByTime(1_000)
    await turn()
    expect(done).toHaveLength(4)
    await watch.stop()
    vi.advanceTimersByTime(10_000)
    await turn()
    expect(done).toHaveLength(4)
  })

  it('has one round at a time, and stops after it', async () => {
    const { watch, done, state } = open()
    let go = () => {}
    state.onRead = () =>
      new Promise((resolve) => {
        go = resolve
      })
    const first = watch.look()
    expect(watch.look()).toBe(first)
    let isStopped = false
    const stopped = watch.stop().then(() => {
      isStopped = true
    })
    await turn()
    expect(isStopped).toBe(false)
    go()
    await stopped
    expect(done).toEqual(['pauses', 'page'])
    state.onRead = () => {}
    await watch.look()
    expect(done).toHaveLength(4)
  })

  it('logs a round that failed, and has the next one', async () => {
    const { watch, done, state, logged, fields } = open()
    const err = new Error('the database is away')
    state.onRead = () => {
      throw err
    }
    await watch.look()
    expect(done).toEqual(['pauses'])
    expect(logged).toEqual(['the states of the providers could not be read'])
    expect(fields).toEqual([{ err }])
    await watch.look()
    expect(done).toEqual(['pauses', 'pauses'])
    await watch.stop()
  })
})
