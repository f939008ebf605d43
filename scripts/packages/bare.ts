import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommand } from './run-command.ts'
import type { Tarball } from './tarballs.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LIMIT_MS = 30_000

/** The packages that the light entries may load: only these are installed for the test. */
const LIGHT: Readonly<Record<string, readonly string[]>> = {
  '@svc/client': [],
  '@svc/core/provider': [],
  '@svc/core/sms': [],
  '@svc/core/webhooks': [],
  '@svc/core/contract': ['zod'],
  '@svc/testkit': [],
  '@svc/testkit/provider': [],
}

/** Faults of the light entries: each is loaded without the other dependencies of its package. */
export async function faultsOfLightEntries(
  tarballs: readonly Tarball[],
  parent: string,
): Promise<string[]> {
  const faults: string[] = []
  for (const [entry, dependencies] of Object.entries(LIGHT)) {
    const name = entry.split('/').slice(0, 2).join('/')
    const tarball = tarballs.find(({ manifest }) => manifest.name === name)
    if (!tarball) throw new Error(`${name} is not packed`)
    const folder = mkdtempSync(join(parent, 'bare-'))
    unpack(tarball, join(folder, 'node_modules', name))
    for (const dependency of dependencies) link(dependency, folder)
    const load = ['node', '--input-type=module', '-e', `await import('${entry}')`]
    const { isOk, output } = await runCommand(load, { cwd: folder, limit_ms: LIMIT_MS })
    if (!isOk) faults.push(`${entry} needs other packages than allowed: ${output}`)
  }
  return faults
}

function unpack({ file }: Tarball, folder: string): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', ['xzf', file, '-C', folder, '--strip-components=1'])
}

function link(dependency: string, folder: string): void {
  symlinkSync(
    join(ROOT, 'packages/core/node_modules', dependency),
    join(folder, 'node_modules', dependency),
  )
}
