import { describe, expect, it } from 'vitest'
import { exportsText, undocumentedExports } from '../scripts/packages/exports-text.ts'

describe('what the packages export', () => {
  // A new name is a promise: it is kept until the next version that may break something. `vitest -u` writes the list.
  it('is what test/exports.txt says, name by name', async () => {
    await expect(exportsText()).toMatchFileSnapshot('exports.txt')
  }, 60_000)

  it('has a docstring each', () => {
    expect(undocumentedExports()).toEqual([])
  }, 60_000)
})
