import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from './run-command.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMITTED = join(ROOT, 'docs/reference/api')
const LIMIT_MS = 5 * 60_000

/** The differences between the committed reference and the current docstrings. */
export async function faultsOfReference(parent: string): Promise<string[]> {
  const folder = mkdtempSync(join(parent, 'reference-'))
  const command = ['node', 'scripts/generate-api-reference.mjs', folder]
  const { isOk, output } = await runCommand(command, { cwd: ROOT, limit_ms: LIMIT_MS })
  if (!isOk) return [output]
  const [committed, now] = [pagesIn(COMMITTED), pagesIn(folder)]
  const stale = [...new Set([...committed.keys(), ...now.keys()])].filter(
    (page) => committed.get(page) !== now.get(page),
  )
  return stale.map((page) => `docs/reference/api/${page} is out of date: npm run docs`)
}

function pagesIn(folder: string): Map<string, string> {
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return new Map(
    pages
      .filter((page) => page.endsWith('.md'))
      .map((page) => [page, readFileSync(join(folder, page), 'utf8')]),
  )
}
