import { expect, it } from 'vitest'
import { testRuntime } from '../../test/fixtures.ts'
import { PARKED_PAGE } from '../messages/reports.ts'
import { startProviderWatch } from './provider-watch.ts'

const readPauses = async () => {}

it.each([
  ['to the end', [PARKED_PAGE, PARKED_PAGE, 3], 3],
  ['up to a maximum of pages', Array(50).fill(PARKED_PAGE), 10],
])('settles parked receipts %s in one round', async (_, pages, looks) => {
  const left = [...pages]
  const settleParked = async () => left.shift() ?? 0
  const watch = startProviderWatch({ readPauses, settleParked, runtime: testRuntime('watch') })
  await watch.stop()
  await watch.look()
  expect(pages.length - left.length).toBe(looks)
})
