import { expect, it } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import { eachWorkspace } from './overdue.ts'

const rows = ['w1', 'w2', 'w1', 'w3'].map((workspace_id, n) => ({ workspace_id, n }))

it('eachWorkspace gives each its own rows, and adds up what was done', async () => {
  const given: [string, number[]][] = []
  const done = await eachWorkspace(rows, testRuntime('overdue').log, async (id, own) => {
    given.push([id, own.map(({ n }) => n)])
    return own.length
  })
  expect(given).toEqual([
    ['w1', [0, 2]],
    ['w2', [1]],
    ['w3', [3]],
  ])
  expect(done).toBe(4)
})

it('eachWorkspace goes on after one that fails, and says so', async () => {
  const faults: object[] = []
  const fault = new Error('the books of w1 are broken')
  const log = { ...testRuntime('overdue').log, error: (fields: object) => void faults.push(fields) }
  const done = await eachWorkspace(rows, log, async (id) => {
    if (id === 'w1') throw fault
    return 1
  })
  expect(done).toBe(2)
  expect(faults).toEqual([{ err: fault, workspace_id: 'w1' }])
})
