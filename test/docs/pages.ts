import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A fenced block of code. */
export interface Block {
  /** Line of its opening fence, from 1. */
  line: number
  language: string
  /** The words after the language. */
  words: string[]
  /** Without the indentation of its fence. */
  code: string
}

/** A page of the documentation. */
export interface Page {
  /** Relative to the root of the repository. */
  path: string
  lines: string[]
  blocks: Block[]
}

/** Generated from the source, and compared with it by another test. */
const GENERATED = 'docs/reference/api/'

const FENCE = /^( *)(`{3,})(.*)$/

/** Every page that is not generated. */
export function readPages(): Page[] {
  const packages = readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/README.md`)
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...packages, ...docs.toSorted()]
    .filter((path) => !path.startsWith(GENERATED))
    .map((path) => pageOf(path, readFileSync(join(ROOT, path), 'utf8')))
}

/** The place of a block, in the form that editors open. */
export function placeOf(page: Page, block: Block): string {
  return `${page.path}:${block.line}`
}

/** @throws Error when a fence is not closed. */
export function pageOf(path: string, text: string): Page {
  const lines = text.split('\n')
  const blocks: Block[] = []
  for (let i = 0; i < lines.length; i++) {
    const [, indent = '', fence, info = ''] = FENCE.exec(lines[i] ?? '') ?? []
    if (fence === undefined) continue
    const end = lines.findIndex((line, at) => at > i && line.trim() === fence)
    if (end === -1) throw new Error(`${path}:${i + 1}: the block is never closed`)
    const [language = '', ...words] = info.trim().split(/\s+/)
    const code = lines.slice(i + 1, end).map((line) => dedented(line, indent.length))
    blocks.push({ line: i + 1, language, words, code: `${code.join('\n')}\n` })
    i = end
  }
  return { path, lines, blocks }
}

/** The lines by number; those of blocks are empty. */
export function prose(page: Page): string[] {
  const lines = [...page.lines]
  for (const { line, code } of page.blocks) lines.fill('', line - 1, line + code.split('\n').length)
  return lines
}

export function exists(path: string): boolean {
  return existsSync(join(ROOT, path))
}

function dedented(line: string, by: number): string {
  return line.slice(Math.min(by, line.length - line.trimStart().length))
}
