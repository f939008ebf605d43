/**
 * Rejects the words that `docs/internals/STYLE.md` names, in every text file of the repository:
 *
 *   node --import tsx scripts/check-words.ts [path …]
 *
 * A path is a file or a folder, from the root; default: all. Prints each place as `file:line: "word": write … instead`
 * and a count for each folder. Exits with 1 when there is one.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findWords } from './check-words/words.ts'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const TEXT =
  /\.(?:[cm]?[jt]sx?|md|ya?ml|c|css|html|conf|service|socket)$|dashboard\.json$|Containerfile$/

/** Generated from files that are checked, or they name the words. */
const NOT_CHECKED = [
  'docs/reference/',
  'packages/core/migrations/',
  'pnpm-lock.yaml',
  'docs/internals/STYLE.md',
  'scripts/check-words',
  'test/check-words.test.ts',
]
/** Words that belong to other software or to people. */
const ALLOWED: readonly { readonly path: string; readonly words: string }[] = [
  // The Unix account.
  { path: 'packages/core/test/postgres-server.ts', words: 'nobody' },
]

const paths = process.argv.slice(2).map((path) => relative(ROOT, resolve(path)))
const listed = execFileSync(
  'git',
  ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths],
  { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 },
)
const files = [...new Set(listed.split('\0'))].filter(
  (path) =>
    TEXT.test(path) &&
    !path.endsWith('/CHANGELOG.md') &&
    !NOT_CHECKED.some((start) => path.startsWith(start)) &&
    existsSync(resolve(ROOT, path)),
)

const counts = new Map<string, number>()
for (const path of files) {
  for (const { line, words, write } of findWords(readFileSync(resolve(ROOT, path), 'utf8'))) {
    if (ALLOWED.some((one) => one.path === path && one.words === words)) continue
    console.log(`${path}:${line}: "${words}": write ${write} instead`)
    const folder = folderOf(path)
    counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
}
for (const [folder, count] of [...counts].sort()) {
  console.error(`${String(count).padStart(6)}  ${folder}`)
}
if (counts.size > 0) process.exitCode = 1

/** `packages/core/src`, `docs/guides`, `scripts`: the folder that a count is for. */
function folderOf(path: string): string {
  const depth = path.startsWith('packages/') ? 3 : path.startsWith('docs/') ? 2 : 1
  const folders = path.split('/').slice(0, -1)
  return folders.slice(0, depth).join('/') || '(root)'
}
