import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CHECKED_ELSEWHERE, runBy } from './checked-elsewhere.ts'
import { checkFor, isCommand } from './data-blocks.ts'
import { type Block, type Page, placeOf, prose, ROOT, readPages } from './pages.ts'
import { PROGRAMS } from './programs.ts'
import { isShell, isSql } from './shell-page.ts'

const pages = readPages()
const blocks = pages.flatMap((page) => page.blocks.map((block) => ({ page, block })))

const infoOf = ({ language, words }: Block) => [language, ...words].join(' ')

/** The file that runs or checks a block; undefined if there is none. */
function checkerOf(page: Page, block: Block): string | undefined {
  if (isShell(block) || isSql(block)) return 'commands.test.ts'
  if (PROGRAMS[`${page.path} ${infoOf(block)}`]) return 'programs.test.ts'
  if (checkFor(block)) return 'data-blocks.ts'
  return runBy(page.path, infoOf(block))
}

it('every block is run or checked', () => {
  const unchecked = blocks.filter(({ page, block }) => !checkerOf(page, block))
  expect(
    unchecked.map(
      ({ page, block }) => `${placeOf(page, block)}: no test checks \`${infoOf(block)}\``,
    ),
  ).toEqual([])
})

it('blocks that are not run here are valid', async () => {
  const faults: string[] = []
  for (const { page, block } of blocks) {
    if (checkerOf(page, block) !== 'data-blocks.ts') continue
    try {
      await checkFor(block)?.(block, page)
    } catch (error) {
      faults.push(`${placeOf(page, block)}: ${(error as Error).message}`)
    }
  }
  expect(faults).toEqual([])
})

it('commands within sentences exist, with their options', () => {
  const faults = pages.flatMap((page) =>
    prose(page).flatMap((line, i) =>
      [...line.matchAll(/`(?:npx )?(?:@svc\/cli|svc) ([a-z][^`]*)`/g)].flatMap(([, call = '']) => {
        try {
          isCommand(call.replace(/[.,…].*$| \d?[<>|].*$/, ''))
          return []
        } catch (error) {
          return [`${page.path}:${i + 1}: ${(error as Error).message}`]
        }
      }),
    ),
  )
  expect(faults).toEqual([])
})

/** Where a page says how the command is called; everywhere else it is `svc`, because npx may run a package of a stranger. */
const SAYS_HOW = /^(?:docs\/guides\/command-line\.md|packages\/[a-z]+\/README\.md)$/

it('pages call the command svc, without npx', () => {
  const calls = pages.flatMap(({ path, lines }) =>
    lines.flatMap((line, i) => (/npx (?:svc|@svc\/cli)\b/.test(line) ? [`${path}:${i + 1}`] : [])),
  )
  expect(calls.filter((place) => !SAYS_HOW.test(place.replace(/:\d+$/, '')))).toEqual([])
})

it('pages that install a package of ours say how, until it is on the registry', () => {
  const installing = pages.filter(({ lines }) =>
    lines.some((line) => /npm (?:install|i) [^`]*@svc\//.test(line)),
  )
  expect(installing.length).toBeGreaterThan(4)
  const silent = installing.filter(({ lines }) => !lines.some((line) => /npm run pack/.test(line)))
  expect(silent.map(({ path }) => path)).toEqual([])
})

it.each(CHECKED_ELSEWHERE)('$by reads $page, which has such a block', ({ page, info, by }) => {
  const name = page.split('/').at(-1) ?? page
  expect(readFileSync(join(ROOT, by), 'utf8')).toContain(name)
  const found = blocks.filter(
    ({ page: { path }, block }) => path === page && info.test(infoOf(block)),
  )
  expect(found.length).toBeGreaterThan(0)
})
