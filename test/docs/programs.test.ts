import { expect, it } from 'vitest'
import { readPages } from './pages.ts'
import { PROGRAMS } from './programs.ts'

const pages = new Map(readPages().map((page) => [page.path, page]))

it.each(Object.entries(PROGRAMS))('%s', async (place, trials) => {
  const [path = '', ...info] = place.split(' ')
  const blocks = pages
    .get(path)
    ?.blocks.filter(({ language, words }) => [language, ...words].join(' ') === info.join(' '))
  expect(blocks?.map(({ line }) => line)).toHaveLength(trials.length)
  for (const [i, { line, code }] of (blocks ?? []).entries()) {
    try {
      await trials[i]?.(code)
    } catch (error) {
      throw new Error(`${path}:${line}: ${(error as Error).message}`, { cause: error })
    }
  }
})
