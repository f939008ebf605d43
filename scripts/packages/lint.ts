import { fileURLToPath } from 'node:url'
import { runCommand } from './run-command.ts'
import type { Tarball } from './tarballs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 60_000

/** ES modules alone are promised, so what a resolver of CommonJS makes of the types is not asked. */
const LINTERS = [
  ['node', 'node_modules/publint/src/cli.js', '--strict'],
  ['node', 'node_modules/@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only'],
]

/** What publint and attw find wrong with a tarball. */
export async function faultsOfFormat({ file, manifest }: Tarball): Promise<string[]> {
  const faults: string[] = []
  for (const linter of LINTERS) {
    const { isOk, output } = await runCommand([...linter, file], { cwd: ROOT, limit_ms: LIMIT_MS })
    if (!isOk) faults.push(`${manifest.name}: ${output}`)
  }
  return faults
}
