import { expect, it } from 'vitest'
import type { LookupJob, Provider } from '../contract/outside/provider.ts'
import { uptimeMs } from './lane.ts'
import { createCallGate, createPerformer, FRESH_MS } from './performer.ts'

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
