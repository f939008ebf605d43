import { fileURLToPath } from 'node:url'
import { runCommand } from './run-command.ts'
import type { Tarball } from './tarballs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 60_000

/** Only ES modules are promised, so the types are not checked for a CommonJS resolver. */
const LINTERS = [
  ['node', 'node_modules/publint/src/cli.js', '--strict'],
  ['node', 'node_modules/@arethetypeswrong/cli/dist/index.js', '--profile', 'esm-only'],
]

/** Findings of publint and attw in a tarball. */
export async function faultsOfFormat({ file, manifest }: Tarball): Promise<string[]> {
  const faults: string[] = []
  for (const linter of LINTERS) {
    const { isOk, output } = await runCommand([...linter, file], { cwd: ROOT, limit_ms: LIMIT_MS })
    if (!isOk) faults.push(`${manifest.name}: ${output}`)
  }
  return faults
}
