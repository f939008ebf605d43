import { fileURLToPath } from 'node:url'
import { runCommand } from './run-command.ts'
import type { Tarball } from './tarballs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 60_000

const PUBLINT = ['node', 'node_modules/publint/src/cli.js', '--strict']
const ATTW = ['node', 'node_modules/@arethetypeswrong/cli/dist/index.js', '--profile']

/**
 * The packages that CommonJS programs load with types of their own, and options for their check. The others promise only ES
 * modules, as vitest does.
 */
const DUAL: ReadonlyMap<string, readonly string[]> = new Map([
  ['@svc/client', []],
  ['@svc/testkit', ['--exclude-entrypoints', './vitest']],
])

/** Findings of publint and attw in a tarball. */
export async function faultsOfFormat({ file, manifest }: Tarball): Promise<string[]> {
  const faults: string[] = []
  const dual = DUAL.get(manifest.name)
  const types = [...ATTW, dual ? 'node16' : 'esm-only', file, ...(dual ?? [])]
  for (const command of [[...PUBLINT, file], types]) {
    const { isOk, output } = await runCommand(command, { cwd: ROOT, limit_ms: LIMIT_MS })
    if (!isOk) faults.push(`${manifest.name}: ${output}`)
  }
  return faults
}
