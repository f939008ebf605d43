import { describe, expect, it } from 'vitest'
import {
  exportsText,
  membersOfCore,
  undocumentedExports,
  unnamedTypes,
} from '../scripts/packages/exports-text.ts'

describe('the exports of the packages', () => {
  // A new name is a promise until the next version that may break something. `vitest -u` writes the list.
  it('are those of test/exports.txt, name by name', async () => {
    await expect(exportsText()).toMatchFileSnapshot('exports.txt')
  }, 60_000)

  it('name only types that a user can import', () => {
    expect(unnamedTypes()).toEqual([])
  }, 60_000)

  it('have a docstring each', () => {
    expect(undocumentedExports()).toEqual([])
  }, 60_000)
})

describe('the members of Core and of its parts', () => {
  it('have a docstring each', () => {
    const members = membersOfCore()
    expect([...members.keys()]).toEqual(
      expect.arrayContaining(['close', 'messages.send', 'messages.bulks.retry', 'webhooks.events']),
    )
    expect([...members].flatMap(([name, has]) => (has ? [] : [name]))).toEqual([])
  }, 60_000)
})
