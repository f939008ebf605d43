import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Mutant } from './list.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What the tests of the mutants need. */
const COPIED = ['package.json', 'tsconfig.json', 'tsconfig.base.json']
const CORE = 'packages/core'
const COPIED_OF_CORE = ['package.json', 'src', 'test', 'migrations']

/** Copies as much of the repository to `folder` as the tests need, with the dependencies linked. */
export function copyTree(folder: string): void {
  mkdirSync(join(folder, CORE), { recursive: true })
  const copy = (path: string) => cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  for (const path of COPIED) if (existsSync(join(ROOT, path))) copy(path)
  for (const path of COPIED_OF_CORE) copy(join(CORE, path))
  for (const path of ['node_modules', join(CORE, 'node_modules')]) {
    symlinkSync(join(ROOT, path), join(folder, path))
  }
}

/** The tests' settings in a copy: no server of their own. */
export function writeSettings(folder: string, postgresUrl: string | null): void {
  const settings = {
    ssr: { resolve: { conditions: ['source'] } },
    resolve: { conditions: ['source'] },
    test: {
      include: ['packages/core/src/**/*.test.ts', 'packages/core/test/**/*.test.ts'],
      provide: { postgresUrl: postgresUrl ?? '' },
      testTimeout: 60_000,
      hookTimeout: 60_000,
      // The first failure says it all.
      bail: 1,
      pool: 'threads',
    },
  }
  const text = `export default ${JSON.stringify(settings, null, 2)}\n`
  writeFileSync(join(folder, 'vitest.config.mjs'), text)
}

/**
 * Breaks the copy as the mutant says; answers how to mend it.
 * @throws Error when what it replaces does not stand in the file exactly once: the list is out of date then.
 */
export function breakTree(folder: string, { name, file, from, to }: Mutant): () => void {
  const path = join(folder, file)
  const text = readFileSync(path, 'utf8')
  const count = text.split(from).length - 1
  if (count !== 1) throw new Error(`${name}: ${file} has ${count} times: ${from}`)
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  return () => writeFileSync(path, text)
}

/** Where vitest is started from. */
export function vitestOf(): string {
  return join(dirname(fileURLToPath(import.meta.resolve('vitest/package.json'))), 'vitest.mjs')
}
