import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, it } from 'vitest'
import { exists, type Page, pageOf, prose, ROOT, readPages } from './pages.ts'

const INDEX = 'docs/README.md'
/** Folders whose files a page may mention by their path. */
const FOLDERS = /(?<![\w./@-])(?:\.ci|bench|deploy|docs|packages|scripts|test)\/[\w.@/-]*\w/g
/** Files made by builds and runs. */
const MADE = /\/dist(?:\/|$)|^bench\/results/

const pages = readPages()
const pageAt = new Map(pages.map((page) => [page.path, page]))

interface Link {
  line: number
  target: string
}

function linksOf(page: Page): Link[] {
  return prose(page).flatMap((text, i) =>
    [...text.replaceAll(/`[^`]*`/g, '``').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => ({
      line: i + 1,
      target,
    })),
  )
}

/** The pages and files of the repository that a page links to. */
function targetsOf(page: Page): (Link & { path: string; anchor: string })[] {
  return linksOf(page)
    .filter(({ target }) => !/^[a-z]+:/.test(target))
    .map(({ line, target }) => {
      const [path = '', anchor = ''] = target.split('#')
      const from = posix.dirname(page.path)
      const found = path === '' ? page.path : posix.normalize(posix.join(from, path))
      return { line, target, path: found.replace(/\/$/, ''), anchor }
    })
}

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(page: Page): Set<string> {
  const seen = new Map<string, number>()
  const headings = prose(page).filter((line) => /^#{1,6} /.test(line))
  return new Set(
    headings.map((heading) => {
      const text = heading.replace(/^#+ /, '').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      const words = text.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
      const anchor = words.replaceAll(' ', '-')
      const times = seen.get(anchor) ?? 0
      seen.set(anchor, times + 1)
      return times === 0 ? anchor : `${anchor}-${times}`
    }),
  )
}

it('every link has a target', () => {
  const broken = pages.flatMap((page) =>
    targetsOf(page).flatMap(({ line, target, path, anchor }) => {
      if (!exists(path)) return [`${page.path}:${line}: ${target}: no such file`]
      if (anchor === '' || !path.endsWith('.md')) return []
      const there = pageAt.get(path) ?? pageOf(path, readFileSync(join(ROOT, path), 'utf8'))
      if (anchorsOf(there).has(anchor)) return []
      return [`${page.path}:${line}: ${target}: no such heading`]
    }),
  )
  expect(broken).toEqual([])
})

it('every page of docs is found from its index', () => {
  const reached = new Set([INDEX])
  for (const path of reached) {
    const page = pageAt.get(path)
    for (const target of page ? targetsOf(page) : []) reached.add(target.path)
  }
  const lost = pages.map(({ path }) => path).filter((path) => path.startsWith('docs/'))
  expect(lost.filter((path) => !reached.has(path))).toEqual([])
  expect(targetsOf(pageAt.get('README.md') as Page).map(({ path }) => path)).toContain(INDEX)
})

it('every page has one title, which is its first line', () => {
  const wrong = pages.filter((page) => {
    const titles = prose(page).flatMap((line, i) => (/^# /.test(line) ? [i] : []))
    return titles.length !== 1 || titles[0] !== 0
  })
  expect(wrong.map(({ path }) => path)).toEqual([])
})

it('every mentioned path of this repository exists', () => {
  const missing = pages.flatMap((page) =>
    page.lines.flatMap((line, i) =>
      (line.replaceAll(/\]\([^)]*\)/g, ']').match(FOLDERS) ?? [])
        .filter((path) => !MADE.test(path) && !exists(path))
        .map((path) => `${page.path}:${i + 1}: ${path}: no such file`),
    ),
  )
  expect(missing).toEqual([])
})

/** The section that makes `svc` a command of the reader's shell. */
const CALL = { path: 'docs/guides/command-line.md', anchor: 'call-the-command' }
const COMMAND = /^(?:\$ )?(?:[A-Z_]+=\S+ )*svc [a-z]/m

it('every page of docs with commands of svc leads to what makes it a command', () => {
  const hasCommands = ({ blocks }: Page) =>
    blocks.some(({ language, code }) => language === 'sh' && COMMAND.test(code))
  const found = pages.filter((page) => page.path.startsWith('docs/') && hasCommands(page))
  expect(found.length).toBeGreaterThan(25)
  const without = found.filter(
    (page) =>
      page.path !== CALL.path &&
      !targetsOf(page).some(({ path, anchor }) => path === CALL.path && anchor === CALL.anchor),
  )
  expect(without.map(({ path }) => path)).toEqual([])
})
