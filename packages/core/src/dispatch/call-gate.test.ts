import { expect, it } from 'vitest'
import { uptimeMs } from './lane.ts'
import { createCallGate, FRESH_MS } from './performer.ts'

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
