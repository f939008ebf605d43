import { fileURLToPath } from 'node:url'
import { runCommand } from './run-command.ts'
import type { Tarball } from './tarballs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 60_000

const PUBLINT = ['node', 'node_modules/publint/src/cli.js', '--strict']
const ATTW = ['node', 'node_modules/@arethetypeswrong/cli/dist/index.js', '--profile']

/** The packages that CommonJS programs load with types of their own. The others promise only ES modules. */
const DUAL = new Set(['@svc/client'])

/** Findings of publint and attw in a tarball. */
export async function faultsOfFormat({ file, manifest }: Tarball): Promise<string[]> {
  const faults: string[] = []
  const profile = DUAL.has(manifest.name) ? 'node16' : 'esm-only'
  for (const linter of [PUBLINT, [...ATTW, profile]]) {
    const { isOk, output } = await runCommand([...linter, file], { cwd: ROOT, limit_ms: LIMIT_MS })
    if (!isOk) faults.push(`${manifest.name}: ${output}`)
  }
  return faults
}
