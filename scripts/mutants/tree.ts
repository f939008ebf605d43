import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Mutant } from './list.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The files that the tests of the mutants need. */
const COPIED = ['package.json', 'tsconfig.json', 'tsconfig.base.json']
const CORE = 'packages/core'
const COPIED_OF_CORE = ['package.json', 'src', 'test', 'migrations']

/** Copies these files to `folder`, with the dependencies linked. */
export function copyTree(folder: string): void {
  mkdirSync(join(folder, CORE), { recursive: true })
  const copy = (path: string) => cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  for (const path of COPIED) if (existsSync(join(ROOT, path))) copy(path)
  for (const path of COPIED_OF_CORE) copy(join(CORE, path))
  for (const path of ['node_modules', join(CORE, 'node_modules')]) {
    symlinkSync(join(ROOT, path), join(folder, path))
  }
}

/** The tests' settings in a copy: without a server. */
export function writeSettings(folder: string, postgresUrl: string | null): void {
  const settings = {
    ssr: { resolve: { conditions: ['source'] } },
    resolve: { conditions: ['source'] },
    test: {
      include: ['packages/core/src/**/*.test.ts', 'packages/core/test/**/*.test.ts'],
      provide: { postgresUrl: postgresUrl ?? '', postgresTemplate: 'svc_template' },
      testTimeout: 60_000,
      hookTimeout: 60_000,
      // One failure is enough.
      bail: 1,
      pool: 'threads',
    },
  }
  const text = `export default ${JSON.stringify(settings, null, 2)}\n`
  writeFileSync(join(folder, 'vitest.config.mjs'), text)
}

/**
 * Applies a mutant to the copy; returns the function that restores it.
 * @throws Error when the text to replace is not in the file exactly once: the list is then out of date.
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

/** The folder in which vitest starts. */
export function vitestOf(): string {
  return join(dirname(fileURLToPath(import.meta.resolve('vitest/package.json'))), 'vitest.mjs')
}
