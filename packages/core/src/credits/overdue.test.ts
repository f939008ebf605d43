import { expect, it } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import type { Overdue } from '../storage/ports/stores.ts'
import { eachPage, eachWorkspace } from './lots.ts'

const rows = ['w1', 'w2', 'w1', 'w3'].map((workspace_id, n) => ({ workspace_id, n }))

it('eachWorkspace calls work with the rows of each workspace and adds up the results', async () => {
  const calls: [string, number[]][] = []
  const done = await eachWorkspace(rows, testRuntime('overdue').log, async (id, own) => {
    calls.push([id, own.map(({ n }) => n)])
    return own.length
  })
  expect(calls).toEqual([
    ['w1', [0, 2]],
    ['w2', [1]],
    ['w3', [3]],
  ])
  expect(done).toBe(4)
})

it('eachWorkspace logs an error and continues with the next workspace', async () => {
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

/** Five rows, some with the same end, in the order of a store. */
const overdue = [1, 1, 1, 2, 3].map((ms, n) => ({ id: `${n}`, expires_at: new Date(ms) }))
const read = async ({ after, limit }: { after: Overdue | null; limit: number }) => {
  const begin = after === null ? 0 : overdue.findIndex(({ id }) => id === after.id) + 1
  return overdue.slice(begin, begin + limit)
}

it.each([1, 2, 5, 9])(
  'eachPage reads every row once, %d at a time, even if none is removed',
  async (limit) => {
    const seen: string[] = []
    const pages = { read, limit, isStopping: () => false }
    const done = await eachPage(pages, async (rows) => {
      seen.push(...rows.map(({ id }) => id))
      expect(rows.length).toBeLessThanOrEqual(limit)
      return rows.length
    })
    expect([seen, done]).toEqual([['0', '1', '2', '3', '4'], 5])
  },
)

it('eachPage reads no page after isStopping', async () => {
  let pages = 0
  const isStopping = () => pages === 2
  await eachPage({ read, limit: 1, isStopping }, async () => ++pages)
  expect(pages).toBe(2)
})
