import { expect, it } from 'vitest'
import type { PauseRow } from '../../src/rows/rows.ts'
import { benchFor, type OpenStorage } from './bench.ts'

/** What is paused, of the whole service. */
export function providerPausesContract(open: OpenStorage): void {
  const bench = benchFor(open)

  function pause(overrides: Partial<PauseRow> = {}): PauseRow {
    return {
      provider: 'carrier',
      sender: '',
      cause: 'misconfigured',
      code: '20003',
      reason: 'Authenticate',
      failures: 1,
      retry_at: bench.clock.now(),
      created_at: bench.clock.now(),
      ...overrides,
    }
  }

  const put = (overrides: Partial<PauseRow> = {}) =>
    bench.storage.write(({ providerPauses }) => providerPauses.put(pause(overrides)))
  const remove = (cause?: PauseRow['cause']) =>
    bench.storage.write(({ providerPauses }) =>
      providerPauses.remove({ provider: 'carrier', sender: '', ...(cause && { cause }) }),
    )
  const list = () => bench.storage.read.providerPauses.list()
  const operator = { cause: 'operator', code: null, reason: 'Moving', retry_at: null } as const

  it('are kept by provider and sender, and listed in that order', async () => {
    await put({ sender: '+15005550006' })
    await put({ provider: 'another' })
    await put()
    expect(await list()).toEqual([
      pause({ provider: 'another' }),
      pause(),
      pause({ sender: '+15005550006' }),
    ])
  })

  it('take the place of those before them', async () => {
    await put()
    await put({ failures: 2, reason: 'Suspended' })
    expect(await list()).toEqual([pause({ failures: 2, reason: 'Suspended' })])
    await put(operator)
    expect(await list()).toEqual([pause(operator)])
    await put({ ...operator, reason: 'Moving on' })
    expect(await list()).toEqual([pause({ ...operator, reason: 'Moving on' })])
  })

  it("never take the place of an operator's", async () => {
    await put(operator)
    await put()
    expect(await list()).toEqual([pause(operator)])
    await put({ sender: '+15005550006' })
    expect(await list()).toHaveLength(2)
  })

  it('are removed once, and where a cause is named, for that alone', async () => {
    await put(operator)
    expect(await remove('misconfigured')).toBe(false)
    expect(await list()).toHaveLength(1)
    expect(await remove()).toBe(true)
    expect(await remove()).toBe(false)
    await put()
    expect(await remove('misconfigured')).toBe(true)
    expect(await list()).toEqual([])
  })
}
