import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const BOOTSTRAP = fileURLToPath(new URL('../scripts/bootstrap.mjs', import.meta.url))

/** Builds packages that are stale, for tests that start the built service or command in a separate process. */
export function ensureBuilt(): void {
  const { status } = spawnSync(process.execPath, [BOOTSTRAP, '--build'], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the packages were not built')
}
